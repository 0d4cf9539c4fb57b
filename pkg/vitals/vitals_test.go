package vitals_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/engine"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/vitals"
)

// shown are the samples by name and label values in the order of their names, such as "daybreak_stream_messages DEAD".
func shown(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			out[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	return out
}

func requireShown(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		has, ok := got[name]
		require.True(t, ok, "%s is absent: %v", name, got)
		require.InDelta(t, v, has, 0, name)
	}
}

type bench struct {
	ctx  context.Context
	srv  *engine.NATS
	nc   *nats.Conn
	bus  *bus.Bus
	kv   *kv.Store
	conn driver.Conn
}

func setup(t *testing.T) *bench {
	t.Helper()
	t.Parallel()
	b := &bench{ctx: t.Context()}
	var err error
	b.srv = enginetest.NATS(t)
	b.nc, err = b.srv.Connect()
	require.NoError(t, err)
	t.Cleanup(b.nc.Close)
	b.bus, err = bus.Open(b.ctx, b.nc, bus.Options{MaxBytesScale: 0.001})
	require.NoError(t, err)
	b.kv, err = kv.Open(b.ctx, b.bus.JetStream(), kv.Options{Bucket: "daybreak"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.kv.Close(context.Background()) })
	b.conn, err = clickhouse.Open(enginetest.ClickHouse(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.conn.Close() })
	return b
}

func (b *bench) engines() prometheus.Collector {
	return vitals.Engines(vitals.Options{JetStream: b.bus.JetStream(), ClickHouse: b.conn, Bucket: "daybreak"})
}

func (b *bench) ask(t *testing.T, job string) {
	t.Helper()
	subject, err := bus.DayDue(job, "2026-10-30")
	require.NoError(t, err)
	_, err = b.bus.Publish(b.ctx, bus.Message{Subject: subject, ID: job})
	require.NoError(t, err)
}

// work hands every message of DAYS to a consumer until it has settled n.
func (b *bench) work(t *testing.T, n int, verdict func(bus.Delivery) bus.Verdict) {
	t.Helper()
	settled := make(chan struct{}, n+9)
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	c := b.bus.Consumer(bus.ConsumerOptions{
		Stream: bus.StreamDays, Durable: "recon", OnVerdict: func(bus.Delivery, bus.Verdict) { settled <- struct{}{} },
	}, func(_ context.Context, d bus.Delivery) bus.Verdict { return verdict(d) })
	go func() { done <- c.Run(ctx) }()
	for range n {
		<-settled
	}
	cancel()
	require.NoError(t, <-done)
}

func TestStreamsConsumersAndEngines(t *testing.T) {
	b := setup(t)
	got := shown(t, b.engines())
	requireShown(t, got, map[string]float64{
		"daybreak_engine_up nats": 1, "daybreak_engine_up clickhouse": 1, "daybreak_dead_letters_total": 0,
		"daybreak_stream_messages DAYS": 0, "daybreak_stream_messages DEAD": 0, "daybreak_stream_limit_bytes DAYS": 1 << 30 / 1000,
	})
	require.NotContains(t, got, "daybreak_stream_last_timestamp_seconds DEAD", "there never was one")
	require.NotContains(t, got, "daybreak_stream_limit_bytes KV_daybreak", "it has none")
	require.Contains(t, got, "daybreak_stream_bytes KV_daybreak")
	require.Positive(t, got["daybreak_store_disk_size_bytes"])
	require.LessOrEqual(t, got["daybreak_store_disk_free_bytes"], got["daybreak_store_disk_size_bytes"])

	begun := time.Now()
	b.ask(t, "good")
	b.ask(t, "bad")
	b.ask(t, "late")
	b.work(t, 3, func(d bus.Delivery) bus.Verdict {
		switch {
		case strings.Contains(d.Subject, "bad"):
			return bus.Reject("no such job")
		case strings.Contains(d.Subject, "late"):
			return bus.Retry(time.Hour)
		}
		return bus.Ack()
	})
	b.ask(t, "new")
	got = shown(t, b.engines())
	requireShown(t, got, map[string]float64{
		"daybreak_stream_messages DAYS": 4, "daybreak_stream_messages DEAD": 1, "daybreak_dead_letters_total": 1,
		"daybreak_consumer_pending_messages recon DAYS": 1, "daybreak_consumer_ack_pending_messages recon DAYS": 1,
	})
	require.InDelta(t, begun.Unix(), got["daybreak_stream_last_timestamp_seconds DEAD"], 60)
	require.Positive(t, got["daybreak_stream_bytes DAYS"])

	dead, err := b.bus.JetStream().Stream(b.ctx, bus.StreamDead)
	require.NoError(t, err)
	require.NoError(t, dead.Purge(b.ctx))
	requireShown(t, shown(t, b.engines()), map[string]float64{
		"daybreak_stream_messages DEAD": 0, "daybreak_dead_letters_total": 1, // looked at, and still counted
	})
}

func TestReadersThatComeAndGoAreNotShown(t *testing.T) {
	b := setup(t)
	b.ask(t, "good")
	for range 3 {
		require.NoError(t, b.bus.Tail(b.ctx, bus.StreamDays, nil, bus.From{}, false, func(bus.Delivery) error { return nil }))
	}
	for name := range shown(t, b.engines()) {
		require.NotContains(t, name, "consumer")
	}
}

func TestAnEngineThatIsAwayHidesNothingOfTheOther(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.conn.Close())
	got := shown(t, b.engines())
	requireShown(t, got, map[string]float64{"daybreak_engine_up nats": 1, "daybreak_engine_up clickhouse": 0, "daybreak_stream_messages DAYS": 0})
	require.NotContains(t, got, "daybreak_engine_response_seconds clickhouse")
	b.nc.Close()
	got = shown(t, b.engines())
	require.Equal(t, map[string]float64{"daybreak_engine_up nats": 0, "daybreak_engine_up clickhouse": 0}, got)
}

// Prometheus gives up after its scrape_timeout, and with it would go all that the process shows.
func TestALostServerIsNotWaitedFor(t *testing.T) {
	b := setup(t)
	gone := b.nc.StatusChanged(nats.RECONNECTING)
	b.srv.Close()
	<-gone
	begun := time.Now()
	requireShown(t, shown(t, b.engines()), map[string]float64{"daybreak_engine_up nats": 0, "daybreak_engine_up clickhouse": 1})
	require.Less(t, time.Since(begun), 4*time.Second, "the limit of a scrape is 5 s")
}

// few is a user without the right to look at the disks.
type few struct{ driver.Conn }

func (few) QueryRow(context.Context, string, ...any) driver.Row { return noRow{} }

type noRow struct{ driver.Row }

func (noRow) Scan(...any) error { return errors.New("not enough privileges") }

func TestAUserThatMayNotSeeTheDisks(t *testing.T) {
	b := setup(t)
	b.conn = few{b.conn}
	got := shown(t, b.engines())
	requireShown(t, got, map[string]float64{"daybreak_engine_up clickhouse": 1})
	require.NotContains(t, got, "daybreak_store_disk_size_bytes")
}

func TestProcess(t *testing.T) {
	b := setup(t)
	b.ask(t, "good")
	b.ask(t, "good")
	b.ask(t, "bad")
	first := true
	b.work(t, 3, func(d bus.Delivery) bus.Verdict {
		switch {
		case strings.Contains(d.Subject, "bad"):
			return bus.Reject("no such job")
		case first:
			first = false
			panic("once")
		}
		return bus.Ack()
	})
	l, err := b.kv.Acquire(b.ctx, "n", "me")
	require.NoError(t, err)
	require.NoError(t, l.Release(b.ctx))
	requireShown(t, shown(t, vitals.Process(b.bus, b.kv)), map[string]float64{
		"daybreak_bus_published_total": 4, "daybreak_bus_duplicates_total": 1, // with the dead letter
		"daybreak_deliveries_total recon DAYS": 3, "daybreak_redeliveries_total recon DAYS": 1, "daybreak_handler_panics_total recon DAYS": 1,
		"daybreak_settled_messages_total recon ack DAYS": 1, "daybreak_settled_messages_total recon retry DAYS": 1,
		"daybreak_settled_messages_total recon reject DAYS": 1, "daybreak_settled_messages_total recon unsettled DAYS": 0,
		"daybreak_messages_in_work recon DAYS": 0, "daybreak_messages_waiting recon DAYS": 0,
		"daybreak_leases_taken_total": 1, "daybreak_lease_takeovers_total": 0, "daybreak_leases_lost_total": 0, "daybreak_fence_rejections_total": 0,
	})
}

func TestInfo(t *testing.T) {
	t.Parallel()
	jobs := []model.Job{{Name: "cards", Order: model.Strict, Audit: model.AuditRule{Every: 10 * time.Minute}}}
	got := shown(t, vitals.Info("v1.2.3", jobs))
	requireShown(t, got, map[string]float64{"daybreak_job_info cards strict": 1, "daybreak_audit_interval_seconds cards": 600})
	require.Len(t, got, 3)
}
