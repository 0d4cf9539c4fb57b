package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"

	"daybreak/pkg/bus"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/review"
)

// reviewsHealed is how far back a review event that never reached the stream is made up for.
const reviewsHealed = 7 * 24 * time.Hour

// reviewEvents remembers which review events the stream has.
type reviewEvents struct {
	mu  sync.Mutex
	seq uint64
	ids map[string]bool
}

// forget makes the next read begin anew: a stream that was lost has other messages under the sequences that were read.
func (e *reviewEvents) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seq, e.ids = 0, nil
}

// read takes in the review events since the last time.
func (e *reviewEvents) read(ctx context.Context, b Streams, now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	from := bus.From{Seq: e.seq + 1}
	if e.ids == nil {
		from = bus.From{Time: now.Add(-reviewsHealed)}
	}
	ids := map[string]bool{}
	seq := e.seq
	err := b.Tail(ctx, bus.StreamDiffs, []string{"diff.*.*." + string(model.DiffReviewed)}, from, false, func(d bus.Delivery) error {
		seq = d.Seq
		ids[d.Header.Get(nats.MsgIdHdr)] = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the review events told so far: %w", err)
	}
	for id := range e.ids {
		ids[id] = true
	}
	e.seq, e.ids = seq, ids
	return nil
}

func (e *reviewEvents) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ids[id]
}

// reviews makes control bucket, table and stream agree on the newest step of every review.
func (r *round) reviews(ctx context.Context) error {
	kept, err := r.a.Control.Reviews(ctx, r.job.Name)
	if err != nil {
		return err
	}
	stored, err := r.a.tables.reviews(ctx, r.job.Name)
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		if err := r.a.told.read(ctx, r.a.Bus, r.now); err != nil {
			return err
		}
	}
	var errs []error
	for _, v := range kept {
		errs = append(errs, r.mirror(ctx, v, stored[v.DiffID]))
		if s := stored[v.DiffID]; s.Step <= v.Step {
			delete(stored, v.DiffID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(stored)) { // missing in the control bucket, or further than it
		errs = append(errs, r.restore(ctx, stored[id]))
	}
	return errors.Join(errs...)
}

// mirror completes a step that the table or the stream does not have. What the stream has is not told again: the event
// shows the diff as it was when it was told, and one id is told in one way only. What was told before the time that is
// healed cannot be known, so nothing older is told.
func (r *round) mirror(ctx context.Context, v, stored model.Review) error {
	behind, age := stored.Step < v.Step, r.now.Sub(v.At)
	probe, err := model.NewReviewEvent(model.Diff{Job: v.Job, Day: v.Day, ID: v.DiffID}, v) // its id needs no figures
	if err != nil {
		return err
	}
	untold := age <= reviewsHealed && (behind || age >= r.a.Settle) && !r.a.told.has(probe.ID)
	if untold && !r.eventsRead { // before anything is told: the stream may have been lost since it was read
		r.a.told.forget()
		if err := r.a.told.read(ctx, r.a.Bus, r.now); err != nil {
			return err
		}
		r.eventsRead, untold = true, !r.a.told.has(probe.ID)
	}
	switch {
	case untold:
		err = r.complete(ctx, v)
	case behind:
		err = r.a.Records.PutReview(ctx, v)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("completing step %d of the review of diff %s: %w", v.Step, v.DiffID, err)
	}
	r.a.log.Info("completed a review step", "job", v.Job, "biz_date", v.Day.String(), "diff_id", v.DiffID, "step", v.Step)
	return nil
}

// complete mirrors a step and tells it. A step whose diff is not in the newest version is mirrored only.
func (r *round) complete(ctx context.Context, v model.Review) error {
	row, found, err := r.a.Records.Diff(ctx, v.Job, v.Day, v.DiffID)
	if err != nil {
		return err
	}
	if !found {
		return r.a.Records.PutReview(ctx, v)
	}
	desk := review.Desk{Table: r.a.Records, Publisher: r.a.Bus}
	return desk.Complete(ctx, row.Diff, v)
}

// restore gives the control bucket back a review that it lost. Whoever wrote a step meanwhile wins.
func (r *round) restore(ctx context.Context, v model.Review) error {
	now, revision, err := r.a.Control.Review(ctx, v.Job, v.Day, v.DiffID)
	if err != nil || now.Step >= v.Step {
		return err
	}
	err = r.a.Control.SaveReview(ctx, v, revision)
	if errors.Is(err, kv.ErrConflict) {
		return nil
	}
	if err == nil {
		r.a.log.Info("restored a review from the table", "job", v.Job, "biz_date", v.Day.String(), "diff_id", v.DiffID, "step", v.Step)
	}
	return err
}

// reviews is the newest step of every review of a job, by diff.
func (t tables) reviews(ctx context.Context, job string) (map[string]model.Review, error) {
	out := map[string]model.Review{}
	err := t.each(ctx, reviewsSQL, params{"job": job}, func(rows driver.Rows) error {
		v := model.Review{Job: job}
		var day time.Time
		var state string
		err := rows.Scan(&day, &v.DiffID, &v.Step, &v.Key, &state, &v.By, &v.Note, &v.At, &v.Fingerprint, &v.SeenVersion)
		v.Day, v.State, v.At = dateOf(day), model.ReviewState(state), v.At.UTC()
		out[v.DiffID] = v
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the reviews of job %s: %w", job, err)
	}
	return out, nil
}
