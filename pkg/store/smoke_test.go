package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

func TestSmoke(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.land(runID(1), day, entry(model.Ledger, "a", "1.5"), entry(model.Channel, "a", "1.5"), entry(model.Ledger, "b", "-2"))
	c := store.Comparison{Job: job, Day: day, SnapshotID: runID(1), RunID: runID(1), Mode: model.ModeOne}
	l, ch, err := b.Exact(b.ctx, c)
	require.NoError(t, err)
	require.Equal(t, "CNY 1 entry 1.5", l.String())
	require.Equal(t, "CNY 1 entry 1.5", ch.String())
	var got []model.Group
	require.NoError(t, b.Residue(b.ctx, c, func(g model.Group) error { got = append(got, g); return nil }))
	require.Len(t, got, 1)
	first := b.commit(runID(1), model.Batch{}, 1, diff(day, "k1", "1"), diff(day, "k2", "2"))
	second := b.commit(runID(2), first, 2, diff(day, "k1", "1"), diff(day, "k3", "3"))
	require.Equal(t, []string{"k1 1 open none", "k3 3 open none"}, b.shown(store.DiffQuery{Job: job}))
	var kinds []string
	for c, err := range b.Changes(b.ctx, second) {
		require.NoError(t, err)
		kinds = append(kinds, string(c.Kind)+" "+c.Diff.Key)
	}
	require.ElementsMatch(t, []string{"opened k3", "cleared k2"}, kinds)
}
