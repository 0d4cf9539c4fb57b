package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pullExpires bounds one request for a message; the server forgets it then.
	pullExpires = 20 * time.Second
	// pullHeartbeat is how often the server says that a request is still waiting.
	pullHeartbeat = 2 * time.Second
	// drainFlush bounds how long a stopping worker waits for the server to confirm that it
	// sends nothing more.
	drainFlush = 2 * time.Second
	ackPrefix  = "$JS.ACK."
)

var (
	// errPullAgain: the request ended without a message; nothing is wrong.
	errPullAgain = errors.New("pull again")
	// errNoConsumer: the server does not know the consumer, or has no leader for it.
	errNoConsumer = errors.New("consumer does not answer")
)

// puller asks for one message at a time. It is not the client's own iterator, because that one takes
// a message with an empty body and a Status header for a word of the server and drops it;
// here what carries an ack subject is a message, whatever its headers say.
type puller struct {
	nc      *nats.Conn
	sub     *nats.Subscription
	inbox   string
	subject string
	request int // number of the last request; its answers come on inbox.<request>
}

func (b *Bus) newPuller(stream, durable string) (*puller, error) {
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return nil, fmt.Errorf("bus: subscribe for consumer %s: %w", durable, err)
	}
	subject := jetstream.DefaultAPIPrefix + "CONSUMER.MSG.NEXT." + stream + "." + durable
	return &puller{nc: b.nc, sub: sub, inbox: inbox, subject: subject}, nil
}

// next waits for one message. Without a message the error says what to do about it.
func (p *puller) next(ctx context.Context) (*nats.Msg, error) {
	if err := p.ask(); err != nil {
		return nil, err
	}
	for {
		msg, err := p.receive(ctx, 2*pullHeartbeat)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return nil, errPullAgain // no heartbeat: request or server got lost
		case err != nil:
			return nil, err
		case strings.HasPrefix(msg.Reply, ackPrefix):
			return msg, nil
		}
		if done, err := p.status(msg); done {
			return nil, err
		}
	}
}

func (p *puller) ask() error {
	p.request++
	body, err := json.Marshal(map[string]any{
		"batch": 1, "expires": pullExpires, "idle_heartbeat": pullHeartbeat,
	})
	if err != nil {
		return err
	}
	err = p.nc.PublishRequest(p.subject, p.inbox+"."+strconv.Itoa(p.request), body)
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return errNoConsumer
	}
	return err
}

func (p *puller) receive(ctx context.Context, wait time.Duration) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return p.sub.NextMsgWithContext(ctx)
}

// status reads a word of the server; done means that the current request has ended.
func (p *puller) status(msg *nats.Msg) (done bool, err error) {
	if !strings.HasSuffix(msg.Subject, "."+strconv.Itoa(p.request)) {
		return false, nil // about an earlier request
	}
	switch msg.Header.Get("Status") {
	case "100":
		return false, nil
	case "404", "408":
		return true, errPullAgain
	}
	return true, fmt.Errorf("%w: status %s %s", errNoConsumer, msg.Header.Get("Status"), msg.Header.Get("Description"))
}

// drain ends the subscription and hands every message that still arrived to giveBack.
func (p *puller) drain(ctx context.Context, giveBack func(*nats.Msg)) {
	ctx, cancel := context.WithTimeout(ctx, drainFlush)
	defer cancel()
	defer func() { _ = p.sub.Unsubscribe() }() // when drain could not
	if err := p.sub.Drain(); err != nil {
		return
	}
	for {
		msg, err := p.sub.NextMsgWithContext(ctx)
		if err != nil {
			return
		}
		if strings.HasPrefix(msg.Reply, ackPrefix) {
			giveBack(msg)
		}
	}
}
