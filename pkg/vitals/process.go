package vitals

import (
	"github.com/prometheus/client_golang/prometheus"

	"daybreak/pkg/bus"
	"daybreak/pkg/kv"
)

// Bus is what is asked of a bus.
type Bus interface{ Stats() bus.Stats }

// Bucket is what is asked of a bucket.
type Bucket interface{ Stats() kv.Stats }

var (
	byConsumer = []string{"stream", "consumer"}

	published   = desc("daybreak_bus_published_total", "Messages that the server acknowledged, duplicates included.")
	duplicates  = desc("daybreak_bus_duplicates_total", "Messages that the stream had already.")
	retries     = desc("daybreak_bus_retries_total", "Requests to NATS repeated because the outcome was unknown or the server not ready.")
	delivered   = desc("daybreak_deliveries_total", "Messages handed to this process.", byConsumer...)
	redelivered = desc("daybreak_redeliveries_total", "Messages handed to this process not for the first time.", byConsumer...)
	settled     = desc("daybreak_settled_messages_total", "What became of the messages handed to this process.", "stream", "consumer", "outcome")
	panics      = desc("daybreak_handler_panics_total", "Panics while working on a message.", byConsumer...)
	inWork      = desc("daybreak_messages_in_work", "Messages in the hands of this process.", byConsumer...)
	waiting     = desc("daybreak_messages_waiting", "Messages that this process sent to wait for another try.", byConsumer...)
	taken       = desc("daybreak_leases_taken_total", "Leases taken by this process.")
	takeovers   = desc("daybreak_lease_takeovers_total", "Leases taken by this process after another holder's had run out.")
	lost        = desc("daybreak_leases_lost_total", "Leases of this process that ended before it gave them back.")
	rejections  = desc("daybreak_fence_rejections_total", "Writes of this process that the server refused, because another had taken over.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Process shows what this process did since it began.
func Process(b Bus, bucket Bucket) prometheus.Collector { return process{b, bucket} }

type process struct {
	bus    Bus
	bucket Bucket
}

// Describe implements [prometheus.Collector].
func (process) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		published, duplicates, retries, delivered, redelivered, settled, panics, inWork, waiting, taken, takeovers, lost, rejections,
	} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (p process) Collect(ch chan<- prometheus.Metric) {
	out := sink(ch)
	b, k := p.bus.Stats(), p.bucket.Stats()
	out.counter(published, b.Published)
	out.counter(duplicates, b.Duplicates)
	out.counter(retries, b.Retries)
	for _, c := range b.Consumers {
		out.counter(delivered, c.Delivered, c.Stream, c.Durable)
		out.counter(redelivered, c.Redelivered, c.Stream, c.Durable)
		out.counter(settled, c.Acked, c.Stream, c.Durable, "ack")
		out.counter(settled, c.Retried, c.Stream, c.Durable, "retry")
		out.counter(settled, c.Rejected, c.Stream, c.Durable, "reject")
		out.counter(settled, c.Unsettled, c.Stream, c.Durable, "unsettled")
		out.counter(panics, c.Panics, c.Stream, c.Durable)
		out.gauge(inWork, float64(c.InFlight), c.Stream, c.Durable)
		out.gauge(waiting, float64(c.WaitingCount), c.Stream, c.Durable)
	}
	out.counter(taken, k.Taken)
	out.counter(takeovers, k.Takeovers)
	out.counter(lost, k.Lost)
	out.counter(rejections, k.Rejections)
}

// sink takes the metrics of one scrape.
type sink chan<- prometheus.Metric

func (s sink) counter(d *prometheus.Desc, v uint64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
