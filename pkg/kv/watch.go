package kv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// List returns all live values under prefix (below prefix + "."; all keys for
// ""), ordered by revision, in one pass. Each value was current at some moment
// of the call; together they need not be one moment's picture.
func (s *Store) List(ctx context.Context, prefix string) ([]Value, error) {
	filter, err := searchKey(prefix)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	w, err := s.wire.Watch(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("kv: list %q: %w", prefix, err)
	}
	defer stopWatcher(w)
	found := map[string]Value{}
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("kv: list %q: %w", prefix, context.Cause(ctx))
		case e, ok := <-w.Updates():
			if !ok {
				return nil, fmt.Errorf("kv: list %q: the watch ended early", prefix)
			}
			if e == nil {
				return liveByRev(found), nil
			}
			found[e.Key()] = valueOf(e) // a key may come twice; the later one counts
		}
	}
}

func liveByRev(found map[string]Value) []Value {
	live := make([]Value, 0, len(found))
	for _, v := range found {
		if !v.Deleted {
			live = append(live, v)
		}
	}
	slices.SortFunc(live, func(a, b Value) int { return cmp.Compare(a.Rev, b.Rev) })
	return live
}

// Watch sends the current values under prefix (see List), then one value with
// Synced set, then every change as it comes; expiry is a change with Deleted
// set. A key may be sent again unchanged after a reconnect, and of several quick
// changes only the last may be sent. The channel is closed when ctx ends, the
// store or the connection is closed, or stop is called; stop waits for that.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan Value, func(), error) {
	filter, err := searchKey(prefix)
	if err != nil {
		return nil, nil, err
	}
	if s.life.Err() != nil {
		return nil, nil, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(s.life, cancel)
	w, err := s.startWatcher(ctx, cancel, filter)
	if err != nil {
		unhook()
		cancel()
		return nil, nil, fmt.Errorf("kv: watch %q: %w", prefix, err)
	}
	out := make(chan Value)
	done := make(chan struct{})
	run := func() {
		defer close(done)
		defer close(out)
		defer unhook()
		defer cancel()
		defer stopWatcher(w)
		forward(ctx, w, out)
	}
	if !s.spawn(run) {
		cancel()
		run() // ends at once and tidies up
		return nil, nil, ErrClosed
	}
	return out, func() { cancel(); <-done }, nil
}

// startWatcher gives the server readTimeout to set up the watch, which then lives
// as long as ctx (the client ties it to the context it was made with).
func (s *Store) startWatcher(ctx context.Context, cancel context.CancelFunc, filter string) (jetstream.KeyWatcher, error) {
	limit := time.AfterFunc(readTimeout, cancel)
	w, err := s.wire.Watch(ctx, filter)
	if err == nil && !limit.Stop() {
		stopWatcher(w)
		return nil, context.DeadlineExceeded
	}
	limit.Stop()
	return w, err
}

// forward copies updates until ctx or the watcher ends.
func forward(ctx context.Context, w jetstream.KeyWatcher, out chan<- Value) {
	for {
		var v Value
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Updates():
			if !ok {
				return
			}
			v = valueOf(e)
		}
		select {
		case <-ctx.Done():
			return
		case out <- v:
		}
	}
}

// stopWatcher ends a watcher and reads what it still wants to say: its callback
// would otherwise block for ever on the full channel.
func stopWatcher(w jetstream.KeyWatcher) {
	_ = w.Stop() // fails only when the connection closed it already
	for range w.Updates() {
		continue
	}
}

// valueOf translates an update; nil is the watcher's sign that the initial
// values are through.
func valueOf(e jetstream.KeyValueEntry) Value {
	if e == nil {
		return Value{Synced: true}
	}
	return Value{
		Key: e.Key(), Data: e.Value(), Rev: e.Revision(), Created: e.Created(),
		Deleted: e.Operation() != jetstream.KeyValuePut,
	}
}
