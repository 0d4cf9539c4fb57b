package world

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// pauseMost is how long a look of the auditor lasts at most, together with what its clock may be off by.
const pauseMost = 3 * time.Hour

// placeOf reads job and date out of the subject of an event.
func placeOf(subject string) (mem.Place, bool) {
	_, rest, _ := strings.Cut(subject, ".")
	return place(rest)
}

// commits looks at a commit when it is sent: its holder still has the lease (G1). A process that was frozen between its
// last look at the clock and this may be late; for that there is the version.
func (v *watcher) commits(p *process, b model.Batch) {
	w := v.w
	w.bucket.expire()
	if now := w.now(); now.Sub(p.thawed) < time.Minute || v.lostBetween(now, now) {
		return
	}
	lease := w.bucket.now[bucketPrefix+"lease."+b.ID()]
	if lease == nil || lease.marker() || w.bucket.lastSeq(bucketPrefix+"fence."+b.ID()) != b.Fence {
		w.violate("G1: %s commits %s under fence %d without the lease", p, b.ID(), b.Fence)
	}
}

// loaded: what is committed was taken from whole files (G8).
func (v *watcher) loaded(p mem.Place, b model.Batch) {
	job := v.job(p.Job)
	if job == nil || v.spoilt[b.SnapshotID] {
		return
	}
	for _, side := range model.Sides {
		if _, ok := v.w.versionOf(job, p.Day, side, b.SnapshotID); !ok {
			v.w.violate("G8: version %d of %s takes a part of its %s for the whole", b.Version, b.ID(), side)
		}
	}
}

// ended: before a batch gets a new version, the events of the last one are complete (G5).
func (v *watcher) ended(p mem.Place, b model.Batch) {
	now := v.w.now()
	if b.Previous != "" && !v.lostBetween(now, now) && !v.w.closed(p, b.Previous) {
		v.w.violate("G5: version %d of %s is there, and the events of run %s before it never ended", b.Version, b.ID(), b.Previous)
	}
}

// asks looks at a nudge of the auditor when it is sent: only days inside the cap, and of a strict job none after one that
// was never done (design, section 10).
func (v *watcher) asks(m bus.Message) {
	var body struct {
		Finding string `json:"finding"`
	}
	rest, isNudge := strings.CutPrefix(m.Subject, "day.nudge.")
	p, ok := place(rest)
	b := v.job(p.Job)
	if !isNudge || !ok || b == nil || json.Unmarshal(m.Body, &body) != nil || body.Finding == "" {
		return
	}
	now := v.w.now()
	if old := now.Add(-pauseMost); p.Day < capAt(b.job, old) {
		v.w.violate("G2: %s is sent although the day has left the cap", m.Subject)
	} else if b.job.Order == model.Strict && !v.lostBetween(old, now) {
		due := b.job.DueDays(capAt(b.job, now.Add(pauseMost)), old)
		if i := slices.IndexFunc(due, func(d model.Day) bool {
			e := mem.Place{Job: p.Job, Day: d}
			return d < p.Day && !v.done[e] && !v.drilledBetween(e, old, now)
		}); i >= 0 {
			v.w.violate("G2: %s is sent before %s was done", m.Subject, due[i])
		}
	}
}

// capAt is the first day that is repaired without being asked.
func capAt(job model.Job, at time.Time) model.Day {
	newest, ok := job.NewestDue(at)
	if !ok {
		return job.FirstDay()
	}
	return job.CapStart(newest)
}

// look lets checkers see what was sent since the last decision.
func (w *World) look() {
	w.mu.Lock()
	var fresh []*call
	for _, c := range w.pending {
		if c.sent != nil {
			fresh = append(fresh, c)
		}
	}
	w.mu.Unlock()
	slices.SortStableFunc(fresh, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.by.num, b.by.num), strings.Compare(a.label, b.label))
	})
	for _, c := range fresh {
		c.sent()
		c.sent = nil
	}
}
