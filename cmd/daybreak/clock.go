package main

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// shifted is the real clock set to another time: it runs on from there at its own pace. Timers and leases measure
// durations, so they are the real clock's.
type shifted struct {
	clockwork.Clock
	by time.Duration
}

// clockAt returns a clock that shows at now; the real clock when at is zero.
func clockAt(at time.Time) clockwork.Clock {
	real := clockwork.NewRealClock()
	if at.IsZero() {
		return real
	}
	return shifted{Clock: real, by: at.Sub(real.Now())}
}

func (c shifted) Now() time.Time                  { return c.Clock.Now().Add(c.by) }
func (c shifted) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c shifted) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }
