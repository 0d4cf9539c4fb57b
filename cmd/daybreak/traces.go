package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// lack is what one of the three places that know of a committed day does not have.
type lack string

const (
	lackFloor  lack = "floor"     // control bucket: from which day on the job is complete for ever
	lackMark   lack = "watermark" // control bucket: written again from the commit row
	lackResult lack = "result"    // tables: only the sources have it, so the day is computed again
	lackEvents lack = "events"    // stream DIFFS: published again
	lackReview lack = "review"    // control bucket or tables, whichever is behind
	lackAsking lack = "request"   // stream DAYS: the message that a DONE day was computed for, so that its number will be given again
)

// traces are what the three places say of one day.
type traces struct {
	mark  *model.Watermark // control bucket; nil: it knows of nothing
	batch *model.Batch     // tables; nil: no committed version
	told  model.BatchData  // stream DIFFS: the version it closed last, zero when it has none
	open  []model.Audit    // findings that the tables hold as not cured
}

// lacks says what has to be made again, and why; "" for nothing. It is pure. Run ids are made in the order of time, so of
// two runs the one with the greater id is the later one.
//
// A day that is RUNNING, FAILED, WAITING or BLOCKED after the committed version is as the bucket says; so is one that
// committed and did not come to its end. Recon and auditor go on from there. But an attempt that knew of no version, where
// the tables have one, is of a bucket that was lost before it: it computes needlessly, and fails where old files were moved
// away.
func (t traces) lacks() (lack, string) {
	b, w := t.batch, t.mark
	switch {
	case b == nil && w != nil && w.Committed != "":
		return lackResult, fmt.Sprintf("the watermark tells of version %d (run %s), the tables have none", w.Version, w.Committed)
	case b == nil && w == nil && t.told.Version > 0:
		return lackResult, fmt.Sprintf("events tell of version %d (run %s), watermark and tables know nothing", t.told.Version, t.told.RunID)
	case b == nil:
		return "", ""
	case t.told.Version > b.Version:
		return lackResult, fmt.Sprintf("events tell of version %d (run %s), the tables have version %d (run %s)", t.told.Version, t.told.RunID, b.Version, b.RunID)
	case w == nil:
		return t.lostMark()
	case w.Committed == b.RunID || w.RunID == b.RunID:
		return t.lacksEvents()
	case w.Version > b.Version || w.Status == model.Done && w.RunID > b.RunID:
		return lackResult, fmt.Sprintf("the watermark tells of version %d (run %s), the tables have version %d (run %s)", w.Version, w.Committed, b.Version, b.RunID)
	case w.Version == 0 && w.Committed == "":
		return lackMark, fmt.Sprintf("version %d (run %s) is committed, and the day is %s by an attempt that knew of none", b.Version, b.RunID, w.Status)
	case b.RunID > w.RunID:
		return t.lostMark()
	}
	return "", ""
}

// lostMark is the case of a committed version that the bucket does not know. It is DONE, unless an auditor saw later that
// an attempt had failed: then nobody knows more than that the day has to be computed. That it was missing or blocked says
// nothing, as it is what a lost bucket looks like.
func (t traces) lostMark() (lack, string) {
	for _, f := range t.open {
		switch f.Kind {
		case model.AuditStuck, model.AuditFailed, model.AuditWaiting:
			if f.Since.After(t.batch.CommittedAt) {
				return lackResult, fmt.Sprintf("after version %d the day was found %s and not cured: %s", t.batch.Version, f.Kind, f.Detail)
			}
		}
	}
	if t.mark == nil {
		return lackMark, fmt.Sprintf("version %d (run %s) is committed and has no watermark", t.batch.Version, t.batch.RunID)
	}
	return lackMark, fmt.Sprintf("version %d (run %s) is committed, the watermark is older: version %d (run %s)", t.batch.Version, t.batch.RunID,
		t.mark.Version, t.mark.Committed)
}

// lacksEvents is the case of a bucket and tables that agree.
func (t traces) lacksEvents() (lack, string) {
	if t.mark.Status != model.Done || t.mark.Committed != t.batch.RunID || t.told.RunID == t.batch.RunID {
		return "", ""
	}
	if t.told.Version == 0 {
		return lackEvents, fmt.Sprintf("version %d is committed, stream %s tells of none", t.batch.Version, bus.StreamDiffs)
	}
	return lackEvents, fmt.Sprintf("version %d is committed, stream %s tells of version %d", t.batch.Version, bus.StreamDiffs, t.told.Version)
}

// restored is the watermark of a committed version as recon left it, as far as the tables know. Published is what the
// stream says, so that recon publishes what it does not have.
func (t traces) restored(instance string, now time.Time) model.Watermark {
	b := *t.batch
	w := model.Watermark{
		Status: model.Done, Phase: model.PhaseDone, RunID: b.RunID, Attempt: int(b.Version), Cause: b.Cause, //nolint:gosec // counts attempts
		Reason: "restored from the tables", Instance: instance, StartedAt: b.CommittedAt, BeatAt: now, FinishedAt: &b.CommittedAt,
		Version: b.Version, Snapshots: b.Seals, CarryIn: b.CarryIn, CarryOut: b.CarryOut, Committed: b.RunID,
	}
	if id, err := ulid.ParseStrict(b.RunID); err == nil && ulid.Time(id.Time()).Before(b.CommittedAt) {
		w.StartedAt = ulid.Time(id.Time()).UTC()
	}
	if t.told.RunID == b.RunID {
		w.Published = b.Version
	}
	return w
}

// lastTold is the version of a day that the stream closed last, zero when it knows of none.
func (a *app) lastTold(ctx context.Context, job string, day model.Day) (told model.BatchData, err error) {
	subject, err := bus.Batch(job, day.String(), string(model.BatchCommitted))
	if err != nil {
		return told, err
	}
	m, _, err := a.bus.Last(ctx, bus.StreamDiffs, subject)
	if errors.Is(err, bus.ErrNotFound) {
		return told, nil
	}
	if err != nil {
		return told, err
	}
	var e model.Event
	if err := json.Unmarshal(m.Body, &e); err != nil {
		return told, fmt.Errorf("the last message on %s is no event: %w", subject, err)
	}
	if err := json.Unmarshal(e.Data, &told); err != nil {
		return told, fmt.Errorf("the last message on %s is no event of a batch: %w", subject, err)
	}
	return told, nil
}

// tracesOf reads what the three places say of a day now.
func (a *app) tracesOf(ctx context.Context, job string, day model.Day, open []model.Audit) (traces, error) {
	t := traces{open: open}
	w, ok, err := a.control.Watermark(ctx, job, day)
	if err != nil {
		return t, err
	}
	if ok {
		t.mark = &w.Watermark
	}
	b, ok, err := a.store.Current(ctx, job, day)
	if err != nil {
		return t, err
	}
	if ok {
		t.batch = &b
	}
	t.told, err = a.lastTold(ctx, job, day)
	return t, err
}
