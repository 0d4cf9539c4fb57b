package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"daybreak/pkg/tracing"
)

// Message is what is published, or read back.
type Message struct {
	Subject string
	// ID is the Nats-Msg-Id: two messages with the same one are one message, within the
	// Duplicates window of their stream.
	ID     string
	Header nats.Header
	Body   []byte
}

// Receipt is the server's acknowledgement.
type Receipt struct {
	Stream    string
	Seq       uint64 // where the message is; for a duplicate, where the first one is
	Duplicate bool   // the server had this id already and stored nothing
}

// wire gives the message as it is sent, within the trace of ctx; the caller's header is not touched.
func (m Message) wire(ctx context.Context) (*nats.Msg, string, error) {
	if m.ID == "" {
		return nil, "", fmt.Errorf("%w: subject %s", ErrNoID, m.Subject)
	}
	if err := checkPublishable(m.Subject); err != nil {
		return nil, "", err
	}
	stream, ok := StreamOf(m.Subject)
	if !ok {
		return nil, "", fmt.Errorf("%w: %s", ErrNoStream, m.Subject)
	}
	header := maps.Clone(m.Header)
	if header == nil {
		header = nats.Header{}
	}
	header.Set(jetstream.MsgIDHeader, m.ID)
	tracing.Inject(ctx, header)
	return &nats.Msg{Subject: m.Subject, Header: header, Data: m.Body}, stream, nil
}

// Publish stores one message and returns when the server has acknowledged it. While the outcome
// is unknown it repeats with the same id, until ctx ends: after an error of ctx the message may
// or may not be stored, and publishing it again is safe.
func (b *Bus) Publish(ctx context.Context, m Message) (Receipt, error) {
	msg, stream, err := m.wire(ctx)
	if err != nil {
		return Receipt{}, err
	}
	var ack *jetstream.PubAck
	err = b.untilAnswered(ctx, "publish", func(ctx context.Context) error {
		var err error
		ack, err = b.js.PublishMsg(ctx, msg, jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0))
		return publishError(err)
	})
	if err != nil {
		return Receipt{}, fmt.Errorf("bus: publish %s (id %s): %w", m.Subject, m.ID, err)
	}
	return b.receipt(ack), nil
}

func (b *Bus) receipt(ack *jetstream.PubAck) Receipt {
	b.published.Add(1)
	if ack.Duplicate {
		b.duplicates.Add(1)
	}
	return Receipt{Stream: ack.Stream, Seq: ack.Sequence, Duplicate: ack.Duplicate}
}

const (
	codeMsgTooLarge    = 10054
	codeHeaderTooLarge = 10097
)

// publishError gives the causes that callers distinguish one name.
func publishError(err error) error {
	var api *jetstream.APIError
	tooLarge := errors.As(err, &api) && (api.ErrorCode == codeMsgTooLarge || api.ErrorCode == codeHeaderTooLarge)
	switch {
	case err == nil:
		return nil
	case tooLarge, errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, nats.ErrBadSubject):
		return fmt.Errorf("%w: %w", ErrBadSubject, err)
	}
	return err
}
