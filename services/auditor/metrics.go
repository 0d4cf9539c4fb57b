package auditor

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// The outcomes of looking at one job.
const (
	outcomeSuccess = "success" // every check was made
	outcomeFailed  = "failed"  // at least one could not be made
)

// noJob is the label of findings about services.
const noJob = "_"

// metrics are signals for plots and alerts; docs/metrics.md is their catalogue. No label holds a date, key or id, so their
// number is bounded by the jobs and their currencies.
//
// Counters exist from the start. What is known of a job appears when it was first read, all at once: a zero before that
// would say that nothing is missing, and a restart would end every alert.
type metrics struct {
	batches, lag, failures, overdue, unbalanced *prometheus.GaugeVec
	deadline, cleanDay, doneDay                 *prometheus.GaugeVec
	diffs, amounts, backlog                     *board
	entries, totals, carried, carriedTotals     *board

	findings, escalated *prometheus.GaugeVec
	passes, nudges      *prometheus.CounterVec
	lastSuccess         *prometheus.GaugeVec
	pings               *prometheus.CounterVec
	beatAge, instances  *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer, jobs []source.Job) *metrics {
	f := factory{promauto.With(reg)}
	m := &metrics{
		findings:  f.gauge("daybreak_findings", "Open findings of the auditor.", "job", "finding"),
		escalated: f.gauge("daybreak_findings_escalated", "Open findings that a person must look at.", "job", "finding"),
		passes:    f.counter("daybreak_audit_passes_total", "Looks at a job, by outcome.", "job", "outcome"),
		nudges:    f.counter("daybreak_audit_nudges_total", "Nudges sent, repetitions included.", "job", "finding"),
		lastSuccess: f.gauge("daybreak_audit_last_success_timestamp_seconds",
			"When every check of the job was last made; absent until this process has done so.", "job"),
		pings:     f.counter("daybreak_audit_pings_total", "Dead-man's pings, by outcome.", "outcome"),
		beatAge:   f.gauge("daybreak_heartbeat_age_seconds", "Age of the freshest heartbeat of a service; +Inf when it has none.", "service"),
		instances: f.gauge("daybreak_instances", "Instances of a service with a fresh heartbeat.", "service"),
	}
	m.books(f)
	m.initialise(jobs)
	return m
}

// books makes the metrics of what is known of the books.
func (m *metrics) books(f factory) {
	m.batches = f.gauge("daybreak_batches", "Due business days by where they stand.", "job", "status")
	m.lag = f.gauge("daybreak_done_lag_batches", "Business days between the newest day that is DONE and the newest that is due.", "job")
	m.failures = f.gauge("daybreak_consecutive_failures", "Most failed attempts in a row of any day that is not DONE, save those whose source is overdue.", "job")
	m.overdue = f.gauge("daybreak_source_overdue_batches", "Days whose source is not there although due.patience is over.", "job")
	m.unbalanced = f.gauge("daybreak_unbalanced_batches", "Days whose stored result does not account for its sources.", "job")
	m.deadline = f.gauge("daybreak_next_deadline_timestamp_seconds", "When the first day that is not DONE has to be: due, and due.patience over.", "job")
	m.cleanDay = f.gauge("daybreak_last_clean_day_timestamp_seconds", "Midnight UTC of the last day of the unbroken row of clean days; 0 when there is none.", "job")
	m.doneDay = f.gauge("daybreak_last_done_day_timestamp_seconds", "Midnight UTC of the newest day that is DONE; 0 when there is none.", "job")
	m.diffs = f.board("daybreak_open_diffs", "Open diffs of the newest versions.", "kind", "currency")
	m.amounts = f.board("daybreak_open_diffs_amount", "Sum of abs(ledger - channel) over the open diffs. For plots only: exact figures are in the tables.", "kind", "currency")
	m.backlog = f.board("daybreak_review_backlog", "Diffs that a person owes a word, by state and days since the business day.", "state", "age")
	m.entries = f.board("daybreak_last_day_entries", "Entries of the newest DONE day as they were pulled.", "side", "currency")
	m.totals = f.board("daybreak_last_day_amount", "Total of the newest DONE day. For plots only: exact figures are in the tables.", "side", "currency")
	m.carried = f.board("daybreak_carried_entries", "Entries that the newest DONE day hands on to wait for their counterpart.", "side", "currency")
	m.carriedTotals = f.board("daybreak_carried_amount", "Total of the entries handed on. For plots only: exact figures are in the tables.", "side", "currency")
}

// factory registers metrics.
type factory struct{ promauto.Factory }

func (f factory) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func (f factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (f factory) board(name, help, one, two string) *board {
	return &board{vec: f.gauge(name, help, "job", one, two)}
}

// initialise makes the label sets of the counters exist, so that their first increase can be seen.
func (m *metrics) initialise(jobs []source.Job) {
	for _, j := range jobs {
		for _, k := range append(append([]model.AuditKind{}, dayKinds...), resultKinds...) {
			m.nudges.WithLabelValues(j.Name, string(k))
		}
		for _, o := range []string{outcomeSuccess, outcomeFailed} {
			m.passes.WithLabelValues(j.Name, o)
		}
	}
	for _, o := range []string{outcomeSuccess, outcomeFailed} {
		m.pings.WithLabelValues(o)
	}
}

// show sets what a look at a job found and reports whether it found everything. What could not be looked at keeps its
// last figure.
func (m *metrics) show(r JobReport) bool {
	if r.figures != nil {
		m.figures(r.Job, r.figures)
	}
	if r.Days == nil {
		return false
	}
	for _, s := range statuses {
		m.batches.WithLabelValues(r.Job, s).Set(float64(r.Days[s]))
	}
	m.lag.WithLabelValues(r.Job).Set(float64(r.Lag))
	m.failures.WithLabelValues(r.Job).Set(float64(r.horizon.failures))
	m.overdue.WithLabelValues(r.Job).Set(float64(r.horizon.overdue))
	m.cleanDay.WithLabelValues(r.Job).Set(midnight(r.horizon.clean))
	deadline := math.Inf(1)
	if !r.horizon.deadline.IsZero() {
		deadline = float64(r.horizon.deadline.Unix())
	}
	m.deadline.WithLabelValues(r.Job).Set(deadline)
	return r.figures != nil
}

// figures sets what the result tables show.
func (m *metrics) figures(job string, f *figures) {
	m.doneDay.WithLabelValues(job).Set(midnight(f.lastDay))
	diffs, amounts, backlog := points{}, points{}, points{}
	for k, n := range f.diffs {
		diffs[[2]string{k.kind, k.currency}] = float64(n)
	}
	for k, v := range f.amounts {
		amounts[[2]string{k.kind, k.currency}] = plotted(v)
	}
	for k, n := range f.backlog {
		backlog[[2]string{k.state, k.age}] = float64(n)
	}
	m.diffs.put(job, diffs)
	m.amounts.put(job, amounts)
	m.backlog.put(job, backlog)
	sides := func(count, amount *board, totals map[sideCurrency]model.Total) {
		counts, amounts := points{}, points{}
		for k, t := range totals {
			at := [2]string{k.side, k.currency}
			counts[at], amounts[at] = float64(t.Count), plotted(t.Amount)
		}
		count.put(job, counts)
		amount.put(job, amounts)
	}
	sides(m.entries, m.totals, f.entries)
	sides(m.carried, m.carriedTotals, f.carried)
}

// midnight is a day as a timestamp.
func midnight(day *model.Day) float64 {
	if day == nil {
		return 0
	}
	return float64(day.UTC().Unix())
}

// open sets the gauges of the open findings of one job; kinds without one become zero.
func (m *metrics) open(job string, kinds []model.AuditKind, open []model.Audit) {
	n, esc := map[model.AuditKind]int{}, map[model.AuditKind]int{}
	for _, f := range open {
		n[f.Kind]++
		if f.Escalated {
			esc[f.Kind]++
		}
	}
	for _, k := range kinds {
		m.findings.WithLabelValues(job, string(k)).Set(float64(n[k]))
		m.escalated.WithLabelValues(job, string(k)).Set(float64(esc[k]))
	}
	if job != noJob {
		m.unbalanced.WithLabelValues(job).Set(float64(n[model.AuditUnbalanced]))
	}
}

func (m *metrics) success(job string, at time.Time) {
	m.lastSuccess.WithLabelValues(job).Set(float64(at.Unix()))
}
