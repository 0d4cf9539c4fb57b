package bus_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
)

// Whoever may make nothing makes nothing: it ends where nothing is laid out, and leaves other settings alone.
func TestPreparedMakesNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	quiet := bus.Options{Prepared: true, Logger: slog.New(slog.DiscardHandler)}
	_, err := bus.Open(t.Context(), s.connect(), quiet)
	require.ErrorIs(t, err, bus.ErrNotLaidOut)
	require.ErrorContains(t, err, "DAYS")

	admin := open(t, s.connect(), bus.Options{})
	js := admin.JetStream()
	stream, err := js.Stream(t.Context(), bus.StreamDays)
	require.NoError(t, err)
	cfg := stream.CachedInfo().Config
	cfg.MaxAge = 100 * 24 * time.Hour
	_, err = js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)

	b := open(t, s.connect(), quiet)
	stream, err = js.Stream(t.Context(), bus.StreamDays)
	require.NoError(t, err)
	require.Equal(t, cfg.MaxAge, stream.CachedInfo().Config.MaxAge)

	handler := func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }
	o := bus.ConsumerOptions{Stream: bus.StreamDays, Durable: "recon", Filter: []string{bus.AllDays}}
	require.ErrorIs(t, b.Consume(t.Context(), o, handler), bus.ErrNotLaidOut)
	require.NoError(t, admin.Consumer(o, handler).Ensure(t.Context()))
	require.NoError(t, b.Consumer(o, handler).Ensure(t.Context()))
}

// Look tells what is missing and what differs, and changes nothing.
func TestLook(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin := open(t, s.connect(), bus.Options{})
	require.NoError(t, admin.JetStream().DeleteStream(t.Context(), bus.StreamDead))
	states, err := bus.Look(t.Context(), admin.JetStream(), bus.Options{})
	require.NoError(t, err)
	require.Len(t, states, 4)
	for _, st := range states {
		require.Equal(t, st.Name != bus.StreamDead, st.There, st.Name)
		if st.There {
			require.Equal(t, []string{"MaxBytes"}, st.Differs, "the tests lay out small streams")
		}
	}
	_, err = admin.JetStream().Stream(t.Context(), bus.StreamDead)
	require.Error(t, err)
}
