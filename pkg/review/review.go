// Package review takes a diff through its review: one step at a time, by one person at a time, never losing one.
//
// # A step
//
//	read diff and newest step → check that the step is allowed → compare-and-set on the control key → mirror to the
//	table `reviews` → tell it as a `reviewed` event
//
// The compare-and-set is the step: two people who act on the same state cannot both succeed. What follows it can be cut
// short by a crash; the auditor finds a step that is newer in the control bucket than in the table, mirrors it and tells
// it again under the same event id. The other way round, when the control bucket was lost, the table restores it.
//
// A review is bound to the diff id and not to a version of the batch, so a recompute neither copies nor drops it. The
// step remembers a fingerprint of the figures that the person saw; a later version with other figures therefore shows as
// changed after review.
package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"

	"daybreak/pkg/bus"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

var (
	// ErrNoDiff is returned when the batch shows no such diff. Nothing was changed.
	ErrNoDiff = errors.New("no such diff")

	// ErrConflict is returned when somebody else made a step meanwhile. Nothing was changed; look again.
	ErrConflict = errors.New("somebody else reviewed this diff meanwhile")

	// ErrIncomplete is returned for a step without a person or a reason. Nothing was changed.
	ErrIncomplete = errors.New("a review step names who and why")
)

// Keeper holds the newest step of every review.
type Keeper interface {
	Review(ctx context.Context, job string, day model.Day, diffID string) (model.Review, uint64, error)
	SaveReview(ctx context.Context, r model.Review, revision uint64) error
}

// Table shows diffs and mirrors steps.
type Table interface {
	Diff(ctx context.Context, job string, day model.Day, diffID string) (store.DiffRow, bool, error)
	PutReview(ctx context.Context, r model.Review) error
}

// Publisher tells steps downstream.
type Publisher interface {
	Publish(ctx context.Context, m bus.Message) (bus.Receipt, error)
}

// Desk is where steps are made.
type Desk struct {
	Keeper    Keeper
	Table     Table
	Publisher Publisher
	Clock     clockwork.Clock
}

// Step is what a person wants to do with a diff.
type Step struct {
	Job    string
	Day    model.Day
	DiffID string
	To     model.ReviewState
	By     string
	Note   string
}

// Make makes one step and returns the review after it. When the error is neither of this package's nor
// [model.ErrReviewStep], the step may have been made and only its mirror or event is late: the auditor completes those.
func (d *Desk) Make(ctx context.Context, s Step) (model.Review, error) {
	if strings.TrimSpace(s.By) == "" || strings.TrimSpace(s.Note) == "" {
		return model.Review{}, fmt.Errorf("diff %s of %s: %w", s.DiffID, model.BatchID(s.Job, s.Day), ErrIncomplete)
	}
	row, ok, err := d.Table.Diff(ctx, s.Job, s.Day, s.DiffID)
	if err != nil {
		return model.Review{}, err
	}
	if !ok {
		return model.Review{}, fmt.Errorf("%s has no diff %s in its current version: %w", model.BatchID(s.Job, s.Day), s.DiffID, ErrNoDiff)
	}
	last, revision, err := d.newest(ctx, row)
	if err != nil {
		return model.Review{}, err
	}
	if err := model.CheckReviewStep(last.State, s.To); err != nil {
		return model.Review{}, fmt.Errorf("diff %s of %s: %w", s.DiffID, model.BatchID(s.Job, s.Day), err)
	}
	next := model.Review{
		Job: s.Job, Day: s.Day, DiffID: s.DiffID, Key: row.Key, State: s.To, By: s.By, Note: s.Note, At: d.Clock.Now().UTC(),
		Step: last.Step + 1, Fingerprint: row.Fingerprint(), SeenVersion: row.Version,
	}
	if err := d.Keeper.SaveReview(ctx, next, revision); errors.Is(err, kv.ErrConflict) {
		return model.Review{}, fmt.Errorf("diff %s of %s: %w", s.DiffID, model.BatchID(s.Job, s.Day), ErrConflict)
	} else if err != nil {
		return model.Review{}, err
	}
	return next, d.Complete(ctx, row.Diff, next)
}

// newest is the last step, from the control bucket or, when that has none, from the table.
func (d *Desk) newest(ctx context.Context, row store.DiffRow) (model.Review, uint64, error) {
	last, revision, err := d.Keeper.Review(ctx, row.Job, row.Day, row.ID)
	if err != nil || revision > 0 {
		return last, revision, err
	}
	return model.Review{State: row.Review, Step: row.ReviewStep}, 0, nil
}

// Complete mirrors a step that was made and tells it. Doing it again does no harm.
func (d *Desk) Complete(ctx context.Context, diff model.Diff, r model.Review) error {
	if err := d.Table.PutReview(ctx, r); err != nil {
		return err
	}
	m, err := Message(diff, r)
	if err != nil {
		return err
	}
	_, err = d.Publisher.Publish(ctx, m)
	return err
}

// Message is the event that tells a step.
func Message(diff model.Diff, r model.Review) (bus.Message, error) {
	event, err := model.NewReviewEvent(diff, r)
	if err != nil {
		return bus.Message{}, err
	}
	subject, err := bus.Diff(diff.Job, diff.Day.String(), string(model.DiffReviewed))
	if err != nil {
		return bus.Message{}, err
	}
	data, err := json.Marshal(event)
	if err != nil {
		return bus.Message{}, err
	}
	return bus.Message{Subject: subject, ID: event.ID, Body: data, Header: nats.Header{"Content-Type": {model.ContentType}}}, nil
}
