package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// write is one message for the bucket.
type write struct {
	key  string
	data []byte
	del  bool          // a delete marker instead of a value
	ttl  time.Duration // 0: for ever
	cond *condition    // nil: unconditional
	id   string        // Nats-Msg-Id, the write's identity; set by commit
	try  time.Duration // time limit of one attempt; attemptTimeout when 0
}

// condition: the last revision of key must be rev; 0 means no message at all.
type condition struct {
	key string
	rev uint64
}

// refusal is the server's "no" to a conditional write, checked.
type refusal struct {
	cond    condition
	current record // last message of the condition's key, if found
	found   bool
	doubt   bool // an earlier attempt of the same write had no answer
}

func (r *refusal) Error() string {
	return fmt.Sprintf("kv: %s is at revision %d, not %d", r.cond.key, r.current.Rev, r.cond.rev)
}

// verdict is what one attempt tells about the write.
type verdict int

const (
	verdictStored   verdict = iota
	verdictRefused          // the condition does not hold, says the server
	verdictBusy             // not stored, may work later
	verdictUnknown          // no answer: stored or not
	verdictClosed           // no answer and no connection any more
	verdictRejected         // not stored, and never will be
)

const (
	codeWrongSeq       = 10071
	codeWrongSeqBusy   = 10164 // replicated: conflict, or another write in flight
	codeSeqUnavailable = 10163
	codeMsgIDInProcess = 10158
	codeStoreFailed    = 10077 // e.g. the bucket is full
)

// staleMax is how often a refusal is doubted because the read behind it is older
// than the expected revision.
const staleMax = 4

// commit stores w, once, and returns its revision. Attempts without an answer
// are repeated until ctx ends or writeTimeout has passed. Errors: *refusal,
// ErrUnknown, ErrBusy, or what the server says.
func (s *Store) commit(ctx context.Context, w write) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("kv: write %s: %w", w.key, context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	w.id = s.opts.NewID()
	doubt, stale := false, 0
	for attempt := 0; ; attempt++ {
		rev, err := s.attempt(ctx, w)
		v := classify(err)
		if v == verdictRefused && w.cond == nil {
			v = verdictRejected
		}
		switch v {
		case verdictStored:
			return rev, nil
		case verdictRejected:
			return 0, s.giveUp(w, doubt, err)
		case verdictClosed:
			return 0, s.giveUp(w, true, err)
		case verdictUnknown:
			doubt = true
		case verdictRefused:
			rev, ref, rerr := s.judge(ctx, w, &stale)
			if rerr == nil && ref == nil {
				return rev, nil
			}
			if ref != nil {
				ref.doubt = doubt
				return 0, ref
			}
		case verdictBusy:
		}
		if !s.pause(ctx, attempt) {
			if !doubt {
				err = fmt.Errorf("%w: %w", ErrBusy, err)
			}
			return 0, s.giveUp(w, doubt, err)
		}
		s.log.Debug("kv write tried again", "key", w.key, "attempt", attempt+1, "err", err)
	}
}

func (s *Store) giveUp(w write, doubt bool, err error) error {
	if doubt {
		return fmt.Errorf("%w: write %s: %w", ErrUnknown, w.key, err)
	}
	return fmt.Errorf("kv: write %s: %w", w.key, err)
}

// attempt publishes w once.
func (s *Store) attempt(ctx context.Context, w write) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.try, attemptTimeout))
	defer cancel()
	msg := nats.NewMsg(s.subject(w.key))
	msg.Data = w.data
	if w.del {
		msg.Header.Set(headerOp, opDelete)
	}
	msg.Header.Set(jetstream.MsgIDHeader, w.id)
	msg.Header.Set(jetstream.ExpectedStreamHeader, s.stream)
	if w.ttl > 0 {
		msg.Header.Set(jetstream.MsgTTLHeader, w.ttl.String())
	}
	if w.cond != nil {
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(w.cond.rev, 10))
	}
	if w.cond != nil && w.cond.key != w.key {
		msg.Header.Set(jetstream.ExpectedLastSubjSeqSubjHeader, s.subject(w.cond.key))
	}
	return s.wire.Publish(ctx, msg)
}

// judge looks behind a refusal: it was our own earlier attempt (revision, no
// refusal), it is real (refusal), or it should be tried again (error).
func (s *Store) judge(ctx context.Context, w write, stale *int) (uint64, *refusal, error) {
	cur, err := s.readLast(ctx, w.key)
	found := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, nil, err
	}
	if found && cur.id == w.id {
		return cur.Rev, nil, nil
	}
	if w.cond.key != w.key {
		cur, err = s.readLast(ctx, w.cond.key)
		found = err == nil
		if err != nil && !errors.Is(err, ErrNotFound) {
			return 0, nil, err
		}
	}
	if cur.Rev == w.cond.rev {
		return 0, nil, errors.New("kv: refused although the condition holds")
	}
	if found && cur.Rev < w.cond.rev && *stale < staleMax {
		*stale++
		return 0, nil, errors.New("kv: refused by a state older than the condition")
	}
	return 0, &refusal{cond: *w.cond, current: cur, found: found}, nil
}

// classify names what the error of one publish means.
func classify(err error) verdict {
	if err == nil {
		return verdictStored
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch {
		case api.ErrorCode == codeWrongSeq, api.ErrorCode == codeWrongSeqBusy:
			return verdictRefused
		case api.ErrorCode == codeMsgIDInProcess, api.ErrorCode == codeSeqUnavailable:
			return verdictBusy
		case api.ErrorCode == codeStoreFailed:
			return verdictRejected
		case api.Code >= 500:
			return verdictBusy
		}
		return verdictRejected
	}
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders),
		errors.Is(err, nats.ErrReconnectBufExceeded):
		return verdictBusy
	case errors.Is(err, nats.ErrMaxPayload):
		return verdictRejected
	case connClosed(err):
		return verdictClosed
	}
	return verdictUnknown
}

// connClosed reports whether err means that no later try can work.
func connClosed(err error) bool {
	return errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrConnectionDraining) ||
		errors.Is(err, nats.ErrInvalidConnection)
}

// pauseFor is the wait before the next attempt, longer each time.
func pauseFor(attempt int) time.Duration {
	return min(4*time.Millisecond<<min(attempt, 6), 200*time.Millisecond)
}

// jitter keeps racers from moving in step.
func jitter(base time.Duration) time.Duration { return base/2 + rand.N(base) }

func (s *Store) pause(ctx context.Context, attempt int) bool {
	return sleep(ctx, s.opts.Jitter(pauseFor(attempt)))
}

func pause(ctx context.Context, attempt int) bool { return sleep(ctx, jitter(pauseFor(attempt))) }

// sleep waits; false when ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
