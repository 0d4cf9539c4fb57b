package kv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
)

func acquire(t *testing.T, s *Store, name, owner string) *Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), name, owner)
	require.NoError(t, err)
	return l
}

// watchGone returns a channel that is closed when the lease key of name ends.
func watchGone(t *testing.T, s *Store, name string) <-chan struct{} {
	t.Helper()
	values, stop, err := s.Watch(t.Context(), "lease")
	require.NoError(t, err)
	t.Cleanup(stop)
	for v := range values {
		if v.Synced {
			break
		}
	}
	gone := make(chan struct{})
	go func() {
		closed := false
		for v := range values {
			if v.Key == leasePrefix+name && v.Deleted && !closed {
				closed = true
				close(gone)
			}
		}
	}()
	return gone
}

// seizeKey deletes the lease key as its expiry would, without waiting for it.
func seizeKey(t *testing.T, s *Store, name string) {
	t.Helper()
	_, err := s.commit(context.Background(), write{key: leasePrefix + name, del: true})
	require.NoError(t, err)
}

func race(t *testing.T, stores []*Store, keys, racers int) {
	t.Helper()
	var wg sync.WaitGroup
	var odd atomic.Pointer[error]
	won := make([]atomic.Int32, keys)
	for k := range keys {
		if k%5 == 4 {
			wg.Wait() // five keys at once: the race is within a key
		}
		for r := range racers {
			wg.Go(func() {
				s := stores[r%len(stores)]
				_, err := s.Acquire(context.Background(), fmt.Sprintf("race.%d", k), fmt.Sprint(r))
				var held *HeldError
				switch {
				case err == nil:
					won[k].Add(1)
				case errors.Is(err, ErrHeld) && errors.As(err, &held) && held.Owner != "":
				default:
					odd.Store(&err)
				}
			})
		}
	}
	wg.Wait()
	if err := odd.Load(); err != nil {
		require.NoError(t, *err)
	}
	for k := range keys {
		require.EqualValues(t, 1, won[k].Load(), "winners of key %d", k)
	}
}

func TestOneWinnerAmongRacers(t *testing.T) {
	s := setup(t)
	race(t, []*Store{s, open(t, js(s))}, 40, 50)
}

func TestAcquireReleaseAndToken(t *testing.T) {
	s := setup(t)
	ctx := t.Context()
	_, held, err := s.Holder(ctx, "n")
	require.NoError(t, err)
	require.False(t, held)
	l := acquire(t, s, "n", "me")
	require.Equal(t, "n", l.Name())
	require.Equal(t, "me", l.Owner())
	require.NoError(t, l.Err())
	owner, held, err := s.Holder(ctx, "n")
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, "me", owner)

	_, err = s.Acquire(ctx, "n", "me") // even for the same owner
	require.ErrorIs(t, err, ErrHeld)
	var he *HeldError
	require.ErrorAs(t, err, &he)
	require.Equal(t, HeldError{Name: "n", Owner: "me"}, *he)

	_, err = l.Put(ctx, "k", []byte("v"))
	require.NoError(t, err)
	require.NoError(t, l.Delete(ctx, "k"))
	_, err = s.Get(ctx, "k")
	require.ErrorIs(t, err, ErrNotFound)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.NoError(t, l.Release(ended)) // a deferred release still works
	require.NoError(t, l.Release(ctx))
	require.ErrorIs(t, context.Cause(l.Context()), ErrReleased)
	require.ErrorIs(t, context.Cause(l.Context()), ErrLeaseLost)
	require.ErrorIs(t, l.Err(), ErrReleased)
	_, err = l.Put(ctx, "k", nil)
	require.ErrorIs(t, err, ErrReleased)
	_, held, err = s.Holder(ctx, "n")
	require.NoError(t, err)
	require.False(t, held)

	next := acquire(t, s, "n", "other")
	require.Greater(t, next.Token(), l.Token())
	require.NoError(t, l.Release(ctx)) // the old one again: not the new one's key
	_, held, err = s.Holder(ctx, "n")
	require.NoError(t, err)
	require.True(t, held)
}

func TestContextFollowsItsParentButRenewalsGoOn(t *testing.T) {
	s := setup(t, ttl(2*time.Second))
	why := errors.New("stop now")
	ctx, cancel := context.WithCancelCause(t.Context())
	l, err := s.Acquire(ctx, "n", "me")
	require.NoError(t, err)
	cancel(why)
	<-l.Context().Done()
	require.ErrorIs(t, context.Cause(l.Context()), why)
	require.NoError(t, l.Err())
	renewed(t, s, "n", 3*time.Second)
	require.NoError(t, l.Err())
}

// renewed waits until the key of name has been renewed for d without a gap.
func renewed(t *testing.T, s *Store, name string, d time.Duration) {
	t.Helper()
	values, stop, err := s.Watch(t.Context(), "lease")
	require.NoError(t, err)
	defer stop()
	var first time.Time
	for v := range values {
		if v.Key != leasePrefix+name {
			continue
		}
		require.False(t, v.Deleted, "expired under its holder")
		if first.IsZero() {
			first = v.Created
		}
		if v.Created.Sub(first) > d {
			return
		}
	}
	t.Fatal("watch ended early")
}

func TestRenewalKeepsTheKeyAndItsTTL(t *testing.T) {
	s := setup(t, ttl(2*time.Second))
	var dead atomic.Bool
	s.hooks.renew = func(string) bool { return !dead.Load() }
	l := acquire(t, s, "n", "me")
	renewed(t, s, "n", 6500*time.Millisecond)
	require.NoError(t, l.Context().Err())
	gone := watchGone(t, s, "n")
	dead.Store(true)
	<-l.Context().Done()
	require.ErrorIs(t, context.Cause(l.Context()), ErrLeaseLost)
	require.NotErrorIs(t, context.Cause(l.Context()), ErrReleased)
	<-gone // the renewals had carried the TTL
}

func TestZombieIsFencedOut(t *testing.T) {
	s := setup(t, ttl(time.Second))
	s.hooks.renew = func(string) bool { return false }
	other := open(t, js(s))
	ctx := t.Context()
	zombie := acquire(t, s, "n", "zombie")
	gone := watchGone(t, s, "n")
	_, err := zombie.Put(ctx, "k", []byte("before"))
	require.NoError(t, err)
	<-zombie.Context().Done()
	<-gone
	_, err = zombie.Put(ctx, "k", []byte("nobody took over")) // one writer at a time: allowed
	require.NoError(t, err)

	next := acquire(t, other, "n", "next")
	require.Greater(t, next.Token(), zombie.Token())
	_, err = zombie.Put(ctx, "k", []byte("zombie"))
	require.ErrorIs(t, err, ErrFenced)
	require.ErrorIs(t, zombie.Delete(ctx, "k"), ErrFenced)
	_, err = next.Put(ctx, "k", []byte("next"))
	require.NoError(t, err)
	require.NoError(t, zombie.Release(ctx))
	require.NoError(t, next.Err())
	owner, held, err := s.Holder(ctx, "n")
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, "next", owner)
	v, err := s.Get(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, "next", string(v.Data))
}

func TestFencedWriteEndsTheLease(t *testing.T) {
	s := setup(t)
	l := acquire(t, s, "n", "old")
	seizeKey(t, s, "n")
	acquire(t, s, "n", "new")
	_, err := l.Put(t.Context(), "k", nil)
	require.ErrorIs(t, err, ErrFenced)
	<-l.Context().Done()
	require.ErrorIs(t, context.Cause(l.Context()), ErrLeaseLost)
	require.ErrorIs(t, context.Cause(l.Context()), ErrFenced)
}

func TestRefusedRenewalEndsTheLease(t *testing.T) {
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprintf("taken=%v", taken), func(t *testing.T) {
			s := setup(t, ttl(2*time.Second))
			l := acquire(t, s, "n", "old")
			seizeKey(t, s, "n")
			if taken {
				acquire(t, s, "n", "new")
			}
			<-l.Context().Done()
			require.ErrorIs(t, context.Cause(l.Context()), ErrLeaseLost)
			require.NotContains(t, context.Cause(l.Context()).Error(), "in time")
		})
	}
}

func TestSleeperBetweenLeaseAndFence(t *testing.T) {
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprintf("taken=%v", taken), func(t *testing.T) {
			sleeper := setup(t, ttl(time.Second))
			other := open(t, js(sleeper))
			gone := watchGone(t, other, "n")
			asleep, wake := make(chan struct{}), make(chan struct{})
			sleeper.hooks.claimed = func(string) { close(asleep); <-wake }
			result := make(chan error, 1)
			go func() {
				_, err := sleeper.Acquire(context.Background(), "n", "sleeper")
				result <- err
			}()
			<-asleep
			<-gone
			if !taken {
				close(wake)
				require.ErrorIs(t, <-result, ErrLeaseLost)
				return
			}
			next := acquire(t, other, "n", "next")
			close(wake)
			require.ErrorIs(t, <-result, ErrHeld)
			_, err := next.Put(t.Context(), "k", nil)
			require.NoError(t, err)
			owner, held, err := other.Holder(t.Context(), "n")
			require.NoError(t, err)
			require.True(t, held)
			require.Equal(t, "next", owner)
		})
	}
}

func TestDeadlineIsTheHoldersOwnClock(t *testing.T) {
	clock := clockwork.NewFakeClock()
	s := setup(t, func(o *Options) { o.Clock = clock })
	s.hooks.renew = func(string) bool { return false }
	l := acquire(t, s, "n", "me")
	clock.Advance(20*time.Second - time.Nanosecond)
	require.NoError(t, l.Err())
	require.NoError(t, l.Context().Err())
	clock.Advance(time.Nanosecond)
	require.ErrorIs(t, l.Err(), ErrLeaseLost) // at once, before the watchdog ran
	<-l.Context().Done()
	require.ErrorIs(t, context.Cause(l.Context()), ErrLeaseLost)
	_, held, err := s.Holder(t.Context(), "n") // the server's clock has not moved
	require.NoError(t, err)
	require.True(t, held)
	require.NoError(t, l.Release(t.Context()))
	acquire(t, s, "n", "next")
}

func TestSlowAcquireIsNotTrusted(t *testing.T) {
	clock := clockwork.NewFakeClock()
	s := setup(t, func(o *Options) { o.Clock = clock })
	s.hooks.claimed = func(string) { clock.Advance(20 * time.Second) }
	_, err := s.Acquire(t.Context(), "n", "slow")
	require.ErrorIs(t, err, ErrLeaseLost)
	_, held, err := s.Holder(t.Context(), "n")
	require.NoError(t, err)
	require.False(t, held, "given back")
}

func TestWideMarginShortensTheTrust(t *testing.T) {
	t.Parallel()
	o, err := Options{Bucket: "b", LeaseTTL: 30 * time.Second, Margin: 15 * time.Second}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, 15*time.Second, o.trustWindow())
	o, err = Options{Bucket: "b"}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, 20*time.Second, o.trustWindow())
	require.Equal(t, 3*time.Second, o.Margin)
}

func TestCloseReleasesLeases(t *testing.T) {
	s := setup(t)
	other := open(t, js(s))
	l := acquire(t, s, "n", "me")
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
	require.ErrorIs(t, l.Err(), ErrReleased)
	next := acquire(t, other, "n", "next")
	require.Greater(t, next.Token(), l.Token())
}

func TestConcurrentPutsAndReleases(t *testing.T) {
	s := setup(t)
	l := acquire(t, s, "n", "me")
	var wg sync.WaitGroup
	var bad atomic.Int32
	for i := range 40 {
		wg.Go(func() {
			if _, err := l.Put(t.Context(), fmt.Sprintf("k.%d", i), nil); err != nil {
				bad.Add(1)
			}
		})
	}
	wg.Wait()
	require.Zero(t, bad.Load())
	for range 5 {
		wg.Go(func() {
			if err := l.Release(t.Context()); err != nil {
				bad.Add(1)
			}
		})
	}
	wg.Wait()
	require.Zero(t, bad.Load())
}
