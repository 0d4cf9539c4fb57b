package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

func TestEntriesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	full := entry(model.Ledger, "full", "-999999999999999999.99999999")
	full.ID, full.Status, full.Compared = "id\x00\n", "支付成功", []string{"", "a'b", "\\"}
	full.OccurredAt = epoch
	full.Fee = decimal.NewNullDecimal(dec("0.00000001"))
	full.Attrs = map[string]string{"店": "一\t", "": "empty", "x": ""}
	full.Origin, full.File, full.Line = model.MaxDay, "a b.csv.gz", 1<<63
	bare := model.Entry{Side: model.Ledger, Key: "\x00", Amount: decimal.Decimal{}, Currency: "JPY", Origin: day}
	old := entry(model.Channel, "old", "1e3")
	old.OccurredAt = time.Date(1900, 1, 1, 0, 0, 0, 1, time.UTC)
	b.land(runID(1), day, full, bare, old)
	got := map[string]model.Entry{}
	c := store.Comparison{Job: job, Day: day, SnapshotID: runID(1), RunID: runID(1), Mode: model.ModeOne}
	require.NoError(t, b.Residue(b.ctx, c, func(g model.Group) error {
		got[g.Key] = append(g.Ledger, g.Channel...)[0]
		return nil
	}))
	require.Len(t, got, 3)
	for _, e := range []model.Entry{full, bare, old} {
		require.Equal(t, plain([]model.Entry{e}), plain([]model.Entry{got[e.Key]}))
	}
	require.True(t, got["full"].OccurredAt.Equal(epoch))
	require.True(t, got["\x00"].OccurredAt.IsZero())
	require.Nil(t, got["\x00"].Attrs)
}

// TestLandingRefusesWhatTheTablesCut covers values that the driver would store as something else.
func TestLandingRefusesWhatTheTablesCut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, tc := range []struct {
		name   string
		change func(*model.Entry)
	}{
		{"nine fractional digits", func(e *model.Entry) { e.Amount = dec("1.123456789") }},
		{"nineteen integer digits", func(e *model.Entry) { e.Amount = dec("1000000000000000000") }},
		{"a huge exponent", func(e *model.Entry) { e.Amount = decimal.New(1, 2_000_000_000) }},
		{"a tiny exponent", func(e *model.Entry) { e.Amount = decimal.New(1, -2000) }},
		{"fee", func(e *model.Entry) { e.Fee = decimal.NewNullDecimal(dec("0.000000001")) }},
		{"no key", func(e *model.Entry) { e.Key = "" }},
		{"no currency", func(e *model.Entry) { e.Currency = "" }},
		{"no side", func(e *model.Entry) { e.Side = "" }},
		{"the other side", func(e *model.Entry) { e.Side = model.Channel }},
		{"instant too early", func(e *model.Entry) { e.OccurredAt = time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC) }},
		{"instant too late", func(e *model.Entry) { e.OccurredAt = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"origin before Date", func(e *model.Entry) { e.Origin = -1 }},
		{"origin after Date", func(e *model.Entry) { e.Origin = model.MaxDay + 1 }},
	} {
		l, err := b.Land(b.ctx, store.LandingID{Job: job, Day: day, RunID: runID(i), Side: model.Ledger})
		require.NoError(t, err)
		e := entry(model.Ledger, "k", "1")
		e.Line = 77
		tc.change(&e)
		err = l.Add(e)
		require.ErrorIs(t, err, store.ErrValue, tc.name)
		require.ErrorContains(t, err, "ledger.csv:77", tc.name)
		require.ErrorIs(t, l.Add(entry(model.Ledger, "k", "1")), store.ErrValue, "sticks")
		require.ErrorIs(t, l.Close(b.ctx), store.ErrValue)
	}
	require.Zero(t, b.number(`SELECT count() FROM entries`))
}

func TestTrailingZerosAreNotDigits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.land(runID(1), day, entry(model.Ledger, "k", "1.50000000000000000"), entry(model.Ledger, "z", "0.0000000000000"))
	got, err := b.SnapshotTotals(b.ctx, job, day, runID(1), model.Ledger)
	require.NoError(t, err)
	require.Equal(t, "CNY 2 entries 1.5", got.String())
}

// TestSumsBeyondDecimal128 sums more than 38 digits, where a sum of Decimal(38, 8) would wrap to a negative number.
func TestSumsBeyondDecimal128(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.land(runID(1), day, entry(model.Ledger, "k", "1"))
	b.exec(`INSERT INTO entries SELECT e.* REPLACE (toDecimal128('999999999999999999999999999999.99999999', 8) AS amount,
		arrayJoin(['ledger', 'channel']) AS side) FROM entries AS e, numbers(20) AS n`)
	b.exec(`DELETE FROM entries WHERE amount = 1`)
	got, err := b.SnapshotTotals(b.ctx, job, day, runID(1), model.Ledger)
	require.NoError(t, err)
	require.Equal(t, "CNY 20 entries 19999999999999999999999999999999.9999998", got.String())
	c := store.Comparison{Job: job, Day: day, SnapshotID: runID(1), RunID: runID(1), Mode: model.ModeSum}
	ledger, channel, err := b.Exact(b.ctx, c)
	require.NoError(t, err)
	require.True(t, ledger.Equal(got) && channel.Equal(got), "%s and %s", ledger, channel)
	b.exec(`INSERT INTO entries SELECT * REPLACE (toDecimal128('0.00000001', 8) AS amount) FROM entries WHERE side = 'ledger' LIMIT 1`)
	keys := 0
	require.NoError(t, b.Residue(b.ctx, c, func(model.Group) error { keys++; return nil }))
	require.Equal(t, 1, keys, "one unit in the last place is seen beside 32 digits")
}

// TestSameBlockTwice sends one block twice, as after a broken connection.
func TestSameBlockTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := store.LandingID{Job: job, Day: day, RunID: runID(1), Side: model.Ledger}
	rows := []model.Entry{entry(model.Ledger, "a", "1"), entry(model.Ledger, "a", "1")}
	require.NoError(t, b.InsertEntries(b.ctx, "t/1", id, rows))
	require.NoError(t, b.InsertEntries(b.ctx, "t/1", id, rows))
	require.Equal(t, uint64(2), b.number(`SELECT count() FROM entries`))
	// Equal rows under a token of their own are rows.
	require.NoError(t, b.InsertEntries(b.ctx, "t/2", id, rows))
	require.Equal(t, uint64(4), b.number(`SELECT count() FROM entries`))
}

// TestLoadAgainAfterDelete loads equal rows again after they were deleted: they must be there.
func TestLoadAgainAfterDelete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows := []model.Entry{entry(model.Ledger, "a", "1"), entry(model.Channel, "a", "1")}
	b.land(runID(1), day, rows...)
	b.exec(`DELETE FROM entries WHERE 1`)
	require.Zero(t, b.number(`SELECT count() FROM entries`))
	b.land(runID(2), day, rows...)
	require.Equal(t, uint64(2), b.number(`SELECT count() FROM entries`))
	// Under the id of the first run the server would drop the rows as a repetition: that is an error, not a loss.
	l, err := b.Land(b.ctx, store.LandingID{Job: job, Day: day, RunID: runID(1), Side: model.Ledger})
	require.NoError(t, err)
	require.NoError(t, l.Add(rows[0]))
	require.ErrorIs(t, l.Close(b.ctx), store.ErrIncomplete)
}

func TestRunIsWrittenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.land(runID(1), day, entry(model.Ledger, "a", "1"))
	_, err := b.Land(b.ctx, store.LandingID{Job: job, Day: day, RunID: runID(1), Side: model.Ledger})
	require.ErrorIs(t, err, store.ErrRunExists)
	b.commit(runID(1), model.Batch{}, 1, diff(day, "k", "1"))
	_, err = b.Results(b.ctx, job, day, runID(1), 2)
	require.ErrorIs(t, err, store.ErrRunExists)
}

func TestAbortLeavesNothingToUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l, err := b.Land(b.ctx, store.LandingID{Job: job, Day: day, RunID: runID(1), Side: model.Ledger})
	require.NoError(t, err)
	require.NoError(t, l.Add(entry(model.Ledger, "a", "1")))
	l.Abort()
	require.ErrorIs(t, l.Add(entry(model.Ledger, "a", "1")), store.ErrClosed)
	require.ErrorIs(t, l.Close(b.ctx), store.ErrClosed)
	r, err := b.Results(b.ctx, job, day, runID(1), 1)
	require.NoError(t, err)
	require.NoError(t, r.Diff(diff(day, "k", "1")))
	r.Abort()
	_, err = r.Close(b.ctx)
	require.ErrorIs(t, err, store.ErrClosed)
	require.Zero(t, b.number(`SELECT count() FROM entries`)+b.number(`SELECT count() FROM diffs`))
}

// TestEmptySideLands accepts a side without entries: whether a day may be empty is decided elsewhere.
func TestEmptySideLands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.land(runID(1), day)
	c := store.Comparison{Job: job, Day: day, SnapshotID: runID(1), RunID: runID(1), Mode: model.ModeOne}
	ledger, channel, err := b.Exact(b.ctx, c)
	require.NoError(t, err)
	require.Zero(t, ledger.Count()+channel.Count())
	require.NoError(t, b.Residue(b.ctx, c, func(model.Group) error { return errBoom }))
}

// BenchmarkCompare compares 1 M × 1 M entries of which 0.15 % do not match, inside a table with other days.
func BenchmarkCompare(b *testing.B) {
	for _, rows := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%dx%d", rows, rows), func(b *testing.B) { benchmarkCompare(b, rows) })
	}
}

func benchmarkCompare(b *testing.B, rows int) {
	s := setup(b)
	s.land(runID(0), day.Add(-1), books(rand.New(rand.NewPCG(1, 1)), 10_000)...)
	start := time.Now()
	for _, side := range model.Sides {
		l, err := s.Land(s.ctx, store.LandingID{Job: job, Day: day, RunID: runID(1), Side: side})
		require.NoError(b, err)
		for i := range rows {
			e := entry(side, fmt.Sprintf("order-%016x", uint64(i)*0x9e3779b97f4a7c15), "12.34")
			if side == model.Channel && i%667 == 0 {
				e.Amount = dec("12.35")
			}
			require.NoError(b, l.Add(e))
		}
		require.NoError(b, l.Close(s.ctx))
	}
	b.ReportMetric(time.Since(start).Seconds(), "landing-s")
	c := store.Comparison{Job: job, Day: day, SnapshotID: runID(1), RunID: runID(1), Mode: model.ModeOne}
	for b.Loop() {
		_, _, err := s.Exact(s.ctx, c)
		require.NoError(b, err)
		require.NoError(b, s.Residue(s.ctx, c, func(model.Group) error { return nil }))
	}
}
