package fire

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/engine"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
	"daybreak/pkg/store"
	"daybreak/services/recon"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const (
	natsUser, natsPassword = "daybreak", "only for this test"
	replicas               = 3
	// smaller makes the streams small enough to be filled in seconds, and quota is what the account may store: the
	// limits of the streams, three copies of each, and about as much again.
	smaller = 0.0005
	quota   = "96MB"
)

// engines are the three NATS servers and the ClickHouse under everything.
type engines struct {
	servers []*server.Server
	ch      *engine.ClickHouse
	nc      *nats.Conn
	js      jetstream.JetStream
	conn    clickhouse.Conn
}

// startEngines starts them and lays out streams, bucket, consumer and tables, as `daybreak init` does where the services
// may not.
func startEngines(t *testing.T) *engines {
	t.Helper()
	e := &engines{servers: startNATS(t)}
	var err error
	e.ch, err = engine.StartClickHouse(t.Context(), engine.CHOptions{
		Dir: t.TempDir(), LibPath: enginetest.LibPath(), Progress: os.Stderr, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(e.ch.Close)
	e.nc, err = nats.Connect(e.addresses(), nats.UserInfo(natsUser, natsPassword), nats.MaxReconnects(-1))
	require.NoError(t, err)
	t.Cleanup(e.nc.Close)
	e.layOut(t)
	return e
}

func (e *engines) layOut(t *testing.T) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	b, err := bus.Open(t.Context(), e.nc, bus.Options{Replicas: replicas, MaxBytesScale: smaller, Logger: quiet})
	require.NoError(t, err)
	e.js = b.JetStream()
	bucket, err := kv.Open(t.Context(), e.js, kv.Options{Bucket: "daybreak", Replicas: replicas, Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, bucket.Close(t.Context()))
	require.NoError(t, recon.New(recon.Options{Bus: b}).Consumer().Ensure(t.Context()))
	opts := e.ch.Options()
	opts.Auth.Database = "daybreak"
	tables, err := store.Open(t.Context(), store.Options{Conn: opts, Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, tables.Close())
	e.conn, err = clickhouse.Open(e.ch.Options())
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.conn.Close() })
	e.exec(t, "CREATE DATABASE bank")
	e.exec(t, "CREATE TABLE bank.pace (seconds Float64, at DateTime64(6) DEFAULT now64(6)) ENGINE = MergeTree ORDER BY at")
	e.pace(t, 0)
}

// pace sets how long the bank behind the job slow thinks about every row.
func (e *engines) pace(t *testing.T, seconds float64) {
	t.Helper()
	e.exec(t, fmt.Sprintf("INSERT INTO bank.pace (seconds) VALUES (%g)", seconds))
}

func (e *engines) exec(t *testing.T, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, e.conn.Exec(ctx, statement), statement)
}

// addresses names all servers.
func (e *engines) addresses() string {
	var out []string
	for _, s := range e.servers {
		out = append(out, s.ClientURL())
	}
	return strings.Join(out, ",")
}

const natsFile = `server_name: %s
listen: 127.0.0.1:-1
jetstream { store_dir: %q, max_file_store: 2GB }
cluster { name: daybreak, listen: "127.0.0.1:%d", routes: [%s] }
accounts {
  DAYBREAK { jetstream: { max_file: ` + quota + ` }, users: [{ user: ` + natsUser + `, password: "` + natsPassword + `" }] }
  SYS { users: [{ user: sys, password: "` + natsPassword + `" }] }
}
system_account: SYS
`

func startNATS(t *testing.T) (out []*server.Server) {
	t.Helper()
	ports := freePorts(t, replicas)
	var routes []string
	for _, p := range ports {
		routes = append(routes, fmt.Sprintf("%q", fmt.Sprintf("nats-route://127.0.0.1:%d", p)))
	}
	for i, port := range ports {
		dir := t.TempDir()
		file := filepath.Join(dir, "nats.conf")
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, natsFile, fmt.Sprintf("nats-%d", i+1), filepath.Join(dir, "js"), port, strings.Join(routes, ", ")), 0o600))
		opts, err := server.ProcessConfigFile(file)
		require.NoError(t, err)
		opts.NoSigs, opts.NoLog = true, true
		s, err := server.NewServer(opts)
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		out = append(out, s)
	}
	require.Eventually(t, func() bool {
		for _, s := range out {
			if !s.ReadyForConnections(time.Second) || !s.JetStreamIsCurrent() {
				return false
			}
		}
		return true
	}, time.Minute, 100*time.Millisecond, "the servers find each other and choose a leader")
	return out
}

func freePorts(t *testing.T, n int) (out []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		at, ok := l.Addr().(*net.TCPAddr)
		require.True(t, ok)
		out = append(out, at.Port)
	}
	return out
}
