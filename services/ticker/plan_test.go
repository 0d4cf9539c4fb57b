package ticker

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var epoch = time.Date(2026, 10, 30, 0, 0, 0, 0, time.UTC)

func TestPlanReasons(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, c := range []struct {
		what       string
		wall, wire time.Duration // since the wake before
		due        time.Duration // of the next due instant, after the wake before; 0 for none
		again      time.Duration
		failures   int
		want       Reason
	}{
		{"nothing happened", 2 * s, 2 * s, 60 * s, 60 * s, 0, ""},
		{"due to the nanosecond", 2 * s, 2 * s, 2 * s, 60 * s, 0, ReasonDue},
		{"not quite due", 2*s - 1, 2 * s, 2 * s, 60 * s, 0, ""},
		{"never due again", 2 * s, 2 * s, 0, 60 * s, 0, ""},
		{"put back", -1, 2 * s, 60 * s, 60 * s, 0, ReasonBack},
		{"put back a year", -365 * 24 * time.Hour, 2 * s, 60 * s, 60 * s, 0, ReasonBack},
		{"slept over nothing", time.Hour, 2 * s, 2 * time.Hour, 60 * s, 0, ReasonForward},
		{"slept over a due instant", time.Hour, 2 * s, 60 * s, 60 * s, 0, ReasonDue},
		{"slewed a little", 4 * s, 2 * s, 60 * s, 60 * s, 0, ""},
		{"time to look again", 2 * s, 60 * s, 0, 60 * s, 0, ReasonRescan},
		{"clock stands still, time to look again", 0, 60 * s, 0, 60 * s, 0, ReasonRescan},
		{"failed before", 2 * s, 2 * s, 60 * s, 2 * s, 1, ReasonRetry},
		{"failed before, not yet", 2 * s, 2 * s, 60 * s, 3 * s, 1, ""},
	} {
		p := plan{wall: epoch, wire: epoch, again: epoch.Add(c.again), failures: c.failures}
		if c.due != 0 {
			p.due = epoch.Add(c.due)
		}
		require.Equal(t, c.want, p.reason(epoch.Add(c.wall), epoch.Add(c.wire)), c.what)
	}
	require.Equal(t, ReasonStart, plan{}.reason(epoch, epoch))
}

func TestPlanRetriesLaterEachTime(t *testing.T) {
	t.Parallel()
	var p plan
	last := time.Duration(0)
	for range 100 {
		p.scanned(time.Time{}, epoch, time.Minute, errors.New("no"))
		wait := p.again.Sub(epoch)
		require.GreaterOrEqual(t, wait, last)
		require.LessOrEqual(t, wait, retryMax)
		last = wait
	}
	require.Equal(t, retryMax, last)
	p.scanned(time.Time{}, epoch, time.Minute, nil)
	require.Equal(t, epoch.Add(time.Minute), p.again)
	p.scanned(time.Time{}, epoch, time.Minute, errors.New("no"))
	require.Equal(t, retryMin, p.again.Sub(epoch), "a success begins anew")
}

func TestPlanSleepsShortAndNotPastADueInstant(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2*time.Second, plan{}.sleep(epoch, 2*time.Second))
	require.Equal(t, 2*time.Second, plan{due: epoch.Add(time.Hour)}.sleep(epoch, 2*time.Second))
	require.Equal(t, time.Second, plan{due: epoch.Add(time.Second)}.sleep(epoch, 2*time.Second))
	require.Equal(t, sleepMin, plan{due: epoch.Add(-time.Hour)}.sleep(epoch, 2*time.Second))
}

// TestPlanMissesNoDueInstant lives through days with a wall clock that is set forward and back, suspends, slow and failing
// scans, and holds at every wake: what has come due by the wall clock has been scanned for.
func TestPlanMissesNoDueInstant(t *testing.T) {
	t.Parallel()
	const every, wake = 24 * time.Hour, 2 * time.Second
	nextDue := func(now time.Time) time.Time { return now.Truncate(every).Add(every) }
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var p plan
		wall, wire, newest := epoch, epoch, time.Time{}
		for range 3000 {
			scan := p.reason(wall, wire) != ""
			seenWall, seenWire := wall, wire
			if scan {
				took := time.Duration(r.Int64N(int64(20 * time.Second)))
				wall, wire = wall.Add(took), wire.Add(took)
				newest = seenWall.Truncate(every)
				p.scanned(nextDue(seenWall), wire, 3*time.Minute, nil)
			}
			p.wall, p.wire = seenWall, seenWire
			require.Equal(t, seenWall.Truncate(every), newest, "seed %d: due, and nobody looked", seed)
			nap := p.sleep(seenWall, wake)
			require.LessOrEqual(t, nap, wake)
			wall, wire = wall.Add(nap), wire.Add(nap)
			switch r.IntN(40) {
			case 0:
				wall = wall.Add(time.Duration(r.Int64N(int64(7 * every)))) // suspend, or set forward
			case 1:
				wall = wall.Add(-time.Duration(r.Int64N(int64(3 * every))))
			case 2:
				wall = nextDue(wall)
			}
		}
	}
}
