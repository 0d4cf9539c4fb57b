package vitals

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"daybreak/pkg/bus"
)

const (
	// scrapeTimeout is for all questions of a scrape together; Prometheus gives up after 10 s.
	scrapeTimeout = 5 * time.Second
	// consumersMax bounds the consumers shown of one stream.
	consumersMax = 100
)

var (
	byType   = []string{"type"}
	byStream = []string{"stream"}

	engineUp       = desc("daybreak_engine_up", "1 when the engine answered.", byType...)
	engineResponse = desc("daybreak_engine_response_seconds", "How long the engine took to answer.", byType...)
	streamBytes    = desc("daybreak_stream_bytes", "Bytes in the stream.", byStream...)
	streamLimit    = desc("daybreak_stream_limit_bytes", "Limit of the stream; a full one drops its oldest messages.", byStream...)
	streamMessages = desc("daybreak_stream_messages", "Messages in the stream.", byStream...)
	streamLast     = desc("daybreak_stream_last_timestamp_seconds", "When the newest message was stored.", byStream...)
	deadLetters    = desc("daybreak_dead_letters_total", "Messages ever rejected into the stream DEAD.")
	consumerLag    = desc("daybreak_consumer_pending_messages", "Messages that a durable consumer was not sent yet.", byConsumer...)
	consumerOpen   = desc("daybreak_consumer_ack_pending_messages", "Messages sent to a durable consumer and not acknowledged.", byConsumer...)
	storageBytes   = desc("daybreak_jetstream_storage_bytes", "File storage that JetStream uses in this account.")
	storageLimit   = desc("daybreak_jetstream_storage_limit_bytes", "File storage that this account may use.")
	diskFree       = desc("daybreak_store_disk_free_bytes", "Free space of ClickHouse's fullest disk.")
	diskSize       = desc("daybreak_store_disk_size_bytes", "Size of ClickHouse's fullest disk.")
)

var errNotConnected = errors.New("not connected to NATS")

// Options of Engines. All are required but the last two.
type Options struct {
	JetStream  jetstream.JetStream
	ClickHouse driver.Conn
	Bucket     string // the control bucket, whose stream is shown with the others
	Clock      clockwork.Clock
	Logger     *slog.Logger
}

// Engines asks NATS and ClickHouse at every scrape.
func Engines(o Options) prometheus.Collector {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &engines{Options: o}
}

type engines struct {
	Options
	mu sync.Mutex // scrapes of several Prometheus servers wait for each other instead of doubling the load
}

// Describe implements [prometheus.Collector].
func (*engines) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		engineUp, engineResponse, streamBytes, streamLimit, streamMessages, streamLast, deadLetters, consumerLag, consumerOpen,
		storageBytes, storageLimit, diskFree, diskSize,
	} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (e *engines) Collect(ch chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { e.ask(ctx, sink(ch), "nats", e.account, e.streams) })
	both.Go(func() { e.ask(ctx, sink(ch), "clickhouse", e.ping, e.disk) })
	both.Wait()
}

// ask times the first answer of an engine, and asks further what only one that is up can tell.
func (e *engines) ask(ctx context.Context, out sink, engine string, first, more func(context.Context, sink) error) {
	begun := e.Clock.Now()
	if err := first(ctx, out); err != nil {
		e.Logger.Debug("an engine does not answer", "engine", engine, "err", err)
		out.gauge(engineUp, 0, engine)
		return
	}
	out.gauge(engineUp, 1, engine)
	out.gauge(engineResponse, e.Clock.Since(begun).Seconds(), engine)
	if err := more(ctx, out); err != nil {
		e.Logger.Debug("an engine does not tell everything", "engine", engine, "err", err)
	}
}

func (e *engines) account(ctx context.Context, out sink) error {
	if !e.JetStream.Conn().IsConnected() {
		return errNotConnected // a request would wait for the server to come back until the whole scrape is over
	}
	account, err := e.JetStream.AccountInfo(ctx)
	if err != nil {
		return err
	}
	out.gauge(storageBytes, float64(account.Store))
	if limit := account.Limits.MaxStore; limit > 0 {
		out.gauge(storageLimit, float64(limit))
	}
	return nil
}

func (e *engines) streams(ctx context.Context, out sink) error {
	var errs []error
	for _, name := range append(streamNames(), "KV_"+e.Bucket) {
		errs = append(errs, e.stream(ctx, out, name))
	}
	return errors.Join(errs...)
}

func streamNames() []string {
	var names []string
	for _, s := range bus.Streams() {
		names = append(names, s.Name)
	}
	return names
}

func (e *engines) stream(ctx context.Context, out sink, name string) error {
	s, err := e.JetStream.Stream(ctx, name)
	if err != nil {
		return err
	}
	now := s.CachedInfo()
	out.gauge(streamBytes, float64(now.State.Bytes), name)
	if now.Config.MaxBytes > 0 {
		out.gauge(streamLimit, float64(now.Config.MaxBytes), name)
	}
	out.gauge(streamMessages, float64(now.State.Msgs), name)
	if now.State.LastSeq > 0 {
		out.gauge(streamLast, float64(now.State.LastTime.UnixMilli())/1e3, name)
	}
	if name == bus.StreamDead {
		out.counter(deadLetters, now.State.LastSeq)
	}
	if name == "KV_"+e.Bucket {
		return nil // its readers are the services themselves, and come and go
	}
	return consumers(ctx, out, name, s)
}

func consumers(ctx context.Context, out sink, stream string, s jetstream.Stream) error {
	list := s.ListConsumers(ctx)
	shown := 0
	for c := range list.Info() {
		if c.Config.Durable == "" || shown == consumersMax {
			continue // read to the end: the lister would wait for a reader
		}
		shown++
		out.gauge(consumerLag, float64(c.NumPending), stream, c.Name)
		out.gauge(consumerOpen, float64(c.NumAckPending), stream, c.Name)
	}
	return list.Err()
}

// fullestSQL needs a right of its own, which a user with few may lack.
const fullestSQL = `SELECT free_space, total_space FROM system.disks WHERE total_space > 0 ORDER BY free_space / total_space LIMIT 1`

func (e *engines) ping(ctx context.Context, _ sink) error { return e.ClickHouse.Ping(ctx) }

func (e *engines) disk(ctx context.Context, out sink) error {
	var free, total uint64
	if err := e.ClickHouse.QueryRow(ctx, fullestSQL).Scan(&free, &total); err != nil {
		return err
	}
	out.gauge(diskFree, float64(free))
	out.gauge(diskSize, float64(total))
	return nil
}
