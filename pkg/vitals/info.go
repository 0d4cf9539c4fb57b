package vitals

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"daybreak/pkg/model"
)

var (
	buildInfo = desc("daybreak_build_info", "1, for the version that runs.", "version", "goversion")
	jobInfo   = desc("daybreak_job_info", "1 for every job of the configuration.", "job", "order")
	interval  = desc("daybreak_audit_interval_seconds", "How often the auditor looks at the job.", "job")
)

// Info shows which version runs and which jobs there are, so that a rule can miss what is shown of none of them.
func Info(version string, jobs []model.Job) prometheus.Collector { return info{version, jobs} }

type info struct {
	version string
	jobs    []model.Job
}

// Describe implements [prometheus.Collector].
func (info) Describe(ch chan<- *prometheus.Desc) {
	ch <- buildInfo
	ch <- jobInfo
	ch <- interval
}

// Collect implements [prometheus.Collector].
func (i info) Collect(ch chan<- prometheus.Metric) {
	out := sink(ch)
	out.gauge(buildInfo, 1, i.version, runtime.Version())
	for _, j := range i.jobs {
		out.gauge(jobInfo, 1, j.Name, string(j.Order))
		out.gauge(interval, j.Audit.Every.Seconds(), j.Name)
	}
}
