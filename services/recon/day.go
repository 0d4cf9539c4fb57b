package recon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"daybreak/pkg/bus"
	"daybreak/pkg/control"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
	"daybreak/pkg/tracing"
)

const (
	heldRetry    = 2 * time.Second // another replica has the day: it will be done soon, or its lease will end
	trouble      = 5 * time.Second // first delay after a failure that is nobody's input
	troubleMax   = 5 * time.Minute
	lastWordTime = 10 * time.Second // for what must be said after the work was cancelled
)

// attempt is one holder's work on one day.
type attempt struct {
	r       *Recon
	job     source.Job
	day     model.Day
	req     request
	holding *control.Holding
	log     *slog.Logger

	mark      model.Watermark // as last written
	committed *model.Batch    // the last committed version, nil when there is none
	pool      *model.Batch    // the committed version of the business day before, nil when nothing is carried
	batch     model.Batch     // what this attempt is going to commit
	seen      string          // fingerprint of the sources before they were read
	entered   time.Time
	span      trace.Span // of the whole answer
	phase     trace.Span // of the phase that the attempt is in
}

// day does what a held day needs and answers its message.
func (r *Recon) day(ctx context.Context, job source.Job, req request) bus.Verdict {
	// A shutdown must not look like a lost lease, so the holding does not end with ctx but by giving it back.
	holding, err := r.Control.Hold(context.WithoutCancel(ctx), job.Name, req.day, r.Instance+"/"+r.newRunID())
	if errors.Is(err, kv.ErrHeld) {
		return bus.Retry(heldRetry).Because("held_by_another")
	}
	if err != nil {
		r.log.Warn("could not take the day", "job", job.Name, "biz_date", req.day, "err", err)
		return bus.Retry(trouble).Because("could_not_take")
	}
	ctx, cancel := both(ctx, holding.Context())
	defer cancel()
	ctx, span := r.Tracer.Start(ctx, "reconcile", trace.WithAttributes(tracing.Job(job.Name), tracing.BizDate(req.day.String()),
		tracing.Cause(string(req.cause)), tracing.Fence(int64(holding.Fence())))) //nolint:gosec // a sequence of a stream
	defer span.End()
	defer r.giveBack(ctx, holding)
	a := &attempt{
		r: r, job: job, day: req.day, req: req, holding: holding, span: span, phase: noop.Span{},
		log: r.log.With("job", job.Name, "biz_date", req.day.String(), "fence", holding.Fence(), "cause", string(req.cause)),
	}
	v := a.answer(ctx)
	a.phase.End()
	return v
}

// answer decides, acts, and turns what came of it into a verdict.
func (a *attempt) answer(ctx context.Context) bus.Verdict {
	for {
		v, err := a.look(ctx)
		if err != nil {
			a.log.Warn("could not read where the day stands", "err", err)
			return bus.Retry(trouble).Because("could_not_read")
		}
		d := decide(a.req, v)
		a.log.Debug("decided", "action", string(d.act), "why", d.why)
		switch d.act {
		case actSkip:
			return a.skip(ctx, d.why)
		case actBlock:
			return a.block(ctx)
		case actResume:
			err = a.resume(ctx)
			a.req.finding = "" // cured
		case actPull, actCompare:
			err = a.run(ctx, d.act)
		}
		if err != nil {
			tracing.Fail(a.phase, err)
			tracing.Fail(a.span, err)
			return a.failed(ctx, err)
		}
		if d.act != actResume { // what was resumed may still owe the request a recompute
			return a.handedOn(ctx, string(d.act))
		}
	}
}

// run is one day: the sentence of the package comment as code.
func (a *attempt) run(ctx context.Context, act action) error {
	// Taken before reading: a source that is corrected while the day fails on it must look different afterwards.
	a.seen = a.job.Fingerprint(ctx, a.day)
	if act == actPull {
		if err := a.job.There(ctx, a.day); err != nil {
			return err
		}
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	if err := a.finishEvents(ctx); err != nil {
		return err
	}
	if err := a.pull(ctx, act); err != nil {
		return err
	}
	if err := a.compare(ctx); err != nil {
		return err
	}
	if err := a.batch.Balance.Check(); err != nil {
		return err
	}
	if err := a.commit(ctx); err != nil {
		return err
	}
	if err := a.publish(ctx); err != nil {
		return err
	}
	return a.done(ctx)
}

// resume finishes a run that had committed: its events, then DONE.
func (a *attempt) resume(ctx context.Context) error {
	a.batch = *a.committed
	if err := a.publish(ctx); err != nil {
		return err
	}
	return a.done(ctx)
}

// look reads where the day stands.
func (a *attempt) look(ctx context.Context) (v view, err error) {
	w, ok, err := a.r.Control.Watermark(ctx, a.job.Name, a.day)
	if err != nil {
		return view{}, err
	}
	if ok {
		a.mark, v.watermark = w.Watermark, &w.Watermark
	}
	if a.committed, err = a.current(ctx, a.day); err != nil {
		return view{}, err
	}
	v.committed, v.reading = a.committed, a.job.Rules.ReadingDigest()
	if v.unfinished, err = a.unfinished(ctx); err != nil {
		return view{}, err
	}
	if a.pool, err = a.poolBefore(ctx); err != nil {
		return view{}, err
	}
	v.carryIn, err = a.handedPool(ctx)
	return v, err
}

func (a *attempt) current(ctx context.Context, day model.Day) (*model.Batch, error) {
	b, ok, err := a.r.Tables.Current(ctx, a.job.Name, day)
	if err != nil || !ok {
		return nil, err
	}
	return &b, nil
}

// poolBefore is the committed version of the business day before, whose pool comes in; nil when nothing is carried.
func (a *attempt) poolBefore(ctx context.Context) (*model.Batch, error) {
	before, ok := a.job.PreviousDay(a.day)
	if !ok || a.job.CarryDays == 0 {
		return nil, nil
	}
	b, err := a.current(ctx, before)
	if err != nil || b == nil || b.CarryOut == "" {
		return nil, err
	}
	return b, nil
}

// handedPool is the digest of the pool that the day before hands on. When that day's result is lost nobody knows it; the one that
// was taken in holds then, so that a good result is not computed again without its pool.
func (a *attempt) handedPool(ctx context.Context) (string, error) {
	if a.pool != nil {
		return a.pool.CarryOut, nil
	}
	before, ok := a.job.PreviousDay(a.day)
	if !ok || a.job.CarryDays == 0 || a.mark.CarryIn == "" {
		return "", nil
	}
	b, err := a.current(ctx, before)
	if err != nil || b != nil {
		return "", err
	}
	return a.mark.CarryIn, nil
}

// unfinished is the earliest earlier day of a strict job, inside the cap, that is not DONE. A day before this one whose result
// was lost with the tables is not done either, whatever its watermark says: it would hand on nothing.
func (a *attempt) unfinished(ctx context.Context) (*model.Day, error) {
	if a.job.Order != model.Strict {
		return nil, nil
	}
	days, marks, err := a.r.window(ctx, a.job.Job)
	for err == nil {
		day := model.FirstUnfinished(days, marks, a.day)
		if day == nil {
			return a.lostBefore(ctx, days, marks)
		}
		// A list may lag behind on a cluster; blocking a day on old news would leave it to the auditor.
		w, ok, readErr := a.r.Control.Watermark(ctx, a.job.Name, *day)
		if readErr != nil || !ok || w.Status != model.Done {
			return day, readErr
		}
		marks[*day] = w.Watermark
	}
	return nil, err
}

// lostBefore is the business day before, when it is one of days and was committed and the tables no longer hold any version of it.
func (a *attempt) lostBefore(ctx context.Context, days []model.Day, marks map[model.Day]model.Watermark) (*model.Day, error) {
	before, ok := a.job.PreviousDay(a.day)
	if !ok || !slices.Contains(days, before) || marks[before].Committed == "" {
		return nil, nil
	}
	b, err := a.current(ctx, before)
	if err != nil || b != nil {
		return nil, err
	}
	return &before, nil
}

// window returns the due days inside the cap, ascending, and where they stand.
func (r *Recon) window(ctx context.Context, job model.Job) ([]model.Day, map[model.Day]model.Watermark, error) {
	floor, err := r.floor(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	marks, err := r.Control.Watermarks(ctx, job.Name)
	return job.Window(floor, r.Clock.Now()), marks, err
}

// floor is the first day of a job that must be DONE for ever: the kept one, or the one that a first scan would fix now.
func (r *Recon) floor(ctx context.Context, job model.Job) (model.Day, error) {
	floor, ok, err := r.Control.KeptFloor(ctx, job.Name)
	if err != nil || ok {
		return floor, err
	}
	floor, _ = job.FirstFloor(r.Clock.Now())
	return floor, nil
}

// skip answers a message whose day needs nothing. The day may have finished just before a crash, so what follows it is
// handed on again; that is idempotent.
func (a *attempt) skip(ctx context.Context, why string) bus.Verdict {
	if a.committed == nil {
		return bus.Ack().Because(why)
	}
	a.batch = *a.committed
	return a.handedOn(ctx, why)
}

// block records that an earlier day must come first. A run that had committed can still be resumed later.
func (a *attempt) block(ctx context.Context) bus.Verdict {
	a.mark.Status = model.Blocked
	a.mark.Cause, a.mark.Trigger, a.mark.Error = a.req.cause, a.req.seq, ""
	a.mark.Instance, a.mark.BeatAt = a.r.Instance, a.r.Clock.Now()
	if err := a.holding.Save(ctx, a.mark); err != nil {
		a.log.Warn("could not mark the day as blocked", "err", err)
		return bus.Retry(trouble).Because("could_not_write")
	}
	a.r.metrics.count(a.job.Name, a.req.cause, "blocked")
	return bus.Ack().Because("blocked")
}

// failed turns an error into the day's last word and its message's verdict.
func (a *attempt) failed(ctx context.Context, err error) bus.Verdict {
	switch {
	case errors.Is(err, kv.ErrFenced) || errors.Is(err, kv.ErrLeaseLost) || a.holding.Context().Err() != nil:
		a.log.Warn("the day was taken over or its lease could not be kept; leaving it to the next holder", "err", err)
		a.r.metrics.count(a.job.Name, a.req.cause, "lost")
		return bus.Retry(heldRetry).Because("lease_lost")
	case ctx.Err() != nil:
		return bus.Retry(0).Because("shutdown")
	case errors.Is(err, source.ErrNotThere):
		return a.notThere(ctx, err)
	}
	verdict := bus.Retry(backoff(a.mark.Failures)).Because("failed")
	a.mark.Lasting = lasting(err)
	if a.mark.Lasting {
		verdict = bus.Ack().Because("failed_for_good")
	}
	if err := a.fail(ctx, err); err != nil {
		a.log.Warn("could not mark the day as failed", "err", err)
		return bus.Retry(trouble).Because("could_not_write")
	}
	return verdict
}

// lasting reports whether trying again would meet the same fault: somebody has to mend a source first, or the program.
func lasting(err error) bool {
	return errors.Is(err, source.ErrInput) || errors.Is(err, source.ErrSpec) || errors.Is(err, model.ErrUnbalanced)
}

func backoff(failures int) time.Duration { return min(trouble<<min(failures, 10), troubleMax) }

// fail writes FAILED and tells it downstream. The committed version stays in place.
func (a *attempt) fail(ctx context.Context, cause error) error {
	a.log.Error("the day failed", "phase", string(a.mark.Phase), "err", cause)
	now := a.r.Clock.Now()
	a.mark.Status, a.mark.FinishedAt, a.mark.BeatAt, a.mark.Error = model.Failed, &now, now, cause.Error()
	a.mark.Failures++
	a.mark.Sources, a.mark.Fence = a.seen, a.holding.Fence()
	if err := a.holding.Save(ctx, a.mark); err != nil {
		return err
	}
	a.r.metrics.count(a.job.Name, a.req.cause, "failed")
	event, err := model.NewFailedEvent(a.job.Name, a.day, a.mark, now)
	if err != nil {
		return err
	}
	m, err := message(a.job.Name, a.day, event, model.BatchFailed)
	if err != nil {
		return err
	}
	_, err = a.r.Bus.Publish(ctx, m)
	return err
}

// notThere waits for a source inside the day's patience and fails the day after it.
func (a *attempt) notThere(ctx context.Context, why error) bus.Verdict {
	deadline := a.job.DueAt(a.day).Add(a.job.Due.Patience)
	now := a.r.Clock.Now()
	if !now.Before(deadline) {
		late := fmt.Errorf("still not there %s after the day became due (due.patience): %w", a.job.Due.Patience, why)
		err := a.begin(ctx) // a failure is a run's, so that each has an id of its own
		a.mark.Lasting = true
		if err == nil {
			err = a.fail(ctx, late)
		}
		if err != nil {
			a.log.Warn("could not mark the day as failed", "err", err)
			return bus.Retry(trouble).Because("could_not_write")
		}
		return bus.Ack().Because("patience_over")
	}
	if a.mark.Status != model.Waiting || a.mark.Error != why.Error() {
		a.mark.Status, a.mark.Error, a.mark.Cause, a.mark.Trigger = model.Waiting, why.Error(), a.req.cause, a.req.seq
		a.mark.Instance, a.mark.BeatAt = a.r.Instance, now
		a.mark.Sources = a.seen
		if err := a.holding.Save(ctx, a.mark); err != nil {
			a.log.Warn("could not mark the day as waiting", "err", err)
			return bus.Retry(trouble).Because("could_not_write")
		}
		a.log.Info("waiting for a source", "err", why)
		a.r.metrics.count(a.job.Name, a.req.cause, "waiting")
	}
	return bus.Retry(min(a.r.Poll, max(deadline.Sub(now), time.Second))).Because("waiting")
}

func (r *Recon) giveBack(ctx context.Context, h *control.Holding) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWordTime)
	defer cancel()
	if err := h.Release(ctx); err != nil {
		r.log.Warn("could not give the day back; its lease will run out", "err", err)
	}
}

// both returns a context that ends with either of two.
func both(a, b context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(a)
	stop := context.AfterFunc(b, func() { cancel(context.Cause(b)) })
	return ctx, func() { stop(); cancel(context.Canceled) }
}
