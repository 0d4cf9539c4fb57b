package world

import (
	"context"
	"slices"
	"time"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/control"
	"daybreak/pkg/model"
)

// Heartbeats are written far less often than in production, and live as much longer: two hours and eight instead of ten
// seconds and forty.
const (
	beatScale = 720
	beatEvery = beatScale * control.BeatEvery
	beatLives = beatScale * control.BeatTTL

	tickerWake = 10 * time.Minute // the longest sleep of a ticker's loop

	startsAgain = " starts again"
	staleReads  = 0.04
)

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// loop runs production code that is to run as long as the process.
func (p *process) loop(label string, f func(ctx context.Context)) {
	p.loops = append(p.loops, label)
	p.work(label, func(ctx context.Context) func() {
		f(ctx)
		return func() {
			if !p.stopping {
				p.n.w.violate("G2: %s: %s has ended by itself", p, label)
			}
		}
	})
}

// beats writes the heartbeats of a process whose own loop is not run.
func (p *process) beats(ctx context.Context) {
	for ctx.Err() == nil {
		_ = p.control.Beat(ctx, p.n.kind, p.n.name, time.Now().Add(time.Duration(p.n.offset.Load())))
		t := time.NewTimer(beatEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// outage takes a whole service away for longer than its heartbeats live: an auditor that looks in that time says so.
func (w *World) outage(some func(n int, what string, do func())) {
	if !w.chance(0.06) {
		return
	}
	kind := []string{"ticker", "recon"}[w.rng.IntN(2)]
	some(1, "every "+kind+" is gone", func() {
		w.Faults["service gone"]++
		gone, back := w.now(), w.now().Add(beatLives+4*time.Hour)
		for _, n := range w.nodes {
			if n.kind == kind {
				n.down = back
				n.now.crash()
			}
		}
		w.agenda = slices.DeleteFunc(w.agenda, func(e event) bool {
			return slices.ContainsFunc(w.nodes, func(n *node) bool { return n.kind == kind && e.label == n.name+startsAgain })
		})
		for _, n := range w.nodes {
			if n.kind == kind {
				w.at(back, n.name+startsAgain, n.start)
			}
		}
		said := w.watch.said["auditor: "+string(model.AuditSilent)]
		w.at(back.Add(-time.Second), "the outage ends", func() {
			if w.passed.After(gone.Add(beatLives+inFlight)) && w.watch.said["auditor: "+string(model.AuditSilent)] == said {
				w.violate("G2: there was no %s for %v, and nobody says so", kind, back.Sub(gone))
			}
		})
	})
}

// drill removes the watermark of a day, as the command of that name does: it has to come back.
func (w *World) drill() {
	n, b := w.some("desk"), w.jobs[w.rng.IntN(len(w.jobs))]
	due := b.job.DueDays(capAt(b.job, w.now()), w.now())
	if n == nil || len(due) == 0 {
		return
	}
	w.Faults["drill"]++
	p, day := n.now, due[w.rng.IntN(len(due))]
	p.work("drilled", func(ctx context.Context) func() {
		err := p.control.Forget(ctx, b.job.Name, day)
		return func() { w.note("%s: drill of %s %s: %v", p, b.job.Name, day, err) }
	})
}

// tick waits for the next due instant of every job, without faults but with tickers that began by a wrong clock which is
// then set right: their own loop publishes the day before it may sleep again.
func (w *World) tick() {
	off := w.between(-90*time.Minute, 90*time.Minute)
	for _, n := range w.nodes {
		if n.kind == "ticker" {
			n.offset.Store(int64(off))
			n.now.crash()
			n.start()
		}
	}
	w.run(w.now().Add(w.between(time.Minute, 40*time.Minute)), nil)
	for _, n := range w.nodes {
		n.offset.Store(0)
	}
	begun := w.now()
	for _, b := range w.jobs {
		at := b.job.NextDue(begun)
		day, _ := b.job.NewestDue(at)
		if at.Sub(begun) > 4*24*time.Hour {
			w.violate("G2: the next day of %s is due at %v only", b.job.Name, at)
		}
		w.run(later(w.now(), at.Add(tickerWake+time.Minute)), nil)
		p := mem.Place{Job: b.job.Name, Day: day}
		if told := w.watch.due[p]; len(w.violated) == 0 && (told.IsZero() || told.After(at.Add(tickerWake))) {
			w.violate("G2: %s %s is due at %v and was published at %v", p.Job, day, at, told)
		}
	}
}

// dueDays are the due days of a job by weekday, holiday, and the hands of the clock on the wall: a day is due at the
// first instant at which the wall shows its time or more.
func (w *World) dueDays(b *book) (days []model.Day) {
	day := time.Date(w.first.UTC().Year(), w.first.UTC().Month(), w.first.UTC().Day(), 0, 0, 0, 0, time.UTC)
	for ; ; day = day.AddDate(0, 0, 1) {
		d := model.NewDay(day.Year(), day.Month(), day.Day())
		if b.job.Calendar.Holidays[d] || !b.job.Calendar.Weekdays[day.Weekday()] {
			continue
		}
		next := day.AddDate(0, 0, b.job.Due.AfterDays)
		want := next.Add(time.Duration(b.job.Due.At.Hour)*time.Hour + time.Duration(b.job.Due.At.Minute)*time.Minute)
		if first := w.onTheWall(b.job.Location, want); first.After(w.now()) {
			return days
		}
		days = append(days, d)
	}
}

// onTheWall is the first instant at which a wall clock in a zone shows a time or a later one; want is that time as if it
// were in UTC.
func (w *World) onTheWall(zone *time.Location, want time.Time) time.Time {
	for at := want.Add(-15 * time.Hour); ; at = at.Add(time.Minute) {
		here := at.In(zone)
		if shown := time.Date(here.Year(), here.Month(), here.Day(), here.Hour(), here.Minute(), 0, 0, time.UTC); !shown.Before(want) {
			return at
		}
	}
}
