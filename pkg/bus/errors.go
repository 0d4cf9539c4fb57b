package bus

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound: no message on that subject, or the stream or consumer does not exist.
	ErrNotFound = errors.New("bus: not found")
	// ErrNoID: a message without id was to be published; nothing was sent.
	ErrNoID = errors.New("bus: message without id")
	// ErrBadSubject: a subject or one of its tokens is not valid; nothing was sent.
	ErrBadSubject = errors.New("bus: bad subject")
	// ErrNoStream: the subject belongs to none of our streams; nothing was sent.
	ErrNoStream = errors.New("bus: subject belongs to no stream")
	// ErrTooLarge: body and headers exceed what the server takes; nothing was stored.
	ErrTooLarge = errors.New("bus: message too large")
	// ErrConflict: a stream or consumer of that name exists and cannot become ours;
	// it was left as it is. errors.As to *ConflictError gives the field.
	ErrConflict = errors.New("bus: existing configuration conflicts")
	// ErrNotLaidOut: with Options.Prepared, a stream or consumer is not there.
	ErrNotLaidOut = errors.New("bus: not laid out; run daybreak init with a user that may do so")
	// ErrNoSpace: the server has not enough storage for the limits of a stream.
	ErrNoSpace = errors.New("bus: not enough storage on the server")
	// ErrDrain: handlers were still running when DrainTimeout was over. Their messages are
	// redelivered after AckWait; their late verdicts are thrown away.
	ErrDrain = errors.New("bus: handlers still running after the drain timeout")
)

// ConflictError says which field of an existing stream or consumer is in the way.
type ConflictError struct {
	Stream   string
	Consumer string // empty when it is about the stream itself
	Field    string
	Have     string
	Want     string
}

// Error implements error.
func (e *ConflictError) Error() string {
	what := "stream " + e.Stream
	if e.Consumer != "" {
		what = "consumer " + e.Consumer + " of " + what
	}
	return fmt.Sprintf("bus: %s exists with %s = %s, need %s: rename or remove it, or use another NATS account",
		what, e.Field, e.Have, e.Want)
}

// Unwrap makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Unwrap() error { return ErrConflict }
