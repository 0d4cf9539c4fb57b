package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// Delivery is one message as handed to a handler.
type Delivery struct {
	Subject    string
	Header     nats.Header
	Data       []byte
	Stream     string
	Seq        uint64    // stream sequence: names the message, the same at every redelivery
	Published  time.Time // when the server stored it
	Deliveries int       // 1 the first time
}

// Handler works on one delivery and returns what shall become of it. It must bear being called
// again for the same message, also by another process at the same time. ctx ends at shutdown.
type Handler func(ctx context.Context, d Delivery) Verdict

// Action is what a verdict asks for.
type Action string

// The actions. The zero Verdict has none and is treated as a Retry.
const (
	ActionAck    Action = "ack"
	ActionRetry  Action = "retry"
	ActionReject Action = "reject"
)

// Verdict is what a handler decides about a delivery.
type Verdict struct {
	action Action
	after  time.Duration
	reason string
}

// Ack says: done, do not deliver again.
func Ack() Verdict { return Verdict{action: ActionAck} }

// Retry says: deliver again after that long, to any replica. Zero or less means at once, for the
// first time; repeats are slowed down to retryMin.
func Retry(after time.Duration) Verdict {
	return Verdict{action: ActionRetry, after: max(0, after)}
}

// Reject says: can never succeed; into DEAD with it, for a person to look at. The reason is one line.
func Reject(reason string) Verdict { return Verdict{action: ActionReject, reason: reason} }

// Because names the reason, a constant snake_case word for logs.
func (v Verdict) Because(reason string) Verdict {
	v.reason = reason
	return v
}

// Action tells what is asked for.
func (v Verdict) Action() Action { return v.action }

// After is the delay of a Retry.
func (v Verdict) After() time.Duration { return v.after }

// Reason is the named reason, empty when none was given.
func (v Verdict) Reason() string { return v.reason }

const (
	// retryMin is the least delay of a message that was retried before: no hot loops.
	retryMin = 100 * time.Millisecond
	// growMax bounds the growing delay after a panic or a failed dead letter.
	growMax = 5 * time.Minute
)

// growing is the delay for failures nobody chose a delay for: 1 s, doubled at each delivery.
func growing(deliveries int) time.Duration {
	return min(growMax, time.Second<<min(max(deliveries-1, 0), 10))
}

// effective is the verdict as it is carried out.
func (v Verdict) effective(d Delivery) Verdict {
	switch v.action {
	case ActionAck, ActionReject:
	case ActionRetry:
		if d.Deliveries > 1 {
			v.after = max(v.after, retryMin)
		}
	default:
		v = Retry(growing(d.Deliveries)).Because("no_verdict")
	}
	return v
}
