package ticker

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"daybreak/pkg/model"
)

// metrics are signals for plots and alerts. No label holds a date, so their number is bounded by the jobs.
type metrics struct {
	published *prometheus.CounterVec
	failures  *prometheus.CounterVec
	scans     *prometheus.CounterVec
	lastScan  prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, jobs []model.Job) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		published: f.NewCounterVec(prometheus.CounterOpts{
			Name: "daybreak_ticker_published_total", Help: "Due days this replica published that the stream did not have yet.",
		}, []string{"job"}),
		failures: f.NewCounterVec(prometheus.CounterOpts{
			Name: "daybreak_ticker_failures_total", Help: "Scans in which the job's due days could not be read or published.",
		}, []string{"job"}),
		scans: f.NewCounterVec(prometheus.CounterOpts{
			Name: "daybreak_ticker_scans_total", Help: "Scans over all jobs, by outcome.",
		}, []string{"outcome"}),
		lastScan: f.NewGauge(prometheus.GaugeOpts{
			Name: "daybreak_ticker_last_scan_timestamp_seconds", Help: "When this replica last scanned every job without a failure.",
		}),
	}
	for _, j := range jobs {
		m.published.WithLabelValues(j.Name)
		m.failures.WithLabelValues(j.Name)
	}
	m.scans.WithLabelValues("ok")
	m.scans.WithLabelValues("failed")
	return m
}

func (m *metrics) job(job string, published int, err error) {
	m.published.WithLabelValues(job).Add(float64(published))
	if err != nil {
		m.failures.WithLabelValues(job).Inc()
	}
}

func (m *metrics) scan(at time.Time, err error) {
	if err != nil {
		m.scans.WithLabelValues("failed").Inc()
		return
	}
	m.scans.WithLabelValues("ok").Inc()
	m.lastScan.Set(float64(at.Unix()))
}
