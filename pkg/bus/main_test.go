package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"daybreak/pkg/bus"
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		childMain()
		return
	}
	goleak.VerifyTestMain(m,
		// Process-wide helpers of the embedded server that it never stops.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.init.0.func1"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"),
	)
}

// testScale keeps the reservations of parallel tests small.
const testScale = 0.01

type bundle struct {
	t    *testing.T
	dir  string
	srv  *server.Server
	opts *server.Options
}

// startServer runs a real server in this process; a restart keeps its storage and port.
func startServer(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, dir: t.TempDir()}
	b.opts = &server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: b.dir, NoSigs: true, NoLog: true,
		JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 256 << 20,
	}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *bundle) start() {
	b.t.Helper()
	opts := b.opts.Clone()
	srv, err := server.NewServer(opts)
	require.NoError(b.t, err)
	srv.Start()
	require.True(b.t, srv.ReadyForConnections(20*time.Second), "server does not start")
	b.srv = srv
	b.opts.Port = opts.Port
}

func (b *bundle) stop() {
	b.srv.Shutdown()
	b.srv.WaitForShutdown()
}

func (b *bundle) connect(opts ...nats.Option) *nats.Conn {
	b.t.Helper()
	return connect(b.t, b.srv.ClientURL(), opts...)
}

func connect(t *testing.T, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	opts = append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0),
	}, opts...)
	nc, err := nats.Connect(url, opts...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func open(t *testing.T, nc *nats.Conn, opts bus.Options) *bus.Bus {
	t.Helper()
	if opts.MaxBytesScale == 0 {
		opts.MaxBytesScale = testScale
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	b, err := bus.Open(t.Context(), nc, opts)
	require.NoError(t, err)
	return b
}

// setup is one server with one bus on it.
func setup(t *testing.T) (*bundle, *bus.Bus) {
	t.Helper()
	s := startServer(t)
	return s, open(t, s.connect(), bus.Options{})
}

func publish(t *testing.T, b *bus.Bus, subject, id string) bus.Receipt {
	t.Helper()
	r, err := b.Publish(t.Context(), bus.Message{Subject: subject, ID: id, Body: []byte(id)})
	require.NoError(t, err)
	return r
}

// consume runs a consumer and returns a function that stops it and gives Run's result.
func consume(t *testing.T, c *bus.Consumer) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- c.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return receive(t, result)
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(30 * time.Second):
		require.FailNow(t, "nothing came within 30 s")
		panic("unreachable")
	}
}

// replay reads a whole stream.
func replay(t *testing.T, b *bus.Bus, stream string, filters ...string) []bus.Delivery {
	t.Helper()
	var all []bus.Delivery
	err := b.Tail(t.Context(), stream, filters, bus.From{}, false, func(d bus.Delivery) error {
		all = append(all, d)
		return nil
	})
	require.NoError(t, err)
	return all
}

func subjects(ds []bus.Delivery) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Subject)
	}
	return out
}

func dueSubject(t *testing.T, i int) string {
	t.Helper()
	s, err := bus.DayDue("wechat", fmt.Sprintf("d%04d", i))
	require.NoError(t, err)
	return s
}
