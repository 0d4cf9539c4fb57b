package auditor

import (
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

// metrics are signals for plots and alerts. No label holds a date, key or id, so their number is bounded by the jobs.
type metrics struct {
	days        *prometheus.GaugeVec
	findings    *prometheus.GaugeVec
	escalated   *prometheus.GaugeVec
	openDiffs   *prometheus.GaugeVec
	lag         *prometheus.GaugeVec
	unbalanced  *prometheus.GaugeVec
	passes      *prometheus.CounterVec
	nudges      *prometheus.CounterVec
	lastSuccess prometheus.Gauge
	beatAge     *prometheus.GaugeVec
	pings       *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, jobs []source.Job, services []string) *metrics {
	f := promauto.With(reg)
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		days:       gauge("daybreak_days", "Due business days by where they stand.", "job", "status"),
		findings:   gauge("daybreak_findings", "Open findings of the auditor.", "job", "finding"),
		escalated:  gauge("daybreak_findings_escalated", "Open findings that a person must look at.", "job", "finding"),
		openDiffs:  gauge("daybreak_open_diffs", "Open diffs of the newest committed versions.", "job"),
		lag:        gauge("daybreak_done_lag_days", "Business days between the newest day that is DONE and the newest that is due.", "job"),
		unbalanced: gauge("daybreak_unbalanced_days", "Days whose stored result does not account for its sources.", "job"),
		passes:     counter("daybreak_audit_passes_total", "Looks at a job, by outcome.", "job", "outcome"),
		nudges:     counter("daybreak_audit_nudges_total", "Nudges sent, repetitions included.", "job", "finding"),
		lastSuccess: f.NewGauge(prometheus.GaugeOpts{
			Name: "daybreak_audit_last_success_timestamp_seconds",
			Help: "When every job had last been looked at without an error; 0 until that was so once in this process.",
		}),
		beatAge: gauge("daybreak_heartbeat_age_seconds", "Age of the freshest heartbeat of a service; +Inf when it has none.", "service"),
		pings:   counter("daybreak_audit_pings_total", "Dead-man's pings, by outcome.", "outcome"),
	}
	m.initialise(jobs, services)
	return m
}

// initialise makes every label set exist, so that an alert on it can tell zero from absent.
func (m *metrics) initialise(jobs []source.Job, services []string) {
	for _, j := range jobs {
		for _, s := range statuses {
			m.days.WithLabelValues(j.Name, s)
		}
		for _, k := range append(append([]model.AuditKind{}, dayKinds...), resultKinds...) {
			m.findings.WithLabelValues(j.Name, string(k))
			m.escalated.WithLabelValues(j.Name, string(k))
			m.nudges.WithLabelValues(j.Name, string(k))
		}
		m.openDiffs.WithLabelValues(j.Name)
		m.lag.WithLabelValues(j.Name)
		m.unbalanced.WithLabelValues(j.Name)
		for _, o := range []string{outcomeSuccess, outcomeFailed} {
			m.passes.WithLabelValues(j.Name, o)
		}
	}
	m.findings.WithLabelValues(noJob, string(model.AuditSilent))
	m.escalated.WithLabelValues(noJob, string(model.AuditSilent))
	for _, o := range []string{outcomeSuccess, outcomeFailed} {
		m.pings.WithLabelValues(o)
	}
	for _, s := range services {
		m.beatAge.WithLabelValues(s)
	}
}

// show sets what a look at a job found. What could not be looked at keeps its last figure.
func (m *metrics) show(r JobReport) {
	for _, s := range statuses {
		if r.Days != nil {
			m.days.WithLabelValues(r.Job, s).Set(float64(r.Days[s]))
		}
	}
	if r.counted {
		m.openDiffs.WithLabelValues(r.Job).Set(float64(r.OpenDiffs))
	}
	if r.Days != nil {
		m.lag.WithLabelValues(r.Job).Set(float64(r.Lag))
	}
	m.passes.WithLabelValues(r.Job, r.outcome()).Inc()
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

func (m *metrics) success(at time.Time) { m.lastSuccess.Set(float64(at.Unix())) }
