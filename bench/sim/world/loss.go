package world

import (
	"encoding/json"
	"slices"
	"time"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// inFlight is how long after a loss what was on its way may still arrive: work that was begun before it, and answers.
const inFlight = 10 * time.Minute

// losses draws whether a whole store goes, and when. What the services do by themselves has to bring every day back; the
// commands for people come on top of it. Every service may live through it, or all are started anew with the store.
func (w *World) losses(some func(n int, what string, do func())) {
	for _, l := range []struct {
		kind string
		of   float64
		do   func()
	}{
		{"bucket lost", 0.05, w.loseBucket},
		{"tables lost", 0.05, w.loseTables},
		{"streams and bucket lost", 0.03, func() { w.loseStreams(); w.loseBucket() }},
	} {
		if !w.chance(l.of) {
			continue
		}
		restart := w.chance(0.5)
		some(1, l.kind, func() {
			w.Faults[l.kind]++
			if restart {
				w.restartAll()
			}
			l.do()
			w.watch.lost = append(w.watch.lost, w.now())
		})
	}
}

func (w *World) restartAll() {
	for _, n := range w.nodes {
		n.now.crash()
	}
}

// loseBucket begins the control bucket anew: no key is left, and its sequences restart. A review step that had no time to
// reach the table is lost with it: nobody was told that it is kept.
func (w *World) loseBucket() {
	b := w.bucket
	b.seq, b.now, b.past, b.ids = 0, map[string]*record{}, nil, map[string]stored{}
	w.watch.done = map[mem.Place]bool{}
	for id := range w.watch.promise {
		if kept, ok := w.db.Review(id); ok {
			w.watch.promise[id] = kept
		} else {
			delete(w.watch.promise, id)
		}
	}
}

// loseStreams begins the streams anew, with them what was in recon's hand or waited for it.
func (w *World) loseStreams() {
	for _, s := range w.streams {
		s.ids, s.all = map[string]stored{}, nil
	}
	w.days.letters = nil
	w.watch.marks = map[mem.Place][]mark{}   // their triggers name messages that are no more
	w.watch.version = map[mem.Place]uint64{} // the tables may be lost too, and then nothing is left that knows
	w.watch.poison, w.watch.bodies = map[uint64]string{}, map[string][]byte{}
}

// loseTables leaves empty tables behind. The rows of runs that are at work are gone too, so what these commit does not
// account for its entries: they are the auditor's to find. What was cleared before cannot come back.
func (w *World) loseTables() {
	for p, marks := range w.watch.marks {
		if m := marks[len(marks)-1]; m.Status == model.Running || w.now().Sub(m.at) < inFlight {
			w.watch.excuse(p.Job, "the tables were lost under a run")
		}
	}
	for _, runs := range w.db.Runs {
		for id := range runs {
			w.watch.spoilt[id] = true
		}
	}
	w.db.Lose()
	for p, v := range w.watch.seen {
		w.watch.version[p] = max(w.watch.version[p], v.version)
	}
	w.watch.seen = map[mem.Place]shown{}
	for id, want := range w.watch.promise {
		var kept model.Review
		w.watch.forgiven[id] = true
		if !w.bucket.get("review."+model.BatchID(want.Job, want.Day)+"."+id, &kept) || kept.Step < want.Step {
			delete(w.watch.promise, id) // the bucket had lost it before, and no auditor has looked since
		}
	}
}

// lostBetween reports whether a store was lost between two instants or, for a moment longer, just before them.
func (v *watcher) lostBetween(from, to time.Time) bool {
	return within(v.lost, from, to)
}

// drilledBetween is lostBetween for the watermark of one day.
func (v *watcher) drilledBetween(p mem.Place, from, to time.Time) bool {
	return within(v.drilled[p], from, to)
}

func within(all []time.Time, from, to time.Time) bool {
	return slices.ContainsFunc(all, func(at time.Time) bool { return at.After(from.Add(-inFlight)) && !at.After(to) })
}

// closed reports whether the stream of events has the closing event of a run.
func (w *World) closed(p mem.Place, run string) bool {
	subject := "batch." + model.BatchID(p.Job, p.Day) + "." + string(model.BatchCommitted)
	for _, m := range w.streams[bus.StreamDiffs].all {
		if m.Subject == subject && closedBy(m) == run {
			return true
		}
	}
	return false
}

// closedBy is the run whose events a message closes.
func closedBy(m message) string {
	var e model.Event
	var closed model.BatchData
	if json.Unmarshal(m.Body, &e) != nil || json.Unmarshal(e.Data, &closed) != nil {
		return ""
	}
	return closed.RunID
}
