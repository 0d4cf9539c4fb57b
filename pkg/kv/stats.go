package kv

import "sync/atomic"

// Stats are the counters of a store since Open.
type Stats struct {
	Taken      uint64 // leases taken
	Takeovers  uint64 // of these, over one that had expired less than an hour ago: its holder died or slept
	Lost       uint64 // holdings that ended before Release
	Rejections uint64 // guarded writes refused by the server, because the fence had moved on
}

type counters struct{ taken, takeovers, lost, rejections atomic.Uint64 }

// Stats returns the counters.
func (s *Store) Stats() Stats {
	c := &s.counts
	return Stats{
		Taken: c.taken.Load(), Takeovers: c.takeovers.Load(), Lost: c.lost.Load(), Rejections: c.rejections.Load(),
	}
}

// took notes a lease that was taken.
func (c *counters) took(over bool) {
	c.taken.Add(1)
	if over {
		c.takeovers.Add(1)
	}
}
