package world

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/review"
)

// Outcome is what became of a seed.
type Outcome struct {
	Seed     uint64
	Digest   uint64 // of everything that happened
	Steps    int
	Runs     int // days that became DONE, again included
	Faults   map[string]int
	Seen     map[string]int // what the product itself said was wrong
	Violated []string
}

// Run plays one seed. The trace may be nil.
func Run(t *testing.T, seed uint64, mutant Mutant, trace io.Writer) Outcome {
	var out Outcome
	synctest.Test(t, func(*testing.T) {
		w := newWorld(seed, mutant, trace)
		mutant.mutate(w.db)
		w.play()
		out = Outcome{
			Seed: seed, Digest: w.digest.Sum64(), Steps: w.steps, Runs: w.watch.runs, Faults: w.Faults, Seen: w.watch.said, Violated: w.violated,
		}
		w.close()
	})
	return out
}

// play is the story of a seed.
func (w *World) play() {
	w.first = firstDays[w.rng.IntN(len(firstDays))]
	w.jobs = append(w.jobs, newBook(w, "strict", model.Strict), newBook(w, "loose", model.Independent))
	begin := w.first.Add(1).UTC().Add(-16 * time.Hour) // before the first day is due in any zone
	time.Sleep(begin.Sub(w.now()))
	for _, kind := range []string{"ticker", "ticker", "recon", "recon", "recon", "auditor", "auditor", "desk"} {
		n := &node{w: w, kind: kind, name: fmt.Sprintf("%s-%d", kind, len(w.nodes))}
		w.nodes = append(w.nodes, n)
		n.start()
	}
	last := max(w.jobs[0].days[span-1], w.jobs[1].days[span-1])
	stop := begin.Add(time.Duration(last-w.first+2) * 24 * time.Hour)
	w.plan(begin, stop)
	w.run(stop, nil)
	w.heal()
	w.tick()
	w.calm()
	if len(w.violated) == 0 {
		w.final()
	}
}

// plan draws what people, providers and clocks do and when.
func (w *World) plan(begin, stop time.Time) {
	length := stop.Sub(begin)
	some := func(n int, what string, do func()) {
		for range n {
			w.at(begin.Add(w.between(0, length)), what, do)
		}
	}
	some(3, "a ticker scans", w.scan)
	some(14*len(w.jobs), "an auditor looks", func() { w.audit(w.jobs[w.rng.IntN(len(w.jobs))]) })
	some(w.rng.IntN(6), "somebody replays", w.replay)
	some(w.rng.IntN(10), "somebody reviews", w.review)
	some(w.rng.IntN(3), "somebody publishes nonsense", w.nonsense)
	some(1, "a recon sweeps", w.sweep)
	for _, b := range w.jobs {
		for _, day := range b.days {
			for _, side := range model.Sides {
				w.deliverFiles(b, side, day)
			}
		}
	}
	if w.chance(0.1) {
		some(1, "a row gets lost", w.tamper)
	}
	w.losses(some)
	some(w.rng.IntN(2), "somebody drills", w.drill)
	w.outage(some)
}

// deliverFiles draws when a file comes, and whether it is whole and right.
func (w *World) deliverFiles(b *book, side model.Side, day model.Day) {
	s, due := b.sheet(side, day), b.job.DueAt(day)
	what := fmt.Sprintf("%s %s %s", b.job.Name, day, side)
	if w.chance(0.25) {
		w.Faults["file late"]++
		s.there = false
		w.at(due.Add(w.between(-30*time.Minute, b.job.Due.Patience+2*time.Hour)), "file comes: "+what, func() { s.there = true; s.touched++ })
	}
	if w.chance(0.1) {
		w.Faults["file cut"]++
		s.cut, s.atLine = true, w.chance(0.5)
		w.at(due.Add(w.between(time.Minute, 8*time.Hour)), "file is made whole: "+what, func() { s.cut = false; s.touched++ })
	}
	if w.chance(0.15) {
		w.Faults["file corrected"]++
		w.at(due.Add(w.between(0, 30*time.Hour)), "file is corrected: "+what, func() { b.correct(side, day) })
	}
}

func (w *World) some(kind string) *node {
	var all []*node
	for _, n := range w.nodes {
		if n.kind == kind && n.free(1+len(n.now.loops)) {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.rng.IntN(len(all))]
}

func (w *World) scan() {
	if n := w.some("ticker"); n != nil {
		n.now.work("scanned", func(ctx context.Context) func() { _, _ = n.now.ticker.Scan(ctx); return func() {} })
	}
}

func (w *World) audit(b *book) {
	if n := w.some("auditor"); n != nil {
		p := n.now
		p.work("looked at "+b.job.Name, func(ctx context.Context) func() {
			begun := w.now()
			_, err := p.auditor.Pass(ctx, b.job.Name)
			return func() {
				w.note("%s: pass: %v", p, err)
				if err == nil {
					w.passed = begun
				}
			}
		})
	}
}

func (w *World) sweep() {
	if n := w.some("recon"); n != nil {
		p := n.now
		p.work("swept", func(ctx context.Context) func() { _ = p.recon.Sweep(ctx); return func() {} })
	}
}

// replay publishes as a person does: without a message id.
func (w *World) replay() {
	w.Faults["replay"]++
	b := w.jobs[w.rng.IntN(len(w.jobs))]
	due := b.job.DueDays(b.job.Start, w.now())
	if len(due) == 0 {
		return
	}
	day := due[w.rng.IntN(len(due))]
	if w.chance(0.2) {
		w.store(bus.Message{
			Subject: "day.replay." + b.job.Name, Body: fmt.Appendf(nil, `{"from":"%s","to":"%s","by":"sim"}`, due[0], day),
		})
		return
	}
	w.store(bus.Message{Subject: "day.replay." + b.job.Name + "." + day.String()})
}

func (w *World) nonsense() {
	w.Faults["nonsense"]++
	bad := []bus.Message{
		{Subject: "day.replay.strict.2000-01-05", Body: []byte("{not json")},
		{Subject: "day.replay.strict.2000-02-30"},
		{Subject: "day.replay.nosuch.2000-01-05"},
		{Subject: "day.replay.loose.2030-01-05"},
		{Subject: "day.replay.loose", Body: []byte(`{"from":"2000-01-05"}`)},
		{Subject: "day.due.loose.1999-01-05"},
	}
	m := bad[w.rng.IntN(len(bad))]
	seq := uint64(len(w.streams[bus.StreamDays].all) + 1)
	w.watch.poison[seq] = m.Subject
	w.store(m)
}

// review makes a step on some diff that is shown, as a person with a console does.
func (w *World) review() {
	n := w.some("desk")
	var all []mem.Diff
	for _, b := range w.jobs {
		for _, day := range b.days {
			_, _, rows, _ := w.db.Visible(mem.Place{Job: b.job.Name, Day: day})
			all = append(all, rows.Diffs...)
		}
	}
	if n == nil || len(all) == 0 {
		return
	}
	w.Faults["review"]++
	p, d := n.now, all[w.rng.IntN(len(all))]
	states := []model.ReviewState{model.ReviewInvestigating, model.ReviewInvestigating, model.ReviewResolved, model.ReviewAccepted}
	step := review.Step{Job: d.Job, Day: d.Day, DiffID: d.ID, To: states[w.rng.IntN(len(states))], By: "sim", Note: "looked at it"}
	p.work("reviewed "+d.Key, func(ctx context.Context) func() {
		r, err := p.desk.Make(ctx, step)
		return func() {
			w.note("%s: step %d of %s: %v", p, r.Step, d.Key, err)
			kept, ok := w.watch.promise[d.ID]
			if inTable, there := w.db.Review(d.ID); there && (!ok || kept.Step < inTable.Step) && w.watch.lostBetween(w.now(), w.now()) {
				kept, ok = inTable, true // the bucket was lost while it was made: it comes back from the table
				w.watch.promise[d.ID] = kept
			}
			if err == nil && (!ok || kept.Step < r.Step) {
				w.violate("G4: step %d of %s was confirmed and is not kept", r.Step, d.Key)
			}
		}
	})
}

// tamper loses a row of a committed version, as a disk or a careless hand does.
func (w *World) tamper() {
	for _, b := range w.jobs {
		for _, day := range b.days {
			p := mem.Place{Job: b.job.Name, Day: day}
			batch, ok := w.db.Newest(p)
			rows := w.db.Get(p, batch.RunID)
			if !ok || len(rows.Diffs) == 0 || w.chance(0.5) {
				continue
			}
			k := w.rng.IntN(len(rows.Diffs))
			if _, reviewed := w.watch.promise[rows.Diffs[k].ID]; reviewed {
				continue
			}
			w.Faults["row lost"]++
			w.watch.excuse(p.Job, "a row was lost")
			rows.Diffs = slices.Delete(rows.Diffs, k, k+1)
			v := w.watch.seen[p]
			v.digest, v.rows = digestOf(rows), len(rows.Diffs)+len(rows.Pool)
			w.watch.seen[p] = v
			return
		}
	}
}

// heal ends all faults.
func (w *World) heal() {
	w.note("faults end")
	w.chaos = false
	for _, n := range w.nodes {
		n.offset.Store(0)
		n.down = time.Time{}
		if n.now.frozen {
			n.now.thaw()
		}
		if n.now.dead || n.now.stopping || n.kind == "auditor" { // a new auditor derives every balance anew
			n.now.crash()
			n.start()
		}
	}
	w.agenda = slices.DeleteFunc(w.agenda, func(e event) bool { return strings.HasSuffix(e.label, startsAgain) })
}

// calm lets everything settle: scans and looks, until two rounds of them change nothing.
func (w *World) calm() {
	quiet := 0
	for range 60 {
		if len(w.violated) > 0 || quiet >= 3 {
			return
		}
		before := w.activity()
		for _, b := range w.jobs {
			w.in(2*time.Minute, "an auditor looks", func() { w.audit(b) })
		}
		w.run(w.now().Add(31*time.Minute), nil)
		if quiet++; w.activity() != before {
			quiet = 0
		}
	}
	w.violate("the world does not settle")
}

// activity changes with everything that is told or stored, but not when the same is found again.
func (w *World) activity() string {
	fresh, unsettled := w.days.pending()
	n := 0
	for _, s := range w.streams {
		n += len(s.all)
	}
	marks := 0
	for _, m := range w.watch.marks {
		marks += len(m)
	}
	return fmt.Sprint(n, marks, fresh, unsettled, len(w.agenda))
}

// close ends every process and its goroutines.
func (w *World) close() {
	w.chaos = false
	for _, n := range w.nodes {
		if n.now.frozen {
			n.now.thaw()
		}
		n.now.crash()
	}
	time.Sleep(time.Hour) // pauses between two tries end
	synctest.Wait()
}
