package kv

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Wire is everything that a Store asks of the stream behind its bucket. Open puts one on a JetStream; a test may give
// [OpenWire] another that keeps the same contract, which the tests of this package hold both to.
type Wire interface {
	// Publish sends one message, once, and returns the stream sequence that the server acknowledged. The headers bear
	// the write's identity, conditions and time to live; refusals are *[jetstream.APIError]. After any other error the
	// message may be stored, now or later.
	Publish(ctx context.Context, m *nats.Msg) (seq uint64, err error)

	// Last is the last message of a subject as the stream's leader knows it, markers included;
	// [jetstream.ErrMsgNotFound] when there is none. The answer is sent once.
	Last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error)

	// Watch sends the last entry of every key that matches, then nil, then every change. A key may come twice. It ends
	// with ctx.
	Watch(ctx context.Context, keys string) (jetstream.KeyWatcher, error)
}

// jsWire is the wire to a real server.
type jsWire struct {
	js     jetstream.JetStream
	bucket jetstream.KeyValue
	stream string
}

func (w *jsWire) Publish(ctx context.Context, m *nats.Msg) (uint64, error) {
	ack, err := w.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0)) // the Store repeats
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

func (w *jsWire) Watch(ctx context.Context, keys string) (jetstream.KeyWatcher, error) {
	return w.bucket.Watch(ctx, keys)
}

// Last goes past the client, which would ask the nearest replica of a bucket.
func (w *jsWire) Last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	req, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return nil, err
	}
	msg, err := w.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+w.stream, req)
	if err != nil {
		return nil, err
	}
	var resp struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Seq     uint64    `json:"seq"`
			Headers []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(msg.Data, &resp); err != nil {
		return nil, err
	}
	switch {
	case resp.Error != nil && resp.Error.ErrorCode == codeNoMsg:
		return nil, jetstream.ErrMsgNotFound
	case resp.Error != nil:
		return nil, resp.Error
	case resp.Message == nil:
		return nil, errors.New("kv: answer to read has no message")
	}
	m := resp.Message
	raw := &jetstream.RawStreamMsg{Subject: subject, Sequence: m.Seq, Data: m.Data, Time: m.Time}
	if len(m.Headers) > 0 {
		if raw.Header, err = nats.DecodeHeadersMsg(m.Headers); err != nil {
			return nil, errors.Join(errUnreadable, err)
		}
	}
	return raw, nil
}

// errUnreadable: the stored message cannot be read, however often it is asked for.
var errUnreadable = errors.New("kv: headers cannot be read")
