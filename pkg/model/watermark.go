package model

import (
	"slices"
	"time"
)

// Status is where a batch stands. An absent watermark is a status of its own: nobody has begun.
type Status string

// The statuses of a batch.
const (
	Running Status = "RUNNING" // legal exactly as long as its lease is held, however long that takes
	Done    Status = "DONE"
	Failed  Status = "FAILED"
	Waiting Status = "WAITING" // a source is not there yet; tried again until due.patience is over
	Blocked Status = "BLOCKED" // an earlier day of a strict job is not DONE
)

// Phase is how far a RUNNING attempt has come.
type Phase string

// The phases of an attempt, in order.
const (
	PhaseStart   Phase = "start"
	PhasePull    Phase = "pull"
	PhaseCompare Phase = "compare"
	PhaseCommit  Phase = "commit"
	PhaseEvents  Phase = "events"
	PhaseDone    Phase = "done"
)

// Cause says why an attempt was made.
type Cause string

// The causes of an attempt.
const (
	CauseDue     Cause = "due"     // the day became due
	CauseReplay  Cause = "replay"  // a person asked
	CauseNudge   Cause = "nudge"   // the auditor asked
	CauseChain   Cause = "chain"   // the day before a strict job's day became DONE
	CauseCarry   Cause = "carry"   // the pool carried in changed; sealed snapshots are compared again
	CauseChanged Cause = "changed" // the auditor saw the source differ from the committed snapshot
)

// Watermark is the truth about one batch: messages are hints. It is written only under the batch's fence, except by a
// reclaim, which is conditional on the very revision it saw.
type Watermark struct {
	Status     Status     `json:"status"`
	Phase      Phase      `json:"phase,omitempty"`
	RunID      string     `json:"run_id"`
	Fence      uint64     `json:"fence"`
	Attempt    int        `json:"attempt"` // 1 for the first attempt at the batch, counted over all causes
	Cause      Cause      `json:"cause"`
	Trigger    uint64     `json:"trigger"` // stream sequence of the message that caused the attempt
	Reason     string     `json:"reason,omitempty"`
	By         string     `json:"by,omitempty"`
	Instance   string     `json:"instance"`
	StartedAt  time.Time  `json:"started_at"`
	BeatAt     time.Time  `json:"beat_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`

	Version   uint64        `json:"version,omitempty"`   // last committed version, of this attempt once it has committed
	Published uint64        `json:"published,omitempty"` // last version whose events are all in the stream
	Snapshots map[Side]Seal `json:"snapshots,omitempty"` // of the last committed version
	CarryIn   string        `json:"carry_in,omitempty"`  // digest of the pool the committed version was compared with
	CarryOut  string        `json:"carry_out,omitempty"` // digest of the pool the committed version hands on
	Committed string        `json:"committed,omitempty"` // run id of the last committed version
	Error     string        `json:"error,omitempty"`     // why FAILED or WAITING
	Sources   string        `json:"sources,omitempty"`   // fingerprint of the sources as a FAILED or WAITING attempt saw them
	Lasting   bool          `json:"lasting,omitempty"`   // FAILED: trying again on the same sources would meet the same fault
	Failures  int           `json:"failures,omitempty"`  // FAILED attempts in a row
}

// Terminal reports whether the attempt is over: a message for it may be acknowledged.
func (w Watermark) Terminal() bool {
	return w.Status == Done || w.Status == Failed || w.Status == Blocked
}

// FirstUnfinished returns the earliest of days (ascending) that lies before another and whose watermark is not DONE, nil
// when there is none. An absent watermark is not DONE.
func FirstUnfinished(days []Day, marks map[Day]Watermark, before Day) *Day {
	i := slices.IndexFunc(days, func(d Day) bool { return d < before && marks[d].Status != Done })
	if i < 0 {
		return nil
	}
	return &days[i]
}

// Blocker returns the day that keeps another of a strict job from being computed: the earliest one before it that is
// inside the cap and not DONE. It is worked out and not kept, as it changes without anybody touching the blocked day.
func (j Job) Blocker(day, floor Day, now time.Time, marks map[Day]Watermark) *Day {
	if j.Order != Strict {
		return nil
	}
	return FirstUnfinished(j.Window(floor, now), marks, day)
}
