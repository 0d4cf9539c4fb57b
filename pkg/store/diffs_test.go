package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

func review(d model.Diff, state model.ReviewState, step, seen uint64) model.Review {
	return model.Review{
		Job: d.Job, Day: d.Day, DiffID: d.ID, Key: d.Key, State: state, By: "ann", Note: "it's\n\x00 fine", At: epoch, Step: step,
		Fingerprint: d.Fingerprint(), SeenVersion: seen,
	}
}

func TestDiffComesBackAsItWas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	several := entry(model.Ledger, "k", "-0.00000001")
	several.Currency = "USD"
	group := model.Group{Key: "k'\"\\\n\x00支付", Ledger: []model.Entry{entry(model.Ledger, "k", "7"), several}, Channel: []model.Entry{entry(model.Channel, "k", "8")}}
	out := model.Rules{Mode: model.ModeOne}.Judge(group, func(model.Day) bool { return true })
	want := model.Diff{Figures: out.Figures, Job: job, Day: day, ID: model.DiffID(job, day, group.Key), State: model.Open, Version: 1}
	want.Detail = "it's \"so\""
	require.False(t, want.Delta.Valid)
	b.commit(runID(1), model.Batch{}, 1, want)
	row, ok, err := b.Diff(b.ctx, job, day, want.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, want.Fingerprint(), row.Fingerprint())
	require.Equal(t, want.Fingerprint(), row.FingerprintHeld)
	require.Equal(t, want.ID, row.ID)
	require.Equal(t, want.Key, row.Key)
	require.Equal(t, want.Reasons, row.Reasons)
	require.Equal(t, want.LedgerRef, row.LedgerRef)
	require.False(t, row.Delta.Valid || row.LedgerAmount.Valid)
	require.True(t, row.ChannelAmount.Valid && row.ChannelAmount.Decimal.Equal(dec("8")))
	require.Equal(t, model.BatchID(job, day), row.BatchID)
	require.Equal(t, runID(1), row.RunID)
	require.Equal(t, model.ReviewNone, row.Review)
	require.True(t, row.ReviewAt.IsZero())
	_, ok, err = b.Diff(b.ctx, job, day, "no such")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestResultsRefuseWhatTheTablesCut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, change := range []func(*model.Diff){
		func(d *model.Diff) { d.Delta = decimal.NewNullDecimal(dec("0.000000001")) },
		func(d *model.Diff) { d.LedgerAmount = decimal.NewNullDecimal(decimal.New(1, 30)) },
		func(d *model.Diff) { d.Amounts[0].Channel = decimal.New(1, 31) },
		func(d *model.Diff) { d.State = model.Cleared },
		func(d *model.Diff) { d.ID = "" },
		func(d *model.Diff) { d.Origin = -1 },
	} {
		r, err := b.Results(b.ctx, job, day, runID(i), 1)
		require.NoError(t, err)
		d := diff(day, "k", "1")
		change(&d)
		require.ErrorIs(t, r.Diff(d), store.ErrValue)
		_, err = r.Close(b.ctx)
		require.ErrorIs(t, err, store.ErrValue)
	}
	r, err := b.Results(b.ctx, job, day, runID(50), 1)
	require.NoError(t, err)
	require.NoError(t, r.Diff(diff(day, "k", "1")))
	require.NoError(t, r.Diff(diff(day, "k", "2")))
	_, err = r.Close(b.ctx)
	require.ErrorIs(t, err, store.ErrIncomplete, "two diffs of one key")
}

// TestReviewOutlivesRecomputes walks one reviewed diff and one that nobody looked at through versions.
func TestReviewOutlivesRecomputes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := diff(day, "a", "1"), diff(day, "b", "1")
	v1 := b.commit(runID(1), model.Batch{}, 1, a, other)
	require.NoError(t, b.PutReview(b.ctx, review(a, model.ReviewInvestigating, 1, 1)))
	require.Equal(t, []string{"a 1 open investigating", "b 1 open none"}, b.shown(store.DiffQuery{}))

	v2 := b.commit(runID(2), v1, 2, diff(day, "a", "2"))
	require.Equal(t, []string{"a 2 open investigating changed"}, b.shown(store.DiffQuery{}), "other figures; b is cleared and unseen")

	// A review of b that was written while version 2 was computed still finds its row.
	require.NoError(t, b.PutReview(b.ctx, review(other, model.ReviewInvestigating, 1, 1)))
	require.Equal(t, []string{"a 2 open investigating changed", "b 1 cleared investigating changed"}, b.shown(store.DiffQuery{}))

	v3 := b.commit(runID(3), v2, 3)
	require.Equal(t, []string{"a 2 cleared investigating changed", "b 1 cleared investigating changed"}, b.shown(store.DiffQuery{}))

	// Reviewed as cleared, it is not changed again by versions that clear it again.
	require.NoError(t, b.PutReview(b.ctx, review(diff(day, "a", "2"), model.ReviewResolved, 2, 3)))
	v4 := b.commit(runID(4), v3, 4)
	require.Equal(t, []string{"a 2 cleared resolved", "b 1 cleared investigating changed"}, b.shown(store.DiffQuery{}))

	b.commit(runID(5), v4, 5, diff(day, "a", "3"))
	require.Equal(t, []string{"a 3 open resolved changed", "b 1 cleared investigating changed"}, b.shown(store.DiffQuery{}), "found again")
}

func TestNewestStepOfAReview(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := diff(day, "a", "1")
	b.commit(runID(1), model.Batch{}, 1, d)
	last := review(d, model.ReviewResolved, 2, 1)
	for _, r := range []model.Review{last, review(d, model.ReviewInvestigating, 1, 1), last, last} { // late, twice
		require.NoError(t, b.PutReview(b.ctx, r))
	}
	require.Equal(t, uint64(2), b.number(`SELECT count() FROM reviews`))
	require.Equal(t, []string{"a 1 open resolved"}, b.shown(store.DiffQuery{}))
	n := 0
	for r, err := range b.Reviews(b.ctx, job, day, day) {
		require.NoError(t, err)
		require.Equal(t, last, r)
		n++
	}
	require.Equal(t, 1, n)
	require.ErrorIs(t, b.PutReview(b.ctx, model.Review{Job: job, Day: day}), store.ErrValue)
	row, ok, err := b.Diff(b.ctx, job, day, d.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []any{"ann", last.Note, uint64(2)}, []any{row.ReviewBy, row.ReviewNote, row.ReviewStep})
	require.True(t, row.ReviewAt.Equal(epoch))
}

func TestDiffQuery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, c := diff(day, "a", "1"), diff(day, "c", "1")
	c.Kind = model.KindStatus
	v1 := b.commit(runID(1), model.Batch{}, 1, a, c, diff(day, "gone", "1"))
	require.NoError(t, b.PutReview(b.ctx, review(diff(day, "gone", "1"), model.ReviewAccepted, 1, 1)))
	b.commit(runID(2), v1, 2, a, c)
	for _, tc := range []struct {
		q    store.DiffQuery
		want []string
	}{
		{store.DiffQuery{}, []string{"a", "c", "gone"}},
		{store.DiffQuery{Job: job, From: day, To: day}, []string{"a", "c", "gone"}},
		{store.DiffQuery{Job: "x' OR '1'='1"}, nil},
		{store.DiffQuery{From: day + 1}, nil},
		{store.DiffQuery{To: day - 1}, nil},
		{store.DiffQuery{Kinds: []model.Kind{model.KindStatus, model.KindDuplicate}}, []string{"c"}},
		{store.DiffQuery{State: model.Open}, []string{"a", "c"}},
		{store.DiffQuery{State: model.Cleared}, []string{"gone"}},
		{store.DiffQuery{Reviews: []model.ReviewState{model.ReviewNone}}, []string{"a", "c"}},
		{store.DiffQuery{Reviews: []model.ReviewState{model.ReviewAccepted, "it's"}}, []string{"gone"}},
	} {
		var keys []string
		for row, err := range b.Diffs(b.ctx, tc.q) {
			require.NoError(t, err)
			keys = append(keys, row.Key)
		}
		require.Equal(t, tc.want, keys, "%+v", tc.q)
	}
	for range b.Diffs(b.ctx, store.DiffQuery{}) {
		break // a reader may stop early
	}
	columns := `batch_id, biz_date, diff_id, kind, state, key, currency, ledger_count, channel_count, ledger_amount, channel_amount, delta, ledger_status, channel_status, review, version, origin_date`
	require.Equal(t, columns, b.text(`SELECT arrayStringConcat(arraySlice(groupArray(name), 1, 17), ', ') FROM
		(SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'diffs_current' ORDER BY position)`))
}

// TestChanges compares random successive versions with plain maps.
func TestChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := rand.New(rand.NewPCG(11, 11))
	was := map[string]string{} // open diffs of the version before
	prev := model.Batch{}
	for v := 1; v <= 6; v++ {
		now := map[string]string{}
		var diffs []model.Diff
		for i := range 60 {
			if key := fmt.Sprint("k", i); r.IntN(3) > 0 {
				now[key] = fmt.Sprint(1 + r.IntN(2))
				diffs = append(diffs, diff(day, key, now[key]))
			}
		}
		prev = b.commit(runID(v), prev, uint64(v), diffs...)
		want := changesOf(was, now)
		require.Equal(t, want, b.changes(prev), "version %d", v)
		require.Equal(t, want, b.changes(prev), "version %d, read again", v)
		was = now
	}
	for range b.Changes(b.ctx, prev) {
		break // a reader may stop early
	}
	// The version before has a diff that this one lacks: not a committed version of ours.
	r2, err := b.Results(b.ctx, job, day, runID(90), 7)
	require.NoError(t, err)
	_, err = r2.Close(b.ctx)
	require.NoError(t, err)
	var last error
	for _, err := range b.Changes(b.ctx, model.Batch{Job: job, Day: day, RunID: runID(90), Previous: prev.RunID}) {
		last = err
	}
	require.ErrorIs(t, last, store.ErrIncomplete)
}

func changesOf(was, now map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range now {
		if old, ok := was[k]; !ok {
			out[k] = "opened " + v
		} else if old != v {
			out[k] = "changed " + v
		}
	}
	for k, v := range was {
		if _, ok := now[k]; !ok {
			out[k] = "cleared " + v
		}
	}
	return out
}

func (b *bundle) changes(batch model.Batch) map[string]string {
	b.t.Helper()
	out := map[string]string{}
	var ids []string
	for c, err := range b.Changes(b.ctx, batch) {
		require.NoError(b.t, err)
		require.Equal(b.t, batch.Version, c.Diff.Version)
		out[c.Diff.Key] = string(c.Kind) + " " + c.Diff.LedgerAmount.Decimal.String()
		ids = append(ids, c.Diff.ID)
	}
	require.True(b.t, slices.IsSorted(ids))
	return out
}

func TestAudits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := day
	audits := []model.Audit{
		{Job: job, Day: &d, Kind: model.AuditMissing, Seen: "s'", Since: epoch, Nudged: true},
		{Kind: model.AuditSilent, Escalated: true, Resolved: true},
	}
	require.NoError(t, b.PutAudits(b.ctx, "a/1", epoch, nil))
	for range 2 {
		require.NoError(t, b.PutAudits(b.ctx, "a/1", epoch, audits))
	}
	require.Equal(t, " \\N silent false true true\nwechat 2026-10-30 missing true false false", b.text(`SELECT concat(job, ' ',
		ifNull(toString(biz_date), '\\N'), ' ', finding, ' ', toString(nudged), ' ', toString(escalated), ' ', toString(resolved))
		FROM audits ORDER BY job`))
}

// TestSweepKeepsWhatIsNeeded has superseded versions, attempts that never committed and a carry recompute.
func TestSweepKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	prev := model.Batch{}
	for n := 1; n <= 4; n++ { // 4 is the carry recompute of the snapshot of 3
		if n < 4 {
			b.land(runID(n), day, entry(model.Ledger, "k", "1"))
		}
		b.carry(runID(n), day, []model.Entry{entry(model.Ledger, fmt.Sprint("c", n), "1")})
		batch := b.write(runID(n), prev, uint64(n), diff(day, "k", fmt.Sprint(n)))
		if n == 4 {
			batch.SnapshotID = runID(3)
		}
		require.NoError(t, b.Commit(b.ctx, batch))
		prev = batch
	}
	for _, n := range []int{5, 6, 60} { // orphans: old, old but at work, young
		b.land(runID(n), day, entry(model.Ledger, "k", "1"))
		b.write(runID(n), model.Batch{}, 9, diff(day, "k", "1"))
	}
	b.land("not-a-ulid", day, entry(model.Ledger, "k", "1"))
	shown := b.shown(store.DiffQuery{})
	changes := b.changes(prev)
	for range 2 {
		require.NoError(t, b.Sweep(b.ctx, epoch.Add(30*time.Minute), func(run string) bool { return run == runID(6) }))
		require.Equal(t, []string{runID(3), runID(4), runID(6), runID(60), "not-a-ulid"}, b.runs("entries"))
		require.Equal(t, []string{runID(3), runID(4), runID(6), runID(60)}, b.runs("diffs"))
		require.Equal(t, shown, b.shown(store.DiffQuery{}))
		require.Equal(t, changes, b.changes(prev))
	}
	require.Equal(t, uint64(4), b.number(`SELECT count() FROM batches`))
	require.Equal(t, uint64(2), b.number(`SELECT count() FROM entries_current`), "one pulled, one carried in")
}

func (b *bundle) runs(table string) []string {
	b.t.Helper()
	rows, err := b.Conn().Query(b.ctx, `SELECT DISTINCT toString(run_id) FROM `+table+` ORDER BY 1`)
	require.NoError(b.t, err)
	var out []string
	for rows.Next() {
		var run string
		require.NoError(b.t, rows.Scan(&run))
		out = append(out, run)
	}
	require.NoError(b.t, rows.Close())
	return out
}
