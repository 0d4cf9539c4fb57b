package recon

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
	"daybreak/pkg/store"
	"daybreak/pkg/tracing"
)

// begin makes the attempt known: RUNNING, under the fence.
func (a *attempt) begin(ctx context.Context) error {
	old := a.mark
	now := a.r.Clock.Now()
	a.mark = model.Watermark{
		RunID: a.r.newRunID(), Attempt: old.Attempt + 1, Cause: a.req.cause, Trigger: a.req.seq, Reason: a.req.reason,
		By: a.req.by, Instance: a.r.Instance, StartedAt: now,
		Version: old.Version, Published: old.Published, Snapshots: old.Snapshots, CarryIn: old.CarryIn,
		CarryOut: old.CarryOut, Committed: old.Committed, Failures: old.Failures,
	}
	a.log = a.log.With("run_id", a.mark.RunID)
	a.span.SetAttributes(tracing.RunID(a.mark.RunID))
	a.log.Info("reconciling")
	return a.enter(ctx, model.PhaseStart)
}

// enter writes the phase under the fence: a holder that was taken over stops here.
func (a *attempt) enter(ctx context.Context, phase model.Phase) error {
	now := a.r.Clock.Now()
	a.r.metrics.phase(a.job.Name, a.mark.Phase, now.Sub(a.entered))
	a.entered = now
	a.phase.End()
	_, a.phase = a.r.Tracer.Start(ctx, string(phase))
	a.mark.Status, a.mark.Phase, a.mark.BeatAt, a.mark.FinishedAt = model.Running, phase, now, nil
	if err := a.holding.Save(ctx, a.mark); err != nil {
		return err
	}
	a.r.Entered(a.job.Name, a.day, phase)
	return ctx.Err()
}

// finishEvents completes the events of the last committed version, which a crash may have cut short: a new version's
// events tell what changed against it.
func (a *attempt) finishEvents(ctx context.Context) error {
	if a.committed == nil || a.mark.Published >= a.committed.Version {
		return nil
	}
	if err := a.r.publishVersion(ctx, *a.committed); err != nil {
		return err
	}
	a.mark.Published = a.committed.Version
	return a.holding.Save(ctx, a.mark)
}

// pull lands both sides as sealed snapshots, or takes those of the committed version, and copies in the carried pool.
func (a *attempt) pull(ctx context.Context, act action) error {
	if err := a.enter(ctx, model.PhasePull); err != nil {
		return err
	}
	version, err := a.nextVersion(ctx)
	if err != nil {
		return err
	}
	a.batch = model.Batch{
		Job: a.job.Name, Day: a.day, Version: version, Fence: a.holding.Fence(), RunID: a.mark.RunID, SnapshotID: a.mark.RunID,
		Cause: a.req.cause, Reading: a.job.Rules.ReadingDigest(), Balance: *model.NewBalance(), Diffs: map[model.Kind]uint64{}, Seals: map[model.Side]model.Seal{},
	}
	if a.committed != nil {
		a.batch.Previous = a.committed.RunID
	}
	if act == actCompare {
		a.batch.SnapshotID, a.batch.Seals = a.committed.SnapshotID, a.committed.Seals
	} else if err := a.land(ctx); err != nil {
		return err
	}
	for _, side := range model.Sides {
		a.batch.Balance.Side(side).In.Merge(a.batch.Seals[side].Totals)
	}
	if a.pool == nil {
		return nil
	}
	return a.carryIn(ctx)
}

// nextVersion is one above every version that anybody can have seen: in the table, in the watermark, on the stream. With
// one of the stores lost, the others still know; a version that is used twice would give two things the same event id.
func (a *attempt) nextVersion(ctx context.Context) (uint64, error) {
	told, err := a.r.lastTold(ctx, a.job.Name, a.day)
	if err != nil {
		return 0, err
	}
	seen := max(a.mark.Version, a.mark.Published, told.Version)
	if a.committed != nil {
		seen = max(seen, a.committed.Version)
	}
	return seen + 1, nil
}

// errOtherRules says that the pool cannot be held against today's snapshot. It lasts until the days before were computed
// again, so the day is tried again.
var errOtherRules = errors.New("the pool carried in was read under another match.key, match.compare or status_map than the file has now")

// carryIn copies in the pool of the day before.
func (a *attempt) carryIn(ctx context.Context) error {
	if a.pool.Reading != a.batch.Reading {
		floor, err := a.r.floor(ctx, a.job.Job)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w; compute the days before again: daybreak replay %s %s..%s", errOtherRules, a.job.Name, floor, a.pool.Day)
	}
	carried, err := a.r.Tables.CarryIn(ctx, a.job.Name, a.day, a.batch.RunID, *a.pool)
	if err != nil {
		return err
	}
	a.batch.CarryIn = a.pool.CarryOut
	for _, side := range model.Sides {
		a.batch.Balance.Side(side).CarriedIn.Merge(carried[side])
		if out := a.pool.Balance.Side(side).CarriedOut; !out.Equal(carried[side]) {
			return fmt.Errorf("%s: the pool handed on by %s holds %s, %s came in: %w", side, a.pool.ID(), out, carried[side], model.ErrUnbalanced)
		}
	}
	return nil
}

// land pulls both sides at once. Each is sealed only when what the engine stored counts and totals the same as what was read.
func (a *attempt) land(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	seals := [2]model.Seal{}
	for i, side := range model.Sides {
		g.Go(func() (err error) {
			seals[i], err = a.landSide(ctx, side)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, side := range model.Sides {
		a.batch.Seals[side] = seals[i]
	}
	return a.job.Agreed(a.batch.Seals)
}

func (a *attempt) landSide(ctx context.Context, side model.Side) (model.Seal, error) {
	landing, err := a.r.Tables.Land(ctx, store.LandingID{Job: a.job.Name, Day: a.day, RunID: a.mark.RunID, Side: side})
	if err != nil {
		return model.Seal{}, err
	}
	var stored error
	seal, err := a.job.Of(side).Read(ctx, a.job.Request(a.day, side), func(e model.Entry) error {
		stored = landing.Add(e)
		return stored
	})
	if err != nil {
		landing.Abort()
		if stored != nil {
			return model.Seal{}, stored
		}
		return model.Seal{}, &source.SideError{Side: side, Err: err}
	}
	if err := landing.Close(ctx); err != nil {
		return model.Seal{}, err
	}
	got, err := a.r.Tables.SnapshotTotals(ctx, a.job.Name, a.day, a.mark.RunID, side)
	if err != nil {
		return model.Seal{}, err
	}
	if !got.Equal(seal.Totals) {
		return model.Seal{}, fmt.Errorf("%s: read %s, stored %s: %w", side, seal.Totals, got, model.ErrUnbalanced)
	}
	return seal, nil
}

// compare totals what matches exactly and judges the rest group by group.
func (a *attempt) compare(ctx context.Context) error {
	if err := a.enter(ctx, model.PhaseCompare); err != nil {
		return err
	}
	b := &a.batch
	cmp := store.Comparison{Job: b.Job, Day: b.Day, SnapshotID: b.SnapshotID, RunID: b.RunID, Mode: a.job.Rules.Mode}
	ledger, channel, err := a.r.Tables.Exact(ctx, cmp)
	if err != nil {
		return err
	}
	b.Balance.Ledger.Matched.Merge(ledger)
	b.Balance.Channel.Matched.Merge(channel)
	results, err := a.r.Tables.Results(ctx, b.Job, b.Day, b.RunID, b.Version)
	if err != nil {
		return err
	}
	j := &judge{batch: b, rules: a.job.Rules, closed: a.job.WindowClosed(a.day), results: results}
	if err := a.r.Tables.Residue(ctx, cmp, j.group); err != nil {
		results.Abort()
		return err
	}
	if _, err := results.Close(ctx); err != nil {
		return err
	}
	b.CarryOut = j.digest.String()
	if a.committed != nil {
		_, err = a.r.Tables.CarryOverCleared(ctx, *a.committed, b.RunID, b.Version)
	}
	return err
}

// commit makes the run visible by one row.
func (a *attempt) commit(ctx context.Context) error {
	if err := a.enter(ctx, model.PhaseCommit); err != nil {
		return err
	}
	a.batch.CommittedAt = a.r.Clock.Now()
	return a.r.Tables.Commit(ctx, a.batch)
}

// publish tells downstream what changed against the version before.
func (a *attempt) publish(ctx context.Context) error {
	if a.mark.Status != model.Done {
		if err := a.enter(ctx, model.PhaseEvents); err != nil {
			return err
		}
	}
	return a.r.publishVersion(ctx, a.batch)
}

// done is the last write of an attempt.
func (a *attempt) done(ctx context.Context) error {
	now := a.r.Clock.Now()
	b := a.batch
	a.r.metrics.phase(a.job.Name, a.mark.Phase, now.Sub(a.entered))
	a.mark.Status, a.mark.Phase, a.mark.FinishedAt, a.mark.BeatAt = model.Done, model.PhaseDone, &now, now
	a.mark.Version, a.mark.Published, a.mark.Committed = b.Version, b.Version, b.RunID
	a.mark.Snapshots, a.mark.CarryIn, a.mark.CarryOut = b.Seals, b.CarryIn, b.CarryOut
	a.mark.Error, a.mark.Sources, a.mark.Failures, a.mark.Lasting = "", "", 0, false
	if err := a.holding.Save(ctx, a.mark); err != nil {
		return err
	}
	a.r.metrics.done(a.job.Name, a.day, a.mark, now)
	a.log.Info("done", "version", b.Version, "open_diffs", b.OpenDiffs())
	a.r.Entered(a.job.Name, a.day, model.PhaseDone)
	return nil
}
