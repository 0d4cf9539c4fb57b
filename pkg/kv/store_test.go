package kv

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestBucketIsConfiguredForLeases(t *testing.T) {
	s := setup(t, func(o *Options) { o.MaxBytes = 1 << 20 })
	str, err := js(s).Stream(t.Context(), "KV_test")
	require.NoError(t, err)
	cfg := str.CachedInfo().Config
	require.EqualValues(t, 1, cfg.MaxMsgsPerSubject)
	require.Equal(t, jetstream.FileStorage, cfg.Storage)
	require.True(t, cfg.AllowMsgTTL)
	require.Equal(t, markerTTL, cfg.SubjectDeleteMarkerTTL)
	require.EqualValues(t, 1<<20, cfg.MaxBytes)
	require.Zero(t, cfg.MaxAge)

	again := open(t, js(s)) // another process, another bound: brought up to date
	require.NotNil(t, again)
}

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	s := setup(t)
	for name, o := range map[string]Options{
		"no bucket":       {},
		"fraction of TTL": {Bucket: "b", LeaseTTL: 1500 * time.Millisecond},
		"short TTL":       {Bucket: "b", LeaseTTL: time.Millisecond},
		"margin":          {Bucket: "b", LeaseTTL: time.Second, Margin: time.Second},
	} {
		_, err := Open(t.Context(), js(s), o)
		require.ErrorIs(t, err, ErrInvalidOptions, name)
	}
	js, err := jetstream.NewWithDomain(js(s).Conn(), "hub")
	require.NoError(t, err)
	_, err = Open(t.Context(), js, Options{Bucket: "b"})
	require.ErrorIs(t, err, ErrInvalidOptions)
}

func TestKeysAreChecked(t *testing.T) {
	s := setup(t)
	ctx := t.Context()
	for _, key := range []string{"", ".", "a.", ".a", "a..b", "a b", "a*", "a.>", "ä", "a\n", string(make([]byte, 600))} {
		_, err := s.Create(ctx, key, nil)
		require.ErrorIs(t, err, ErrInvalidKey, "%q", key)
		_, err = s.Get(ctx, key)
		require.ErrorIs(t, err, ErrInvalidKey, "%q", key)
		_, err = s.Acquire(ctx, key, "me")
		require.ErrorIs(t, err, ErrInvalidKey, "%q", key)
		_, _, err = s.Holder(ctx, key)
		require.ErrorIs(t, err, ErrInvalidKey, "%q", key)
	}
	l, err := s.Acquire(ctx, "n", "me")
	require.NoError(t, err)
	for _, key := range []string{"lease.n", "fence.n"} {
		_, err := s.Create(ctx, key, nil)
		require.ErrorIs(t, err, ErrInvalidKey)
		_, err = s.CompareAndPut(ctx, key, nil, 1)
		require.ErrorIs(t, err, ErrInvalidKey)
		require.ErrorIs(t, s.CompareAndDelete(ctx, key, 1), ErrInvalidKey)
		require.ErrorIs(t, s.PutTTL(ctx, key, nil, time.Second), ErrInvalidKey)
		_, err = l.Put(ctx, key, nil)
		require.ErrorIs(t, err, ErrInvalidKey)
		require.ErrorIs(t, l.Delete(ctx, key), ErrInvalidKey)
	}
	_, err = s.List(ctx, "a.*")
	require.ErrorIs(t, err, ErrInvalidKey)
	_, _, err = s.Watch(ctx, "a.>")
	require.ErrorIs(t, err, ErrInvalidKey)
	require.ErrorIs(t, s.PutTTL(ctx, "a", nil, 1500*time.Millisecond), ErrInvalidOptions)
}

func TestCompareAndSet(t *testing.T) {
	s := setup(t)
	ctx := t.Context()
	_, err := s.Get(ctx, "a.b")
	require.ErrorIs(t, err, ErrNotFound)

	r1, err := s.Create(ctx, "a.b", []byte("1"))
	require.NoError(t, err)
	_, err = s.Create(ctx, "a.b", []byte("x"))
	require.ErrorIs(t, err, ErrExists)
	require.NotErrorIs(t, err, ErrUnknown)
	_, err = s.CompareAndPut(ctx, "a.b", []byte("x"), 0)
	require.ErrorIs(t, err, ErrConflict)
	r2, err := s.CompareAndPut(ctx, "a.b", []byte("2"), r1)
	require.NoError(t, err)
	require.Greater(t, r2, r1)
	_, err = s.CompareAndPut(ctx, "a.b", []byte("x"), r1)
	require.ErrorIs(t, err, ErrConflict)
	_, err = s.CompareAndPut(ctx, "a.b", []byte("x"), r2+1000) // never was
	require.ErrorIs(t, err, ErrConflict)
	_, err = s.CompareAndPut(ctx, "never", []byte("x"), r2)
	require.ErrorIs(t, err, ErrConflict)

	v, err := s.Get(ctx, "a.b")
	require.NoError(t, err)
	require.Equal(t, "2", string(v.Data))
	require.Equal(t, r2, v.Rev)
	require.Equal(t, "a.b", v.Key)
	require.False(t, v.Created.IsZero())

	require.ErrorIs(t, s.CompareAndDelete(ctx, "a.b", r1), ErrConflict)
	require.ErrorIs(t, s.CompareAndDelete(ctx, "a.b", 0), ErrConflict)
	require.NoError(t, s.CompareAndDelete(ctx, "a.b", r2))
	require.ErrorIs(t, s.CompareAndDelete(ctx, "a.b", r2), ErrConflict)
	_, err = s.Get(ctx, "a.b")
	require.ErrorIs(t, err, ErrNotFound)

	r3, err := s.Create(ctx, "a.b", []byte("3")) // over the delete marker
	require.NoError(t, err)
	require.NoError(t, s.CompareAndDelete(ctx, "a.b", r3))
	_, err = s.CompareAndPut(ctx, "a.b", []byte("4"), 0)
	require.NoError(t, err)
}

func TestOneOfManyCompareAndPutsWins(t *testing.T) {
	s := setup(t)
	const racers = 30
	rev, err := s.Create(t.Context(), "k", nil)
	require.NoError(t, err)
	errs := make(chan error, racers)
	for i := range racers {
		go func() {
			_, err := s.CompareAndPut(t.Context(), "k", fmt.Append(nil, i), rev)
			errs <- err
		}()
	}
	won := 0
	for range racers {
		if err := <-errs; err == nil {
			won++
		} else {
			require.ErrorIs(t, err, ErrConflict)
		}
	}
	require.Equal(t, 1, won)
}

func TestPutTTLExpires(t *testing.T) {
	s := setup(t)
	ctx := t.Context()
	values, stop, err := s.Watch(ctx, "beat")
	require.NoError(t, err)
	defer stop()
	require.True(t, (<-values).Synced)
	for _, body := range []string{"1", "2"} {
		require.NoError(t, s.PutTTL(ctx, "beat.a", []byte(body), time.Second))
		require.Equal(t, body, string((<-values).Data))
	}
	_, err = s.Get(ctx, "beat.a")
	require.NoError(t, err)
	gone := <-values
	require.True(t, gone.Deleted)
	require.Equal(t, "beat.a", gone.Key)
	_, err = s.Get(ctx, "beat.a")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = s.Create(ctx, "beat.a", []byte("3")) // over the expiry marker
	require.NoError(t, err)
}

func TestListAndWatch(t *testing.T) {
	s := setup(t)
	ctx := t.Context()
	none, err := s.List(ctx, "p")
	require.NoError(t, err)
	require.Empty(t, none)
	const n = 700 // more than the watcher's channel holds
	for i := range n {
		_, err := s.Create(ctx, fmt.Sprintf("p.%d", i), fmt.Append(nil, i))
		require.NoError(t, err)
	}
	gone, err := s.Create(ctx, "p.gone", nil)
	require.NoError(t, err)
	require.NoError(t, s.CompareAndDelete(ctx, "p.gone", gone))
	_, err = s.Create(ctx, "px.0", nil)
	require.NoError(t, err)

	list, err := s.List(ctx, "p")
	require.NoError(t, err)
	require.Len(t, list, n)
	for i, v := range list {
		require.Equal(t, fmt.Sprintf("p.%d", i), v.Key)
		require.Equal(t, fmt.Sprint(i), string(v.Data))
		require.NotZero(t, v.Rev)
	}
	all, err := s.List(ctx, "")
	require.NoError(t, err)
	require.Len(t, all, n+1)

	values, stop, err := s.Watch(ctx, "p")
	require.NoError(t, err)
	live := 0
	for v := range values {
		if v.Synced {
			break
		}
		if !v.Deleted {
			live++
		}
	}
	require.Equal(t, n, live)
	_, err = s.CompareAndPut(ctx, "p.0", []byte("new"), list[0].Rev)
	require.NoError(t, err)
	require.Equal(t, "new", string((<-values).Data))
	stop()
	_, ok := <-values
	require.False(t, ok)
	stop() // again does no harm
}

func TestWatchEndsWithContextStoreAndUnread(t *testing.T) {
	s := setup(t)
	for i := range 600 {
		_, err := s.Create(t.Context(), fmt.Sprintf("p.%d", i), nil)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	byCtx, _, err := s.Watch(ctx, "p") // nobody reads it: its channels are full
	require.NoError(t, err)
	cancel()
	for range byCtx {
		continue
	}
	byStore, _, err := s.Watch(t.Context(), "p")
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	for range byStore {
		continue
	}
	_, _, err = s.Watch(t.Context(), "p")
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Acquire(t.Context(), "n", "me")
	require.ErrorIs(t, err, ErrClosed)
}

func TestWritesAfterTheContextEndedSendNothing(t *testing.T) {
	s := setup(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("because")
	cancel(why)
	_, err := s.Create(ctx, "a", nil)
	require.ErrorIs(t, err, why)
	require.NotErrorIs(t, err, ErrUnknown)
	_, err = s.Get(t.Context(), "a")
	require.ErrorIs(t, err, ErrNotFound)
}
