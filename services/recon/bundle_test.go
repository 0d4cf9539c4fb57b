package recon_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/config"
	"daybreak/pkg/control"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
	"daybreak/pkg/source"
	"daybreak/pkg/store"
	"daybreak/services/recon"
)

func TestMain(m *testing.M) {
	runChildIfAsked()
	enginetest.Main(m)
}

// bundle is a book on real engines, with nobody working on it yet.
type bundle struct {
	dir     string
	book    *scenario.Book
	cfg     *config.Config
	jobs    []source.Job
	bus     *bus.Bus
	control *control.Control
	store   *store.Store
	clock   clockwork.Clock
	natsURL string
	ch      *clickhouse.Options
	close   func()
}

// at is a clock that stands still at an instant but lets timers run.
type at struct {
	clockwork.Clock
	now time.Time
}

func (a at) Now() time.Time { return a.now }

func setup(t *testing.T, days, entries int) *bundle {
	t.Helper()
	dir := t.TempDir()
	book, err := scenario.Write(dir, scenario.Options{Seed: 7, First: model.NewDay(2026, 10, 1), Days: days, Entries: entries})
	require.NoError(t, err)
	return open(t, dir, book)
}

func open(t *testing.T, dir string, book *scenario.Book) *bundle {
	t.Helper()
	b, err := connect(t.Context(), dir, book, enginetest.NATS(t).ConnectURL(), enginetest.ClickHouse(t))
	require.NoError(t, err)
	t.Cleanup(b.close)
	return b
}

// connect stands a bundle on running engines; a child process does the same as the test.
func connect(ctx context.Context, dir string, book *scenario.Book, natsURL string, ch *clickhouse.Options) (*bundle, error) {
	cfg, err := config.Load(book.Config)
	if err != nil {
		return nil, err
	}
	b := &bundle{dir: dir, book: book, cfg: cfg, clock: at{clockwork.NewRealClock(), book.Now()}, natsURL: natsURL, ch: ch}
	nc, err := nats.Connect(natsURL)
	if err != nil {
		return nil, err
	}
	if b.bus, err = bus.Open(ctx, nc, bus.Options{MaxBytesScale: 0.001}); err != nil {
		return nil, err
	}
	kvs, err := kv.Open(ctx, b.bus.JetStream(), kv.Options{Bucket: "daybreak", LeaseTTL: leaseTTL})
	if err != nil {
		return nil, err
	}
	b.control = control.New(kvs)
	if b.store, err = store.Open(ctx, store.Options{Conn: ch, Clock: b.clock}); err != nil {
		return nil, err
	}
	b.close = func() {
		b.store.Close()
		_ = kvs.Close(context.Background())
		nc.Close()
	}
	env := source.Env{Root: cfg.Root, Conn: func(context.Context) (driver.Conn, error) { return b.store.Conn(), nil }}
	for _, j := range cfg.Jobs {
		ledger, ledgerErr := source.Open(j.Ledger, env)
		channel, channelErr := source.Open(j.Channel, env)
		if err := errors.Join(ledgerErr, channelErr); err != nil {
			return nil, err
		}
		b.jobs = append(b.jobs, source.Job{Job: j.Job, Ledger: ledger, Channel: channel})
	}
	return b, nil
}

const leaseTTL = 3 * time.Second

func (b *bundle) options(instance string, log *slog.Logger) recon.Options {
	return recon.Options{
		Jobs: b.jobs, Bus: b.bus, Control: b.control, Store: b.store, Clock: b.clock, Instance: instance, Workers: 3,
		Poll: time.Second, AckWait: leaseTTL, Logger: log,
	}
}

// start runs a recon until the test ends or stop is called.
func (b *bundle) start(t *testing.T, change func(*recon.Options)) (stop func()) {
	t.Helper()
	opts := b.options("test", slog.New(slog.NewTextHandler(t.Output(), nil)))
	if change != nil {
		change(&opts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- recon.New(opts).Run(ctx) }()
	stop = func() {
		cancel()
		if err, ok := <-ended; ok {
			require.NoError(t, err)
			close(ended)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (b *bundle) due(t *testing.T, job string, day model.Day) {
	t.Helper()
	subject, err := bus.DayDue(job, day.String())
	require.NoError(t, err)
	_, err = b.bus.Publish(t.Context(), bus.Message{Subject: subject, ID: "due/" + job + "/" + day.String()})
	require.NoError(t, err)
}

// dueAll publishes every day of every job, the newest first: the worst order for a strict job.
func (b *bundle) dueAll(t *testing.T) {
	t.Helper()
	for _, job := range b.book.Jobs {
		for d := b.book.Last; d >= b.book.First; d-- {
			b.due(t, job, d)
		}
	}
}

// replay publishes a replay as a person would and returns its stream sequence.
func (b *bundle) replay(t *testing.T, job string, day model.Day) uint64 {
	t.Helper()
	ack, err := b.bus.JetStream().Publish(t.Context(), "day.replay."+job+"."+day.String(), nil)
	require.NoError(t, err)
	return ack.Sequence
}

var errSeen = errors.New("seen")

// await waits until a job's watermarks satisfy want.
func (b *bundle) await(t *testing.T, job string, want func(map[model.Day]model.Watermark) bool) map[model.Day]model.Watermark {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	marks := map[model.Day]model.Watermark{}
	err := b.control.Watch(ctx, job, func(c control.Change) error {
		marks[c.Day] = c.Watermark
		if c.Gone {
			delete(marks, c.Day)
		}
		if want(marks) {
			return errSeen
		}
		return nil
	})
	require.ErrorIs(t, err, errSeen, "job %s stands at %+v", job, marks)
	return marks
}

func (b *bundle) awaitDone(t *testing.T, job string) map[model.Day]model.Watermark {
	t.Helper()
	return b.await(t, job, func(m map[model.Day]model.Watermark) bool {
		for d := b.book.First; d <= b.book.Last; d++ {
			if m[d].Status != model.Done {
				return false
			}
		}
		return true
	})
}

// awaitAnswer waits until a replay was answered by an attempt of its own or a later one.
func (b *bundle) awaitAnswer(t *testing.T, job string, day model.Day, seq uint64) model.Watermark {
	t.Helper()
	marks := b.await(t, job, func(m map[model.Day]model.Watermark) bool {
		return m[day].Trigger >= seq && (m[day].Status == model.Done || m[day].Status == model.Failed)
	})
	return marks[day]
}

// diffs are the current diffs of a job in the words of the book.
func (b *bundle) diffs(t *testing.T, job string) []scenario.Fault {
	t.Helper()
	var out []scenario.Fault
	for row, err := range b.store.Diffs(t.Context(), store.DiffQuery{Job: job, From: b.book.First, To: b.book.Last}) {
		require.NoError(t, err)
		out = append(out, scenario.Fault{
			Job: job, Day: row.Day, Key: row.Key, Kind: row.Kind, Ledger: row.LedgerAmount.Decimal.String(),
			Channel: row.ChannelAmount.Decimal.String(), Origin: row.Origin,
		})
	}
	return out
}

func (b *bundle) planted(job string) []scenario.Fault {
	var out []scenario.Fault
	for _, f := range b.book.Faults {
		if f.Job == job {
			out = append(out, f)
		}
	}
	return out
}

// events reads the whole DIFFS stream, each event once.
func (b *bundle) events(t *testing.T) []model.Event {
	t.Helper()
	var out []model.Event
	seen := map[string]bool{}
	err := b.bus.Tail(t.Context(), bus.StreamDiffs, nil, bus.From{}, false, func(d bus.Delivery) error {
		var e model.Event
		if err := json.Unmarshal(d.Data, &e); err != nil {
			return err
		}
		if !seen[e.ID] {
			seen[e.ID], out = true, append(out, e)
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

// rebuilt is the diff table as a consumer of events builds it: by diff id, what is open.
func (b *bundle) rebuilt(t *testing.T) map[string]model.DiffData {
	t.Helper()
	table := map[string]model.DiffData{}
	for _, e := range b.events(t) {
		var d model.DiffData
		switch e.Type {
		case "daybreak.diff.opened", "daybreak.diff.changed":
			require.NoError(t, json.Unmarshal(e.Data, &d))
			table[d.DiffID] = d
		case "daybreak.diff.cleared":
			require.NoError(t, json.Unmarshal(e.Data, &d))
			delete(table, d.DiffID)
		case "daybreak.batch.committed":
			var b model.BatchData
			require.NoError(t, json.Unmarshal(e.Data, &b))
			maps.DeleteFunc(table, func(_ string, d model.DiffData) bool {
				return b.Full && d.BatchID == b.BatchID && d.Version < b.Version
			})
		}
	}
	return table
}
