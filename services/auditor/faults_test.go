package auditor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// fault is one thing gone wrong with day d, and what a first pass makes of it.
type fault struct {
	name  string
	plant func(b *bundle, d model.Day)
	want  []string // findings of d; those of the day after begin with +
	nudge []string
}

// marked plants a watermark.
func marked(change func(b *bundle, w *model.Watermark, d model.Day)) func(*bundle, model.Day) {
	return func(b *bundle, d model.Day) { b.save(d, func(w *model.Watermark) { change(b, w, d) }) }
}

// sql plants rows; the statement ends before its WHERE and goes on after the day was named.
func sql(statement, where string) func(*bundle, model.Day) {
	return func(b *bundle, d model.Day) {
		b.exec(statement + " WHERE job = 'wechat' AND biz_date = '" + d.String() + "' " + where + " SETTINGS mutations_sync = 2")
	}
}

// booked changes the live books.
func booked(change func(b *books, d model.Day)) func(*bundle, model.Day) {
	return func(b *bundle, d model.Day) { b.books.change(func() { change(b.books, d) }) }
}

const sourceFaultText = "ledger: a.csv:3:1: no amount"

var markFaults = []fault{
	{"watermark deleted", func(b *bundle, d model.Day) { b.forget(d) }, []string{"missing nudged"}, []string{"nudge missing"}},
	{
		"running without a lease",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) { w.Status, w.RunID = model.Running, "dead" }),
		[]string{"stuck nudged"},
		[]string{"nudge stuck"},
	},
	{
		"failed for no fault of a source",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) {
			w.Status, w.Error = model.Failed, "connection refused"
		}),
		[]string{"failed nudged"},
		[]string{"nudge failed"},
	},
	{
		"failed on a source that is still the same",
		marked(func(b *bundle, w *model.Watermark, d model.Day) {
			w.Status, w.Error, w.Lasting, w.Sources = model.Failed, sourceFaultText, true, b.job.Fingerprint(b.ctx, d)
		}),
		[]string{"failed escalated"},
		nil,
	},
	{
		"failed on a source that was corrected",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) {
			w.Status, w.Error, w.Lasting, w.Sources = model.Failed, sourceFaultText, true, "ledger=x channel=y"
		}),
		[]string{"failed nudged"},
		[]string{"nudge failed"},
	},
	{
		"blocked by an earlier day",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) { w.Status = model.Blocked }),
		[]string{"blocked open"},
		nil,
	},
	{
		"waiting",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) { w.Status = model.Waiting }),
		[]string{"waiting open"},
		nil,
	},
	{
		"watermark of another version",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) { w.Published = 0 }),
		[]string{"unpublished nudged"},
		[]string{"nudge unpublished"},
	},
}

var sourceFaults = []fault{
	{
		"source row removed", booked(func(b *books, d model.Day) { b.entries[model.Ledger][d] = b.entries[model.Ledger][d][1:] }),
		[]string{"source-changed nudged"},
		[]string{"changed source-changed"},
	},
	{
		"source amount changed", booked(func(b *books, d model.Day) { b.entries[model.Channel][d][0].Amount = dec("10.50000001") }),
		[]string{"source-changed nudged"},
		[]string{"changed source-changed"},
	},
	{
		"source re-issued with another key, same count and sum", booked(func(b *books, d model.Day) { b.entries[model.Channel][d][0].Key = "re-issued" }),
		[]string{"source-changed nudged"},
		[]string{"changed source-changed"},
	},
	{
		"source with another status, same count and sum", booked(func(b *books, d model.Day) { b.entries[model.Channel][d][0].Status = "REVOKED" }),
		[]string{"source-changed nudged"},
		[]string{"changed source-changed"},
	},
	{
		"source gone", booked(func(b *books, d model.Day) { b.fails[d] = source.ErrNotThere }),
		[]string{"source-changed escalated"},
		nil,
	},
	{
		"source cannot be read any more", booked(func(b *books, d model.Day) { b.fails[d] = source.ErrInput }),
		[]string{"source-changed escalated"},
		nil,
	},
	{
		"carry stale",
		func(b *bundle, d model.Day) {
			b.books.change(func() { b.books.entries[model.Ledger][d][3].Amount = dec("8") })
			b.compute(d)
		},
		[]string{"+carry-stale nudged"},
		[]string{"+carry carry-stale"},
	},
	{
		"committed event missing",
		func(b *bundle, d model.Day) {
			s, err := b.bus.JetStream().Stream(b.ctx, bus.StreamDiffs)
			require.NoError(b.t, err)
			require.NoError(b.t, s.Purge(b.ctx, jetstream.WithPurgeSubject("batch.wechat."+d.String()+".committed")))
		},
		[]string{"unpublished nudged"},
		[]string{"nudge unpublished"},
	},
}

var tableFaults = []fault{
	{"diffs row deleted", sql(`ALTER TABLE diffs DELETE`, `AND key = 'c'`), unbalanced, nil},
	{"diffs row cleared", sql(`ALTER TABLE diffs UPDATE state = 'cleared'`, `AND key = 'c'`), unbalanced, nil},
	{"headline of a diff", sql(`ALTER TABLE diffs UPDATE ledger_amount = 31`, `AND key = 'c'`), unbalanced, nil},
	{"matched entry deleted", sql(`ALTER TABLE entries DELETE`, `AND match_key = 'a' AND side = 'channel'`), unbalanced, nil},
	{"entry of a diff deleted", sql(`ALTER TABLE entries DELETE`, `AND match_key = 'c' AND side = 'channel'`), unbalanced, nil},
	{"both amounts of a pair", sql(`ALTER TABLE entries UPDATE amount = amount + 1`, `AND match_key = 'a'`), unbalanced, nil},
	{"carried row deleted", sql(`ALTER TABLE carried DELETE`, ``), unbalanced, nil},
	{"carried row of another shop", sql(`ALTER TABLE carried UPDATE attrs = map('shop', '8')`, ``), unbalanced, nil},
	{"carried entry not taken in", sql(`ALTER TABLE entries DELETE`, `AND carried = 1`), unbalanced, nil},
	{"figure in the balance", sql(`ALTER TABLE batches UPDATE balance = replaceOne(balance, '37.505', '36.505')`, ``), unbalanced, nil},
	{"column of the commit row", sql(`ALTER TABLE batches UPDATE ledger_count = ledger_count + 1`, ``), unbalanced, nil},
	{
		"commit row lost", sql(`ALTER TABLE batches DELETE`, ``),
		[]string{"unpublished nudged"},
		[]string{"nudge unpublished"},
	},
}

var unbalanced = []string{"unbalanced escalated"}

// TestPlantedFaultIsNamed plants every fault in a day of its own, and wants exactly its finding there and none elsewhere.
func TestPlantedFaultIsNamed(t *testing.T) {
	for name, faults := range map[string][]fault{"marks": markFaults, "sources": sourceFaults, "tables": tableFaults} {
		t.Run(name, func(t *testing.T) {
			b := setupDays(t, len(faults)+spills(faults), func(j *source.Job) { j.Order, j.BackfillDays = model.Independent, 60 })
			var want, nudge []string
			i := 0
			for _, f := range faults {
				f.plant(b, b.days[i])
				want = append(want, onDay(f.want, i, func(n int, w string) string {
					kind, state, _ := strings.Cut(w, " ")
					return fmt.Sprintf("%s %d %s", kind, n, state)
				})...)
				nudge = append(nudge, onDay(f.nudge, i, func(n int, w string) string { return fmt.Sprintf("%d %s", n, w) })...)
				i += 1 + spills([]fault{f})
			}
			b.clock.Advance(5 * time.Minute)
			a := b.auditor()
			require.Equal(t, want, b.found(a))
			require.Equal(t, nudge, b.nudges())
			require.Equal(t, want, b.found(a), "the same pass again changes nothing")
			require.Equal(t, want, b.found(b.auditor()), "nor does another process")
			require.Equal(t, nudge, b.nudges())
		})
	}
}

// spills counts the faults that are found in the day after.
func spills(faults []fault) int {
	n := 0
	for _, f := range faults {
		if strings.Contains(strings.Join(f.want, ""), "+") {
			n++
		}
	}
	return n
}

func onDay(words []string, i int, format func(n int, w string) string) []string {
	var out []string
	for _, w := range words {
		n := i
		if after, ok := strings.CutPrefix(w, "+"); ok {
			n, w = i+1, after
		}
		out = append(out, format(n, w))
	}
	return out
}

// TestKeysSwappedWithinTheSums plants what no sum shows: two pairs made of the wrong halves.
func TestKeysSwappedWithinTheSums(t *testing.T) {
	for _, mode := range []model.MatchMode{model.ModeOne, model.ModeSum} {
		t.Run(string(mode), func(t *testing.T) {
			b := setupDays(t, 2, func(j *source.Job) { j.Rules.Mode = mode })
			b.exec(`INSERT INTO entries SELECT * REPLACE(if(match_key = 'a', 'b', 'a') AS match_key, 99 AS line) FROM entries
				WHERE biz_date = '2026-10-06' AND side = 'channel' AND match_key IN ('a', 'b')`)
			b.exec(`ALTER TABLE entries DELETE WHERE biz_date = '2026-10-06' AND side = 'channel' AND match_key IN ('a', 'b') AND line != 99 SETTINGS mutations_sync = 2`)
			require.Equal(t, []string{"unbalanced 1 escalated"}, b.found(b.auditor()))
			require.Contains(t, b.pass(b.auditor()).Findings[0].Detail, "2 keys count as matched and do not match")
		})
	}
}

func TestSeveralCurrenciesOfOneKeyInModeSum(t *testing.T) {
	b := setupDays(t, 1, func(j *source.Job) { j.Rules.Mode = model.ModeSum })
	b.books.change(func() {
		for _, side := range model.Sides {
			e := b.books.entries[side][day0][0]
			e.Currency, e.Amount = "USD", dec("1")
			b.books.entries[side][day0] = append(b.books.entries[side][day0], e, e)
		}
	})
	b.compute(day0)
	b.clock.Advance(5 * time.Minute)
	require.Empty(t, b.found(b.auditor()))
	b.exec(`ALTER TABLE entries UPDATE amount = if(currency = 'USD', 1.01, 10.48) WHERE match_key = 'a' AND side = 'ledger' SETTINGS mutations_sync = 2`)
	require.Contains(t, b.pass(b.auditor()).Findings[0].Detail, "keys count as matched and do not match", "each currency for itself")
}

func TestComparedColumnsOfMatchedPairs(t *testing.T) {
	b := setupDays(t, 2, func(j *source.Job) { j.Rules.Compare = []string{"status", "shop"} })
	require.Empty(t, b.found(b.auditor()))
	b.exec(`ALTER TABLE entries UPDATE compared = ['', if(side = 'ledger', '7', '8')] WHERE biz_date = '2026-10-06' AND match_key = 'a' SETTINGS mutations_sync = 2`)
	require.Equal(t, []string{"unbalanced 1 escalated"}, b.found(b.auditor()))
}

// damagedTables are those of a disk that has lost a block: the server answers, and says so.
type damagedTables struct{ reader }

func (damagedTables) derive(context.Context, model.Job, model.Day, newest) (derived, error) {
	return derived{}, fmt.Errorf("adding up: %w", &clickhouse.Exception{Code: 40, Message: "Checksum doesn't match: corrupted data"})
}

// Rows that can not be read back are no balance, and nothing that passes by itself.
func TestDamagedRowsAreAFinding(t *testing.T) {
	b := setupDays(t, 1)
	a := b.auditor(func(o *Options) { o.Deep = true })
	require.Empty(t, b.found(a), "every column of sound rows can be read")
	a = b.auditor(func(o *Options) { o.Deep = true })
	a.tables = damagedTables{a.tables}
	require.Equal(t, []string{"unbalanced 0 escalated"}, b.found(a))
}
