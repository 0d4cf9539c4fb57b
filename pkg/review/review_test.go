package review_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/review"
	"daybreak/pkg/store"
)

var day = model.NewDay(2026, 10, 1)

// desk is a review desk over maps: compare-and-set is all that a keeper has to give, and the real one is held to it by
// the tests of package control.
type desk struct {
	mu       sync.Mutex
	kept     model.Review
	revision uint64
	row      store.DiffRow
	table    []model.Review
	told     []bus.Message
	tableErr error
}

func (d *desk) Review(context.Context, string, model.Day, string) (model.Review, uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept, d.revision, nil
}

func (d *desk) SaveReview(_ context.Context, r model.Review, revision uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if revision != d.revision {
		return kv.ErrConflict
	}
	d.kept, d.revision = r, d.revision+1
	return nil
}

func (d *desk) Diff(_ context.Context, _ string, _ model.Day, id string) (store.DiffRow, bool, error) {
	return d.row, id == d.row.ID, nil
}

func (d *desk) PutReview(_ context.Context, r model.Review) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.table = append(d.table, r)
	return d.tableErr
}

func (d *desk) Publish(_ context.Context, m bus.Message) (bus.Receipt, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = append(d.told, m)
	return bus.Receipt{}, nil
}

func setup() (*desk, *review.Desk) {
	d := &desk{row: store.DiffRow{Diff: model.Diff{Job: "cards", Day: day, ID: "d1", State: model.Open, Version: 3}}}
	return d, &review.Desk{Keeper: d, Table: d, Publisher: d, Clock: clockwork.NewFakeClock()}
}

func step(to model.ReviewState) review.Step {
	return review.Step{Job: "cards", Day: day, DiffID: "d1", To: to, By: "ana", Note: "asked"}
}

func TestStepsFollowTheStateMachine(t *testing.T) {
	t.Parallel()
	d, r := setup()
	for i, to := range []model.ReviewState{model.ReviewInvestigating, model.ReviewResolved, model.ReviewInvestigating, model.ReviewWrittenOff} {
		got, err := r.Make(t.Context(), step(to))
		require.NoError(t, err)
		require.Equal(t, uint64(i+1), got.Step)
		require.Equal(t, d.row.Fingerprint(), got.Fingerprint)
		require.Equal(t, uint64(3), got.SeenVersion)
	}
	require.Len(t, d.table, 4)
	require.Len(t, d.told, 4)
	require.Equal(t, "diff.cards.2026-10-01.reviewed", d.told[0].Subject)
	for _, to := range []model.ReviewState{model.ReviewResolved, model.ReviewAccepted, model.ReviewNone, "nonsense"} {
		_, err := r.Make(t.Context(), step(to))
		require.ErrorIs(t, err, model.ErrReviewStep, to)
	}
}

// Two people who act on the same state: one step is made, the other is told.
func TestTwoPeopleCannotOverwriteEachOther(t *testing.T) {
	t.Parallel()
	d, r := setup()
	const people = 16
	var wg sync.WaitGroup
	errs := make([]error, people)
	for i := range people {
		wg.Go(func() { _, errs[i] = r.Make(t.Context(), step(model.ReviewInvestigating)) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		require.True(t, errors.Is(err, review.ErrConflict) || errors.Is(err, model.ErrReviewStep), err)
	}
	require.Equal(t, 1, made)
	require.Len(t, d.table, 1)
}

// When the control bucket was lost, the table says where the review stands.
func TestTheTableRestoresALostBucket(t *testing.T) {
	t.Parallel()
	d, r := setup()
	d.row.Review, d.row.ReviewStep = model.ReviewResolved, 2
	_, err := r.Make(t.Context(), step(model.ReviewAccepted))
	require.ErrorIs(t, err, model.ErrReviewStep)
	got, err := r.Make(t.Context(), step(model.ReviewInvestigating))
	require.NoError(t, err)
	require.Equal(t, uint64(3), got.Step)
}

// The step is the compare-and-set: a mirror that fails afterwards leaves it made, and completing it is harmless.
func TestAMirrorThatFailsLeavesTheStepMade(t *testing.T) {
	t.Parallel()
	d, r := setup()
	d.tableErr = errors.New("table down")
	got, err := r.Make(t.Context(), step(model.ReviewInvestigating))
	require.ErrorIs(t, err, d.tableErr)
	require.Equal(t, got, d.kept)
	d.tableErr = nil
	require.NoError(t, r.Complete(t.Context(), d.row.Diff, d.kept))
	require.Len(t, d.told, 1)
}

func TestIncompleteStepsAndUnknownDiffs(t *testing.T) {
	t.Parallel()
	_, r := setup()
	s := step(model.ReviewInvestigating)
	s.By = " "
	_, err := r.Make(t.Context(), s)
	require.ErrorIs(t, err, review.ErrIncomplete)
	s = step(model.ReviewInvestigating)
	s.DiffID = "d2"
	_, err = r.Make(t.Context(), s)
	require.ErrorIs(t, err, review.ErrNoDiff)
}
