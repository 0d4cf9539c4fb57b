package auditor

import (
	"context"
	"encoding/json"
	"fmt"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// movesMax is how many transitions one pass makes of one finding: open, nudge, tell.
const movesMax = 3

// follow takes a finding as far as it goes in this pass and returns its state and whether that was told anew. s is nil
// when the finding is known to be gone.
func (a *Auditor) follow(ctx context.Context, k findingKey, s *sighting, p policy) (*entry, bool, error) {
	changed := false
	for range movesMax {
		prev := a.book.get(k)
		var was *record
		if prev != nil {
			was = &prev.record
		}
		m, r := next(was, s, p)
		if m == moveNone {
			return prev, changed, nil
		}
		if err := a.make(ctx, k, prev, m, r, s); err != nil {
			return prev, changed, err
		}
		changed = true
	}
	return a.book.get(k), changed, nil
}

// make does one move. A nudge is sent before it is told: told first, a crash in between would escalate what was never
// nudged; sent first, it is sent again under the same id.
func (a *Auditor) make(ctx context.Context, k findingKey, prev *entry, m move, r record, s *sighting) error {
	r.Job, r.Instance = k.job, a.Instance
	if k.day != "" {
		day, err := model.ParseDay(k.day)
		if err != nil {
			return err
		}
		r.Day = &day
	}
	r.Episode = 0
	if m != moveOpen {
		r.Episode = prev.episode()
	}
	if m == moveNudge {
		if err := a.nudge(ctx, k, *s, r.Episode, r.Nudges); err != nil {
			return err
		}
	}
	a.log.Info("finding", "job", k.job, "biz_date", k.day, "finding", string(k.kind), "state", stateOf(r), "seen", r.Seen, "detail", r.Detail)
	return a.book.tell(ctx, k, prev, r)
}

// stateOf is one word for a reader.
func stateOf(r record) string {
	switch {
	case r.Resolved:
		return "resolved"
	case r.Escalated:
		return "escalated"
	case r.Nudged:
		return "nudged"
	}
	return "open"
}

// nudge asks recon to look at a day. The id holds cause, evidence and episode and the how manieth nudge of the episode
// it is, so that all replicas and every repetition send one, and a cause that came back after a cure sends another.
func (a *Auditor) nudge(ctx context.Context, k findingKey, s sighting, episode uint64, n int) error {
	subject, err := bus.DayNudge(k.job, k.day)
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]string{"cause": string(s.cause), "seen": s.seen, "finding": string(k.kind)})
	if err != nil {
		return err
	}
	id := fmt.Sprintf("nudge/%s/%s/%s/%s-%s-%d-%d", k.job, k.day, s.cause, k.kind, s.seen, episode, n)
	if _, err := a.Bus.Publish(ctx, bus.Message{Subject: subject, ID: id, Body: data}); err != nil {
		return err
	}
	a.metrics.nudges.WithLabelValues(k.job, string(k.kind)).Inc()
	return nil
}
