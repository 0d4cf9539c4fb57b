package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// holding is the content of lease and fence keys. The term is drawn anew for
// every Acquire: it tells our own key from one of the same owner's past.
type holding struct {
	Owner string `json:"owner"`
	Term  string `json:"term"`
}

func (h holding) encode() []byte {
	b, err := json.Marshal(h)
	if err != nil {
		panic("kv: two strings must encode: " + err.Error()) // cannot happen
	}
	return b
}

// holdingOf reads a lease or fence key; ok only for a live one.
func holdingOf(rec record) (h holding, ok bool) {
	if rec.Rev == 0 || rec.Deleted {
		return holding{}, false
	}
	// A foreign value under our key still means that somebody holds it.
	if err := json.Unmarshal(rec.Data, &h); err != nil {
		h.Owner = string(rec.Data)
	}
	return h, true
}

// Acquire takes the lease of name for owner (free text that tells people who it
// is) and raises its fence. It does not wait for another holder: ErrHeld.
// The lease is renewed until Release or loss, also after ctx has ended; ctx is
// the parent of Lease.Context. On any other error nothing is held, or only a
// lease key that nobody renews and that expires by itself.
func (s *Store) Acquire(ctx context.Context, name, owner string) (*Lease, error) {
	if err := validKey(leasePrefix + name); err != nil {
		return nil, err
	}
	if s.life.Err() != nil {
		return nil, ErrClosed
	}
	l := newLease(s, name, holding{Owner: owner, Term: s.opts.NewID()})
	started, err := l.claim(ctx)
	if err != nil {
		if errors.Is(err, ErrUnknown) {
			l.abandon(ctx)
		}
		return nil, err
	}
	if s.hooks.claimed != nil {
		s.hooks.claimed(name)
	}
	if err = l.raise(ctx); err == nil {
		err = l.start(ctx, started)
	}
	if err != nil {
		l.abandon(ctx)
		return nil, err
	}
	s.counts.took(l.over)
	return l, nil
}

// claim creates the lease key and returns when the attempt that did so started.
func (l *Lease) claim(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	w := write{
		key: l.key(), data: l.held.encode(), ttl: l.s.opts.LeaseTTL,
		try: l.s.leaseTry(), cond: &condition{key: l.key()},
	}
	for {
		started := l.s.clock.Now()
		rev, err := l.s.commit(ctx, w)
		if err == nil {
			l.rev = rev
			return started, nil
		}
		var ref *refusal
		if !errors.As(err, &ref) {
			return started, fmt.Errorf("kv: acquire %s: %w", l.name, err)
		}
		if h, live := holdingOf(ref.current); live {
			return started, &HeldError{Name: l.name, Owner: h.Owner}
		}
		w.cond = &condition{key: w.key, rev: ref.current.Rev}
		l.over = ref.current.expired
	}
}

// raise writes the fence, on condition that the lease key is still the one that
// claim created; its revision is the token.
func (l *Lease) raise(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	token, err := l.s.commit(ctx, write{
		key: l.fence(), data: l.held.encode(),
		try: l.s.leaseTry(), cond: &condition{key: l.key(), rev: l.rev},
	})
	var ref *refusal
	switch {
	case err == nil:
		l.token = token
		return nil
	case !errors.As(err, &ref):
		return fmt.Errorf("kv: fence %s: %w", l.name, err)
	}
	if h, live := holdingOf(ref.current); live {
		return &HeldError{Name: l.name, Owner: h.Owner}
	}
	return fmt.Errorf("%w: %s expired before its fence was written", ErrLeaseLost, l.name)
}

// abandon deletes what claim may have left, best effort.
func (l *Lease) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := l.remove(ctx); err != nil {
		l.s.log.Warn("kv lease left to expire", "name", l.name, "err", err)
	}
}

// leaseTry bounds one attempt on a lease or fence key, so that several fit into
// the time the lease is trusted.
func (s *Store) leaseTry() time.Duration {
	return min(attemptTimeout, s.opts.LeaseTTL/5)
}

// Holder reports whether a live lease of name exists and whose it is, by a
// leader read. Just after a server restart an expired lease can be reported for
// a moment; a free name can be taken at any moment. Only Acquire decides.
func (s *Store) Holder(ctx context.Context, name string) (owner string, held bool, err error) {
	if err := validKey(leasePrefix + name); err != nil {
		return "", false, err
	}
	rec, err := s.readLast(ctx, leasePrefix+name)
	if errors.Is(err, ErrNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	h, held := holdingOf(rec)
	return h.Owner, held, nil
}
