package bus

import (
	"context"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// windowMax bounds the messages sent and not yet acknowledged in one PublishAll.
const windowMax = 256

// PublishAll stores all messages, many in flight at once, and returns when every one is
// acknowledged. n counts the acknowledged ones, which are always the first n of the sequence; progress
// (may be nil) is called with it as it grows. Repeating the whole sequence after an error is safe.
func (b *Bus) PublishAll(ctx context.Context, messages iter.Seq2[Message, error], progress func(n int)) (n int, err error) {
	w := &window{bus: b, progress: progress, conn: b.connection()}
	for m, err := range messages {
		if err != nil {
			// What was given before the error is finished first, so that n is exact.
			if settleErr := w.settle(ctx, 0); settleErr != nil {
				return w.acked, settleErr
			}
			return w.acked, fmt.Errorf("bus: message %d of the sequence: %w", w.acked+1, err)
		}
		if err := w.send(ctx, m); err != nil {
			return w.acked, err
		}
	}
	return w.acked, w.settle(ctx, 0)
}

// flight is a message on its way.
type flight struct {
	message Message
	future  jetstream.PubAckFuture // nil when it could not even be sent
	known   bool                   // the future says its word only once: kept here
	ack     *jetstream.PubAck
	err     error
}

// connection tells one life of the connection from the next.
type connection struct {
	up         bool
	reconnects uint64
}

func (b *Bus) connection() connection {
	return connection{up: b.nc.IsConnected(), reconnects: b.nc.Stats().Reconnects}
}

// window holds the unacknowledged messages of one PublishAll, oldest first.
type window struct {
	bus      *Bus
	progress func(int)
	flights  []*flight
	acked    int
	conn     connection
}

// send puts one message on its way. When the connection is not the one the outstanding messages
// went through, they are settled first: else this one could overtake what got lost.
func (w *window) send(ctx context.Context, m Message) error {
	msg, stream, err := m.wire(ctx)
	if err != nil {
		if settleErr := w.settle(ctx, 0); settleErr != nil {
			return settleErr
		}
		return err
	}
	if now := w.bus.connection(); now != w.conn {
		if err := w.settle(ctx, 0); err != nil {
			return err
		}
		w.conn = w.bus.connection()
	}
	f := &flight{message: m}
	if w.conn.up {
		// Attempts inside the client would repeat out of order; settle repeats in order.
		f.future, err = w.bus.js.PublishMsgAsync(msg, jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0))
		if err != nil {
			f.future = nil
		}
	}
	w.flights = append(w.flights, f)
	if f.future == nil {
		return w.settle(ctx, 0)
	}
	return w.settle(ctx, windowMax-1)
}

// settle waits until at most keep messages are outstanding.
func (w *window) settle(ctx context.Context, keep int) error {
	for len(w.flights) > keep {
		ack, err := w.flights[0].outcome(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("bus: publish %s: %w", w.flights[0].message.Subject, context.Cause(ctx))
		}
		if err != nil {
			return w.repeat(ctx)
		}
		w.bus.receipt(ack)
		w.advance()
	}
	return nil
}

// repeat lets everything outstanding settle, and then publishes what is not
// acknowledged, one by one in order, with the same ids.
func (w *window) repeat(ctx context.Context) error {
	acks := make([]*jetstream.PubAck, len(w.flights))
	for i, f := range w.flights {
		acks[i], _ = f.outcome(ctx)
	}
	for _, ack := range acks {
		if ack != nil {
			w.bus.receipt(ack)
		} else if _, err := w.bus.Publish(ctx, w.flights[0].message); err != nil {
			return err
		}
		w.advance()
	}
	w.conn = w.bus.connection()
	return nil
}

func (w *window) advance() {
	w.flights[0] = nil
	w.flights = w.flights[1:]
	w.acked++
	if w.progress != nil {
		w.progress(w.acked)
	}
}

// outcome waits for the server's word about one message; the client answers at the latest after
// Options.Timeout, and at once when the connection breaks.
func (f *flight) outcome(ctx context.Context) (*jetstream.PubAck, error) {
	if f.known {
		return f.ack, f.err
	}
	if f.future == nil {
		return nil, nats.ErrDisconnected
	}
	select {
	case f.ack = <-f.future.Ok():
	case f.err = <-f.future.Err():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.known = true
	return f.ack, f.err
}
