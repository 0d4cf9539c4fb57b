package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"daybreak/pkg/tracing"
)

// ConsumerOptions say what to consume and how. Stream and Durable are required.
type ConsumerOptions struct {
	Stream  string
	Durable string
	// Filter selects subjects; empty means the whole stream. A changed filter counts from where the
	// durable stands: what the old one left out before that does not come any more.
	Filter []string
	// Workers is how many messages this process works on at once, 1 by default.
	Workers int
	// AckWait is how long a dead worker's message stays unavailable, 30 s by default.
	AckWait time.Duration
	// InProgressEvery is how often the server is told that a handler still works, AckWait/3 by default.
	InProgressEvery time.Duration
	// MaxAckPending bounds the messages in work and waiting for a retry, over all replicas,
	// 10,000 by default: once so many wait, nothing new is delivered.
	MaxAckPending int
	// DrainTimeout bounds how long Run waits for handlers after its context ended, 15 s by default.
	DrainTimeout time.Duration
	// OnVerdict, if set, is called after a verdict was carried out. It must not block.
	OnVerdict func(d Delivery, v Verdict)
}

func (o ConsumerOptions) withDefaults() ConsumerOptions {
	o.Workers = cmp.Or(o.Workers, 1)
	o.AckWait = cmp.Or(o.AckWait, 30*time.Second)
	o.InProgressEvery = cmp.Or(o.InProgressEvery, o.AckWait/3)
	o.MaxAckPending = cmp.Or(o.MaxAckPending, 10_000)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 15*time.Second)
	return o
}

func (o ConsumerOptions) validate() error {
	var problems []error
	if o.Stream == "" || checkToken(o.Durable) != nil {
		problems = append(problems, fmt.Errorf("stream %q and durable %q must be names without dots and wildcards", o.Stream, o.Durable))
	}
	if o.Workers < 1 {
		problems = append(problems, fmt.Errorf("workers %d must be at least 1", o.Workers))
	}
	if o.InProgressEvery <= 0 || o.InProgressEvery > o.AckWait/2 {
		problems = append(problems, fmt.Errorf("in-progress every %v must be at most half of ack wait %v", o.InProgressEvery, o.AckWait))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("bus: consumer options: %w", err)
	}
	return nil
}

// Consumer works off one durable consumer with a handler.
type Consumer struct {
	bus     *Bus
	opts    ConsumerOptions
	handler Handler
	log     *slog.Logger
	book    *book
	ensured sync.Mutex // one worker at a time mends the server side
}

// Consumer prepares a consumer; Run starts it. Nothing is sent yet.
func (b *Bus) Consumer(opts ConsumerOptions, handler Handler) *Consumer {
	opts = opts.withDefaults()
	c := &Consumer{
		bus: b, opts: opts, handler: handler,
		log:  b.log.With("stream", opts.Stream, "durable", opts.Durable),
		book: newBook(opts, b.opts.Clock),
	}
	b.mu.Lock()
	b.consumers = append(b.consumers, c)
	b.mu.Unlock()
	return c
}

// Consume runs a consumer until ctx ends; see Consumer.Run.
func (b *Bus) Consume(ctx context.Context, opts ConsumerOptions, handler Handler) error {
	return b.Consumer(opts, handler).Run(ctx)
}

// Snapshot tells what the consumer does right now in this process.
func (c *Consumer) Snapshot() Snapshot { return c.book.snapshot() }

// Run works until ctx ends and returns nil then, or ErrDrain when handlers did not come back in
// DrainTimeout. Another error means that it cannot work at all (options, a conflicting consumer, a
// closed connection); what the server merely does not answer is tried for as long as ctx lasts.
func (c *Consumer) Run(ctx context.Context) error {
	if err := c.opts.validate(); err != nil {
		return err
	}
	if err := c.ensure(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for range c.opts.Workers {
		workers.Go(func() {
			if err := c.work(ctx); err != nil {
				stop(err)
			}
		})
	}
	<-ctx.Done()
	return errors.Join(ignoreEnd(ctx, context.Cause(ctx)), c.awaitWorkers(&workers))
}

// ignoreEnd drops an error that only says that ctx ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

func (c *Consumer) awaitWorkers(workers *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	limit := c.bus.wire.NewTimer(c.opts.DrainTimeout)
	defer limit.Stop()
	select {
	case <-done:
		return nil
	case <-limit.Chan():
		if n := c.book.abandon(); n > 0 {
			return fmt.Errorf("%w: consumer %s, %d in flight", ErrDrain, c.opts.Durable, n)
		}
		return nil
	}
}

// Ensure makes the durable consumer so, as Run does before it works.
func (c *Consumer) Ensure(ctx context.Context) error {
	if err := c.opts.validate(); err != nil {
		return err
	}
	return c.ensure(ctx)
}

// ensure makes the durable consumer so, waiting for the server as long as ctx lasts.
func (c *Consumer) ensure(ctx context.Context) error {
	c.ensured.Lock()
	defer c.ensured.Unlock()
	for attempt := 0; ; attempt++ {
		err := c.bus.untilAnswered(ctx, "apply consumer "+c.opts.Durable, c.apply)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			if err != nil {
				return fmt.Errorf("bus: consumer %s of stream %s: %w", c.opts.Durable, c.opts.Stream, err)
			}
			return nil
		}
		c.log.Error("stream is gone, making it again", "err", err)
		if err := c.bus.applyStreams(ctx); err != nil {
			return err
		}
		if !c.bus.pause(ctx, pauseFor(attempt)) {
			return context.Cause(ctx)
		}
	}
}

// apply keeps what is not ours of an existing consumer. The server keeps a pause by itself.
func (c *Consumer) apply(ctx context.Context) error {
	cfg := jetstream.ConsumerConfig{}
	have, err := c.bus.js.Consumer(ctx, c.opts.Stream, c.opts.Durable)
	switch {
	case err == nil:
		cfg = have.CachedInfo().Config
		if err := c.conflict(cfg); err != nil {
			return err
		}
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return err
	case c.bus.opts.Prepared:
		return ErrNotLaidOut
	}
	was := cfg
	cfg.Name, cfg.Durable = c.opts.Durable, c.opts.Durable
	cfg.AckPolicy = jetstream.AckExplicitPolicy
	cfg.DeliverPolicy = jetstream.DeliverAllPolicy
	cfg.ReplayPolicy = jetstream.ReplayInstantPolicy
	cfg.AckWait = c.opts.AckWait
	cfg.MaxDeliver = -1
	cfg.BackOff = nil // makes AckWait and the delay of a retry something else
	cfg.MaxAckPending = c.opts.MaxAckPending
	cfg.FilterSubject, cfg.FilterSubjects = "", nil
	if len(c.opts.Filter) == 1 {
		cfg.FilterSubject = c.opts.Filter[0]
	} else {
		cfg.FilterSubjects = slices.Clone(c.opts.Filter)
	}
	if c.bus.opts.Prepared {
		if other := differing(was, cfg); len(other) > 0 {
			c.log.Warn("consumer has other settings than this program lays out; run daybreak init", "settings", other)
		}
		return nil
	}
	_, err = c.bus.js.CreateOrUpdateConsumer(ctx, c.opts.Stream, cfg)
	return err
}

func (c *Consumer) conflict(have jetstream.ConsumerConfig) error {
	bad := func(field string, have, want any) error {
		return &ConflictError{
			Stream: c.opts.Stream, Consumer: c.opts.Durable, Field: field,
			Have: fmt.Sprint(have), Want: fmt.Sprint(want),
		}
	}
	switch {
	case have.AckPolicy != jetstream.AckExplicitPolicy:
		return bad("ack_policy", have.AckPolicy, jetstream.AckExplicitPolicy)
	case have.DeliverPolicy != jetstream.DeliverAllPolicy:
		return bad("deliver_policy", have.DeliverPolicy, jetstream.DeliverAllPolicy)
	case have.DeliverSubject != "":
		return bad("deliver_subject", have.DeliverSubject, "none (pull)")
	}
	return nil
}

// work is one worker: pull one, handle it, and again.
func (c *Consumer) work(ctx context.Context) error {
	p, err := c.bus.newPuller(c.opts.Stream, c.opts.Durable)
	if err != nil {
		return err
	}
	wrap := context.WithoutCancel(ctx)
	defer p.drain(wrap, func(msg *nats.Msg) {
		c.giveBack(wrap, msg)
	})
	for failures := 0; ctx.Err() == nil; {
		msg, err := p.next(ctx)
		switch {
		case err == nil && ctx.Err() != nil:
			c.giveBack(wrap, msg)
		case err == nil:
			failures = 0
			c.handle(ctx, msg)
		case ctx.Err() != nil, errors.Is(err, errPullAgain):
		case permanent(err):
			return fmt.Errorf("bus: consumer %s: %w", c.opts.Durable, err)
		default:
			c.log.Debug("pull failed", "err", err)
			if !c.bus.pause(ctx, pauseFor(failures)) {
				return nil
			}
			failures++
			if err := c.ensure(ctx); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
	}
	return nil
}

// handle sees one message through from delivery to settled verdict.
func (c *Consumer) handle(ctx context.Context, msg *nats.Msg) {
	d, err := delivery(msg)
	if err != nil {
		c.log.Error("delivery without metadata", "subject", msg.Subject, "err", err)
		return
	}
	c.book.begin(d)
	v := c.decide(ctx, msg, d).effective(d)
	if !c.book.maySpeak() {
		c.log.Warn("verdict thrown away: it came after the drain timeout", "subject", d.Subject, "seq", d.Seq)
		return
	}
	v, err = c.carryOut(context.WithoutCancel(ctx), msg, d, v)
	c.book.end(d, v, err)
	c.logVerdict(d, v, err)
	if c.opts.OnVerdict != nil {
		c.opts.OnVerdict(d, v)
	}
}

func (c *Consumer) logVerdict(d Delivery, v Verdict, err error) {
	log := c.log.With("subject", d.Subject, "seq", d.Seq, "deliveries", d.Deliveries,
		"verdict", string(v.action), "reason", v.reason)
	switch {
	case err != nil:
		log.Error("verdict did not reach the server, it will deliver again", "err", err)
	case v.action == ActionReject:
		log.Warn("message rejected", "dead_subject", Dead(d.Subject))
	default:
		log.Debug("message settled", "delay_ms", v.after.Milliseconds())
	}
}

// decide runs the handler and keeps the message ours meanwhile.
func (c *Consumer) decide(ctx context.Context, msg *nats.Msg, d Delivery) Verdict {
	done := make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() { c.keep(msg, d, done) })
	defer beat.Wait()
	defer close(done)
	return c.guarded(ctx, d)
}

// keep tells the server that the message is in work, until done, or until the drain gave it up.
func (c *Consumer) keep(msg *nats.Msg, d Delivery, done <-chan struct{}) {
	t := c.bus.wire.NewTicker(c.opts.InProgressEvery)
	defer t.Stop()
	for {
		select {
		case <-done:
			return
		case <-t.Chan():
			if !c.book.maySpeak() {
				return
			}
			if err := c.bus.nc.Publish(msg.Reply, wordProgress); err != nil {
				c.log.Warn("cannot say in progress", "subject", d.Subject, "seq", d.Seq, "err", err)
			}
		}
	}
}

// guarded turns a panic into a retry: one message must not take the process down.
func (c *Consumer) guarded(ctx context.Context, d Delivery) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			c.book.panicked()
			c.log.Error("handler panicked", "subject", d.Subject, "seq", d.Seq, "deliveries", d.Deliveries,
				"cause", fmt.Sprint(p), "stack", string(debug.Stack()))
			v = Retry(growing(d.Deliveries)).Because("panic")
		}
	}()
	return c.handler(tracing.Extract(ctx, d.Header), d)
}

func delivery(msg *nats.Msg) (Delivery, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Delivery{}, err
	}
	return Delivery{
		Subject: msg.Subject, Header: msg.Header, Data: msg.Data,
		Stream: meta.Stream, Seq: meta.Sequence.Stream,
		Published: meta.Timestamp, Deliveries: int(meta.NumDelivered),
	}, nil
}
