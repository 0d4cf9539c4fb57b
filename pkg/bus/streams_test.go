package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
)

func TestStreamsAsPromised(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for _, spec := range bus.Streams() {
		s, err := b.JetStream().Stream(t.Context(), spec.Name)
		require.NoError(t, err)
		c := s.CachedInfo().Config
		require.Equal(t, jetstream.FileStorage, c.Storage)
		require.Equal(t, jetstream.LimitsPolicy, c.Retention)
		require.Positive(t, c.MaxAge)
		require.Positive(t, c.MaxBytes)
		require.LessOrEqual(t, c.Duplicates, c.MaxAge)
		require.False(t, c.AllowDirect)
		require.Equal(t, 1, c.Replicas)
		require.Equal(t, spec.Subjects, c.Subjects)
		if spec.Name == bus.StreamDays {
			require.GreaterOrEqual(t, c.Duplicates, 48*time.Hour)
		}
	}
}

func TestOpenTwiceAndOverOlderSettings(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	js := b.JetStream()
	s, err := js.Stream(t.Context(), bus.StreamDays)
	require.NoError(t, err)
	cfg := s.CachedInfo().Config
	cfg.Duplicates, cfg.MaxAge, cfg.AllowDirect = time.Hour, 24*time.Hour, true
	cfg.Subjects = append(cfg.Subjects, "day2.>")
	cfg.Metadata = map[string]string{"owner": "ops"}
	_, err = js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	publish(t, b, dueSubject(t, 1), "1")

	open(t, b.Conn(), bus.Options{})
	s, err = js.Stream(t.Context(), bus.StreamDays)
	require.NoError(t, err)
	cfg = s.CachedInfo().Config
	require.Equal(t, 72*time.Hour, cfg.Duplicates)
	require.Equal(t, 90*24*time.Hour, cfg.MaxAge)
	require.False(t, cfg.AllowDirect)
	require.ElementsMatch(t, []string{"day.>", "day2.>"}, cfg.Subjects)
	require.Equal(t, "ops", cfg.Metadata["owner"])
	require.Len(t, replay(t, b, bus.StreamDays), 1)
}

func TestOpenRefusesForeignStreams(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]jetstream.StreamConfig{
		"subjects":  {Name: bus.StreamDiffs, Subjects: []string{"git.diff.>"}},
		"storage":   {Name: bus.StreamDiffs, Subjects: []string{"diff.>"}, Storage: jetstream.MemoryStorage},
		"retention": {Name: bus.StreamDiffs, Subjects: []string{"diff.>"}, Retention: jetstream.WorkQueuePolicy},
	} {
		nc := startServer(t).connect()
		js, err := jetstream.New(nc)
		require.NoError(t, err)
		_, err = js.CreateStream(t.Context(), cfg)
		require.NoError(t, err)
		_, err = bus.Open(t.Context(), nc, bus.Options{MaxBytesScale: testScale})
		var conflict *bus.ConflictError
		require.ErrorAs(t, err, &conflict, field)
		require.ErrorIs(t, err, bus.ErrConflict)
		require.Equal(t, bus.StreamDiffs, conflict.Stream)
		require.Equal(t, field, conflict.Field)
		require.ErrorContains(t, err, "DIFFS")
		s, err := js.Stream(t.Context(), bus.StreamDiffs)
		require.NoError(t, err)
		require.Equal(t, cfg.Subjects, s.CachedInfo().Config.Subjects)
	}
}

func TestOpenRefusesWhatTheServerCannotGive(t *testing.T) {
	t.Parallel()
	nc := startServer(t).connect()
	_, err := bus.Open(t.Context(), nc, bus.Options{MaxBytesScale: 1}) // 24 GiB of 4
	require.ErrorIs(t, err, bus.ErrNoSpace)
	require.ErrorContains(t, err, "DIFFS")

	nc = startServer(t).connect()
	_, err = bus.Open(t.Context(), nc, bus.Options{MaxBytesScale: testScale, Replicas: 3})
	require.ErrorIs(t, err, bus.ErrConflict)
	require.ErrorContains(t, err, "replicas")

	nc = startServer(t).connect()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"audit.log"}})
	require.NoError(t, err)
	_, err = bus.Open(t.Context(), nc, bus.Options{MaxBytesScale: testScale})
	require.ErrorIs(t, err, bus.ErrConflict)
	require.ErrorContains(t, err, "AUDIT")
}

func TestOpenIsBounded(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true}) // no JetStream
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	require.True(t, srv.ReadyForConnections(20*time.Second))
	nc := connect(t, srv.ClientURL())
	_, err = bus.Open(t.Context(), nc, bus.Options{OpenTimeout: 500 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "DAYS")
}

func TestConsumerConflict(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	_, err := b.JetStream().CreateConsumer(t.Context(), bus.StreamDays,
		jetstream.ConsumerConfig{Durable: durable, AckPolicy: jetstream.AckNonePolicy})
	require.NoError(t, err)
	err = b.Consume(t.Context(), options(), rejectAll)
	var conflict *bus.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, "ack_policy", conflict.Field)
	require.Equal(t, durable, conflict.Consumer)
}

// A stream or consumer removed under a running worker comes back.
func TestConsumerHealsItself(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	opts, done := watch(options())
	consume(t, b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }))
	publish(t, b, dueSubject(t, 1), "1")
	receive(t, done)
	require.NoError(t, b.JetStream().DeleteConsumer(t.Context(), bus.StreamDays, durable))
	publish(t, b, dueSubject(t, 2), "2")
	for receive(t, done).Subject != dueSubject(t, 2) {
	}
	require.NoError(t, b.JetStream().DeleteStream(t.Context(), bus.StreamDays))
	publish(t, b, dueSubject(t, 3), "3") // waits until the worker has made the stream again
	for receive(t, done).Subject != dueSubject(t, 3) {
	}
}

func TestConsumerSurvivesARestart(t *testing.T) {
	t.Parallel()
	s, b := setup(t)
	opts, done := watch(options())
	consume(t, b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }))
	publish(t, b, dueSubject(t, 1), "1")
	receive(t, done)
	s.stop()
	s.start()
	publish(t, b, dueSubject(t, 2), "2")
	require.Equal(t, dueSubject(t, 2), receive(t, done).Subject)
}

// Several filters on one durable; after a change of them the new ones count for what comes.
func TestConsumerFilters(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for i, filter := range [][]string{{"day.due.>", "day.nudge.>"}, {"day.replay.>"}, nil} {
		opts := options()
		opts.Filter = filter
		opts, done := watch(opts)
		stop := consume(t, b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }))
		for _, s := range []string{"day.due.a.1", "day.replay.a", "day.nudge.a.1"} {
			publish(t, b, s, fmt.Sprint(i, s))
		}
		want := [][]string{{"day.due.a.1", "day.nudge.a.1"}, {"day.replay.a"}, {"day.due.a.1", "day.replay.a", "day.nudge.a.1"}}[i]
		for _, s := range want {
			require.Equal(t, s, receive(t, done).Subject)
		}
		require.NoError(t, stop())
		require.Empty(t, done)
	}
}
