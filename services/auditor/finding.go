package auditor

import (
	"time"

	"daybreak/pkg/model"
)

// record is the state of one finding, as the last message on its subject tells it.
type record struct {
	model.Audit
	At       time.Time `json:"at"`       // of this transition
	Instance string    `json:"instance"` // the replica that made it
	Episode  uint64    `json:"episode"`  // sequence of the opening message; 0 in that message itself
	Nudges   int       `json:"nudges"`   // within the episode
}

// nudgesMax bounds the nudges of one episode, should the evidence change again and again.
const nudgesMax = 5

// backlogPatience is how many audit intervals a nudged day may stay unfinished while recon still has older messages.
const backlogPatience = 12

// policy is what decides, besides the sighting, how a finding goes on.
type policy struct {
	now     time.Time
	every   time.Duration // audit interval
	inCap   bool          // the day is still repaired without being asked
	mayNow  bool          // and no earlier day of a strict job has to come first
	backlog bool          // recon has messages that it has not seen
}

// move is the next step in the life of a finding.
type move string

const (
	moveNone    move = "none"    //
	moveOpen    move = "open"    // first, without remedy: its sequence names the episode
	moveNudge   move = "nudge"   // send the nudge, then tell
	moveTell    move = "tell"    // tell the new state
	moveResolve move = "resolve" //
)

// next says how a finding goes on. prev is nil or resolved when it is not open; s is nil when it is known to be gone.
func next(prev *record, s *sighting, p policy) (move, record) {
	open := prev != nil && !prev.Resolved
	switch {
	case s == nil && !open:
		return moveNone, record{}
	case s == nil:
		r := *prev
		r.Resolved, r.At = true, p.now
		return moveResolve, r
	case !open:
		return moveOpen, record{Audit: model.Audit{Kind: s.kind, Seen: s.seen, Detail: s.detail, Since: p.now}, At: p.now}
	}
	r := *prev
	same := prev.Seen == s.seen
	r.Seen, r.Detail, r.At = s.seen, s.detail, p.now
	return nextOpen(*prev, r, same, *s, p)
}

// nextOpen is next for a finding that was open and still is; r is prev with the new evidence.
func nextOpen(prev, r record, same bool, s sighting, p policy) (move, record) {
	switch {
	case s.remedy == byWait || s.remedy == byNudge && p.inCap && !p.mayNow && (!same || !prev.Nudged):
		if same {
			return moveNone, prev
		}
		r.Nudged, r.Escalated = false, false
		return moveTell, r
	case s.remedy == byPerson || !p.inCap:
		return escalate(prev, r, same)
	case same && prev.Nudged:
		if patience := p.patience(s.kind); prev.Escalated || p.now.Sub(prev.At) < patience {
			return moveNone, prev
		}
		return escalate(prev, r, same)
	case prev.Nudges >= nudgesMax:
		return escalate(prev, r, same)
	}
	r.Nudged, r.Escalated, r.Nudges = true, false, prev.Nudges+1
	return moveNudge, r
}

// escalate says once that a person must look; again only when the evidence is another.
func escalate(prev, r record, same bool) (move, record) {
	if same && prev.Escalated {
		return moveNone, prev
	}
	r.Escalated = true
	return moveTell, r
}

// patience is how long a nudge has to work.
func (p policy) patience(kind model.AuditKind) time.Duration {
	if p.backlog && kind == model.AuditMissing {
		return backlogPatience * p.every
	}
	return p.every
}
