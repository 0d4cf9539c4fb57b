package recon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// metrics are signals for plots and alerts. No label holds a date, key or id, so their number is bounded by the jobs.
type metrics struct {
	runs     *prometheus.CounterVec
	phases   *prometheus.HistogramVec
	lastDone *prometheus.GaugeVec
	events   *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, jobs []source.Job) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		runs: f.NewCounterVec(prometheus.CounterOpts{
			Name: "daybreak_runs_total", Help: "Attempts at a business day, by job, cause and outcome.",
		}, []string{"job", "cause", "outcome"}),
		phases: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "daybreak_phase_duration_seconds", Help: "Time an attempt spent in a phase.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 10), NativeHistogramBucketFactor: 1.1,
		}, []string{"job", "phase"}),
		lastDone: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "daybreak_last_done_timestamp_seconds", Help: "When this replica last finished a day of the job; 0 until it has.",
		}, []string{"job"}),
		events: f.NewCounterVec(prometheus.CounterOpts{
			Name: "daybreak_events_published_total", Help: "Events acknowledged by the DIFFS stream.",
		}, []string{"job"}),
	}
	for _, j := range jobs {
		m.events.WithLabelValues(j.Name)
		m.lastDone.WithLabelValues(j.Name)
		for _, cause := range []model.Cause{
			model.CauseDue, model.CauseReplay, model.CauseNudge, model.CauseChain, model.CauseCarry, model.CauseChanged,
		} {
			for _, outcome := range []string{"done", "failed", "waiting", "blocked", "lost"} {
				m.runs.WithLabelValues(j.Name, string(cause), outcome)
			}
		}
		for _, p := range []model.Phase{model.PhaseStart, model.PhasePull, model.PhaseCompare, model.PhaseCommit, model.PhaseEvents} {
			m.phases.WithLabelValues(j.Name, string(p))
		}
	}
	return m
}

func (m *metrics) count(job string, cause model.Cause, outcome string) {
	m.runs.WithLabelValues(job, string(cause), outcome).Inc()
}

// phase observes the time spent in the phase that was left; the first phase of an attempt leaves none.
func (m *metrics) phase(job string, left model.Phase, d time.Duration) {
	if left != "" && left != model.PhaseDone && d >= 0 && d < 365*24*time.Hour {
		m.phases.WithLabelValues(job, string(left)).Observe(d.Seconds())
	}
}

func (m *metrics) done(job string, _ model.Day, w model.Watermark, at time.Time) {
	m.count(job, w.Cause, "done")
	m.lastDone.WithLabelValues(job).Set(float64(at.Unix()))
}

func (m *metrics) published(job string, n int) { m.events.WithLabelValues(job).Add(float64(n)) }
