package kv

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// faulty is a connection whose publishes can go wrong.
type faulty struct {
	jetstream.JetStream
	mu     sync.Mutex
	match  func(*nats.Msg) bool
	before int // so many matching requests vanish on the way to the server
	after  int // so many matching acknowledgements vanish on the way back
	kept   []*nats.Msg
}

func (f *faulty) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	f.mu.Lock()
	hit := f.match != nil && f.match(m)
	before, after := hit && f.before > 0, hit && f.before == 0 && f.after > 0
	if before {
		f.before--
	}
	if after {
		f.after--
	}
	f.mu.Unlock()
	if before {
		// Let the client write the headers, then keep the message back.
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, _ = f.JetStream.PublishMsg(ended, m, opts...)
		f.mu.Lock()
		f.kept = append(f.kept, m)
		f.mu.Unlock()
		return nil, context.DeadlineExceeded
	}
	ack, err := f.JetStream.PublishMsg(ctx, m, opts...)
	if after {
		return nil, context.DeadlineExceeded
	}
	return ack, err
}

func (f *faulty) arm(prefix string, del bool, before, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
	f.match = func(m *nats.Msg) bool {
		return strings.HasPrefix(m.Subject, "$KV.test."+prefix) && (m.Header.Get(headerOp) == opDelete) == del
	}
}

// spent reports whether all armed faults have happened.
func (f *faulty) spent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.before == 0 && f.after == 0
}

func setupFaulty(t *testing.T, change ...func(*Options)) (*Store, *faulty) {
	t.Helper()
	t.Parallel()
	f := &faulty{JetStream: connect(t, startServer(t, false))}
	return open(t, f, change...), f
}

func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][2]int{"requests": {2, 0}, "acks": {0, 2}, "both": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			s, f := setupFaulty(t)
			ctx := t.Context()
			arm := func(prefix string, del bool) {
				require.True(t, f.spent())
				f.arm(prefix, del, faults[0], faults[1])
			}

			arm("lease.", false)
			l := acquire(t, s, "n", "me")
			arm("fence.", false)
			l2 := acquire(t, s, "n2", "me")
			fence, err := s.readLast(ctx, "fence.n2")
			require.NoError(t, err)
			require.Equal(t, fence.Rev, l2.Token())

			arm("k", false)
			rev, err := l.Put(ctx, "k", []byte("1"))
			require.NoError(t, err)
			v, err := s.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, v.Rev, rev)
			arm("k", false)
			rev, err = s.CompareAndPut(ctx, "k", []byte("2"), rev)
			require.NoError(t, err)
			arm("k", true)
			require.NoError(t, s.CompareAndDelete(ctx, "k", rev))
			arm("k", false)
			_, err = s.Create(ctx, "k", []byte("3"))
			require.NoError(t, err)
			arm("k", true)
			require.NoError(t, l.Delete(ctx, "k"))
			arm("k", false)
			require.NoError(t, s.PutTTL(ctx, "k", nil, time.Minute))

			arm("lease.", true)
			require.NoError(t, l.Release(ctx))
			_, held, err := s.Holder(ctx, "n")
			require.NoError(t, err)
			require.False(t, held)
			require.True(t, f.spent())
		})
	}
}

func TestLostRenewalAckKeepsTheLease(t *testing.T) {
	s, f := setupFaulty(t, ttl(2*time.Second))
	l := acquire(t, s, "n", "me")
	f.arm("lease.", false, 0, 3)
	renewed(t, s, "n", 4*time.Second)
	require.True(t, f.spent())
	require.NoError(t, l.Err())
	require.NoError(t, l.Release(t.Context()))
	_, held, err := s.Holder(t.Context(), "n")
	require.NoError(t, err)
	require.False(t, held)
}

func TestRenewalFindsItsOwnForgottenRevision(t *testing.T) {
	s := setup(t, ttl(2*time.Second))
	l := acquire(t, s, "n", "me")
	// A renewal that was given up, but stored all the same.
	_, err := s.commit(t.Context(), write{key: l.key(), data: l.held.encode(), ttl: 2 * time.Second})
	require.NoError(t, err)
	renewed(t, s, "n", 3*time.Second)
	require.NoError(t, l.Err())
	_, err = s.commit(t.Context(), write{key: l.key(), data: l.held.encode(), ttl: 2 * time.Second})
	require.NoError(t, err)
	require.NoError(t, l.Release(t.Context())) // and so does the release
	_, held, err := s.Holder(t.Context(), "n")
	require.NoError(t, err)
	require.False(t, held)
}

func TestNoAnswerAtAll(t *testing.T) {
	s, f := setupFaulty(t)
	l := acquire(t, s, "n", "me")
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	f.arm("k", false, 0, 1000)
	_, err := l.Put(short(), "k", nil)
	require.ErrorIs(t, err, ErrUnknown)
	require.NoError(t, l.Err(), "an unknown outcome is not a loss")
	_, err = s.Create(short(), "k2", nil)
	require.ErrorIs(t, err, ErrUnknown)

	f.arm("lease.", false, 1000, 0)
	_, err = s.Acquire(short(), "m", "me")
	require.ErrorIs(t, err, ErrUnknown)
	f.arm("none", false, 0, 0)
	acquire(t, s, "m", "next")
}

func TestUnansweredFenceGivesTheLeaseBack(t *testing.T) {
	s, f := setupFaulty(t)
	f.arm("fence.", false, 1000, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := s.Acquire(ctx, "n", "me")
	require.ErrorIs(t, err, ErrUnknown)
	f.arm("none", false, 0, 0)
	l := acquire(t, s, "n", "next")

	// The fence of the first, on the way all the time, arrives only now.
	require.NotEmpty(t, f.kept)
	_, err = js(s).PublishMsg(t.Context(), f.kept[0])
	require.Error(t, err)
	_, err = l.Put(t.Context(), "k", nil)
	require.NoError(t, err)
}

func TestLateCopyDoesNotOverwriteANewerValue(t *testing.T) {
	s, f := setupFaulty(t)
	l := acquire(t, s, "n", "me")
	f.arm("k", false, 1, 0)
	_, err := l.Put(t.Context(), "k", []byte("old"))
	require.NoError(t, err)
	_, err = l.Put(t.Context(), "k", []byte("new"))
	require.NoError(t, err)
	require.Len(t, f.kept, 1)
	ack, err := js(s).PublishMsg(t.Context(), f.kept[0])
	require.NoError(t, err)
	require.True(t, ack.Duplicate)
	v, err := s.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "new", string(v.Data))
}

func TestFullBucketIsAPlainError(t *testing.T) {
	s := setup(t, func(o *Options) { o.MaxBytes = 2000 })
	l := acquire(t, s, "n", "me")
	_, err := l.Put(t.Context(), "k", make([]byte, 4000))
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrUnknown)
	require.NotErrorIs(t, err, ErrFenced)
	require.NoError(t, l.Err())
}

func TestClosedConnectionDoesNotHang(t *testing.T) {
	s := setup(t)
	l := acquire(t, s, "n", "me")
	js(s).Conn().Close()
	_, err := l.Put(t.Context(), "k", nil)
	require.ErrorIs(t, err, ErrUnknown)
	_, err = s.Get(t.Context(), "k")
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	require.ErrorIs(t, l.Release(t.Context()), ErrUnknown)
}
