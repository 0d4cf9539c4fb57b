package recon

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

// stream keeps what is published, and like the real one repeats nothing that it knows.
type stream struct {
	Streams
	kept []bus.Message
}

func (s *stream) Publish(_ context.Context, m bus.Message) (bus.Receipt, error) {
	s.kept = append(s.kept, m)
	return bus.Receipt{}, nil
}

func (s *stream) PublishAll(ctx context.Context, all iter.Seq2[bus.Message, error], _ func(int)) (n int, err error) {
	for m, err := range all {
		if err != nil {
			return n, err
		}
		_, _ = s.Publish(ctx, m)
		n++
	}
	return n, nil
}

func (s *stream) Last(_ context.Context, _, subject string) (bus.Message, uint64, error) {
	for i, m := range slices.Backward(s.kept) {
		if m.Subject == subject {
			return m, uint64(i + 1), nil
		}
	}
	return bus.Message{}, 0, bus.ErrNotFound
}

// oneDiff is a table in which the newest version has one open diff, changed against the version before.
type oneDiff struct{ Tables }

func (oneDiff) Changes(_ context.Context, b model.Batch) iter.Seq2[store.Change, error] {
	return func(yield func(store.Change, error) bool) {
		kind := model.DiffChanged
		if b.Previous == "" {
			kind = model.DiffOpened
		}
		yield(store.Change{Kind: kind, Diff: model.Diff{ID: "d1", Job: b.Job, Day: b.Day, Version: b.Version, State: model.Open}}, nil)
	}
}

// A stream that was lost is told the whole day once. A second attempt at the same version, after a crash just before
// DONE, tells nothing else under the ids of the first.
func TestAClosedVersionIsNotToldAgain(t *testing.T) {
	t.Parallel()
	s := &stream{}
	r := &Recon{Options: Options{Bus: s, Tables: oneDiff{}}, metrics: newMetrics(nil, nil)}
	b := model.Batch{Job: "cards", Day: model.NewDay(2026, 10, 1), Version: 2, RunID: "run2", Previous: "run1", Balance: *model.NewBalance()}
	require.NoError(t, r.publishVersion(t.Context(), b))
	require.Len(t, s.kept, 2, "the diff, and the event that closes the version")
	var e model.Event
	var closed model.BatchData
	require.NoError(t, json.Unmarshal(s.kept[1].Body, &e))
	require.NoError(t, json.Unmarshal(e.Data, &closed))
	require.True(t, closed.Full)
	require.Equal(t, uint64(1), closed.Events)
	require.NoError(t, r.publishVersion(t.Context(), b))
	require.Len(t, s.kept, 2)
}
