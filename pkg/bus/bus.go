package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options of Open. The zero value is usable.
type Options struct {
	// Replicas of every stream, 1 by default, 3 in production.
	Replicas int
	// MaxBytesScale multiplies MaxBytes of every stream, 1 by default. The server reserves
	// MaxBytes, so an embedded one on a small disk needs a fraction.
	MaxBytesScale float64
	// Prepared says that the streams and consumers were laid out by somebody with the right to do so: they are looked
	// at and never changed. What is missing or cannot be ours is an error, other settings are logged.
	Prepared bool
	// Logger, slog.Default() by default.
	Logger *slog.Logger
	// Clock dates Snapshot.Waiting, the real one by default.
	Clock clockwork.Clock
	// Timeout bounds one request to the server, 5 s by default. Calls as a whole are bounded
	// by their context.
	Timeout time.Duration
	// OpenTimeout bounds Open when its context has no deadline, 60 s by default.
	OpenTimeout time.Duration
}

// Bus publishes to and consumes from the streams. It is safe for concurrent use. It does not
// own the connection: whoever opened that closes it.
type Bus struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	opts Options
	log  *slog.Logger
	// wire is the time the server lives in, see the package comment.
	wire      clockwork.Clock
	settleMax time.Duration

	published, duplicates, retries atomic.Uint64

	mu        sync.Mutex
	consumers []*Consumer
}

func (o Options) withDefaults() Options {
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.MaxBytesScale = cmp.Or(o.MaxBytesScale, 1)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.OpenTimeout = cmp.Or(o.OpenTimeout, time.Minute)
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	return o
}

// Open makes the streams so and returns the bus. It waits for a server or cluster that is not
// ready yet. An existing stream that cannot become ours gives a *ConflictError.
func Open(ctx context.Context, nc *nats.Conn, opts Options) (*Bus, error) {
	opts = opts.withDefaults()
	if opts.Replicas < 1 || opts.Replicas > 5 || opts.MaxBytesScale < 0 {
		return nil, fmt.Errorf("bus: replicas %d (1 to 5) or scale %v (above 0) out of range", opts.Replicas, opts.MaxBytesScale)
	}
	js, err := jetstream.New(nc,
		jetstream.WithDefaultTimeout(opts.Timeout),
		jetstream.WithPublishAsyncTimeout(opts.Timeout),
		// Each PublishAll keeps its own window; this only must not be in its way.
		jetstream.WithPublishAsyncMaxPending(1<<16))
	if err != nil {
		return nil, fmt.Errorf("bus: jetstream context: %w", err)
	}
	b := &Bus{nc: nc, js: js, opts: opts, log: opts.Logger, wire: clockwork.NewRealClock(), settleMax: settleMax}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opts.OpenTimeout)
		defer cancel()
	}
	if err := b.applyStreams(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// JetStream is the context the bus works with, for what the bus does not offer.
func (b *Bus) JetStream() jetstream.JetStream { return b.js }

// Conn is the connection the bus works on.
func (b *Bus) Conn() *nats.Conn { return b.nc }

// Last returns the last message on a subject and its sequence, as the stream's leader knows it.
// ErrNotFound when there is none. subject may hold wildcards.
func (b *Bus) Last(ctx context.Context, stream, subject string) (Message, uint64, error) {
	var raw *jetstream.RawStreamMsg
	err := b.untilAnswered(ctx, "last message", func(ctx context.Context) error {
		s, err := b.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		raw, err = s.GetLastMsgForSubject(ctx, subject)
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return Message{}, 0, fmt.Errorf("%w: subject %s in stream %s", ErrNotFound, subject, stream)
	}
	if err != nil {
		return Message{}, 0, fmt.Errorf("bus: last message on %s in stream %s: %w", subject, stream, err)
	}
	m := Message{Subject: raw.Subject, ID: raw.Header.Get(jetstream.MsgIDHeader), Header: raw.Header, Body: raw.Data}
	return m, raw.Sequence, nil
}

// Pending tells how many messages of a durable consumer were never delivered, and how many are
// delivered and not settled (in work, or waiting for a retry, in any process). ErrNotFound
// when the consumer does not exist yet.
func (b *Bus) Pending(ctx context.Context, stream, durable string) (numPending uint64, numAckPending int, err error) {
	var info *jetstream.ConsumerInfo
	err = b.untilAnswered(ctx, "consumer info", func(ctx context.Context) error {
		c, err := b.js.Consumer(ctx, stream, durable)
		if err == nil {
			info = c.CachedInfo()
		}
		return err
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, 0, fmt.Errorf("%w: consumer %s of stream %s", ErrNotFound, durable, stream)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("bus: consumer %s of stream %s: %w", durable, stream, err)
	}
	return info.NumPending, info.NumAckPending, nil
}

// Stats are the counters of a bus since Open.
type Stats struct {
	Published  uint64 // messages acknowledged by the server, duplicates included
	Duplicates uint64 // of these, how many the server had already
	Retries    uint64 // attempts repeated because the outcome was unknown or the server not ready
	Consumers  []Snapshot
}

// Stats returns the counters.
func (b *Bus) Stats() Stats {
	b.mu.Lock()
	consumers := slices.Clone(b.consumers)
	b.mu.Unlock()
	s := Stats{Published: b.published.Load(), Duplicates: b.duplicates.Load(), Retries: b.retries.Load()}
	for _, c := range consumers {
		s.Consumers = append(s.Consumers, c.Snapshot())
	}
	return s
}
