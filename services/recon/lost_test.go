package recon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/model"
)

// beside stands the same books on other engines.
func (b *bundle) beside(t *testing.T, change func(*bundle)) *bundle {
	t.Helper()
	to := *b
	change(&to)
	other, err := connect(t.Context(), b.dir, b.book, to.natsURL, to.ch)
	require.NoError(t, err)
	t.Cleanup(other.close)
	return other
}

// requireTold checks that a consumer who read the whole stream has the table.
func (b *bundle) requireTold(t *testing.T, job string) {
	t.Helper()
	rebuilt := map[string]string{}
	for _, d := range b.rebuilt(t) {
		if d.Job == job {
			rebuilt[d.Key] = string(d.Kind) + " " + d.LedgerAmount.Decimal.String()
		}
	}
	table := map[string]string{}
	for _, f := range b.diffs(t, job) {
		table[f.Key] = string(f.Kind) + " " + f.Ledger
	}
	require.Equal(t, table, rebuilt)
}

func dropRow(key string) func([][]string) [][]string {
	return func(rows [][]string) [][]string {
		var out [][]string
		for _, r := range rows {
			if r[0] != key {
				out = append(out, r)
			}
		}
		return out
	}
}

// The tables are lost and the stream is kept: versions go on above what was told, and consumers who heard of the old ones
// end with the new table, also where a diff is gone.
func TestTablesLost(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, 20)
	const job = "wallet"
	day := b.book.First
	stop := b.start(t, nil)
	b.dueAll(t)
	b.awaitDone(t, job)
	stop()
	gone := b.faultOf(t, job, model.KindMissingInChannel, day)
	b.edit(t, job, day, dropRow(gone.Key))
	after := b.beside(t, func(to *bundle) { to.ch = enginetest.ClickHouse(t) })
	after.start(t, nil)
	w := after.awaitAnswer(t, job, day, after.replay(t, job, day))
	require.Equal(t, model.Done, w.Status, w.Error)
	require.Equal(t, uint64(2), w.Version)
	after.awaitAnswer(t, job, day+1, after.replay(t, job, day+1))
	require.NotContains(t, after.diffs(t, job), gone)
	after.requireTold(t, job)
}

// The tables are lost, and somebody asks for the second day of a strict job first: the watermark of the first says DONE, but it
// has nothing to hand on any more. The second waits, and both come out as they were.
func TestStrictDayWaitsForALostResult(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, 20)
	const job = "cards"
	day := b.book.First
	stop := b.start(t, nil)
	b.dueAll(t)
	b.awaitDone(t, job)
	stop()
	after := b.beside(t, func(to *bundle) { to.ch = enginetest.ClickHouse(t) })
	after.start(t, nil)
	after.replay(t, job, day+1)
	after.await(t, job, func(m map[model.Day]model.Watermark) bool { return m[day+1].Status == model.Blocked })
	after.replay(t, job, day)
	marks := after.await(t, job, func(m map[model.Day]model.Watermark) bool {
		return m[day].Status == model.Done && m[day+1].Status == model.Done
	})
	require.Equal(t, uint64(2), marks[day].Version)
	require.Equal(t, uint64(2), marks[day+1].Version)
	require.ElementsMatch(t, b.planted(job), after.diffs(t, job))
	after.requireTold(t, job)
}

// The result of a day is lost, and somebody says that the pool of the day after it changed: that day waits for nobody, and keeps
// what it has until there is a pool again.
func TestIndependentDayKeepsItsPoolWhenTheDayBeforeIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, 20)
	const job = "cards"
	for i := range b.jobs {
		b.jobs[i].Order = model.Independent
	}
	day := b.book.First
	b.start(t, nil)
	b.due(t, job, day)
	b.await(t, job, func(m map[model.Day]model.Watermark) bool { return m[day].Status == model.Done })
	b.due(t, job, day+1)
	was := b.awaitDone(t, job)
	require.NotEmpty(t, was[day+1].CarryIn)
	require.NoError(t, b.store.Conn().Exec(t.Context(), "ALTER TABLE batches DELETE WHERE job = 'cards' AND biz_date = '"+day.String()+"' SETTINGS mutations_sync = 2"))
	subject, err := bus.DayNudge(job, (day + 1).String())
	require.NoError(t, err)
	_, err = b.bus.Publish(t.Context(), bus.Message{Subject: subject, ID: "lost", Body: []byte(`{"cause":"carry","seen":"lost"}`)})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		pending, unanswered, err := b.bus.Pending(t.Context(), bus.StreamDays, "recon")
		return err == nil && pending == 0 && unanswered == 0
	}, time.Minute, 20*time.Millisecond)
	w, _, err := b.control.Watermark(t.Context(), job, day+1)
	require.NoError(t, err)
	require.Equal(t, was[day+1].RunID, w.RunID, "not computed again")
	b.awaitAnswer(t, job, day, b.replay(t, job, day))
	require.ElementsMatch(t, b.planted(job), b.diffs(t, job))
}

// The stream and the watermarks are lost and the tables are kept, at a version whose changes alone would tell nothing.
func TestStreamLost(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, 20)
	const job = "wallet"
	stop := b.start(t, nil)
	b.dueAll(t)
	b.awaitDone(t, job)
	b.awaitAnswer(t, job, b.book.First, b.replay(t, job, b.book.First))
	stop()
	after := b.beside(t, func(to *bundle) { to.natsURL = enginetest.NATS(t).ConnectURL() })
	after.start(t, nil)
	after.dueAll(t)
	marks := after.awaitDone(t, job)
	require.Equal(t, uint64(3), marks[b.book.First].Version, "results go on, they do not restart")
	require.ElementsMatch(t, b.planted(job), after.diffs(t, job))
	after.requireTold(t, job)
}

// Entries read under other rules are never held against each other: the day fails and says what to do, and is done as
// soon as the days before were read again.
func TestRulesChangedUnderAPool(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, 20)
	const job = "cards"
	first := b.book.First
	stop := b.start(t, nil)
	b.due(t, job, first)
	b.due(t, job, first+1)
	b.await(t, job, func(m map[model.Day]model.Watermark) bool { return m[first+1].Status == model.Done })
	stop()
	for i := range b.jobs {
		b.jobs[i].Rules.Compare = nil
	}
	b.start(t, nil)
	b.due(t, job, first+2)
	marks := b.await(t, job, func(m map[model.Day]model.Watermark) bool { return m[first+2].Status == model.Failed })
	require.Contains(t, marks[first+2].Error, "daybreak replay cards 2026-10-01..2026-10-02")
	b.replay(t, job, first)
	b.replay(t, job, first+1)
	b.awaitDone(t, job)
	for _, f := range b.diffs(t, job) {
		require.NotEqual(t, model.KindStatus, f.Kind, "nothing is compared any more")
	}
}
