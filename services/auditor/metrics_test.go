package auditor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// samples are the gauges and counters of a registry by name and label values, such as "daybreak_batches wechat done".
func samples(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values := map[string]string{}
			for _, l := range m.GetLabel() {
				values[l.GetName()] = l.GetValue()
			}
			name := f.GetName()
			for _, l := range []string{"job", "finding", "kind", "side", "currency", "state", "status", "age", "outcome", "service"} {
				if v, ok := values[l]; ok {
					name += " " + v
				}
			}
			out[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func requireSamples(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		has, ok := got[name]
		require.True(t, ok, "%s is absent", name)
		require.InDelta(t, v, has, 1e-9, name)
	}
}

// registered is a new process and its registry.
func (b *bundle) registered() (*Auditor, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	return b.auditor(func(o *Options) { o.Registerer = reg }), reg
}

func TestCountersAreThereFromTheStartAndBooksOnlyWhenRead(t *testing.T) {
	b := setupDays(t, 1)
	a, reg := b.registered()
	got := samples(t, reg)
	requireSamples(t, got, map[string]float64{
		"daybreak_audit_passes_total wechat failed": 0, "daybreak_audit_passes_total wechat success": 0,
		"daybreak_audit_nudges_total wechat missing": 0, "daybreak_audit_pings_total failed": 0,
	})
	for name := range got {
		require.Contains(t, name, "_total", "says something of books that nobody has read")
	}
	require.ErrorIs(t, a.Ready(), ErrNotReady)
	require.ErrorContains(t, a.Ready(), "wechat")
}

// The books: each of three days has a diff of 1 CNY; 7 CNY of the ledger wait for the next day, whose channel has them.
func (b *bundle) shown(done model.Day) map[string]float64 {
	return map[string]float64{
		"daybreak_batches wechat done": 3, "daybreak_batches wechat missing": 0, "daybreak_batches wechat failed": 0,
		"daybreak_done_lag_batches wechat": 0, "daybreak_consecutive_failures wechat": 0, "daybreak_source_overdue_batches wechat": 0,
		"daybreak_unbalanced_batches wechat": 0, "daybreak_findings wechat unbalanced": 0, "daybreak_findings_escalated wechat missing": 0,
		"daybreak_last_clean_day_timestamp_seconds wechat":  float64(done.UTC().Unix()),
		"daybreak_last_done_day_timestamp_seconds wechat":   float64(done.UTC().Unix()),
		"daybreak_next_deadline_timestamp_seconds wechat":   float64(b.job.DueAt(b.job.Calendar.Next(done)).Add(b.job.Due.Patience).Unix()),
		"daybreak_open_diffs wechat amount CNY":             3,
		"daybreak_open_diffs wechat status CNY":             0,
		"daybreak_open_diffs_amount wechat amount CNY":      3,
		"daybreak_open_diffs_amount wechat status CNY":      0,
		"daybreak_last_day_entries wechat ledger CNY":       4,
		"daybreak_last_day_amount wechat ledger CNY":        67.505,
		"daybreak_last_day_entries wechat channel CNY":      4,
		"daybreak_last_day_amount wechat channel CNY":       68.5,
		"daybreak_carried_entries wechat ledger CNY":        1,
		"daybreak_carried_amount wechat ledger CNY":         7,
		"daybreak_carried_entries wechat channel CNY":       0,
		"daybreak_carried_amount wechat channel CNY":        0,
		"daybreak_review_backlog wechat none 0-1d":          1,
		"daybreak_review_backlog wechat none 2-3d":          2,
		"daybreak_review_backlog wechat none 4-7d":          0,
		"daybreak_review_backlog wechat investigating 2-3d": 0,
	}
}

func TestARestartedAuditorShowsTheBooksBeforeItIsReady(t *testing.T) {
	b := setup(t)
	a, reg := b.registered()
	a.glance(b.ctx, a.jobs["wechat"])
	require.NoError(t, a.Ready())
	requireSamples(t, samples(t, reg), b.shown(b.days[2]))
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Zero(t, testutil.CollectAndCount(a.metrics.lastSuccess), "a glance is no look")
	require.Zero(t, b.pings)
	b.pass(a)
	requireSamples(t, samples(t, reg), b.shown(b.days[2]))
}

func TestAGlanceAtWhatIsWrong(t *testing.T) {
	b := setup(t)
	b.forget(b.days[1])
	b.pass(b.auditor())
	reads := b.books.reads
	a, reg := b.registered()
	a.glance(b.ctx, a.jobs["wechat"])
	require.Equal(t, reads, b.books.reads, "no source is read")
	requireSamples(t, samples(t, reg), map[string]float64{
		"daybreak_batches wechat done": 2, "daybreak_batches wechat missing": 1, "daybreak_findings wechat missing": 1,
		"daybreak_last_clean_day_timestamp_seconds wechat": float64(b.days[0].UTC().Unix()),
		"daybreak_last_done_day_timestamp_seconds wechat":  float64(b.days[2].UTC().Unix()),
		"daybreak_next_deadline_timestamp_seconds wechat":  float64(b.job.DueAt(b.days[1]).Add(b.job.Due.Patience).Unix()),
	})
}

func TestASourceThatIsLateAndFailuresInARow(t *testing.T) {
	b := setup(t)
	b.save(b.days[2], func(w *model.Watermark) {
		w.Status, w.Failures, w.Lasting, w.Error = model.Failed, 4, true, "not there"
	})
	b.books.change(func() { b.books.fails[b.days[2]] = fmt.Errorf("bills: %w", source.ErrNotThere) })
	a, reg := b.registered()
	b.pass(a)
	overdue := func(batches, failures float64) map[string]float64 {
		return map[string]float64{
			"daybreak_batches wechat failed": 1, "daybreak_consecutive_failures wechat": failures, "daybreak_source_overdue_batches wechat": batches,
		}
	}
	requireSamples(t, samples(t, reg), overdue(0, 4))
	b.clock.Advance(b.job.Due.Patience)
	b.pass(a)
	requireSamples(t, samples(t, reg), overdue(1, 0))
	b.books.change(func() { delete(b.books.fails, b.days[2]) })
	b.pass(a)
	requireSamples(t, samples(t, reg), overdue(0, 4))
}

func TestReviewBacklog(t *testing.T) {
	b := setup(t)
	a, reg := b.registered()
	is := func(want map[string]float64) {
		t.Helper()
		b.pass(a)
		got := samples(t, reg)
		for name, v := range got {
			short, ours := strings.CutPrefix(name, "daybreak_review_backlog wechat ")
			if ours {
				require.InDelta(t, want[short], v, 0, name)
			}
		}
	}
	is(map[string]float64{"none 0-1d": 1, "none 2-3d": 2})
	b.step(model.ReviewInvestigating)
	is(map[string]float64{"none 0-1d": 1, "none 2-3d": 1, "investigating 2-3d": 1})
	b.step(model.ReviewAccepted)
	is(map[string]float64{"none 0-1d": 1, "none 2-3d": 1})
	b.books.change(func() { b.books.entries[model.Channel][b.days[1]][2].Amount = dec("32") })
	b.compute(b.days[1])
	b.clock.Advance(5 * time.Minute)
	is(map[string]float64{"none 0-1d": 1, "none 2-3d": 1, "changed 2-3d": 1})
	b.books.change(func() { b.books.entries[model.Channel][b.days[1]][2].Amount = dec("30") })
	b.compute(b.days[1])
	b.clock.Advance(5 * time.Minute)
	is(map[string]float64{"none 0-1d": 1, "none 2-3d": 1, "changed 2-3d": 1}) // gone, and its reviewer has not seen that
	b.clock.Advance(40 * 24 * time.Hour)
	rep, _ := a.Pass(b.ctx) // the days since are missing
	require.Equal(t, 40, rep.Jobs[0].Days[statusMissing])
	require.InDelta(t, 2, samples(t, reg)["daybreak_review_backlog wechat none over-30d"], 0)
}

func TestACurrencyThatIsGoneIsTakenDown(t *testing.T) {
	b := setupDays(t, 1)
	a, reg := b.registered()
	b.books.change(func() {
		for i := range b.books.entries[model.Channel][b.days[0]] {
			b.books.entries[model.Channel][b.days[0]][i].Currency = "USD"
		}
	})
	b.compute(b.days[0])
	b.clock.Advance(5 * time.Minute)
	b.pass(a)
	got := samples(t, reg)
	requireSamples(t, got, map[string]float64{
		"daybreak_open_diffs wechat currency mixed": 3, "daybreak_open_diffs_amount wechat currency CNY": 60.505, "daybreak_open_diffs_amount wechat currency USD": 61.5,
	})
	b.books.change(func() { b.books.entries[model.Channel][b.days[0]] = bookOf(model.Channel, b.days[0], 0) })
	b.compute(b.days[0])
	b.clock.Advance(5 * time.Minute)
	b.pass(a)
	for name := range samples(t, reg) {
		require.False(t, strings.HasSuffix(name, "USD") || strings.HasSuffix(name, "mixed"), name)
	}
}

func TestWhatCannotBeReadKeepsItsFigureAndIsNotReady(t *testing.T) {
	b := setupDays(t, 1)
	a, reg := b.registered()
	broken := b.auditor(func(o *Options) { o.Conn = brokenConn{o.Conn} })
	broken.glance(b.ctx, broken.jobs["wechat"])
	require.ErrorIs(t, broken.Ready(), ErrNotReady)
	b.pass(a)
	before := samples(t, reg)
	a.tables = tables{brokenConn{}}
	_, err := a.Pass(b.ctx)
	require.ErrorIs(t, err, errBroken)
	after := samples(t, reg)
	for name, v := range before {
		if !slices.Contains([]string{"daybreak_audit_passes_total wechat failed"}, name) {
			require.InDelta(t, v, after[name], 0, name)
		}
	}
	require.NoError(t, a.Ready(), "known, if old")
}

func TestRunIsReadyBeforeTheFirstLookIsOver(t *testing.T) {
	b := setupDays(t, 1)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	looking, goOn := make(chan struct{}), make(chan struct{})
	slow := slowBooks{b.books, looking, goOn}
	b.job.Ledger = slow
	a, reg := b.registered()
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	select {
	case <-looking:
	case <-b.ctx.Done():
		require.NoError(t, errors.New("nobody looked"))
	}
	require.NoError(t, a.Ready())
	requireSamples(t, samples(t, reg), map[string]float64{"daybreak_batches wechat done": 1})
	close(goOn)
	cancel()
	require.NoError(t, <-done)
}

// The deadline jumps over a weekend and a holiday at the end of a month, and nothing is late meanwhile.
func TestHorizonAtTheEndOfAMonth(t *testing.T) {
	t.Parallel()
	job := pureJob()
	day := func(month time.Month, d int) model.Day { return model.NewDay(2026, month, d) }
	job.Start, job.Calendar = day(time.May, 1), model.WeekdayCalendar()
	job.Calendar.Holidays = map[model.Day]bool{day(time.June, 1): true}
	friday := day(time.May, 29)
	a := New(Options{Jobs: []source.Job{{Job: job}}})
	at := func(now time.Time, statuses ...string) horizon {
		r := &round{a: a, job: source.Job{Job: job}, now: now, marks: map[model.Day]model.Watermark{}}
		for i, s := range statuses {
			r.looks = append(r.looks, &look{day: job.Calendar.Add(friday, i), status: s})
		}
		return r.horizon()
	}
	due := func(d model.Day) time.Time { return job.DueAt(d).Add(job.Due.Patience) }
	sunday := at(day(time.May, 31).UTC().Add(12*time.Hour), statusDone)
	require.Equal(t, due(day(time.June, 2)), sunday.deadline, "the next business day is Tuesday's")
	require.Equal(t, friday, *sunday.clean)
	first := at(job.DueAt(day(time.June, 2)).Add(time.Minute), statusDone, statusDue)
	require.Equal(t, due(day(time.June, 2)), first.deadline)
	require.Equal(t, friday, *first.clean)
	after := at(job.DueAt(day(time.June, 2)).Add(time.Hour), statusDone, statusDone)
	require.Equal(t, due(day(time.June, 3)), after.deadline)
	skipped := at(job.DueAt(day(time.June, 2)).Add(time.Hour), statusSkipped, statusFailed)
	require.Equal(t, due(day(time.June, 2)), skipped.deadline)
	require.Nil(t, skipped.clean)
}
