package auditor

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/review"
)

// step makes one step of the review of the middle day's diff.
func (b *bundle) step(to model.ReviewState) model.Review {
	b.t.Helper()
	desk := review.Desk{Keeper: b.control, Table: b.store, Publisher: b.bus, Clock: b.clock}
	r, err := desk.Make(b.ctx, review.Step{
		Job: b.job.Name, Day: b.days[1], DiffID: model.DiffID(b.job.Name, b.days[1], "c"), To: to, By: "li", Note: "looked",
	})
	require.NoError(b.t, err)
	return r
}

// reviewed lists the review events in the stream.
func (b *bundle) reviewed() []uint64 {
	b.t.Helper()
	var steps []uint64
	err := b.bus.Tail(b.ctx, bus.StreamDiffs, []string{"diff.>"}, bus.From{}, false, func(d bus.Delivery) error {
		var e model.Event
		var data model.DiffData
		require.NoError(b.t, json.Unmarshal(d.Data, &e))
		require.NoError(b.t, json.Unmarshal(e.Data, &data))
		require.Equal(b.t, "1", data.Delta.Decimal.Neg().String())
		steps = append(steps, data.Review.Step)
		return nil
	})
	require.NoError(b.t, err)
	return steps
}

func (b *bundle) mirrored() uint64 {
	b.t.Helper()
	row, ok, err := b.store.Diff(b.ctx, b.job.Name, b.days[1], model.DiffID(b.job.Name, b.days[1], "c"))
	require.NoError(b.t, err)
	require.True(b.t, ok)
	return row.ReviewStep
}

func TestReviewCutShortIsCompleted(t *testing.T) {
	b := setupDays(t, 2)
	a := b.auditor()
	r := b.step(model.ReviewInvestigating)
	b.pass(a)
	require.Equal(t, []uint64{1}, b.reviewed(), "a whole step is left alone")
	// The process that made the second step died right after it.
	_, revision, err := b.control.Review(b.ctx, r.Job, r.Day, r.DiffID)
	require.NoError(t, err)
	r.Step, r.State = 2, model.ReviewResolved
	require.NoError(t, b.control.SaveReview(b.ctx, r, revision))
	b.pass(a)
	require.Equal(t, uint64(2), b.mirrored())
	require.Equal(t, []uint64{1, 2}, b.reviewed())
	b.pass(a)
	b.pass(b.auditor())
	require.Equal(t, []uint64{1, 2}, b.reviewed())
	// This one died between table and event.
	_, revision, err = b.control.Review(b.ctx, r.Job, r.Day, r.DiffID)
	require.NoError(t, err)
	r.Step, r.State, r.At = 3, model.ReviewInvestigating, b.clock.Now()
	require.NoError(t, b.control.SaveReview(b.ctx, r, revision))
	require.NoError(t, b.store.PutReview(b.ctx, r))
	b.pass(a)
	require.Equal(t, []uint64{1, 2}, b.reviewed(), "its process may still be alive")
	b.clock.Advance(time.Minute)
	b.pass(a)
	require.Equal(t, []uint64{1, 2, 3}, b.reviewed())
}

func TestReviewLostFromControlIsRestored(t *testing.T) {
	b := setupDays(t, 2)
	b.step(model.ReviewInvestigating)
	r := b.step(model.ReviewResolved)
	bucket, err := b.bus.JetStream().(jetstream.KeyValueManager).KeyValue(b.ctx, "daybreak")
	require.NoError(t, err)
	require.NoError(t, bucket.Delete(b.ctx, "review."+r.Job+"."+r.Day.String()+"."+r.DiffID))
	b.pass(b.auditor())
	got, _, err := b.control.Review(b.ctx, r.Job, r.Day, r.DiffID)
	require.NoError(t, err)
	require.True(t, r.At.Equal(got.At))
	got.At = r.At
	require.Equal(t, r, got)
	require.Equal(t, []uint64{1, 2}, b.reviewed())
}

// The stream was lost and made anew below what this process had read of it: a step that is told there is not told again.
func TestReviewToldInANewStreamIsNotToldAgain(t *testing.T) {
	b := setupDays(t, 2)
	a := b.auditor()
	b.step(model.ReviewInvestigating)
	b.pass(a)
	b.step(model.ReviewResolved)
	a.told.seq = 1 << 20 // as if the lost stream had been that long
	b.clock.Advance(5 * time.Minute)
	b.pass(a)
	require.Equal(t, []uint64{1, 2}, b.reviewed())
	require.Less(t, a.told.seq, uint64(1<<20), "it was read from the beginning")
}

// The table was lost. The step is mirrored again, and as nobody can know any more whether so old a step was told, it is
// not told a second time with the figures that the diff has by now.
func TestOldReviewIsMirroredAndNotToldAgain(t *testing.T) {
	b := setupDays(t, 2)
	r := model.Review{
		Job: b.job.Name, Day: b.days[1], DiffID: model.DiffID(b.job.Name, b.days[1], "c"), Key: "c", State: model.ReviewResolved,
		By: "li", Note: "looked", Step: 1, At: b.clock.Now().Add(-reviewsHealed - time.Minute),
	}
	require.NoError(t, b.control.SaveReview(b.ctx, r, 0))
	b.pass(b.auditor())
	require.Equal(t, uint64(1), b.mirrored())
	require.Empty(t, b.reviewed())
}
