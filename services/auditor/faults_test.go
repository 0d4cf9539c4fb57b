package auditor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

func TestCleanSetHasNoFinding(t *testing.T) {
	b := setup(t)
	a := b.auditor()
	rep := b.pass(a)
	require.Empty(t, rep.Findings)
	require.Empty(t, rep.Resolved)
	require.Equal(t, 3, rep.Checked)
	require.True(t, rep.Jobs[0].Clean)
	require.Equal(t, map[string]int{statusDone: 3}, rep.Jobs[0].Days)
	require.Equal(t, b.days[2], *rep.Jobs[0].Newest)
	require.Equal(t, uint64(3), rep.Jobs[0].OpenDiffs)
	require.Equal(t, 1, b.pings, "all is well")
	require.Empty(t, b.nudges())
	require.InDelta(t, b.clock.Now().Unix(), testutil.ToFloat64(a.metrics.lastSuccess), 0.5)
	reads := b.books.reads
	require.Empty(t, b.found(a))
	require.Equal(t, reads, b.books.reads, "files that did not change are not counted again")
	require.Equal(t, 1, b.pings, "once per round")
	b.clock.Advance(24 * time.Hour)
	b.pass(a)
	require.Equal(t, reads+6, b.books.reads, "once a day whatever the fingerprint says")
}

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
		[]string{"stuck nudged"}, []string{"nudge stuck"},
	},
	{
		"failed for no fault of a source",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) {
			w.Status, w.Error = model.Failed, "connection refused"
		}),
		[]string{"failed nudged"}, []string{"nudge failed"},
	},
	{
		"failed on a source that is still the same",
		marked(func(b *bundle, w *model.Watermark, d model.Day) {
			w.Status, w.Error, w.Sources = model.Failed, sourceFaultText, b.job.fingerprint(b.ctx, d)
		}),
		[]string{"failed escalated"}, nil,
	},
	{
		"failed on a source that was corrected",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) {
			w.Status, w.Error, w.Sources = model.Failed, sourceFaultText, "ledger=x channel=y"
		}),
		[]string{"failed nudged"}, []string{"nudge failed"},
	},
	{
		"blocked by an earlier day",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) { w.Status = model.Blocked }),
		[]string{"blocked open"}, nil,
	},
	{
		"waiting",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) { w.Status = model.Waiting }),
		[]string{"waiting open"}, nil,
	},
	{
		"watermark of another version",
		marked(func(_ *bundle, w *model.Watermark, _ model.Day) { w.Published = 0 }),
		[]string{"unpublished nudged"}, []string{"nudge unpublished"},
	},
}

var sourceFaults = []fault{
	{
		"source row removed", booked(func(b *books, d model.Day) { b.entries[model.Ledger][d] = b.entries[model.Ledger][d][1:] }),
		[]string{"source-changed nudged"}, []string{"changed source-changed"},
	},
	{
		"source amount changed", booked(func(b *books, d model.Day) { b.entries[model.Channel][d][0].Amount = dec("10.50000001") }),
		[]string{"source-changed nudged"}, []string{"changed source-changed"},
	},
	{
		"source gone", booked(func(b *books, d model.Day) { b.fails[d] = source.ErrNotThere }),
		[]string{"source-changed escalated"}, nil,
	},
	{
		"source cannot be read any more", booked(func(b *books, d model.Day) { b.fails[d] = source.ErrInput }),
		[]string{"source-changed escalated"}, nil,
	},
	{
		"carry stale",
		func(b *bundle, d model.Day) {
			b.books.change(func() { b.books.entries[model.Ledger][d][3].Amount = dec("8") })
			b.compute(d)
		},
		[]string{"+carry-stale nudged"}, []string{"+carry carry-stale"},
	},
	{
		"committed event missing",
		func(b *bundle, d model.Day) {
			s, err := b.bus.JetStream().Stream(b.ctx, bus.StreamDiffs)
			require.NoError(b.t, err)
			require.NoError(b.t, s.Purge(b.ctx, jetstream.WithPurgeSubject("batch.wechat."+d.String()+".committed")))
		},
		[]string{"unpublished nudged"}, []string{"nudge unpublished"},
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
		[]string{"unpublished nudged", "+carry-stale nudged"}, []string{"nudge unpublished", "+carry carry-stale"},
	},
}

var unbalanced = []string{"unbalanced escalated"}

// TestPlantedFaultIsNamed plants every fault in a day of its own, and wants exactly its finding there and none elsewhere.
func TestPlantedFaultIsNamed(t *testing.T) {
	for name, faults := range map[string][]fault{"marks": markFaults, "sources": sourceFaults, "tables": tableFaults} {
		t.Run(name, func(t *testing.T) {
			b := setupDays(t, len(faults)+spills(faults), func(j *Job) { j.Order, j.BackfillDays = model.Independent, 60 })
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
			b := setup(t, func(j *Job) { j.Rules.Mode = mode })
			b.exec(`INSERT INTO entries SELECT * REPLACE(if(match_key = 'a', 'b', 'a') AS match_key, 99 AS line) FROM entries
				WHERE biz_date = '2026-10-06' AND side = 'channel' AND match_key IN ('a', 'b')`)
			b.exec(`ALTER TABLE entries DELETE WHERE biz_date = '2026-10-06' AND side = 'channel' AND match_key IN ('a', 'b') AND line != 99 SETTINGS mutations_sync = 2`)
			require.Equal(t, []string{"unbalanced 1 escalated"}, b.found(b.auditor()))
			require.Contains(t, b.pass(b.auditor()).Findings[0].Detail, "2 keys count as matched and do not match")
		})
	}
}

func TestComparedColumnsOfMatchedPairs(t *testing.T) {
	b := setup(t, func(j *Job) { j.Rules.Compare = []string{"status", "shop"} })
	require.Empty(t, b.found(b.auditor()))
	b.exec(`ALTER TABLE entries UPDATE compared = ['', if(side = 'ledger', '7', '8')] WHERE biz_date = '2026-10-06' AND match_key = 'a' SETTINGS mutations_sync = 2`)
	require.Equal(t, []string{"unbalanced 1 escalated"}, b.found(b.auditor()))
}

func TestNudgedOnceByTwoReplicasThenEscalatedThenResolved(t *testing.T) {
	b := setup(t)
	b.forget(b.days[1])
	one, two := b.auditor(), b.auditor(func(o *Options) { o.Instance = "auditor-2" })
	for range 3 {
		require.Equal(t, []string{"missing 1 nudged"}, b.found(one))
		require.Equal(t, []string{"missing 1 nudged"}, b.found(two))
		b.clock.Advance(time.Minute)
	}
	require.Equal(t, []string{"1 nudge missing"}, b.nudges(), "one cause, one nudge")
	b.clock.Advance(b.job.Audit.Every)
	require.Equal(t, []string{"missing 1 escalated"}, b.found(two))
	require.Equal(t, []string{"missing 1 escalated"}, b.found(b.auditor()), "also after a restart")
	require.Len(t, b.nudges(), 1)
	b.compute(b.days[1])
	b.clock.Advance(5 * time.Minute)
	rep := b.pass(one)
	require.Empty(t, rep.Findings)
	require.Len(t, rep.Resolved, 1)
	require.Equal(t, model.AuditMissing, rep.Resolved[0].Kind)
	require.Empty(t, b.pass(two).Resolved, "told once")
	b.forget(b.days[1])
	require.Equal(t, []string{"missing 1 nudged"}, b.found(two))
	require.Len(t, b.nudges(), 2, "the same cause after a cure is another episode")
	require.Equal(t, []string{"open", "nudged", "escalated", "resolved", "open", "nudged"}, b.told("audit.wechat.2026-10-06.missing"))
	var rows uint64
	require.NoError(t, b.store.Conn().QueryRow(b.ctx, `SELECT count() FROM audits WHERE finding = 'missing' AND biz_date = '2026-10-06'`).Scan(&rows))
	require.GreaterOrEqual(t, rows, uint64(4))
}

// told lists the states on a subject of AUDIT.
func (b *bundle) told(subject string) []string {
	var out []string
	bk := newBook(b.bus)
	err := b.bus.Tail(b.ctx, bus.StreamAudit, []string{subject}, bus.From{}, false, func(d bus.Delivery) error {
		bk.take(d)
		for _, e := range bk.entries {
			out = append(out, stateOf(e.record))
		}
		return nil
	})
	require.NoError(b.t, err)
	return out
}

func TestTwoReplicasAtTheSameInstant(t *testing.T) {
	b := setup(t)
	b.forget(b.days[1])
	results := make(chan error, 4)
	for i := range 4 {
		a := b.auditor(func(o *Options) { o.Instance = fmt.Sprintf("auditor-%d", i) })
		go func() {
			_, err := a.Pass(b.ctx)
			results <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-results)
	}
	require.Equal(t, []string{"1 nudge missing"}, b.nudges())
	require.Equal(t, []string{"open", "nudged"}, b.told("audit.wechat.2026-10-06.missing"))
}

func TestSourceChangesToAndFro(t *testing.T) {
	b := setup(t)
	a := b.auditor()
	was := b.books.entries[model.Ledger][b.days[1]]
	for i, entries := range [][]model.Entry{was[:3], was, was[:3]} {
		b.books.change(func() { b.books.entries[model.Ledger][b.days[1]] = entries })
		require.Equal(t, []string{"source-changed 1 nudged"}, b.found(a))
		require.Len(t, b.nudges(), i+1)
		for _, d := range b.days[1:] {
			b.compute(d)
		}
		b.clock.Advance(5 * time.Minute)
		require.Empty(t, b.found(a))
	}
}

func TestAcceptedDifferenceIsNoFinding(t *testing.T) {
	b := setup(t, func(j *Job) {
		j.Audit.Count = 1
		j.Audit.Amount = map[string]decimal.Decimal{"default": dec("10.5")}
	})
	b.books.change(func() { b.books.entries[model.Ledger][b.days[1]] = b.books.entries[model.Ledger][b.days[1]][1:] })
	require.Empty(t, b.found(b.auditor()))
}

func TestStrictJobNudgesOnlyTheEarliestUnfinishedDay(t *testing.T) {
	b := setup(t)
	b.forget(b.days[0])
	b.forget(b.days[1])
	b.books.change(func() { b.books.entries[model.Ledger][b.days[2]] = nil })
	a := b.auditor()
	require.Equal(t, []string{"missing 0 nudged", "missing 1 open", "source-changed 2 open"}, b.found(a))
	require.Equal(t, []string{"0 nudge missing"}, b.nudges())
	b.compute(b.days[0])
	b.clock.Advance(5 * time.Minute)
	require.Equal(t, []string{"missing 1 nudged", "source-changed 2 open"}, b.found(a))
}

func TestIndependentJobNudgesOldestFirstAndOnlyInsideTheCap(t *testing.T) {
	b := setup(t, func(j *Job) { j.Order, j.BackfillDays = model.Independent, 1 })
	for _, d := range b.days {
		b.forget(d)
	}
	require.Equal(t, []string{"missing 0 escalated", "missing 1 nudged", "missing 2 nudged"}, b.found(b.auditor()))
	require.Equal(t, []string{"1 nudge missing", "2 nudge missing"}, b.nudges())
}

func TestRunningUnderALeaseIsLegalHoweverLong(t *testing.T) {
	b := setup(t)
	h, err := b.control.Hold(b.ctx, b.job.Name, b.days[2], "worker")
	require.NoError(t, err)
	w := b.mark(b.days[2])
	w.Status, w.FinishedAt = model.Running, nil
	require.NoError(t, h.Save(b.ctx, w))
	b.clock.Advance(10 * time.Hour)
	rep := b.pass(b.auditor())
	require.Empty(t, rep.Findings)
	require.Equal(t, 1, rep.Jobs[0].Days[statusRunning])
	require.False(t, rep.Jobs[0].Clean)
	require.Zero(t, b.pings)
	require.Equal(t, model.Running, b.mark(b.days[2]).Status)
	require.NoError(t, h.Release(b.ctx))
}

func TestStuckIsReclaimedAndStaysStuckUntilCured(t *testing.T) {
	b := setup(t)
	b.save(b.days[1], func(w *model.Watermark) { w.Status, w.RunID = model.Running, "dead" })
	a := b.auditor()
	require.Equal(t, []string{"stuck 1 nudged"}, b.found(a))
	require.Equal(t, model.Failed, b.mark(b.days[1]).Status)
	b.clock.Advance(b.job.Audit.Every)
	require.Equal(t, []string{"stuck 1 escalated"}, b.found(a), "not a second finding, not a second nudge")
	require.Len(t, b.nudges(), 1)
}

func TestJustDueIsNotMissing(t *testing.T) {
	b := setup(t)
	b.clock.Advance(b.job.NextDue(b.clock.Now()).Sub(b.clock.Now()))
	a := b.auditor()
	rep := b.pass(a)
	require.Empty(t, rep.Findings)
	require.Equal(t, 1, rep.Jobs[0].Days[statusDue])
	require.Equal(t, 1, rep.Jobs[0].Lag)
	b.clock.Advance(time.Minute)
	require.Equal(t, []string{"missing 3 nudged"}, b.found(a))
}

func TestDaysBeforeTheFloorAreSkipped(t *testing.T) {
	b := setup(t)
	b.job.Start = day0.Add(-4)
	rep := b.pass(b.auditor())
	require.Empty(t, rep.Findings)
	require.Equal(t, map[string]int{statusDone: 3, statusSkipped: 4}, rep.Jobs[0].Days)
}

func TestFindingsOfDaysThatAreNoneAnyMoreAreResolved(t *testing.T) {
	b := setup(t)
	b.forget(b.days[1])
	require.Len(t, b.found(b.auditor()), 1)
	b.job.Calendar.Holidays = map[model.Day]bool{b.days[1]: true}
	b.job.CarryDays = 0
	rep := b.pass(b.auditor())
	require.Empty(t, rep.Findings)
	require.Len(t, rep.Resolved, 1)
}

func TestErrorOfOneSourceStopsNothingAndIsNoSuccess(t *testing.T) {
	b := setup(t)
	broken := errors.New("connection refused")
	b.books.change(func() { b.books.fails[b.days[0]] = broken })
	b.forget(b.days[2])
	a := b.auditor()
	rep, err := a.Pass(b.ctx)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "wechat.2026-10-05")
	require.Len(t, rep.Findings, 1)
	require.Equal(t, model.AuditMissing, rep.Findings[0].Kind)
	require.Zero(t, testutil.ToFloat64(a.metrics.lastSuccess))
	require.InDelta(t, 1, testutil.ToFloat64(a.metrics.passes.WithLabelValues("wechat", outcomeFailed)), 0)
	_, err = a.Pass(b.ctx, "nosuch")
	require.ErrorIs(t, err, ErrUnknownJob)
}

func TestWhatIsNotKnownResolvesNothing(t *testing.T) {
	b := setup(t)
	a := b.auditor()
	b.books.change(func() { b.books.entries[model.Ledger][b.days[1]] = nil })
	require.Equal(t, []string{"source-changed 1 nudged"}, b.found(a))
	b.books.change(func() { b.books.fails[b.days[1]] = errors.New("timeout") })
	rep, err := a.Pass(b.ctx)
	require.Error(t, err)
	require.Len(t, rep.Findings, 1)
	require.Empty(t, rep.Resolved)
}

func TestSilentServices(t *testing.T) {
	b := setup(t)
	a := b.auditor(func(o *Options) { o.Expect = []string{"ticker", "recon"} })
	require.NoError(t, b.control.Beat(b.ctx, "ticker", "t1", b.clock.Now()))
	rep := b.pass(a)
	require.Len(t, rep.Findings, 1)
	f := rep.Findings[0]
	require.Equal(t, model.AuditSilent, f.Kind)
	require.Empty(t, f.Job)
	require.Nil(t, f.Day)
	require.Equal(t, "recon", f.Seen)
	require.NoError(t, b.control.Beat(b.ctx, "recon", "r1", b.clock.Now()))
	rep = b.pass(a)
	require.Empty(t, rep.Findings)
	require.Len(t, rep.Resolved, 1)
	require.Equal(t, []string{"open", "escalated", "resolved"}, b.told("audit._._.silent"))
}

func TestMetricsHaveEveryLabelFromTheStart(t *testing.T) {
	b := setup(t)
	reg := prometheus.NewRegistry()
	b.auditor(func(o *Options) { o.Registerer, o.Expect = reg, []string{"recon"} })
	for name, want := range map[string]int{
		"daybreak_days": 8, "daybreak_findings": 10, "daybreak_open_diffs": 1, "daybreak_done_lag_days": 1,
		"daybreak_unbalanced_days": 1, "daybreak_audit_passes_total": 2, "daybreak_audit_last_success_timestamp_seconds": 1,
		"daybreak_heartbeat_age_seconds": 1,
	} {
		n, err := testutil.GatherAndCount(reg, name)
		require.NoError(t, err)
		require.Equal(t, want, n, name)
	}
}

func TestRunBeatsAndEnds(t *testing.T) {
	b := setup(t)
	ctx, cancel := context.WithCancel(b.ctx)
	pinged := make(chan struct{}, 9)
	a := b.auditor(func(o *Options) { o.Ping = func(context.Context) error { pinged <- struct{}{}; return nil } })
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	<-pinged
	require.NoError(t, b.clock.BlockUntilContext(ctx, 3))
	beats, err := b.control.Beats(b.ctx)
	require.NoError(t, err)
	require.Contains(t, beats["auditor"], "auditor-1")
	b.clock.Advance(b.job.Audit.Every)
	<-pinged
	cancel()
	require.NoError(t, <-done)
}
