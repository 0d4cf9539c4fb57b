package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	headerOp = "KV-Operation"
	opDelete = "DEL"
	opPurge  = "PURGE"

	reasonExpired = "MaxAge"

	codeNoMsg = 10037
)

// Value is one key as stored.
type Value struct {
	Key     string
	Data    []byte
	Rev     uint64    // stream sequence; grows over the whole bucket
	Created time.Time // when the server stored this revision

	// Deleted marks the end of a key: deleted or expired. Only Watch sends it.
	Deleted bool
	// Synced marks the one empty value by which Watch says that all values
	// current at its start have been sent.
	Synced bool
}

// record is the last message of a key, be it a value or a marker.
type record struct {
	Value
	id      string // Nats-Msg-Id of the write
	expired bool   // a marker that the server left when the value's time was over
}

// readLast reads the last message of key from the stream leader; ErrNotFound
// when there is none at all. Markers are returned, not hidden.
func (s *Store) readLast(ctx context.Context, key string) (record, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	req, err := json.Marshal(map[string]string{"last_by_subj": s.subject(key)})
	if err != nil {
		return record{}, fmt.Errorf("kv: read %s: %w", key, err)
	}
	for attempt := 0; ; attempt++ {
		rec, again, err := s.readOnce(ctx, key, req)
		if err == nil || !again {
			return rec, err
		}
		if !pause(ctx, attempt) {
			return record{}, fmt.Errorf("kv: read %s: %w", key, err)
		}
	}
}

// readOnce makes one request; again says whether another try makes sense.
func (s *Store) readOnce(ctx context.Context, key string, req []byte) (rec record, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	msg, err := s.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+s.stream, req)
	if err != nil {
		return record{}, !connClosed(err), err
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
		return record{}, true, fmt.Errorf("kv: answer to read: %w", err)
	}
	switch {
	case resp.Error != nil && resp.Error.ErrorCode == codeNoMsg:
		return record{}, false, fmt.Errorf("%w: %s", ErrNotFound, key)
	case resp.Error != nil:
		return record{}, resp.Error.Code >= 500, resp.Error
	case resp.Message == nil:
		return record{}, true, errors.New("kv: answer to read has no message")
	}
	m := resp.Message
	rec.Value = Value{Key: key, Data: m.Data, Rev: m.Seq, Created: m.Time}
	if len(m.Headers) > 0 {
		hdr, err := nats.DecodeHeadersMsg(m.Headers)
		if err != nil {
			return record{}, false, fmt.Errorf("kv: headers of %s: %w", key, err)
		}
		rec.id = hdr.Get(jetstream.MsgIDHeader)
		rec.Deleted = isMarker(hdr)
		rec.expired = hdr.Get(jetstream.MarkerReasonHeader) == reasonExpired
	}
	return rec, false, nil
}

// isMarker reports whether a message ends its key instead of giving it a value.
func isMarker(hdr nats.Header) bool {
	op := hdr.Get(headerOp)
	return op == opDelete || op == opPurge || hdr.Get(jetstream.MarkerReasonHeader) != ""
}

// Get reads key from the stream leader. ErrNotFound when it has no live value.
func (s *Store) Get(ctx context.Context, key string) (Value, error) {
	if err := validKey(key); err != nil {
		return Value{}, err
	}
	rec, err := s.readLast(ctx, key)
	if err != nil {
		return Value{}, err
	}
	if rec.Deleted {
		return Value{}, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	return rec.Value, nil
}
