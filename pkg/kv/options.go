package kv

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// DefaultLeaseTTL is long enough for the hard loss of a stream leader (an
// election of 4 to 9 s) to pass between two renewals.
const DefaultLeaseTTL = 30 * time.Second

const (
	// markerTTL is how long the server keeps the marker of an expired key. A
	// watcher that was cut off for less still learns of the expiry.
	markerTTL = time.Hour

	openTimeout    = 30 * time.Second
	openAttempt    = 5 * time.Second  // one request of it; making a stream with copies takes longer than a write
	acquireTimeout = 15 * time.Second // for the create and, again, for the fence
	writeTimeout   = 10 * time.Second
	readTimeout    = 10 * time.Second
	listTimeout    = 30 * time.Second
	releaseTimeout = 5 * time.Second

	// attemptTimeout bounds one try inside the times above, so that a message
	// lost with a leader costs a part of them only.
	attemptTimeout = 2 * time.Second
)

// Options configure a Store. The zero value of each field means its default.
type Options struct {
	// Bucket is the bucket's name: letters, digits, '-' and '_'. Required.
	Bucket string
	// Replicas of the stream: 1 (default), 3 or 5.
	Replicas int
	// MaxBytes bounds the bucket; 0 means no bound. A full bucket refuses writes.
	MaxBytes int64
	// LeaseTTL is how long a lease lives after its last renewal: whole seconds,
	// at least one; default DefaultLeaseTTL.
	LeaseTTL time.Duration
	// Margin is kept free at the end of the TTL for differing clock rates;
	// default LeaseTTL/10, less than LeaseTTL.
	Margin time.Duration
	// Clock measures the holder's deadlines; default the real, monotonic clock.
	// Time limits of single requests always run on the real clock.
	Clock clockwork.Clock
	// NewID draws the identity of a write; it must never repeat. Default: nuid.
	NewID func() string
	// Jitter turns the wait before an attempt is repeated into one that differs between racers; default: half to one
	// and a half of it. A simulation gives one that can be had again.
	Jitter func(base time.Duration) time.Duration
	// Logger gets losses and retries; default slog.Default().
	Logger *slog.Logger
	// Prepared says that the bucket was made by somebody with the right to do so:
	// it is looked at and never changed.
	Prepared bool
	// Storage is file (default) or memory, the latter for tests.
	Storage jetstream.StorageType
}

func (o Options) withDefaults() (Options, error) {
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.LeaseTTL = cmp.Or(o.LeaseTTL, DefaultLeaseTTL)
	o.Margin = cmp.Or(o.Margin, o.LeaseTTL/10)
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.NewID == nil {
		o.NewID = nuid.Next
	}
	if o.Jitter == nil {
		o.Jitter = jitter
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.Bucket == "":
		return o, fmt.Errorf("%w: no bucket name", ErrInvalidOptions)
	case o.LeaseTTL < time.Second || o.LeaseTTL%time.Second != 0:
		// The server cuts fractions off; trusting them would outlive the key.
		return o, fmt.Errorf("%w: lease TTL %v is not a whole number of seconds", ErrInvalidOptions, o.LeaseTTL)
	case o.Margin < 0 || o.Margin >= o.LeaseTTL:
		return o, fmt.Errorf("%w: margin %v is not between 0 and the lease TTL %v", ErrInvalidOptions, o.Margin, o.LeaseTTL)
	}
	return o, nil
}

// trustWindow is how long after the start of a confirmed attempt the holder
// goes on working.
func (o Options) trustWindow() time.Duration {
	return min(o.LeaseTTL*2/3, o.LeaseTTL-o.Margin)
}

// renewEvery is the time between the starts of two renewals.
func (o Options) renewEvery() time.Duration { return o.LeaseTTL / 3 }

// renewRetry is the wait after a renewal without an answer.
func (o Options) renewRetry() time.Duration { return o.LeaseTTL / 15 }
