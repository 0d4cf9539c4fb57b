package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// From says where Tail starts: at an instant, else at a stream sequence, else at the beginning.
type From struct {
	Seq  uint64
	Time time.Time
}

const (
	tailBatch = 256
	// tailSilence is how long Tail hears nothing before it asks the stream itself;
	// tailIdle the same when there may well be nothing to hear.
	tailSilence = 500 * time.Millisecond
	tailIdle    = 5 * time.Second
	// tailInactive is when the server removes the consumer of a reader that went away.
	tailInactive = time.Minute
)

// Tail gives the messages of a stream to fn, each once and in order. Without follow it ends after the
// last message that was there at the start; with follow when ctx ends, and that is no error. An error
// of fn ends it and is returned. No filter means the whole stream.
//
// It works with a consumer that lives as long as the call, and trusts it for speed only: whether anything
// is left is asked of the stream's leader, so a consumer that stops early or loses a message is replaced.
func (b *Bus) Tail(ctx context.Context, stream string, filters []string, from From, follow bool, fn func(Delivery) error) error {
	t := &tail{bus: b, filters: filters, follow: follow, fn: fn, since: from.Time, next: max(1, from.Seq)}
	err := t.run(ctx, stream)
	if follow {
		return ignoreEnd(ctx, err)
	}
	return err
}

type tail struct {
	bus     *Bus
	stream  jetstream.Stream
	filters []string
	follow  bool
	fn      func(Delivery) error
	since   time.Time // start, until the server has told its sequence
	next    uint64    // the sequence from which on nothing was seen
	end     uint64    // last sequence at the start
}

// handlerError marks what fn returned, so that it is not taken for trouble with the server.
type handlerError struct{ error }

func (e handlerError) Unwrap() error { return e.error }

func (t *tail) run(ctx context.Context, name string) error {
	err := t.bus.untilAnswered(ctx, "stream info", func(ctx context.Context) (err error) {
		t.stream, err = t.bus.js.Stream(ctx, name)
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: stream %s", ErrNotFound, name)
	}
	if err != nil {
		return fmt.Errorf("bus: tail of stream %s: %w", name, err)
	}
	t.end = t.stream.CachedInfo().State.LastSeq
	for failures := 0; ; failures++ {
		before := t.next
		done, err := t.once(ctx)
		var own handlerError
		switch {
		case errors.As(err, &own):
			return own.error
		case done:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("bus: tail of stream %s at sequence %d: %w", name, t.next, context.Cause(ctx))
		case err != nil && permanent(err):
			return fmt.Errorf("bus: tail of stream %s at sequence %d: %w", name, t.next, err)
		}
		if t.next > before {
			failures = 0
		}
		if !t.bus.pause(ctx, pauseFor(failures)) {
			return fmt.Errorf("bus: tail of stream %s at sequence %d: %w", name, t.next, context.Cause(ctx))
		}
	}
}

// once reads with one consumer until the end (done) or until that consumer is of no use any more.
func (t *tail) once(ctx context.Context) (done bool, err error) {
	if done, err := t.finished(ctx); done || err != nil {
		return done, err
	}
	cons, err := t.consumer(ctx)
	if err != nil {
		return false, err
	}
	defer t.remove(ctx, cons.CachedInfo().Name)
	msgs, err := cons.Messages(jetstream.PullMaxMessages(tailBatch), jetstream.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		return false, err
	}
	defer msgs.Stop()
	return t.read(ctx, msgs)
}

func (t *tail) consumer(ctx context.Context) (jetstream.Consumer, error) {
	cfg := jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, MaxDeliver: 1, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: tailInactive, FilterSubjects: t.filters,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: t.next,
	}
	if !t.since.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartSeq, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, 0, &t.since
	}
	ctx, cancel := context.WithTimeout(ctx, t.bus.opts.Timeout)
	defer cancel()
	cons, err := t.stream.CreateConsumer(ctx, cfg)
	if err == nil && !t.since.IsZero() {
		// A new consumer stands right before its first message: now the instant has a sequence.
		t.next, t.since = cons.CachedInfo().Delivered.Stream+1, time.Time{}
	}
	return cons, err
}

// remove tidies up. Whoever has few rights has none to delete consumers, and leaves his to expire.
func (t *tail) remove(ctx context.Context, name string) {
	if t.bus.opts.Prepared {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.bus.opts.Timeout)
	defer cancel()
	if err := t.stream.DeleteConsumer(ctx, name); err != nil {
		t.bus.log.Debug("consumer of a reader is left to expire", "err", err)
	}
}

// read consumes until something is missing or nothing comes.
func (t *tail) read(ctx context.Context, msgs jetstream.MessagesContext) (done bool, err error) {
	for expect := uint64(1); ; expect++ {
		if !t.follow && t.next > t.end {
			return true, nil
		}
		msg, err := t.wait(ctx, msgs)
		if err != nil || msg == nil {
			return false, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return false, err
		}
		if meta.Sequence.Consumer != expect {
			return false, nil // one got lost on the way: read again from where we are
		}
		if !t.follow && meta.Sequence.Stream > t.end {
			return true, nil
		}
		d := Delivery{
			Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(), Stream: meta.Stream,
			Seq: meta.Sequence.Stream, Published: meta.Timestamp, Deliveries: int(meta.NumDelivered),
		}
		if err := t.fn(d); err != nil {
			return false, handlerError{err}
		}
		t.next = d.Seq + 1
		if !t.follow && meta.NumPending == 0 {
			return false, nil // probably the end: ask the stream
		}
	}
}

// wait returns nil without error when nothing comes although it should.
func (t *tail) wait(ctx context.Context, msgs jetstream.MessagesContext) (jetstream.Msg, error) {
	for {
		limit := tailSilence
		if t.follow {
			limit = tailIdle
		}
		silence, cancel := context.WithTimeout(ctx, limit)
		msg, err := msgs.Next(jetstream.NextContext(silence))
		cancel()
		switch {
		case err == nil:
			return msg, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		}
		if _, found, err := t.peek(ctx); err != nil || found || !t.follow {
			return nil, err
		}
	}
}

// finished asks the stream whether nothing is left up to the end.
func (t *tail) finished(ctx context.Context) (bool, error) {
	if t.follow {
		return false, nil
	}
	if t.next > t.end {
		return true, nil
	}
	if !t.since.IsZero() {
		return false, nil
	}
	seq, found, err := t.peek(ctx)
	return err == nil && (!found || seq > t.end), err
}

// peek asks the leader for the first message from t.next on that a filter selects.
func (t *tail) peek(ctx context.Context) (seq uint64, found bool, err error) {
	filters := t.filters
	if len(filters) == 0 {
		filters = []string{">"}
	}
	for _, filter := range filters {
		var raw *jetstream.RawStreamMsg
		err := t.bus.untilAnswered(ctx, "next message", func(ctx context.Context) (err error) {
			raw, err = t.stream.GetMsg(ctx, t.next, jetstream.WithGetMsgSubject(filter))
			return err
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return 0, false, err
		}
		if !found || raw.Sequence < seq {
			seq, found = raw.Sequence, true
		}
	}
	return seq, found, nil
}
