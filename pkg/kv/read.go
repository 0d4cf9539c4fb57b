package kv

import (
	"context"
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
	for attempt := 0; ; attempt++ {
		rec, again, err := s.readOnce(ctx, key)
		if err == nil || !again {
			return rec, err
		}
		if !s.pause(ctx, attempt) {
			return record{}, fmt.Errorf("kv: read %s: %w", key, err)
		}
	}
}

// readOnce makes one request; again says whether another try makes sense.
func (s *Store) readOnce(ctx context.Context, key string) (rec record, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	m, err := s.wire.Last(ctx, s.subject(key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return record{}, false, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return record{}, api.Code >= 500, err
	}
	if err != nil {
		return record{}, !connClosed(err) && !errors.Is(err, errUnreadable), err
	}
	return record{
		Value:   Value{Key: key, Data: m.Data, Rev: m.Sequence, Created: m.Time, Deleted: isMarker(m.Header)},
		id:      m.Header.Get(jetstream.MsgIDHeader),
		expired: m.Header.Get(jetstream.MarkerReasonHeader) == reasonExpired,
	}, false, nil
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
