package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"daybreak/pkg/model"
)

// Job is a job with both its sources open: all that is needed to look at the books of any of its days.
type Job struct {
	model.Job
	Ledger  Source
	Channel Source
}

// Of returns the source of a side.
func (j Job) Of(side model.Side) Source {
	if side == model.Ledger {
		return j.Ledger
	}
	return j.Channel
}

// Request asks for one side of a day.
func (j Job) Request(day model.Day, side model.Side) Request {
	from, to := j.Span(day)
	return Request{Job: j.Name, Side: side, Day: day, From: from, To: to, Zone: j.Location, Rules: j.Rules}
}

// There returns an error that is [ErrNotThere] and names the side when a source of the day is known to be missing. Any
// other fault of a source is left to reading it.
func (j Job) There(ctx context.Context, day model.Day) error {
	for _, side := range model.Sides {
		if _, err := j.Of(side).Peek(ctx, j.Request(day, side)); errors.Is(err, ErrNotThere) {
			return &SideError{side, err}
		}
	}
	return nil
}

// Agreed says whether an answer that there is no bill can be believed: a day is empty when its source says so and the
// other side has nothing either. With entries on the other side the answer is one to a wrong or an early request (bug B4),
// so the error is [ErrNotThere] and names the side.
func (j Job) Agreed(seals map[model.Side]model.Seal) error {
	for _, side := range model.Sides {
		other := seals[side.Other()].Totals
		if words := seals[side].NoBill; words != "" && other.Count() > 0 {
			return &SideError{side, fmt.Errorf("the provider answered %q, that there is no bill, but the %s has %s: ask for the bill again, and check the request; %w",
				words, side.Other(), other, ErrNotThere)}
		}
	}
	return nil
}

// Fingerprint is what both sources of a day look like now. It changes when a file of the day appears, goes, or changes
// in size or time; a source that is not there or cannot be looked at says so.
func (j Job) Fingerprint(ctx context.Context, day model.Day) string {
	var parts []string
	for _, side := range model.Sides {
		print, err := j.Of(side).Peek(ctx, j.Request(day, side))
		if err != nil {
			print = "not there"
		}
		parts = append(parts, string(side)+"="+print)
	}
	return strings.Join(parts, " ")
}

// SideError says which side of the books an error is about.
type SideError struct {
	Side model.Side
	Err  error
}

func (e *SideError) Error() string { return string(e.Side) + ": " + e.Err.Error() }

// Unwrap returns the error itself.
func (e *SideError) Unwrap() error { return e.Err }
