package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ReviewState is what a person made of a diff.
type ReviewState string

// The review states.
const (
	ReviewNone          ReviewState = "none"
	ReviewInvestigating ReviewState = "investigating"
	ReviewResolved      ReviewState = "resolved"
	ReviewWrittenOff    ReviewState = "written_off"
	ReviewAccepted      ReviewState = "accepted"
)

// Review is the state of the review of one diff after its newest step. It is bound to the diff id and not to a version,
// so no recompute can lose it.
type Review struct {
	Job         string      `json:"job"`
	Day         Day         `json:"biz_date"`
	DiffID      string      `json:"diff_id"`
	Key         string      `json:"key"`
	State       ReviewState `json:"state"`
	By          string      `json:"by"`
	Note        string      `json:"note"`
	At          time.Time   `json:"at"`
	Step        uint64      `json:"step"`         // 1 for the first step, then one more each
	Fingerprint string      `json:"fingerprint"`  // of the figures as the reviewer saw them, see [Diff.Fingerprint]
	SeenVersion uint64      `json:"seen_version"` // version of the batch as the reviewer saw it
}

var reviewSteps = map[ReviewState][]ReviewState{
	ReviewNone:          {ReviewInvestigating},
	ReviewInvestigating: {ReviewResolved, ReviewWrittenOff, ReviewAccepted},
	ReviewResolved:      {ReviewInvestigating},
	ReviewWrittenOff:    {ReviewInvestigating},
	ReviewAccepted:      {ReviewInvestigating},
}

// CheckReviewStep returns an error that wraps [ErrReviewStep] and lists what is allowed, unless from may become to.
// A finished review is reopened by the step to investigating.
func CheckReviewStep(from, to ReviewState) error {
	if from == "" {
		from = ReviewNone
	}
	allowed := reviewSteps[from]
	if slices.Contains(allowed, to) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, s := range allowed {
		names[i] = string(s)
	}
	return fmt.Errorf("from %s to %s (allowed: %s): %w", from, to, strings.Join(names, ", "), ErrReviewStep)
}
