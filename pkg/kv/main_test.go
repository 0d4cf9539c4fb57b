package kv

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		os.Exit(childMain(url))
	}
	goleak.VerifyTestMain(m)
}

// startServer runs a single JetStream server; it listens only when asked to.
func startServer(t *testing.T, listen bool) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: t.TempDir(), DontListen: !listen,
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
	})
	require.NoError(t, err)
	srv.Start()
	require.True(t, srv.ReadyForConnections(10*time.Second))
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	return srv
}

func connect(t *testing.T, srv *server.Server) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	made, err := jetstream.New(nc)
	require.NoError(t, err)
	return made
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func open(t *testing.T, on jetstream.JetStream, change ...func(*Options)) *Store {
	t.Helper()
	opts := Options{Bucket: "test", LeaseTTL: 30 * time.Second, Logger: quiet()}
	for _, c := range change {
		c(&opts)
	}
	s, err := Open(t.Context(), on, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// js is the JetStream that a store of these tests works on.
func js(s *Store) jetstream.JetStream { return s.wire.(*jsWire).js }

func ttl(d time.Duration) func(*Options) { return func(o *Options) { o.LeaseTTL = d } }

// setup is one server with one store on it.
func setup(t *testing.T, change ...func(*Options)) *Store {
	t.Helper()
	t.Parallel()
	return open(t, connect(t, startServer(t, false)), change...)
}
