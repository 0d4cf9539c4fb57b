// Package check looks for what no run of an installation may show. It reads what was recorded from outside, see [Load], and
// imports nothing of the product: what it knows of names and formats is what the contracts say.
//
// One function checks one guarantee and returns what it found. Two rules hold for all of them:
//
//   - No evidence is a violation. A checker that had nothing to look at (no reading, no takeover, no review) says so, so that
//     nothing is green for want of looking.
//   - What cannot be known is not guessed. An accepted write that is missing from the log of the bucket makes a window in which
//     nothing is claimed; a command without an answer may have taken effect or not, and both are right.
package check

import "fmt"

// Violation is something that must not be.
type Violation struct {
	Guarantee string // G1 … G8, or "evidence"
	Job, Day  string // empty when it is about no single batch
	What      string // what was seen and where to look
}

func (v Violation) String() string {
	at := v.Job + " " + v.Day
	if v.Job == "" {
		at = "all"
	}
	return fmt.Sprintf("%s %s: %s", v.Guarantee, at, v.What)
}

// All runs every checker.
func All(h *History) (out []Violation) {
	for _, c := range []func(*History) []Violation{
		OneHolder, NoMissedRun, NoExtraRun, DayOrder, WholeVersions, ReviewsKept, EventsRebuild, Truth, Balance, ReplaysAnswered, Rejected,
	} {
		out = append(out, c(h)...)
	}
	return out
}

// finder collects what one checker finds.
type finder struct {
	guarantee string
	out       []Violation
}

func (f *finder) at(job, day, format string, args ...any) {
	f.out = append(f.out, Violation{f.guarantee, job, day, fmt.Sprintf(format, args...)})
}

// need says that there was nothing to look at.
func (f *finder) need(n int, what string) {
	if n == 0 {
		f.out = append(f.out, Violation{"evidence", "", "", f.guarantee + ": the records hold no " + what})
	}
}
