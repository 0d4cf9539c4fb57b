package auditor

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// points are values by the two labels besides the job.
type points map[[2]string]float64

// board is a gauge of a job whose label sets change with the books: currencies come and go. What is no longer there is
// taken down after the new values are up, so that no scrape in between sees less than there is.
type board struct {
	vec *prometheus.GaugeVec

	mu sync.Mutex
	up map[string]points
}

func (b *board) put(job string, now points) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at, v := range now {
		b.vec.WithLabelValues(job, at[0], at[1]).Set(v)
	}
	for at := range b.up[job] {
		if _, still := now[at]; !still {
			b.vec.DeleteLabelValues(job, at[0], at[1])
		}
	}
	if b.up == nil {
		b.up = map[string]points{}
	}
	b.up[job] = now
}
