package kv

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStatsTellTakeoversLossesAndRefusedWrites(t *testing.T) {
	s := setup(t)
	first := acquire(t, s, "n", "one")
	require.NoError(t, first.Release(t.Context()))
	second := acquire(t, s, "n", "two")
	require.Equal(t, Stats{Taken: 2}, s.Stats(), "given back, not taken over")

	seizeKey(t, s, "n")
	third := acquire(t, s, "n", "three")
	_, err := second.Put(t.Context(), "k", nil)
	require.ErrorIs(t, err, ErrFenced)
	require.Equal(t, uint64(1), s.Stats().Rejections)
	require.Equal(t, uint64(1), s.Stats().Lost)
	require.NoError(t, third.Release(t.Context()))
	require.Equal(t, uint64(1), s.Stats().Lost, "giving back is no loss")
}

func TestStatsCountALeaseThatRanOutAsTakenOver(t *testing.T) {
	s := open(t, js(setup(t)), ttl(time.Second))
	gone := watchGone(t, s, "n")
	s.hooks.renew = func(string) bool { return false }
	l := acquire(t, s, "n", "one")
	<-gone
	acquire(t, s, "n", "two")
	require.Equal(t, uint64(1), s.Stats().Takeovers)
	require.ErrorIs(t, l.Err(), ErrLeaseLost)
}
