package bus_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
)

const (
	childURL = "BUS_TEST_CHILD_URL"
	durable  = "recon"
)

// childMain is a worker process that takes one message and never finishes.
func childMain() {
	nc, err := nats.Connect(os.Getenv(childURL))
	if err != nil {
		panic(err)
	}
	b, err := bus.Open(context.Background(), nc, bus.Options{MaxBytesScale: testScale})
	if err != nil {
		panic(err)
	}
	opts := bus.ConsumerOptions{Stream: bus.StreamDays, Durable: durable, AckWait: time.Second}
	_ = b.Consume(context.Background(), opts, func(_ context.Context, d bus.Delivery) bus.Verdict {
		fmt.Println("holding", d.Subject)
		select {}
	})
}

func options() bus.ConsumerOptions {
	return bus.ConsumerOptions{Stream: bus.StreamDays, Durable: durable}
}

type settled struct {
	bus.Delivery
	bus.Verdict
}

// watch makes options that report every settled verdict.
func watch(o bus.ConsumerOptions) (bus.ConsumerOptions, <-chan settled) {
	ch := make(chan settled, 1000)
	o.OnVerdict = func(d bus.Delivery, v bus.Verdict) { ch <- settled{d, v} }
	return o, ch
}

func TestConsumeAcks(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	r := publish(t, b, "day.due.wechat.2026-10-01", "due/wechat/2026-10-01")
	opts, done := watch(options())
	c := b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() })
	stop := consume(t, c)
	d := receive(t, done)
	require.Equal(t, "day.due.wechat.2026-10-01", d.Subject)
	require.Equal(t, r.Seq, d.Seq)
	require.Equal(t, "due/wechat/2026-10-01", string(d.Data))
	require.Equal(t, 1, d.Deliveries)
	require.WithinDuration(t, time.Now(), d.Published, time.Minute)
	pending, ackPending, err := b.Pending(t.Context(), bus.StreamDays, durable)
	require.NoError(t, err)
	require.Zero(t, pending)
	require.Zero(t, ackPending)
	require.True(t, c.Snapshot().Idle())
	require.Equal(t, uint64(1), c.Snapshot().Acked)
	require.NoError(t, stop())
}

func TestPendingOfUnknownConsumer(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	_, _, err := b.Pending(t.Context(), bus.StreamDays, "nobody")
	require.ErrorIs(t, err, bus.ErrNotFound)
}

// One worker, one message that is retried for ever: the others get through.
func TestBadMessageBlocksNobody(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for i := range 10 {
		publish(t, b, dueSubject(t, i), fmt.Sprint(i))
	}
	opts, done := watch(options())
	c := b.Consumer(opts, func(_ context.Context, d bus.Delivery) bus.Verdict {
		if d.Subject == dueSubject(t, 0) {
			return bus.Retry(time.Hour).Because("source_not_there")
		}
		return bus.Ack()
	})
	consume(t, c)
	seen := map[string]bus.Action{}
	for range 10 {
		s := receive(t, done)
		seen[s.Subject] = s.Action()
	}
	require.Len(t, seen, 10)
	require.Equal(t, bus.ActionRetry, seen[dueSubject(t, 0)])
	snap := c.Snapshot()
	require.Equal(t, 1, snap.WaitingCount)
	require.Zero(t, snap.InFlight)
	require.WithinDuration(t, time.Now().Add(time.Hour), snap.Waiting[dueSubject(t, 0)], time.Minute)
	pending, ackPending, err := b.Pending(t.Context(), bus.StreamDays, durable)
	require.NoError(t, err)
	require.Zero(t, pending)
	require.Equal(t, snap.WaitingCount, ackPending)
}

func TestRetryComesAfterItsDelay(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	publish(t, b, dueSubject(t, 1), "1")
	opts, done := watch(options())
	at := make(chan time.Time, 2)
	c := b.Consumer(opts, func(_ context.Context, d bus.Delivery) bus.Verdict {
		at <- time.Now()
		if d.Deliveries == 1 {
			return bus.Retry(700 * time.Millisecond)
		}
		return bus.Ack()
	})
	consume(t, c)
	require.Equal(t, bus.ActionRetry, receive(t, done).Action())
	require.Equal(t, bus.ActionAck, receive(t, done).Action())
	first, second := <-at, <-at
	require.GreaterOrEqual(t, second.Sub(first), 650*time.Millisecond)
	require.Less(t, second.Sub(first), 5*time.Second)
	snap := c.Snapshot()
	require.Equal(t, uint64(1), snap.Redelivered)
	require.Empty(t, snap.Waiting)
}

func TestPanicIsARetryThatGrows(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var log bytes.Buffer
	b := open(t, s.connect(), bus.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	publish(t, b, dueSubject(t, 1), "1")
	publish(t, b, dueSubject(t, 2), "2")
	opts, done := watch(options())
	c := b.Consumer(opts, func(_ context.Context, d bus.Delivery) bus.Verdict {
		if d.Subject == dueSubject(t, 1) {
			panic("boom")
		}
		return bus.Ack()
	})
	stop := consume(t, c)
	first := receive(t, done)
	require.Equal(t, "panic", first.Reason())
	require.Equal(t, time.Second, first.After())
	require.Equal(t, bus.ActionAck, receive(t, done).Action())
	second := receive(t, done)
	require.Equal(t, "panic", second.Reason())
	require.Equal(t, 2*time.Second, second.After())
	require.NoError(t, stop())
	require.Equal(t, uint64(2), c.Snapshot().Panics)
	require.Contains(t, log.String(), "boom")
	require.Contains(t, log.String(), "consume_test.go")
}

// A worker process killed with the message in hand: another one gets it after AckWait.
func TestKilledWorkersMessageComesBack(t *testing.T) {
	t.Parallel()
	s, b := setup(t)
	publish(t, b, dueSubject(t, 1), "1")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"="+s.srv.ClientURL())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "holding "+dueSubject(t, 1), strings.TrimSpace(line))
	require.NoError(t, cmd.Process.Kill())
	killed := time.Now()
	_ = cmd.Wait()

	opts := options()
	opts.AckWait = time.Second
	opts, done := watch(opts)
	consume(t, b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }))
	d := receive(t, done)
	require.Equal(t, dueSubject(t, 1), d.Subject)
	require.GreaterOrEqual(t, d.Deliveries, 2)
	require.Less(t, time.Since(killed), 10*time.Second)
}

func TestLongHandlerKeepsItsMessage(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	publish(t, b, dueSubject(t, 1), "1")
	opts := options()
	opts.AckWait, opts.Workers = 500*time.Millisecond, 3 // free workers would take a redelivery
	opts, done := watch(opts)
	var calls atomic.Int32
	c := b.Consumer(opts, func(ctx context.Context, _ bus.Delivery) bus.Verdict {
		calls.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(2500 * time.Millisecond):
		}
		return bus.Ack()
	})
	consume(t, c)
	require.Equal(t, 1, receive(t, done).Deliveries)
	require.Equal(t, int32(1), calls.Load())
	_, ackPending, err := b.Pending(t.Context(), bus.StreamDays, durable)
	require.NoError(t, err)
	require.Zero(t, ackPending)
}

func TestWorkersWorkAtOnceAndPullOnlyOne(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for i := range 10 {
		publish(t, b, dueSubject(t, i), fmt.Sprint(i))
	}
	opts := options()
	opts.Workers = 3
	opts, done := watch(opts)
	busy, release := make(chan struct{}, 10), make(chan struct{})
	c := b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict {
		busy <- struct{}{}
		<-release
		return bus.Ack()
	})
	consume(t, c)
	for range 3 {
		receive(t, busy)
	}
	pending, ackPending, err := b.Pending(t.Context(), bus.StreamDays, durable)
	require.NoError(t, err)
	require.Equal(t, uint64(7), pending, "nothing may be fetched ahead")
	require.Equal(t, 3, ackPending)
	require.Equal(t, 3, c.Snapshot().InFlight)
	close(release)
	for range 10 {
		receive(t, done)
	}
}

// The end of ctx cancels the handler, and its verdict still counts.
func TestDrain(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	publish(t, b, dueSubject(t, 1), "1")
	publish(t, b, dueSubject(t, 2), "2")
	busy := make(chan struct{}, 1)
	c := b.Consumer(options(), func(ctx context.Context, _ bus.Delivery) bus.Verdict {
		busy <- struct{}{}
		<-ctx.Done()
		return bus.Retry(0).Because("shutdown")
	})
	stop := consume(t, c)
	receive(t, busy)
	require.NoError(t, stop())
	require.Equal(t, uint64(1), c.Snapshot().Retried)
	require.Zero(t, c.Snapshot().InFlight)

	// AckWait is 30 s: both come at once only because nothing was kept.
	opts, done := watch(options())
	started := time.Now()
	consume(t, b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }))
	got := map[string]int{}
	for range 2 {
		d := receive(t, done)
		got[d.Subject] = d.Deliveries
	}
	require.Equal(t, map[string]int{dueSubject(t, 1): 2, dueSubject(t, 2): 1}, got)
	require.Less(t, time.Since(started), 10*time.Second)
}

// A handler that does not come back loses its say, and Run does not wait for it for ever.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	publish(t, b, dueSubject(t, 1), "1")
	opts := options()
	opts.DrainTimeout, opts.AckWait = 100*time.Millisecond, 2*time.Second
	opts, done := watch(opts)
	busy, release := make(chan struct{}, 1), make(chan struct{})
	c := b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict {
		busy <- struct{}{}
		<-release
		return bus.Ack()
	})
	stop := consume(t, c)
	receive(t, busy)
	require.ErrorIs(t, stop(), bus.ErrDrain)
	close(release)

	consume(t, b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }))
	d := receive(t, done)
	require.Equal(t, 2, d.Deliveries, "the late ack must not have counted")
}

// Workers that come and go in quick succession strand no message.
func TestQuickStopsStrandNothing(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	const n = 60
	var acked atomic.Int32
	handler := func(context.Context, bus.Delivery) bus.Verdict { acked.Add(1); return bus.Ack() }
	for i := range n {
		stop := consume(t, b.Consumer(options(), handler))
		publish(t, b, dueSubject(t, i), fmt.Sprint(i))
		require.NoError(t, stop())
	}
	opts, done := watch(options())
	started := time.Now()
	consume(t, b.Consumer(opts, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }))
	for range n - int(acked.Load()) {
		receive(t, done)
	}
	require.Less(t, time.Since(started), 15*time.Second, "something waited for AckWait")
}

func TestConsumerOptionsAreChecked(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for _, o := range []bus.ConsumerOptions{
		{Durable: "d"},
		{Stream: bus.StreamDays},
		{Stream: bus.StreamDays, Durable: "a.b"},
		{Stream: bus.StreamDays, Durable: "d", Workers: -1},
		{Stream: bus.StreamDays, Durable: "d", AckWait: time.Second, InProgressEvery: time.Second},
	} {
		require.Error(t, b.Consume(t.Context(), o, nil), "%+v", o)
	}
}
