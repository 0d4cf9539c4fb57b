package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

// books makes random entries of both sides: most keys agree, the others have duplicates, several currencies, other
// amounts or statuses, or one side only.
func books(r *rand.Rand, keys int) []model.Entry {
	var out []model.Entry
	odd := []string{"", "'", "\"", "\n", "\t", "\\", "\x00", "\xff\xfe", "支付", "🙂", "|", "%", "{x:String}", "\r\n", "--", ";\n\n"}
	for i := range keys {
		key := odd[r.IntN(len(odd))] + fmt.Sprint("key-", i) + odd[r.IntN(len(odd))]
		amount := decimal.New(r.Int64N(2000)-1000, -int32(r.IntN(9)))
		for _, side := range model.Sides {
			n := 1
			if r.IntN(5) == 0 {
				n = r.IntN(4)
			}
			for range n {
				e := entry(side, key, amount.String())
				mutate(r, &e)
				out = append(out, e)
			}
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	for i := range out {
		out[i].Line = uint64(i + 1)
	}
	return out
}

func mutate(r *rand.Rand, e *model.Entry) {
	switch r.IntN(12) {
	case 0:
		e.Amount = e.Amount.Add(decimal.New(1, -8))
	case 1:
		e.Currency = "USD"
	case 2:
		e.Compared = []string{"refund"}
	case 3:
		e.Compared = []string{"success", "extra"}
	case 4:
		e.Compared = []string{"", "other"}
	case 5:
		e.Compared = nil
	case 6:
		e.Amount = e.Amount.Neg()
	}
}

// groups is the oracle: plain maps over the entries.
func groups(entries []model.Entry) map[string]*model.Group {
	out := map[string]*model.Group{}
	for _, e := range entries {
		g := out[e.Key]
		if g == nil {
			g = &model.Group{Key: e.Key}
			out[e.Key] = g
		}
		if e.Side == model.Ledger {
			g.Ledger = append(g.Ledger, e)
		} else {
			g.Channel = append(g.Channel, e)
		}
	}
	return out
}

func sorted(entries []model.Entry) []model.Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b model.Entry) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// TestExactAndResiduePartition proves that every key comes out of exactly one of the two, that residue has all its
// entries, in order of the keys, and that whatever Exact takes would have been judged as matched with no delta.
func TestExactAndResiduePartition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for round, mode := range []model.MatchMode{model.ModeOne, model.ModeSum, model.ModeOne, model.ModeSum} {
		r := rand.New(rand.NewPCG(7, uint64(round)))
		d := day.Add(round)
		all := books(r, 400)
		snapshot, run := runID(10*round), runID(10*round+1)
		pulled, carried := all[:len(all)*4/5], all[len(all)*4/5:]
		b.land(snapshot, d, pulled...)
		b.carry(run, d, carried)
		// Rows of other runs, of the snapshot's own carry and of the run's own pull are none of this comparison's.
		b.land(run, d, books(r, 50)...)
		b.carry(snapshot, d, books(r, 50))

		c := store.Comparison{Job: job, Day: d, SnapshotID: snapshot, RunID: run, Mode: mode}
		rules := model.Rules{Mode: mode, Compare: []string{"status", "type"}}
		checkPartition(t, b, c, rules, all)
	}
}

func checkPartition(t *testing.T, b *bundle, c store.Comparison, rules model.Rules, all []model.Entry) {
	t.Helper()
	want := groups(all)
	var keys []string
	require.NoError(t, b.Residue(b.ctx, c, func(g model.Group) error {
		keys = append(keys, g.Key)
		w := want[g.Key]
		require.NotNil(t, w, "unknown key %q", g.Key)
		require.Equal(t, plain(sorted(w.Ledger)), plain(sorted(g.Ledger)))
		require.Equal(t, plain(sorted(w.Channel)), plain(sorted(g.Channel)))
		delete(want, g.Key)
		return nil
	}))
	require.True(t, slices.IsSorted(keys), "ascending by the bytes of the key")
	require.NotEmpty(t, want)
	wantLedger, wantChannel := model.Totals{}, model.Totals{}
	for _, g := range want {
		out := rules.Judge(*g, func(model.Day) bool { return true })
		require.Equal(t, model.Matched, out.Verdict, "key %q", g.Key)
		require.True(t, out.Figures.Delta.Valid && out.Figures.Delta.Decimal.IsZero(), "key %q", g.Key)
		for _, e := range g.Ledger {
			wantLedger.Add(e.Currency, 1, e.Amount)
		}
		for _, e := range g.Channel {
			wantChannel.Add(e.Currency, 1, e.Amount)
		}
	}
	// What is left to judge is what needs it: a plain match is never handed out.
	byKey := groups(all)
	for _, key := range keys {
		g := byKey[key]
		if c.Mode == model.ModeOne && len(g.Ledger) == 1 && len(g.Channel) == 1 {
			out := rules.Judge(*g, func(model.Day) bool { return true })
			require.NotEqual(t, model.Matched, out.Verdict, "key %q", key)
		}
	}
	ledger, channel, err := b.Exact(b.ctx, c)
	require.NoError(t, err)
	require.True(t, ledger.Equal(wantLedger), "%s, not %s", ledger, wantLedger)
	require.True(t, channel.Equal(wantChannel), "%s, not %s", channel, wantChannel)
}

// plain brings entries into a form that compares by value.
func plain(entries []model.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		fee := ""
		if e.Fee.Valid {
			fee = e.Fee.Decimal.String()
		}
		attrs := slices.Sorted(maps.Keys(e.Attrs))
		for i, k := range attrs {
			attrs[i] = k + "=" + e.Attrs[k]
		}
		out[i] = fmt.Sprintf("%q", []any{
			e.Side, e.Key, e.ID, e.Amount.String(), e.Currency, e.Status, append([]string{}, e.Compared...),
			e.OccurredAt.UTC().String(), fee, attrs, e.Origin.String(), e.File, e.Line,
		})
	}
	return out
}

// carry lands entries in a pool of the day before and carries them into a run.
func (b *bundle) carry(run string, d model.Day, entries []model.Entry) {
	b.t.Helper()
	b.pools++
	pool := runID(1_000_000 + b.pools)
	r, err := b.Results(b.ctx, job, d.Add(-1), pool, 1)
	require.NoError(b.t, err)
	want := map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}
	for _, e := range entries {
		require.NoError(b.t, r.Carry(e))
		want[e.Side].Add(e.Currency, 1, e.Amount)
	}
	_, err = r.Close(b.ctx)
	require.NoError(b.t, err)
	from := model.Batch{Job: job, Day: d.Add(-1), RunID: pool}
	for range 2 { // the second time nothing is copied
		got, err := b.CarryIn(b.ctx, job, d, run, from)
		require.NoError(b.t, err)
		for _, side := range model.Sides {
			require.True(b.t, got[side].Equal(want[side]), "%s, not %s", got[side], want[side])
		}
	}
}

func TestCarryInOfNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got, err := b.CarryIn(b.ctx, job, day, runID(1), model.Batch{})
	require.NoError(t, err)
	require.Equal(t, map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}, got)
}

// TestResidueInRanges proves that cutting the keys into ranges changes nothing, also when a key lies on a boundary with
// many entries.
func TestResidueInRanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	all := books(rand.New(rand.NewPCG(3, 3)), 60)
	for range 40 {
		all = append(all, entry(model.Ledger, "many", "1"))
	}
	b.land(runID(1), day, all...)
	c := store.Comparison{Job: job, Day: day, SnapshotID: runID(1), RunID: runID(1), Mode: model.ModeOne}
	read := func(rows int) (out []string) {
		require.NoError(t, b.ResidueInRanges(b.ctx, c, rows, func(g model.Group) error {
			out = append(out, g.Key+fmt.Sprint(plain(sorted(g.Ledger)), plain(sorted(g.Channel))))
			return nil
		}))
		return out
	}
	want := read(1_000_000)
	require.NotEmpty(t, want)
	for _, rows := range []int{9, 41, 100, len(all) - 1} {
		require.Equal(t, want, read(rows), "ranges of %d rows", rows)
	}
}

func TestResidueStopsWithTheError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.land(runID(1), day, books(rand.New(rand.NewPCG(4, 4)), 300)...)
	c := store.Comparison{Job: job, Day: day, SnapshotID: runID(1), RunID: runID(1), Mode: model.ModeOne}
	calls := 0
	err := b.Residue(b.ctx, c, func(model.Group) error { calls++; return errBoom })
	require.Equal(t, errBoom, err)
	require.Equal(t, 1, calls)
	c.Mode = "both"
	require.ErrorIs(t, b.Residue(b.ctx, c, nil), store.ErrValue)
	_, _, err = b.Exact(b.ctx, c)
	require.ErrorIs(t, err, store.ErrValue)
}

// TestCompareReadsInOrder proves with the server's own plan that neither reader builds a hash table of the keys or sorts
// the entries, and that only the batch is read.
func TestCompareReadsInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 3 {
		b.land(runID(i), day.Add(i), books(rand.New(rand.NewPCG(5, uint64(i))), 200)...)
	}
	plan := b.text(`EXPLAIN PIPELINE SELECT match_key FROM entries WHERE job = 'wechat' AND biz_date = '2026-10-30'
		AND ((run_id = 'a' AND carried = 0) OR (run_id = 'b' AND carried = 1))
		GROUP BY match_key HAVING min(amount) = max(amount) SETTINGS optimize_aggregation_in_order = 1`)
	require.Contains(t, plan, "AggregatingInOrder")
	plan = b.text(`EXPLAIN indexes = 1 SELECT * FROM entries WHERE job = 'wechat' AND biz_date = '2026-10-30'
		AND match_key IN ('a', 'b') ORDER BY match_key, side, file, line`)
	require.Contains(t, plan, "match_key")
	require.Contains(t, plan, "Parts: 2/6")
}
