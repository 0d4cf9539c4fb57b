package control_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/control"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"

	"github.com/nats-io/nats.go/jetstream"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const job = "cards"

var day = model.NewDay(2026, 10, 1)

func setup(t *testing.T) *control.Control {
	t.Helper()
	nc, err := enginetest.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, kv.Options{Bucket: "daybreak", LeaseTTL: 3 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close(context.Background())) })
	return control.New(store)
}

func save(t *testing.T, c *control.Control, w model.Watermark) *control.Holding {
	t.Helper()
	h, err := c.Hold(t.Context(), job, day, "worker")
	require.NoError(t, err)
	require.NoError(t, h.Save(t.Context(), w))
	return h
}

func TestWatermarkIsAbsentUntilSomebodyBegins(t *testing.T) {
	t.Parallel()
	c := setup(t)
	_, ok, err := c.Watermark(t.Context(), job, day)
	require.NoError(t, err)
	require.False(t, ok)
	h := save(t, c, model.Watermark{Status: model.Running, RunID: "r1"})
	w, ok, err := c.Watermark(t.Context(), job, day)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, h.Fence(), w.Fence, "the fence is the holding's, whatever the caller wrote")
	all, err := c.Watermarks(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, "r1", all[day].RunID)
	other, err := c.Watermarks(t.Context(), "card")
	require.NoError(t, err)
	require.Empty(t, other, "a job whose name is a prefix of another sees nothing of it")
}

// A RUNNING that is held is legal; one that is not becomes FAILED, and its holder cannot write over that when it wakes.
func TestReclaim(t *testing.T) {
	t.Parallel()
	c := setup(t)
	h := save(t, c, model.Watermark{Status: model.Running, RunID: "r1", Phase: model.PhasePull, Instance: "a"})
	now := day.UTC()
	did, err := c.Reclaim(t.Context(), job, day, "auditor", now)
	require.NoError(t, err)
	require.False(t, did, "it is held")
	require.NoError(t, h.Release(t.Context()))
	did, err = c.Reclaim(t.Context(), job, day, "auditor", now)
	require.NoError(t, err)
	require.True(t, did)
	w, _, err := c.Watermark(t.Context(), job, day)
	require.NoError(t, err)
	require.Equal(t, model.Failed, w.Status)
	require.Equal(t, "r1", w.RunID, "a run that had committed can still be resumed")
	require.Contains(t, w.Error, "phase pull")
	require.ErrorIs(t, h.Save(t.Context(), model.Watermark{Status: model.Done}), kv.ErrLeaseLost)
	did, err = c.Reclaim(t.Context(), job, day, "auditor", now)
	require.NoError(t, err)
	require.False(t, did, "nothing is RUNNING any more")
}

func TestForgetRefusesABatchAtWork(t *testing.T) {
	t.Parallel()
	c := setup(t)
	require.NoError(t, c.Forget(t.Context(), job, day), "nothing to forget")
	h := save(t, c, model.Watermark{Status: model.Done})
	require.ErrorIs(t, c.Forget(t.Context(), job, day), kv.ErrHeld)
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, c.Forget(t.Context(), job, day))
	_, ok, err := c.Watermark(t.Context(), job, day)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestFloorIsFixedOnce(t *testing.T) {
	t.Parallel()
	c := setup(t)
	_, ok, err := c.KeptFloor(t.Context(), job)
	require.NoError(t, err)
	require.False(t, ok)
	for _, propose := range []model.Day{day, day + 10, day - 10} {
		got, err := c.Floor(t.Context(), job, propose)
		require.NoError(t, err)
		require.Equal(t, day, got)
	}
}

func TestReviewIsCompareAndSet(t *testing.T) {
	t.Parallel()
	c := setup(t)
	r := model.Review{Job: job, Day: day, DiffID: "d1", State: model.ReviewInvestigating, Step: 1}
	require.NoError(t, c.SaveReview(t.Context(), r, 0))
	require.ErrorIs(t, c.SaveReview(t.Context(), r, 0), kv.ErrConflict)
	got, rev, err := c.Review(t.Context(), job, day, "d1")
	require.NoError(t, err)
	require.Equal(t, r.State, got.State)
	got.Step = 2
	require.NoError(t, c.SaveReview(t.Context(), got, rev))
	require.ErrorIs(t, c.SaveReview(t.Context(), got, rev), kv.ErrConflict, "the second of two people loses")
	all, err := c.Reviews(t.Context(), job)
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestBeats(t *testing.T) {
	t.Parallel()
	c := setup(t)
	at := day.UTC()
	require.NoError(t, c.Beat(t.Context(), "recon", "host-1", at))
	require.NoError(t, c.Beat(t.Context(), "recon", "host-2", at))
	beats, err := c.Beats(t.Context())
	require.NoError(t, err)
	require.Len(t, beats["recon"], 2)
	require.True(t, at.Equal(beats["recon"]["host-1"]))
}

func TestWatchShowsWhatIsAndWhatComes(t *testing.T) {
	t.Parallel()
	c := setup(t)
	h := save(t, c, model.Watermark{Status: model.Running, RunID: "r1"})
	seen := errors.New("seen")
	var statuses []model.Status
	err := c.Watch(t.Context(), job, func(ch control.Change) error {
		statuses = append(statuses, ch.Watermark.Status)
		if ch.Watermark.Status == model.Running {
			return h.Save(t.Context(), model.Watermark{Status: model.Done, RunID: "r1"})
		}
		return seen
	})
	require.ErrorIs(t, err, seen)
	require.Equal(t, []model.Status{model.Running, model.Done}, statuses)
}
