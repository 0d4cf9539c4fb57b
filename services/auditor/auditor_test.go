package auditor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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
	require.InDelta(t, b.clock.Now().Unix(), testutil.ToFloat64(a.metrics.lastSuccess), 0.5, "of the one job")
	reads := b.books.reads
	require.Empty(t, b.found(a))
	require.Equal(t, reads, b.books.reads, "files that did not change are not counted again")
	require.Equal(t, 1, b.pings, "once per round")
	b.clock.Advance(24 * time.Hour)
	b.pass(a)
	require.Equal(t, reads+6, b.books.reads, "once a day whatever the fingerprint says")
}

func TestNudgedOnceByTwoReplicasThenEscalatedThenResolved(t *testing.T) {
	b := setupDays(t, 2)
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
	b := setupDays(t, 2)
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
	b := setupDays(t, 2)
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

// Between two looks a nudge was of use and the day was lost, or failed, or its file was put back, once more: that is
// another case and not a nudge in vain, although the day looks the same.
func TestCureThatNobodySawIsACure(t *testing.T) {
	b := setupDays(t, 3, func(j *source.Job) { j.Order, j.CarryDays = model.Independent, 0 })
	a := b.auditor()
	was := b.books.entries[model.Ledger][b.days[2]]
	fail := func(w *model.Watermark) { w.Status, w.Error, w.Sources = model.Failed, "disk", "other" }
	spoil := func() {
		b.forget(b.days[0])
		b.save(b.days[1], fail)
		b.books.change(func() { b.books.entries[model.Ledger][b.days[2]] = was[:3] })
		b.clock.Advance(20 * time.Minute)
	}
	want := []string{"missing 0 nudged", "failed 1 nudged", "source-changed 2 nudged"}
	spoil()
	require.Equal(t, want, b.found(a))
	require.Len(t, b.nudges(), 3)
	for _, d := range b.days {
		b.compute(d)
	}
	b.books.change(func() { b.books.entries[model.Ledger][b.days[2]] = was[:2] })
	b.compute(b.days[2])
	spoil()
	require.Equal(t, want, b.found(a))
	require.Len(t, b.nudges(), 6)
	b.clock.Advance(20 * time.Minute)
	require.Equal(t, []string{"missing 0 escalated", "failed 1 escalated", "source-changed 2 escalated"}, b.found(a))
	require.Len(t, b.nudges(), 6)
}

func TestAcceptedDifferenceIsNoFinding(t *testing.T) {
	b := setupDays(t, 2, func(j *source.Job) {
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
	b := setup(t, func(j *source.Job) { j.Order, j.BackfillDays = model.Independent, 1 })
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
	b := setupDays(t, 2)
	b.save(b.days[1], func(w *model.Watermark) { w.Status, w.RunID = model.Running, "dead" })
	a := b.auditor()
	require.Equal(t, []string{"stuck 1 nudged"}, b.found(a))
	require.Equal(t, model.Failed, b.mark(b.days[1]).Status)
	b.clock.Advance(b.job.Audit.Every)
	require.Equal(t, []string{"stuck 1 escalated"}, b.found(a), "not a second finding, not a second nudge")
	require.Len(t, b.nudges(), 1)
}

func TestJustDueIsNotMissing(t *testing.T) {
	b := setupDays(t, 1)
	b.clock.Advance(b.job.NextDue(b.clock.Now()).Sub(b.clock.Now()))
	a := b.auditor()
	rep := b.pass(a)
	require.Empty(t, rep.Findings)
	require.Equal(t, 1, rep.Jobs[0].Days[statusDue])
	require.Equal(t, 1, rep.Jobs[0].Lag)
	b.clock.Advance(time.Minute)
	require.Equal(t, []string{"missing 1 nudged"}, b.found(a))
}

func TestDaysBeforeTheFloorAreSkipped(t *testing.T) {
	b := setupDays(t, 1)
	b.job.Start = day0.Add(-4)
	rep := b.pass(b.auditor())
	require.Empty(t, rep.Findings)
	require.Equal(t, map[string]int{statusDone: 1, statusSkipped: 4}, rep.Jobs[0].Days)
}

// The control bucket was lost, and the first scan after that fixed the floor behind the cap: neither a day that was done
// nor one that never was may vanish with the old floor.
func TestDaysDoNotVanishWithALostFloor(t *testing.T) {
	b := setupDays(t, 4, func(j *source.Job) { j.BackfillDays = 0 })
	b.exec(`ALTER TABLE batches DELETE WHERE biz_date = '2026-10-05' SETTINGS mutations_sync = 2`)
	b.forget(b.days[0])
	require.Equal(t, []string{"missing 0 escalated"}, b.found(b.auditor()))
	b.forget(b.days[1])
	b.forget(b.days[3])
	bucket, err := b.bus.JetStream().(jetstream.KeyValueManager).KeyValue(b.ctx, "daybreak")
	require.NoError(t, err)
	require.NoError(t, bucket.Delete(b.ctx, "floor."+b.job.Name))
	_, err = b.control.Floor(b.ctx, b.job.Name, b.days[3])
	require.NoError(t, err)
	require.Equal(t, []string{"missing 0 escalated", "missing 1 escalated", "missing 3 nudged"}, b.found(b.auditor()))
	floor, _, err := b.control.KeptFloor(b.ctx, b.job.Name)
	require.NoError(t, err)
	require.Equal(t, b.days[0], floor)
}

func TestFindingsOfDaysThatAreNoneAnyMoreAreResolved(t *testing.T) {
	b := setupDays(t, 2)
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
	require.Zero(t, testutil.CollectAndCount(a.metrics.lastSuccess))
	require.InDelta(t, 1, testutil.ToFloat64(a.metrics.passes.WithLabelValues("wechat", outcomeFailed)), 0)
	_, err = a.Pass(b.ctx, "nosuch")
	require.ErrorIs(t, err, ErrUnknownJob)
}

func TestWhatIsNotKnownResolvesNothing(t *testing.T) {
	b := setupDays(t, 2)
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
	b := setupDays(t, 1)
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

func TestRunBeatsAndEnds(t *testing.T) {
	b := setupDays(t, 1)
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

func TestBeyondTheCapOnlyWhatChangedIsLookedAt(t *testing.T) {
	b := setupDays(t, 2, func(j *source.Job) { j.BackfillDays = 0 })
	old := b.days[0]
	lose := func() {
		b.exec(`ALTER TABLE diffs DELETE WHERE biz_date = '2026-10-05' AND state = 'open' SETTINGS mutations_sync = 2`)
	}
	a := b.auditor()
	b.books.change(func() { b.books.fails[old] = source.ErrNotThere })
	lose()
	require.Empty(t, b.found(a))
	deep := b.auditor(func(o *Options) { o.Deep = true })
	require.Equal(t, []string{"unbalanced 0 escalated"}, b.found(deep), "and an archived file is no finding")
	b.books.change(func() { delete(b.books.fails, old) })
	b.compute(old)
	b.clock.Advance(5 * time.Minute)
	require.Empty(t, b.found(a), "another version, and it balances")
	b.compute(old)
	lose()
	b.clock.Advance(5 * time.Minute)
	require.Equal(t, []string{"unbalanced 0 escalated"}, b.found(a), "another version again")
}

func TestDoneWithoutAnythingCommittedIsFoundAlsoBeyondTheCap(t *testing.T) {
	b := setupDays(t, 2, func(j *source.Job) { j.BackfillDays, j.CarryDays = 0, 0 })
	b.exec(`ALTER TABLE batches DELETE WHERE biz_date = '2026-10-05' SETTINGS mutations_sync = 2`)
	require.Equal(t, []string{"unpublished 0 escalated"}, b.found(b.auditor()))
	require.Empty(t, b.nudges())
}

// The tables were restored from a backup that is older than the bucket: also a day beyond the cap, which nobody looks into
// otherwise, is found at the next look.
func TestTablesOlderThanTheBucketAreFoundAlsoBeyondTheCap(t *testing.T) {
	b := setupDays(t, 2, func(j *source.Job) { j.BackfillDays, j.CarryDays = 0, 0 })
	b.compute(b.days[0])
	require.Empty(t, b.found(b.auditor()))
	b.exec(`ALTER TABLE batches DELETE WHERE biz_date = '2026-10-05' AND version = 2 SETTINGS mutations_sync = 2`)
	require.Equal(t, []string{"unpublished 0 escalated"}, b.found(b.auditor()))
}

// Readers have heard of a version that is lost. Telling the one before it again would bring ids that they know, so the cure is a
// new version above it.
func TestAToldVersionThatIsLostIsComputedAnew(t *testing.T) {
	b := setupDays(t, 1)
	b.compute(b.days[0])
	b.exec(`ALTER TABLE batches DELETE WHERE version = 2 SETTINGS mutations_sync = 2`)
	require.Equal(t, []string{"unpublished 0 nudged"}, b.found(b.auditor()))
	require.Equal(t, []string{"0 changed unpublished"}, b.nudges())
}

// The stream tells of another run under the very version that is committed: its events have the same ids, so that telling the
// committed one again would reach nobody.
func TestAnotherRunToldUnderTheSameVersionIsComputedAnew(t *testing.T) {
	b := setupDays(t, 1)
	batch := b.compute(b.days[0])
	batch.RunID = "of-a-lost-table"
	b.publishAs(batch, "restored")
	require.Equal(t, []string{"unpublished 0 nudged"}, b.found(b.auditor()))
	require.Equal(t, []string{"0 changed unpublished"}, b.nudges())
}

// The version that handed a pool on is lost. The day after keeps the pool that it took in until that day was mended.
func TestAPoolThatIsLostIsNoNewPool(t *testing.T) {
	b := setupDays(t, 2)
	b.exec(`ALTER TABLE batches DELETE WHERE biz_date = '2026-10-05' SETTINGS mutations_sync = 2`)
	a := b.auditor()
	require.Equal(t, []string{"unpublished 0 nudged"}, b.found(a))
	require.Equal(t, []string{"0 nudge unpublished"}, b.nudges())
	b.books.change(func() { b.books.entries[model.Ledger][day0][3].Amount = dec("8") })
	b.compute(b.days[0])
	b.clock.Advance(5 * time.Minute)
	require.Contains(t, b.found(a), "carry-stale 1 nudged", "mended, with another pool")
}
