package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"daybreak/pkg/control"
	"daybreak/pkg/model"
)

// lookEvery is how often a command that waits says how far it is and asks what no watermark tells.
const lookEvery = time.Second

var errWatchEnded = errors.New("the watch on the watermarks ended; try again")

// wait is for days of a job to become ready.
type wait struct {
	job   string
	days  []model.Day
	ready func(model.Day, model.Watermark) bool
	// look is called now and then; it may say that a day need not be waited for any longer. It may be nil.
	look func(ctx context.Context, open []model.Day) (given []model.Day, err error)
}

// await watches until every day is ready or given up, and returns the watermarks as they stood then. On an error, also of
// an ended ctx, they are as they stood last.
func (a *app) await(ctx context.Context, w wait, p *progress) (map[model.Day]model.Watermark, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := make(chan control.Change)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(changes)
		return a.control.Watch(ctx, w.job, func(ch control.Change) error {
			select {
			case changes <- ch:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	marks, err := w.follow(ctx, changes, p)
	cancel()
	for range changes { // what the watch was just about to say
	}
	watchErr := g.Wait()
	switch {
	case errors.Is(err, errWatchEnded) && watchErr != nil:
		return marks, watchErr
	case err != nil:
		return marks, err
	}
	return marks, nil
}

// follow takes in changes until nothing is left to wait for.
func (w wait) follow(ctx context.Context, changes <-chan control.Change, p *progress) (map[model.Day]model.Watermark, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	marks, given := map[model.Day]model.Watermark{}, map[model.Day]bool{}
	for {
		select {
		case ch, more := <-changes:
			if !more {
				return marks, errWatchEnded
			}
			delete(marks, ch.Day)
			if !ch.Gone {
				marks[ch.Day] = ch.Watermark
			}
		case <-tick.C:
			if w.look != nil {
				more, err := w.look(ctx, w.open(marks, given))
				if err != nil {
					return marks, err
				}
				for _, d := range more {
					given[d] = true
				}
			}
		}
		open := w.open(marks, given)
		p.show("days done", len(w.days)-len(open), len(w.days))
		if len(open) == 0 {
			return marks, nil
		}
	}
}

func (w wait) open(marks map[model.Day]model.Watermark, given map[model.Day]bool) []model.Day {
	var out []model.Day
	for _, d := range w.days {
		if !given[d] && !w.ready(d, marks[d]) {
			out = append(out, d)
		}
	}
	return out
}

// beside runs recon in this process while do works, for commands that had to start the engines themselves: then nobody
// else can be running it.
func (a *app) beside(ctx context.Context, s *services, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.recon.Run(ctx) })
	g.Go(func() error {
		defer cancel()
		return do(ctx)
	})
	return g.Wait()
}
