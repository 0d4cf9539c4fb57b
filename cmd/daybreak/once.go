package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/services/recon"
)

const (
	settlePoll  = 200 * time.Millisecond
	settleTries = 2 // transient failures of a day before it counts as settled
	auditRounds = 5 // an audit may ask for more work; each round must cure something or the next is the last
)

// errInterrupted says that the work was stopped before its end; what was done stays done.
var errInterrupted = errors.New("interrupted; the days that were not finished are taken up at the next start")

// once works off all that is due. It returns what the auditor found at the end, and an error that lists the days which
// are not DONE.
func (a *app) once(ctx context.Context, p *progress) (found []model.Audit, err error) {
	s, err := a.build(allServices...)
	if err != nil {
		return nil, err
	}
	a.keepFloors(ctx)
	asked := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.recon.Run(ctx) })
	g.Go(func() (err error) {
		defer cancel()
		found, err = a.workOff(ctx, s, p)
		return err
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	if asked.Err() != nil {
		return nil, errInterrupted
	}
	ctx = context.WithoutCancel(ctx)
	return found, errors.Join(a.verdict(ctx), notFine(found), a.agreement(ctx))
}

// agreement is an error that names every day of which control bucket and tables tell different versions.
func (a *app) agreement(ctx context.Context) error {
	all, err := a.disagreements(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	return fmt.Errorf("control bucket and tables do not agree on %d days; see daybreak rebuild --dry-run:\n%w", len(all), errors.Join(all...))
}

// notFine is an error that names every result which does not account for its sources or is not the one that the watermark
// and the events tell of, as after a loss: DONE is not enough to be fine.
func notFine(found []model.Audit) error {
	var errs []error
	for _, f := range found {
		switch f.Kind {
		case model.AuditUnbalanced:
			errs = append(errs, fmt.Errorf("%s %s does not balance: %s", f.Job, f.Day, f.Detail))
		case model.AuditUnpublished:
			errs = append(errs, fmt.Errorf("%s %s is not what was told: %s; see daybreak rebuild --dry-run", f.Job, f.Day, f.Detail))
		}
	}
	return errors.Join(errs...)
}

// workOff publishes what is due, lets the auditor ask for what is missing, and waits until nothing moves any more.
func (a *app) workOff(ctx context.Context, s *services, p *progress) ([]model.Audit, error) {
	if _, err := s.ticker.Scan(ctx); err != nil {
		return nil, err
	}
	var found []model.Audit
	for range auditRounds {
		if err := a.settle(ctx, s.recon, p); err != nil {
			return nil, err
		}
		before, err := a.lastSeq(ctx)
		if err != nil {
			return nil, err
		}
		report, err := s.auditor.Pass(ctx)
		if err != nil {
			return nil, err
		}
		found = report.Findings
		after, err := a.lastSeq(ctx)
		if err != nil || after == before {
			return found, err
		}
	}
	return found, nil
}

// lastSeq is the sequence of the newest message on DAYS: an unchanged one means that nobody asked for anything.
func (a *app) lastSeq(ctx context.Context) (uint64, error) {
	stream, err := a.bus.JetStream().Stream(ctx, bus.StreamDays)
	if err != nil {
		return 0, err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// settle waits until every message is acknowledged or waits for something that only the world outside can change.
func (a *app) settle(ctx context.Context, r *recon.Recon, p *progress) error {
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	for quiet := 0; quiet < 2; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		done, total, err := a.count(ctx)
		if err != nil {
			return err
		}
		p.show("days done", done, total)
		still, err := a.still(ctx, r)
		if err != nil {
			return err
		}
		if quiet++; !still {
			quiet = 0
		}
	}
	return nil
}

// still reports whether nothing is in hand, nothing is to be pulled and what waits is not worth waiting for.
func (a *app) still(ctx context.Context, r *recon.Recon) (bool, error) {
	pending, unacked, err := a.bus.Pending(ctx, bus.StreamDays, recon.Durable)
	if errors.Is(err, bus.ErrNotFound) {
		return false, nil // the consumer is being made
	}
	if err != nil {
		return false, err
	}
	now := r.Consumer().Snapshot()
	if pending > 0 || !now.Idle() || unacked > now.WaitingCount {
		return false, nil
	}
	for subject := range now.Waiting {
		_, job, date, err := bus.ParseDay(subject)
		if err != nil {
			return false, nil
		}
		day, err := model.ParseDay(date)
		if err != nil {
			return false, nil
		}
		if j, ok := a.cfg.Job(job); ok && errors.Is(j.CheckDay(day, a.clock.Now()), model.ErrNotDue) {
			continue // asked for too early, by somebody whose clock is ahead
		}
		w, ok, err := a.control.Watermark(ctx, job, day)
		if err != nil {
			return false, err
		}
		waits := ok && (w.Status == model.Waiting || w.Status == model.Failed && w.Failures > settleTries)
		if !waits {
			return false, nil
		}
	}
	return true, nil
}

// dayState is where one due day stands.
type dayState struct {
	Job       string
	Day       model.Day
	Watermark model.Watermark // zero: nobody has begun
	Blocker   *model.Day      // BLOCKED: the day that has to come first
}

// dueDays lists every due day of every job from its floor on, with where it stands.
func (a *app) dueDays(ctx context.Context) ([]dayState, error) {
	var out []dayState
	now := a.clock.Now()
	for _, j := range a.cfg.Jobs {
		floor, ok, err := a.control.KeptFloor(ctx, j.Name)
		if err != nil {
			return nil, err
		}
		if !ok {
			if floor, ok = j.FirstFloor(now); !ok {
				continue
			}
		}
		marks, err := a.control.Watermarks(ctx, j.Name)
		if err != nil {
			return nil, err
		}
		for _, d := range j.DueDays(floor, now) {
			s := dayState{Job: j.Name, Day: d, Watermark: marks[d]}
			if s.Watermark.Status == model.Blocked {
				s.Blocker = j.Blocker(d, floor, now, marks)
			}
			out = append(out, s)
		}
	}
	return out, nil
}

func (a *app) count(ctx context.Context) (done, total int, err error) {
	days, err := a.dueDays(ctx)
	for _, d := range days {
		if d.Watermark.Status == model.Done {
			done++
		}
	}
	return done, len(days), err
}

// verdict is the exit of --once: fine only when every due day is DONE.
func (a *app) verdict(ctx context.Context) error {
	days, err := a.dueDays(ctx)
	if err != nil {
		return err
	}
	var open []error
	for _, d := range days {
		if d.Watermark.Status != model.Done {
			open = append(open, errors.New(d.String()))
		}
	}
	if len(open) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d due days are not DONE:\n%w", len(open), len(days), errors.Join(open...))
}

// String says where the day stands and why.
func (d dayState) String() string {
	w := d.Watermark
	text := fmt.Sprintf("%s %s %s", d.Job, d.Day, w.Status)
	switch {
	case w.Status == "":
		return fmt.Sprintf("%s %s MISSING: nobody has begun it", d.Job, d.Day)
	case d.Blocker != nil:
		return text + ": waits for " + d.Blocker.String()
	case w.Error != "":
		return text + ": " + w.Error
	}
	return text
}
