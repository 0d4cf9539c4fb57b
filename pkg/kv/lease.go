package kv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Lease is one holding of a name. It is safe for concurrent use.
type Lease struct {
	s     *Store
	name  string
	held  holding
	token uint64
	over  bool // taken after another holder's had expired

	// work is what Context returns; life ends the renewals. They are apart
	// because the end of the caller's context must not end the renewals: work
	// that winds down is still protected until Release.
	work     context.Context
	stopWork context.CancelCauseFunc
	life     context.Context
	stopLife context.CancelFunc
	done     chan struct{} // closed when the renewals have ended

	turn chan struct{} // serialises guarded writes: they are stored in call order
	gone chan struct{} // serialises Release

	mu       sync.Mutex
	rev      uint64 // revision of the lease key as we know it
	until    time.Time
	watchdog clockwork.Timer
	lostBy   error // why the holding ended; nil while it is held
	removed  bool  // the lease key is known to be gone or another's
}

func newLease(s *Store, name string, h holding) *Lease {
	return &Lease{
		s: s, name: name, held: h,
		done: make(chan struct{}), turn: make(chan struct{}, 1), gone: make(chan struct{}, 1),
	}
}

func (l *Lease) key() string   { return leasePrefix + l.name }
func (l *Lease) fence() string { return fencePrefix + l.name }

// Token is the fence of this holding: greater than those of all earlier ones.
func (l *Lease) Token() uint64 { return l.token }

// Name is the leased name.
func (l *Lease) Name() string { return l.name }

// Owner is the text given to Acquire.
func (l *Lease) Owner() string { return l.held.Owner }

// Context is the context for the work under this lease. It ends with cause
// ErrLeaseLost when the holding is lost, with ErrReleased (which is an
// ErrLeaseLost too) on Release, and with the context given to Acquire.
func (l *Lease) Context() context.Context { return l.work }

// Err is nil while the lease may be trusted, else why not. It reads the clock,
// so it is right even before the loss has reached Context: ask it just before a
// step outside this bucket.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lostBy != nil {
		return l.lostBy
	}
	if !l.s.clock.Now().Before(l.until) {
		return fmt.Errorf("%w: %s not renewed in time", ErrLeaseLost, l.name)
	}
	return nil
}

// Put stores value under key if no later holding has raised the fence, and
// returns its revision. Guarded writes of one lease are stored in the order of
// the calls. ErrFenced: refused, and the lease is lost. ErrUnknown: no answer in
// time, the value may be stored now or later, but not after a takeover.
// ErrReleased: Release was called. The server decides, so Put works after a
// local loss as long as nobody took over.
func (l *Lease) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	return l.guarded(ctx, write{key: key, data: value})
}

// Delete deletes key, with the guard and the errors of Put. Deleting a key that
// has no value is no error.
func (l *Lease) Delete(ctx context.Context, key string) error {
	_, err := l.guarded(ctx, write{key: key, del: true})
	return err
}

func (l *Lease) guarded(ctx context.Context, w write) (uint64, error) {
	if err := writableKey(w.key); err != nil {
		return 0, err
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, fmt.Errorf("kv: write %s: %w", w.key, context.Cause(ctx))
	}
	if l.released() {
		return 0, fmt.Errorf("write %s: %w", w.key, ErrReleased)
	}
	w.cond = &condition{key: l.fence(), rev: l.token}
	rev, err := l.s.commit(ctx, w)
	if ref, ok := errors.AsType[*refusal](err); ok {
		l.s.counts.rejections.Add(1)
		err = fmt.Errorf("write %s: %w", w.key, ref.as(ErrFenced))
		l.lose(fmt.Errorf("%w: %w", ErrLeaseLost, err))
	}
	return rev, err
}

func (l *Lease) released() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Is(l.lostBy, ErrReleased)
}

// Release ends the holding and deletes the lease key if it is still ours. It
// works also when ctx has ended (within 5 s) and after a loss, and may be called
// again; nil means that the key is not ours any more. On an error the key
// expires by itself.
func (l *Lease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	l.end(ErrReleased)
	<-l.done // ends at once: its requests run under life
	l.gone <- struct{}{}
	defer func() { <-l.gone }()
	if l.removed {
		return nil
	}
	if err := l.remove(ctx); err != nil {
		return err
	}
	l.removed = true
	return nil
}

// remove deletes the lease key at the revision that is ours. The caller sees to
// it that no renewal runs.
func (l *Lease) remove(ctx context.Context) error {
	for {
		w := write{key: l.key(), del: true, try: l.s.leaseTry(), cond: &condition{l.key(), l.rev}}
		_, err := l.s.commit(ctx, w)
		var ref *refusal
		if err == nil {
			return nil
		}
		if !errors.As(err, &ref) {
			return fmt.Errorf("kv: release %s: %w", l.name, err)
		}
		h, live := holdingOf(ref.current)
		if !live || h.Term != l.held.Term {
			return nil
		}
		l.rev = ref.current.Rev // a renewal whose answer was lost
	}
}
