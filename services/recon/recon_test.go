package recon_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

// A book published in the worst order and twice gives exactly the planted faults, once each, in the table and as events.
func TestBookIsReconciled(t *testing.T) {
	t.Parallel()
	b := setup(t, 6, 200)
	b.start(t, nil)
	b.dueAll(t)
	open := map[string]model.DiffData{}
	for _, job := range b.book.Jobs {
		marks := b.awaitDone(t, job)
		require.ElementsMatch(t, b.planted(job), b.diffs(t, job))
		for day, w := range marks {
			require.Equal(t, uint64(1), w.Version, "%s %s", job, day)
			require.Equal(t, w.Version, w.Published)
		}
		for row, err := range b.store.Diffs(t.Context(), store.DiffQuery{Job: job, From: b.book.First, To: b.book.Last}) {
			require.NoError(t, err)
			open[row.ID] = row.DataOf()
		}
	}
	rebuilt := b.rebuilt(t)
	require.Len(t, rebuilt, len(b.book.Faults))
	for id, want := range open {
		require.Equal(t, want.Key, rebuilt[id].Key)
		require.Equal(t, want.Kind, rebuilt[id].Kind)
		require.Equal(t, want.Delta.Decimal.String(), rebuilt[id].Delta.Decimal.String())
	}
}
