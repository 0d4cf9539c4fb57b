package ticker

import "time"

// Reason says why a scan was made.
type Reason string

// The reasons of a scan.
const (
	ReasonStart   Reason = "start"   // the first one
	ReasonDue     Reason = "due"     // a due instant was crossed
	ReasonBack    Reason = "back"    // the wall clock was put back
	ReasonForward Reason = "forward" // the wall clock was put forward, or the machine slept
	ReasonRescan  Reason = "rescan"  // time to look for holes
	ReasonRetry   Reason = "retry"   // the scan before failed in part
)

const (
	jumpMin  = 10 * time.Second // wall clock ahead of real time by more than this: it was set, or the machine slept
	sleepMin = 20 * time.Millisecond
	retryMin = 250 * time.Millisecond
	retryMax = 30 * time.Second
)

// plan decides when to scan. Wall times tell what is due; wire times, which are real
// and only grow, tell how long ago something was.
type plan struct {
	wall, wire time.Time // both at the last wake, read together
	due        time.Time // wall time of the next due instant after the last scan, zero for none
	again      time.Time // wire time of the next scan, if nothing else asks for one before
	failures   int       // scans failed in a row
}

// reason says why to scan now, "" for not yet.
func (p plan) reason(wall, wire time.Time) Reason {
	switch {
	case p.wire.IsZero():
		return ReasonStart
	case wall.Before(p.wall):
		return ReasonBack // the next due instant may lie before the one that was waited for
	case !p.due.IsZero() && !wall.Before(p.due):
		return ReasonDue
	case wall.Sub(p.wall)-wire.Sub(p.wire) > jumpMin:
		return ReasonForward
	case wire.Before(p.again):
		return ""
	case p.failures > 0:
		return ReasonRetry
	}
	return ReasonRescan
}

// scanned plans the next scan after one that ended at wire with err.
func (p *plan) scanned(due, wire time.Time, rescan time.Duration, err error) {
	p.due = due
	if err == nil {
		p.failures, p.again = 0, wire.Add(rescan)
		return
	}
	p.again = wire.Add(min(retryMax, retryMin<<min(p.failures, 10)))
	p.failures++
}

// sleep is how long to sleep at most: until the next due instant, but never longer than wake.
func (p plan) sleep(wall time.Time, wake time.Duration) time.Duration {
	if p.due.IsZero() {
		return wake
	}
	return max(sleepMin, min(wake, p.due.Sub(wall)))
}
