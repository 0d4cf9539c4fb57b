package control_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/control"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
)

func TestRestore(t *testing.T) {
	t.Parallel()
	c := setup(t)
	lost := model.Watermark{Status: model.Done, RunID: "r1", Committed: "r1", Version: 1}
	absent := func(w *model.Watermark) bool { return w == nil }

	did, err := c.Restore(t.Context(), job, day, "me", lost, absent)
	require.NoError(t, err)
	require.True(t, did)
	w, _, err := c.Watermark(t.Context(), job, day)
	require.NoError(t, err)
	require.Equal(t, model.Done, w.Status)
	require.NotZero(t, w.Fence, "written under a fence, so that a holder of before the loss cannot write over it")
	_, held, err := c.Held(t.Context(), job, day)
	require.NoError(t, err)
	require.False(t, held)

	did, err = c.Restore(t.Context(), job, day, "me", model.Watermark{Status: model.Failed}, absent)
	require.NoError(t, err)
	require.False(t, did, "somebody has written meanwhile")

	h := save(t, c, model.Watermark{Status: model.Running, RunID: "r2"})
	_, err = c.Restore(t.Context(), job, day, "me", lost, func(*model.Watermark) bool { return true })
	require.ErrorIs(t, err, kv.ErrHeld)
	require.NoError(t, h.Release(t.Context()))
	w, _, err = c.Watermark(t.Context(), job, day)
	require.NoError(t, err)
	require.Equal(t, "r2", w.RunID)
}

func TestLowerFloor(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for _, step := range []struct {
		day, want model.Day
		did       bool
	}{{day, day, false}, {day + 3, day, false}, {day - 2, day - 2, true}, {day - 2, day - 2, false}, {day, day - 2, false}} {
		did, err := c.LowerFloor(t.Context(), job, step.day)
		require.NoError(t, err)
		require.Equal(t, step.did, did, step.day)
		kept, ok, err := c.KeptFloor(t.Context(), job)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, step.want, kept)
	}
}

// The layout stands in the bucket's metadata, survives opening by any program, and a newer one is refused by name.
func TestLayout(t *testing.T) {
	t.Parallel()
	nc, err := enginetest.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	open := func() {
		store, err := kv.Open(t.Context(), js, kv.Options{Bucket: "daybreak", LeaseTTL: 3 * time.Second})
		require.NoError(t, err)
		require.NoError(t, store.Close(t.Context()))
	}
	layout := func() (int, bool) {
		version, stamped, err := control.Layout(t.Context(), js, "daybreak")
		require.NoError(t, err)
		return version, stamped
	}
	version, stamped := layout()
	require.Equal(t, []any{0, false}, []any{version, stamped})
	require.Error(t, control.Stamp(t.Context(), js, "daybreak"), "there is no bucket")
	open()
	version, stamped = layout()
	require.Equal(t, []any{1, false}, []any{version, stamped}, "as a program of before the stamp leaves it")
	for range 2 {
		require.NoError(t, control.Stamp(t.Context(), js, "daybreak"))
		open()
		version, stamped = layout()
		require.Equal(t, []any{control.LayoutVersion, true}, []any{version, stamped})
	}

	stream, err := js.Stream(t.Context(), "KV_daybreak")
	require.NoError(t, err)
	for _, text := range []string{"7", "x", ""} {
		cfg := stream.CachedInfo().Config
		cfg.Metadata["daybreak.layout"] = text
		stream, err = js.UpdateStream(t.Context(), cfg)
		require.NoError(t, err)
		_, _, err = control.Layout(t.Context(), js, "daybreak")
		require.ErrorIs(t, err, control.ErrLayoutNewer)
		require.ErrorIs(t, control.Stamp(t.Context(), js, "daybreak"), control.ErrLayoutNewer)
		if text == "7" {
			require.ErrorContains(t, err, "has layout 7, this program knows layout 1 at most")
		}
	}
}
