package auditor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// results looks at what a DONE day left behind. Every check is made whatever became of the others.
func (r *round) results(ctx context.Context, day model.Day, mark model.Watermark, l *look) {
	if r.newest == nil {
		return // the tables cannot be read: not known
	}
	n, there := r.newest[day]
	if !there {
		l.saw(sighting{
			kind: model.AuditUnpublished, seen: "lost-" + mark.Committed, remedy: byNudge, cause: model.CauseNudge,
			detail: fmt.Sprintf("the watermark tells of version %d, and no version is committed", mark.Version),
		})
		return
	}
	r.failed(r.published(ctx, day, mark, n, l))
	r.carry(day, n, l)
	c, err := r.a.tables.claim(ctx, r.job.Name, day, n.runID)
	if err != nil {
		r.failed(err)
		return
	}
	r.failed(r.balance(ctx, day, n, c, l))
	if day >= r.cap || r.a.Deep || r.has(day, model.AuditSourceChanged) {
		r.failed(r.a.recount(ctx, r.job, day, c, l))
		r.archived(day, l)
	}
}

func (r *round) has(day model.Day, kind model.AuditKind) bool {
	_, ok := r.open[keyOf(r.job.Name, day, kind)]
	return ok
}

// archived drops a finding about a source that cannot be read beyond the cap: old files are moved away.
func (r *round) archived(day model.Day, l *look) {
	if s, ok := l.found[model.AuditSourceChanged]; ok && day < r.cap && s.remedy == byPerson {
		delete(l.found, model.AuditSourceChanged)
	}
}

// published holds the committed version against what the watermark and the stream tell of.
func (r *round) published(ctx context.Context, day model.Day, mark model.Watermark, n newest, l *look) error {
	told, err := r.lastCommitted(ctx, day)
	if err != nil {
		return err
	}
	l.clean(model.AuditUnpublished)
	var why []string
	if mark.Committed != n.runID || mark.Version != n.version || mark.Published != n.version {
		why = append(why, fmt.Sprintf("version %d (run %s) is committed, the watermark tells of version %d (run %s), published %d",
			n.version, n.runID, mark.Version, mark.Committed, mark.Published))
	}
	if told == nil && r.kept(n) {
		why = append(why, fmt.Sprintf("version %d is committed, and stream %s has no committed event of the day", n.version, bus.StreamDiffs))
	}
	if told != nil && (told.Version != n.version || told.RunID != n.runID) {
		why = append(why, fmt.Sprintf("version %d (run %s) is committed, stream %s last tells of version %d (run %s)",
			n.version, n.runID, bus.StreamDiffs, told.Version, told.RunID))
	}
	if len(why) > 0 {
		cause := model.CauseNudge
		if told != nil && told.Version >= n.version && told.RunID != n.runID {
			cause = model.CauseChanged // told again, its events would have ids that readers know: only a version above reaches them
		}
		l.saw(sighting{
			kind: model.AuditUnpublished, seen: n.runID, detail: strings.Join(why, "; "), remedy: byNudge, cause: cause,
		})
	}
	return nil
}

// kept reports whether an event of the version's age must still be in the stream.
func (r *round) kept(n newest) bool {
	for _, s := range bus.Streams() {
		if s.Name == bus.StreamDiffs {
			return r.now.Sub(n.committedAt) < s.MaxAge*9/10
		}
	}
	return true
}

// lastCommitted is the last committed event of a day, nil when the stream has none.
func (r *round) lastCommitted(ctx context.Context, day model.Day) (*model.BatchData, error) {
	subject, err := bus.Batch(r.job.Name, day.String(), string(model.BatchCommitted))
	if err != nil {
		return nil, err
	}
	m, _, err := r.a.Bus.Last(ctx, bus.StreamDiffs, subject)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var e model.Event
	var d model.BatchData
	if json.Unmarshal(m.Body, &e) != nil || json.Unmarshal(e.Data, &d) != nil {
		return &model.BatchData{RunID: "unreadable"}, nil // told, but not by a recon: it is not the committed version
	}
	return &d, nil
}

// carry holds the pool that was taken in against the one that the day before hands on.
func (r *round) carry(day model.Day, n newest, l *look) {
	before, ok := r.job.PreviousDay(day)
	if ok && !r.calm(before) {
		return // what it hands on may be on its way: not known
	}
	want := ""
	if ok {
		handed, there := r.newest[before]
		if !there && n.carryIn != "" && r.job.CarryDays > 0 {
			return // the version that handed it on is lost: that day is to be mended first, an empty pool would be worse
		}
		want = handed.carryOut
	}
	l.clean(model.AuditCarryStale)
	if r.job.CarryDays == 0 {
		return
	}
	if n.carryIn != want {
		l.saw(sighting{
			kind: model.AuditCarryStale, seen: shortHash(want, n.carryIn), remedy: byNudge, cause: model.CauseCarry,
			detail: fmt.Sprintf("took in the pool %q, the day before hands on %q", short(n.carryIn), short(want)),
		})
	}
}

// short cuts a digest for a reader.
func short(digest string) string { return digest[:min(len(digest), 12)] }

// balance derives the balance of the committed version again, unless this process has found it clean.
func (r *round) balance(ctx context.Context, day model.Day, n newest, c claim, l *look) error {
	if v, ok := r.m.verified[day]; ok && v.runID == n.runID && r.now.Sub(v.at) < recountEvery && !r.has(day, model.AuditUnbalanced) {
		l.clean(model.AuditUnbalanced)
		return nil
	}
	d, err := r.a.tables.derive(ctx, r.job.Job, day, n)
	if damaged(err) {
		delete(r.m.verified, day)
		l.clean(model.AuditUnbalanced)
		l.saw(sighting{
			kind: model.AuditUnbalanced, seen: shortHash("damaged", n.runID), remedy: byPerson,
			detail: fmt.Sprintf("version %d can not be read back: %v; replay the day, and look after the disk", n.version, err),
		})
		return nil
	}
	if err != nil {
		return err
	}
	l.clean(model.AuditUnbalanced)
	found := problems(r.job.Job, n, c, d)
	if len(found) == 0 {
		r.m.verified[day] = verified{runID: n.runID, at: r.now}
		return nil
	}
	delete(r.m.verified, day)
	l.saw(sighting{
		kind: model.AuditUnbalanced, seen: shortHash(append(found, n.runID)...), remedy: byPerson,
		detail: strings.Join(found, "; ") + "; version " + fmt.Sprint(n.version) + " must not be relied on: find out why, then replay the day",
	})
	return nil
}
