package kv

import (
	"errors"
	"fmt"
)

var (
	// ErrHeld: another holding of the name is alive. Nothing was written. The
	// error is a *HeldError when the holder is known.
	ErrHeld = errors.New("kv: lease is held")

	// ErrLeaseLost: the holding ended without the caller's doing: a renewal was
	// refused or came too late. It is the cancellation cause of Lease.Context.
	// The lease key may still exist until its TTL ends or Release is called.
	ErrLeaseLost = errors.New("kv: lease lost")

	// ErrReleased: the lease was released by its holder. It matches ErrLeaseLost too.
	ErrReleased = fmt.Errorf("%w: released", ErrLeaseLost)

	// ErrFenced: the server refused a guarded write because a later holding of
	// the name has written its fence, or the fence is gone with the bucket. Nothing
	// was stored by this attempt, nor will be. When it matches ErrUnknown as well,
	// an answer was lost before and the value may have been stored before the
	// takeover; the successor then reads it.
	ErrFenced = errors.New("kv: fenced out by a later holder")

	// ErrNotFound: the key has no live value: never written, deleted or expired.
	ErrNotFound = errors.New("kv: key not found")

	// ErrExists: Create found a live value, another's. ErrUnknown as in ErrConflict.
	ErrExists = errors.New("kv: key exists")

	// ErrConflict: the key's revision is not the expected one. Our value is not
	// the current one. When it matches ErrUnknown as well, an answer was lost on
	// the way and the value may have been stored and then replaced by another.
	ErrConflict = errors.New("kv: revision conflict")

	// ErrUnknown: no answer in time, so the write may be stored, now or a little
	// later. Read the key, or repeat the operation, before relying on either.
	ErrUnknown = errors.New("kv: outcome unknown")

	// ErrBusy: the server could not take the write in time (no leader, or other
	// writes in flight). Nothing was stored; try again later.
	ErrBusy = errors.New("kv: server busy")

	// ErrInvalidKey: the key, name or prefix is not allowed. Nothing was sent.
	ErrInvalidKey = errors.New("kv: invalid key")

	// ErrInvalidOptions: the options cannot work. Nothing was sent.
	ErrInvalidOptions = errors.New("kv: invalid options")

	// ErrNotLaidOut: with Options.Prepared, the bucket is not there, or cannot
	// do what leases need.
	ErrNotLaidOut = errors.New("kv: bucket not laid out; run daybreak init with a user that may do so")

	// ErrClosed: the store was closed. Nothing was sent.
	ErrClosed = errors.New("kv: store closed")
)

// HeldError says who holds a lease. It matches ErrHeld.
type HeldError struct {
	Name  string
	Owner string
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: %s by %s", ErrHeld, e.Name, e.Owner)
}

// Is makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }
