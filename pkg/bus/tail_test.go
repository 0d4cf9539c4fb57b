package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
)

func deleteMsg(t *testing.T, b *bus.Bus, seqs ...uint64) {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), bus.StreamDays)
	require.NoError(t, err)
	for _, seq := range seqs {
		require.NoError(t, s.DeleteMsg(t.Context(), seq))
	}
}

func TestTailWithHoles(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	require.Empty(t, replay(t, b, bus.StreamDays))
	_, err := b.PublishAll(t.Context(), days(t, 1000, nil), nil)
	require.NoError(t, err)
	publish(t, b, "day.replay.other", "other")
	deleteMsg(t, b, 1, 2, 500, 501, 502, 1000, 1001)
	all := replay(t, b, bus.StreamDays)
	require.Len(t, all, 994)
	require.Equal(t, uint64(3), all[0].Seq)
	require.Equal(t, uint64(999), all[993].Seq)
	// The filter's last message lies before the end of the stream, or there is none.
	require.Len(t, replay(t, b, bus.StreamDays, "day.due.wechat.d0003", "day.due.wechat.d0010"), 2)
	require.Empty(t, replay(t, b, bus.StreamDays, "day.replay.>"))
	for seq := uint64(3); seq < 1000; seq++ {
		if seq < 500 || seq > 502 {
			deleteMsg(t, b, seq)
		}
	}
	require.Empty(t, replay(t, b, bus.StreamDays))
}

func TestTailFrom(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for i := range 10 {
		publish(t, b, dueSubject(t, i), dueSubject(t, i))
	}
	all := replay(t, b, bus.StreamDays)
	for name, c := range map[string]struct {
		from bus.From
		want int
	}{
		"sequence": {bus.From{Seq: 4}, 7},
		"beyond":   {bus.From{Seq: 40}, 0},
		"instant":  {bus.From{Time: all[6].Published}, 4},
		"past":     {bus.From{Time: all[0].Published.Add(-time.Hour)}, 10},
		"future":   {bus.From{Time: time.Now().Add(time.Hour)}, 0},
	} {
		n := 0
		err := b.Tail(t.Context(), bus.StreamDays, []string{bus.AllDays}, c.from, false,
			func(bus.Delivery) error { n++; return nil })
		require.NoError(t, err, name)
		require.Equal(t, c.want, n, name)
	}
}

func TestTailEndsWithTheError(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	publish(t, b, dueSubject(t, 1), "1")
	broken := errors.New("pipe closed")
	err := b.Tail(t.Context(), bus.StreamDays, nil, bus.From{}, true, func(bus.Delivery) error { return broken })
	require.Equal(t, broken, err)
	err = b.Tail(t.Context(), "NOSUCH", nil, bus.From{}, false, nil)
	require.ErrorIs(t, err, bus.ErrNotFound)
}

// What comes during a replay without follow is not waited for, with follow it is shown,
// across a restart, each once.
func TestTailFollow(t *testing.T) {
	t.Parallel()
	s, b := setup(t)
	publish(t, b, dueSubject(t, 0), "0")
	n := 0
	require.NoError(t, b.Tail(t.Context(), bus.StreamDays, nil, bus.From{}, false, func(bus.Delivery) error {
		n++
		publish(t, b, dueSubject(t, 1), "1")
		return nil
	}))
	require.Equal(t, 1, n)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, result := make(chan string, 100), make(chan error, 1)
	go func() {
		result <- b.Tail(ctx, bus.StreamDays, nil, bus.From{}, true, func(d bus.Delivery) error {
			seen <- d.Subject
			return nil
		})
	}()
	require.Equal(t, dueSubject(t, 0), receive(t, seen))
	require.Equal(t, dueSubject(t, 1), receive(t, seen))
	publish(t, b, dueSubject(t, 2), "2")
	require.Equal(t, dueSubject(t, 2), receive(t, seen))
	s.stop()
	s.start()
	publish(t, b, dueSubject(t, 3), "3")
	require.Equal(t, dueSubject(t, 3), receive(t, seen))
	cancel()
	require.NoError(t, receive(t, result))
	require.Empty(t, seen)
}
