package bus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
)

func rejectAll(context.Context, bus.Delivery) bus.Verdict { return bus.Reject("unknown job") }

// raw publishes as any client would: no id, any subject.
func raw(t *testing.T, b *bus.Bus, m *nats.Msg) {
	t.Helper()
	_, err := b.JetStream().PublishMsg(t.Context(), m)
	require.NoError(t, err)
}

func TestRejectBuriesWithReason(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	raw(t, b, &nats.Msg{
		Subject: "day.replay.nosuch.2026-10-30", Data: []byte(`{"by":"ann"}`),
		Header: nats.Header{"X-Trace": {"abc"}, "Nats-Msg-Id": {"mine"}},
	})
	opts, done := watch(options())
	c := b.Consumer(opts, rejectAll)
	consume(t, c)
	require.Equal(t, bus.ActionReject, receive(t, done).Action())
	dead := replay(t, b, bus.StreamDead)
	require.Len(t, dead, 1)
	d := dead[0]
	require.Equal(t, "dead.day.replay.nosuch.2026-10-30", d.Subject)
	require.JSONEq(t, `{"by":"ann"}`, string(d.Data))
	require.Equal(t, "unknown job", d.Header.Get(bus.HeaderReason))
	require.Equal(t, "1", d.Header.Get(bus.HeaderSeq))
	require.Equal(t, bus.StreamDays, d.Header.Get(bus.HeaderStream))
	require.Equal(t, "day.replay.nosuch.2026-10-30", d.Header.Get(bus.HeaderSubject))
	require.Equal(t, "mine", d.Header.Get(bus.HeaderMsgID))
	require.Equal(t, "abc", d.Header.Get("X-Trace"))
	_, ackPending, err := b.Pending(t.Context(), bus.StreamDays, durable)
	require.NoError(t, err)
	require.Zero(t, ackPending)
	require.Equal(t, uint64(1), c.Snapshot().Rejected)
}

// Whatever can be stored can be buried, and what follows gets through.
func TestRejectBuriesRubbish(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	evil := []*nats.Msg{
		{Subject: "day.replay.a.b.c"},
		{Subject: "day.due.UPPER.xx"},
		{Subject: "day.replay.*"},
		{Subject: "day.due.\xff\xfe.\u00e9\u4e16"},
		{Subject: "day.due." + strings.Repeat("x", 3000)},
		{Subject: "day.due.big.1", Data: make([]byte, 1<<20)},
		{Subject: "day.due.head.1", Header: nats.Header{"X": {strings.Repeat("y", 60_000)}}},
		{Subject: "day.due.head.2", Header: nats.Header{"X": {strings.Repeat("y", 65_400)}}, Data: []byte("z")},
		{Subject: "day.due.status.1", Header: nats.Header{"Status": {"100"}}},
		{Subject: "day.due.status.2", Header: nats.Header{"Status": {"409"}, "Description": {"Consumer Deleted"}}},
	}
	for _, m := range evil {
		raw(t, b, m)
	}
	opts, done := watch(options())
	consume(t, b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict {
		return bus.Reject("two\r\nlines: \x00" + strings.Repeat("long ", 1000))
	}))
	started := time.Now()
	for range evil {
		require.Equal(t, bus.ActionReject, receive(t, done).Action())
	}
	require.Less(t, time.Since(started), 15*time.Second)
	dead := replay(t, b, bus.StreamDead)
	require.Len(t, subjects(dead), len(evil))
	for i, d := range dead {
		require.Empty(t, d.Header.Get("Status"))
		require.LessOrEqual(t, len(d.Header.Get(bus.HeaderReason)), 1024)
		if d.Header.Get(bus.HeaderOmitted) == "" {
			require.Equal(t, string(evil[i].Data), string(d.Data))
		}
	}
	require.Contains(t, dead[5].Header.Get(bus.HeaderOmitted), "body; bytes=1048576; sha256=")
	require.Contains(t, dead[7].Header.Get(bus.HeaderOmitted), "body,headers; bytes=1; sha256=")
	require.Contains(t, dead[4].Subject, "dead.unnameable.")
}

// The server forgets that it was told to drop the message: it is delivered and rejected again, and
// there is still one dead letter.
func TestRejectTwiceBuriesOnce(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	publish(t, b, "day.replay.nosuch", "1")
	for _, name := range []string{"first", "second"} { // a new consumer sees everything again
		opts, done := watch(bus.ConsumerOptions{Stream: bus.StreamDays, Durable: name})
		stop := consume(t, b.Consumer(opts, rejectAll))
		require.Equal(t, bus.ActionReject, receive(t, done).Action())
		require.NoError(t, stop())
	}
	require.Len(t, replay(t, b, bus.StreamDead), 1)
}

// Same sequence in a stream made anew is another message.
func TestRejectAfterTheStreamWasLost(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for range 2 {
		require.NoError(t, b.JetStream().DeleteStream(t.Context(), bus.StreamDays))
		b = open(t, b.Conn(), bus.Options{})
		require.Equal(t, uint64(1), publish(t, b, "day.replay.nosuch", "1").Seq)
		opts, done := watch(options())
		stop := consume(t, b.Consumer(opts, rejectAll))
		receive(t, done)
		require.NoError(t, stop())
	}
	require.Len(t, replay(t, b, bus.StreamDead), 2)
}

// DEAD is gone: the message is kept, and buried as soon as that works.
func TestRejectWithoutDeadIsRetried(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := open(t, s.connect(), bus.Options{Timeout: 300 * time.Millisecond})
	require.NoError(t, b.JetStream().DeleteStream(t.Context(), bus.StreamDead))
	publish(t, b, "day.replay.nosuch", "1")
	opts, done := watch(options())
	opts.AckWait = 2 * time.Second
	bus.SetSettleMax(t, b, 500*time.Millisecond)
	consume(t, b.Consumer(opts, rejectAll))
	first := receive(t, done)
	require.Equal(t, bus.ActionRetry, first.Action())
	require.Equal(t, "dead_letter_failed", first.Reason())
	b2 := open(t, b.Conn(), bus.Options{})
	require.Equal(t, bus.ActionReject, receive(t, done).Action())
	require.Len(t, replay(t, b2, bus.StreamDead), 1)
}
