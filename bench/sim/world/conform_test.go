package world

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
)

// direct is a wire on which nothing goes wrong.
type direct struct{ b *bucket }

func (d direct) Publish(_ context.Context, m *nats.Msg) (uint64, error) { return d.b.publish(m) }

func (d direct) Last(_ context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return d.b.last(subject)
}

func (d direct) Watch(_ context.Context, keys string) (jetstream.KeyWatcher, error) {
	all := d.b.list(keys)
	updates := make(chan jetstream.KeyValueEntry, len(all)+1)
	for _, e := range all {
		updates <- e
	}
	updates <- nil
	return &listing{updates: updates}, nil
}

// Random programs on leases and keys: the simulated stream and a real server answer alike, sequence for sequence.
func TestTheBucketAnswersLikeAServer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		nc, err := enginetest.NATS(t).Connect()
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		require.NoError(t, err)
		opts := kv.Options{Bucket: "daybreak", Logger: slog.New(slog.DiscardHandler)}
		real, err := kv.Open(t.Context(), js, opts)
		require.NoError(t, err)
		w := newWorld(seed, "", nil)
		w.chaos = false
		w.bucket.three = false // as the one server
		simulated, err := kv.OpenWire(direct{w.bucket}, opts)
		require.NoError(t, err)
		require.Equal(t, program(t, seed, real), program(t, seed, simulated), "seed %d", seed)
		require.Empty(t, w.violated)
	}
}

// program does the same with every store and returns what it answered.
func program(t *testing.T, seed uint64, s *kv.Store) []string {
	rng := rand.New(rand.NewPCG(seed, 3))
	var told []string
	say := func(what string, v any, err error) {
		told = append(told, fmt.Sprintf("%s: %v %s", what, v, named(err)))
	}
	revs := map[string]uint64{}
	var leases []*kv.Lease
	ctx := t.Context()
	for i := range 120 {
		key := fmt.Sprintf("k.%d", rng.IntN(4))
		value := fmt.Appendf(nil, "%d", i)
		guess := revs[key] - min(revs[key], uint64(rng.IntN(4)/3))
		switch rng.IntN(9) {
		case 0:
			rev, err := s.Create(ctx, key, value)
			say("create", rev, err)
			revs[key] = max(revs[key], rev)
		case 1, 2:
			rev, err := s.CompareAndPut(ctx, key, value, guess)
			say("put", rev, err)
			revs[key] = max(revs[key], rev)
		case 3:
			say("delete", guess, s.CompareAndDelete(ctx, key, guess))
		case 4:
			v, err := s.Get(ctx, key)
			say("get", fmt.Sprint(v.Rev, string(v.Data)), err)
		case 5:
			all, err := s.List(ctx, "k")
			for _, v := range all {
				say("listed", fmt.Sprint(v.Key, v.Rev, string(v.Data)), err)
			}
		case 6:
			l, err := s.Acquire(ctx, fmt.Sprintf("n%d", rng.IntN(2)), "me")
			say("acquire", l != nil, err)
			if err == nil {
				leases = append(leases, l)
				say("token", l.Token(), nil)
			}
		case 7:
			if len(leases) > 0 {
				rev, err := leases[rng.IntN(len(leases))].Put(ctx, key, value)
				say("guarded", rev, err)
				revs[key] = max(revs[key], rev)
			}
		default:
			if len(leases) > 0 {
				say("release", "", leases[rng.IntN(len(leases))].Release(ctx))
			}
		}
	}
	require.NoError(t, s.PutTTL(ctx, "gone", nil, time.Second))
	require.Eventually(t, func() bool {
		_, err := s.Get(ctx, "gone")
		return errors.Is(err, kv.ErrNotFound)
	}, 20*time.Second, 50*time.Millisecond)
	rev, err := s.Create(ctx, "gone", nil)
	say("after its time", rev, err)
	for _, l := range leases {
		_ = l.Release(ctx)
	}
	require.NoError(t, s.Close(context.WithoutCancel(ctx)))
	return told
}

func named(err error) string {
	for _, e := range []error{kv.ErrHeld, kv.ErrReleased, kv.ErrFenced, kv.ErrExists, kv.ErrConflict, kv.ErrNotFound, kv.ErrLeaseLost} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return fmt.Sprint(err)
}
