package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
)

func TestPublishKeepsOnePerID(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	first := publish(t, b, dueSubject(t, 1), "due/wechat/1")
	require.Equal(t, bus.Receipt{Stream: bus.StreamDays, Seq: 1}, first)
	again := publish(t, b, dueSubject(t, 1), "due/wechat/1")
	require.Equal(t, bus.Receipt{Stream: bus.StreamDays, Seq: 1, Duplicate: true}, again)
	require.Len(t, replay(t, b, bus.StreamDays), 1)
	require.Equal(t, uint64(1), b.Stats().Duplicates)
}

func TestPublishRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for _, c := range []struct {
		message bus.Message
		want    error
	}{
		{bus.Message{Subject: dueSubject(t, 1)}, bus.ErrNoID},
		{bus.Message{Subject: "day..x", ID: "1"}, bus.ErrBadSubject},
		{bus.Message{Subject: "day.due.a b", ID: "1"}, bus.ErrBadSubject},
		{bus.Message{Subject: "", ID: "1"}, bus.ErrBadSubject},
		{bus.Message{Subject: "day.due." + strings.Repeat("x", 5000), ID: "1"}, bus.ErrBadSubject},
		{bus.Message{Subject: "week.due.x", ID: "1"}, bus.ErrNoStream},
		{bus.Message{Subject: dueSubject(t, 1), ID: "1", Body: make([]byte, 2<<20)}, bus.ErrTooLarge},
	} {
		_, err := b.Publish(t.Context(), c.message)
		require.ErrorIs(t, err, c.want)
	}
	require.Empty(t, replay(t, b, bus.StreamDays))
}

func TestPublishDoesNotTouchTheHeader(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	header := nats.Header{"Content-Type": {"application/json"}}
	_, err := b.Publish(t.Context(), bus.Message{Subject: dueSubject(t, 1), ID: "x", Header: header})
	require.NoError(t, err)
	require.Equal(t, nats.Header{"Content-Type": {"application/json"}}, header)
	m, seq, err := b.Last(t.Context(), bus.StreamDays, dueSubject(t, 1))
	require.NoError(t, err)
	require.Equal(t, uint64(1), seq)
	require.Equal(t, "x", m.ID)
	require.Equal(t, "application/json", m.Header.Get("Content-Type"))
	_, _, err = b.Last(t.Context(), bus.StreamDays, dueSubject(t, 2))
	require.ErrorIs(t, err, bus.ErrNotFound)
}

// lossy is a connection whose first answers can be swallowed: requests arrive, acks do not.
type lossy struct {
	net.Conn
	drop *atomic.Bool
}

func (l lossy) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.drop.Load() && n > 0 {
		return 0, io.ErrUnexpectedEOF // the answer is gone and the connection with it
	}
	return n, err
}

type dialer struct{ drop *atomic.Bool }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	d.drop.Store(false)
	c, err := net.Dial(network, address)
	return lossy{c, d.drop}, err
}

func TestPublishRepeatsAfterALostAck(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	drop := &atomic.Bool{}
	b := open(t, s.connect(nats.SetCustomDialer(dialer{drop})), bus.Options{Timeout: time.Second})
	drop.Store(true)
	r := publish(t, b, dueSubject(t, 1), "due/1")
	require.Equal(t, bus.Receipt{Stream: bus.StreamDays, Seq: 1, Duplicate: true}, r)
	require.Len(t, replay(t, b, bus.StreamDays), 1)
}

func TestPublishWaitsForTheServer(t *testing.T) {
	t.Parallel()
	s, b := setup(t)
	s.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.Publish(ctx, bus.Message{Subject: dueSubject(t, 1), ID: "1"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	result := make(chan error, 1)
	subject := dueSubject(t, 1)
	go func() {
		_, err := b.Publish(t.Context(), bus.Message{Subject: subject, ID: "1"})
		result <- err
	}()
	s.start()
	require.NoError(t, receive(t, result))
	require.Len(t, replay(t, b, bus.StreamDays), 1)
}

func TestPublishOnAClosedConnectionFails(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	b.Conn().Close()
	_, err := b.Publish(t.Context(), bus.Message{Subject: dueSubject(t, 1), ID: "1"})
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
}

func days(t *testing.T, n int, at map[int]func()) iter.Seq2[bus.Message, error] {
	return func(yield func(bus.Message, error) bool) {
		for i := range n {
			if do := at[i]; do != nil {
				do()
			}
			if !yield(bus.Message{Subject: dueSubject(t, i), ID: fmt.Sprint("id/", i), Body: []byte("x")}, nil) {
				return
			}
		}
	}
}

func wantSubjects(t *testing.T, n int) []string {
	var want []string
	for i := range n {
		want = append(want, dueSubject(t, i))
	}
	return want
}

// The server dies twice while thousands are on their way: all there, once, in order.
func TestPublishAllAcrossRestarts(t *testing.T) {
	t.Parallel()
	s, b := setup(t)
	const n = 3000
	restart := func() { s.stop(); s.start() }
	progress := []int{}
	acked, err := b.PublishAll(t.Context(), days(t, n, map[int]func(){700: restart, 1900: restart}),
		func(n int) { progress = append(progress, n) })
	require.NoError(t, err)
	require.Equal(t, n, acked)
	require.Len(t, progress, n)
	require.Equal(t, n, progress[n-1])
	require.Equal(t, wantSubjects(t, n), subjects(replay(t, b, bus.StreamDays)))

	// Again, as after a crash of the publisher: nothing is added.
	_, err = b.PublishAll(t.Context(), days(t, n, nil), nil)
	require.NoError(t, err)
	require.Len(t, replay(t, b, bus.StreamDays), n)
}

func TestPublishAllStopsAtAnErrorOfTheSequence(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	broken := errors.New("row 11 unreadable")
	n, err := b.PublishAll(t.Context(), func(yield func(bus.Message, error) bool) {
		for m, err := range days(t, 10, nil) {
			if !yield(m, err) {
				return
			}
		}
		yield(bus.Message{}, broken)
	}, nil)
	require.ErrorIs(t, err, broken)
	require.Equal(t, 10, n)
	require.Equal(t, wantSubjects(t, 10), subjects(replay(t, b, bus.StreamDays)))
}

func TestPublishAllStopsAtABadMessage(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	for _, bad := range []bus.Message{
		{Subject: dueSubject(t, 99)},
		{Subject: dueSubject(t, 99), ID: "big", Body: make([]byte, 2<<20)},
	} {
		n, err := b.PublishAll(t.Context(), func(yield func(bus.Message, error) bool) {
			for m, err := range days(t, 5, nil) {
				if !yield(m, err) {
					return
				}
			}
			_ = yield(bad, nil) && yield(bus.Message{Subject: dueSubject(t, 98), ID: "later"}, nil)
		}, nil)
		require.Error(t, err)
		require.Equal(t, 5, n)
	}
	require.Equal(t, wantSubjects(t, 5), subjects(replay(t, b, bus.StreamDays)))
}

func TestPublishAllEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	n, err := b.PublishAll(ctx, days(t, 100, map[int]func(){50: func() { s.stop(); cancel() }}), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.LessOrEqual(t, n, 50)
}
