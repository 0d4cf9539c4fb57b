package kv

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errMoved: the lease key was ours at another revision, left by an attempt
// whose answer was lost. The next renewal builds on that revision.
var errMoved = errors.New("kv: lease key moved by a lost renewal")

// start trusts the lease from the instant its creation began, and keeps it.
func (l *Lease) start(ctx context.Context, started time.Time) error {
	now := l.s.clock.Now()
	l.until = started.Add(l.s.opts.trustWindow())
	if !now.Before(l.until) {
		return fmt.Errorf("%w: %s took too long to acquire", ErrLeaseLost, l.name)
	}
	l.work, l.stopWork = context.WithCancelCause(ctx)
	l.life, l.stopLife = context.WithCancel(context.Background())
	l.mu.Lock()
	l.watchdog = l.s.clock.AfterFunc(l.until.Sub(now), l.overdue)
	l.mu.Unlock()
	if !l.s.enter(l) {
		l.end(ErrClosed)
		return ErrClosed
	}
	go l.keep(started)
	return nil
}

// keep renews until the holding ends.
func (l *Lease) keep(started time.Time) {
	defer close(l.done)
	defer l.s.leave(l)
	next := started.Add(l.s.opts.renewEvery())
	timer := l.s.clock.NewTimer(next.Sub(l.s.clock.Now()))
	defer timer.Stop()
	for {
		select {
		case <-l.life.Done():
			return
		case <-timer.Chan():
		}
		begun := l.s.clock.Now()
		wait := l.s.opts.renewRetry()
		switch err := l.renew(begun); {
		case err == nil:
			wait = begun.Add(l.s.opts.renewEvery()).Sub(l.s.clock.Now())
		case errors.Is(err, ErrLeaseLost):
			l.lose(err)
			return
		case errors.Is(err, errMoved):
			wait = 0
		case l.life.Err() != nil: // cut off by Release or the watchdog
		default:
			l.s.log.Warn("kv lease renewal failed, trying again", "name", l.name, "err", err)
		}
		timer.Reset(max(wait, 0))
	}
}

// renew makes one renewal that began at begun. ErrLeaseLost: the key is not ours
// any more. errMoved: it is, at a newer revision. Other errors: try again.
func (l *Lease) renew(begun time.Time) error {
	if l.s.hooks.renew != nil && !l.s.hooks.renew(l.name) {
		return errors.New("kv: renewal left out")
	}
	l.mu.Lock()
	rev, left := l.rev, l.until.Sub(begun)
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.life, max(left, time.Millisecond))
	defer cancel()
	next, err := l.s.commit(ctx, write{
		key: l.key(), data: l.held.encode(), ttl: l.s.opts.LeaseTTL,
		try: l.s.leaseTry(), cond: &condition{key: l.key(), rev: rev},
	})
	if err == nil {
		l.confirm(next, begun)
		return nil
	}
	var ref *refusal
	if !errors.As(err, &ref) {
		return err
	}
	h, live := holdingOf(ref.current)
	switch {
	case live && h.Term == l.held.Term:
		l.mu.Lock()
		l.rev = ref.current.Rev
		l.mu.Unlock()
		return errMoved
	case live:
		return fmt.Errorf("%w: %s taken over by %s", ErrLeaseLost, l.name, h.Owner)
	}
	return fmt.Errorf("%w: %s expired", ErrLeaseLost, l.name)
}

// confirm takes over the new revision and moves the deadline. A confirmation
// that comes after the loss changes nothing but the revision to release.
func (l *Lease) confirm(rev uint64, begun time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rev = rev
	if l.lostBy != nil {
		return
	}
	l.until = begun.Add(l.s.opts.trustWindow())
	l.watchdog.Reset(l.until.Sub(l.s.clock.Now()))
}

// overdue is the watchdog: it does not depend on the renewals making progress.
func (l *Lease) overdue() {
	l.mu.Lock()
	if left := l.until.Sub(l.s.clock.Now()); left > 0 && l.lostBy == nil {
		l.watchdog.Reset(left) // renewed at the last moment
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	l.lose(fmt.Errorf("%w: %s not renewed in time", ErrLeaseLost, l.name))
}

// lose ends the holding and logs why.
func (l *Lease) lose(cause error) {
	if l.end(cause) {
		l.s.counts.lost.Add(1)
		l.s.log.Warn("kv lease lost", "name", l.name, "owner", l.held.Owner, "fence", l.token, "cause", cause)
	}
}

// end ends the holding; true for the first cause, which stays. A release after
// a loss replaces it, so that Put knows.
func (l *Lease) end(cause error) bool {
	l.mu.Lock()
	first := l.lostBy == nil
	if first || errors.Is(cause, ErrReleased) {
		l.lostBy = cause
	}
	l.watchdog.Stop()
	l.mu.Unlock()
	l.stopWork(cause)
	l.stopLife()
	return first
}
