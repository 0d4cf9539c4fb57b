package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	pauseMin = 50 * time.Millisecond
	pauseMax = 3 * time.Second
	// codeInProcess: the same id is being stored right now; ask again.
	codeInProcess = 10158
)

// untilAnswered calls do, each time bounded by Options.Timeout, until it succeeds, fails for
// good, or ctx ends; then the error holds both the end of ctx and the last cause.
func (b *Bus) untilAnswered(ctx context.Context, what string, do func(context.Context) error) error {
	for attempt := 0; ; attempt++ {
		one, cancel := context.WithTimeout(ctx, b.opts.Timeout)
		err := do(one)
		cancel()
		if err == nil || permanent(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if attempt == 3 || (attempt > 3 && attempt%20 == 0) {
			b.log.Warn("server does not answer, trying on", "what", what, "attempt", attempt, "err", err)
		}
		b.retries.Add(1)
		if !b.pause(ctx, pauseFor(attempt)) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// pause waits on the wire clock and says false when ctx ended first.
func (b *Bus) pause(ctx context.Context, d time.Duration) bool {
	t := b.wire.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.Chan():
		return true
	}
}

// pauseFor doubles from pauseMin to pauseMax.
func pauseFor(attempt int) time.Duration {
	return min(pauseMax, pauseMin<<min(attempt, 10))
}

// permanent says that a repeat of the same request cannot succeed. Everything not known
// to be so is worth a repeat: the bound is the caller's context.
func permanent(err error) bool {
	for _, target := range []error{
		ErrConflict, ErrNotLaidOut, ErrBadSubject, ErrTooLarge, ErrNoID, ErrNoStream,
		nats.ErrConnectionClosed, nats.ErrConnectionDraining, nats.ErrInvalidConnection,
		nats.ErrBadSubject, nats.ErrMaxPayload, nats.ErrHeadersNotSupported, nats.ErrBadHeaderMsg,
		nats.ErrAuthorization, nats.ErrPermissionViolation,
		jetstream.ErrInvalidOption, jetstream.ErrInvalidSubject, jetstream.ErrInvalidStreamName,
		jetstream.ErrInvalidConsumerName, jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound,
		jetstream.ErrMsgNotFound, jetstream.ErrConnectionClosed,
		jetstream.ErrJetStreamNotEnabledForAccount,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case codeInProcess:
		return false
	case codeNoPeers: // a cluster that forms, or that has lost a server
		return noSpace(api)
	case codeStorageExceeded, codeReplicasAlone:
		return true
	}
	return api.Code >= 400 && api.Code < 500 && api.Code != 408 && api.Code != 429
}
