// Package enginetest gives tests the real engines.
//
// A test binary has one ClickHouse child, started when the first test asks for
// it, and every call gets a database of its own in it. NATS costs milliseconds,
// so every call gets a server of its own. A package that uses either calls Main
// from its TestMain, because the ClickHouse child is the test binary itself:
//
//	func TestMain(m *testing.M) { enginetest.Main(m) }
//
// A missing library fails the test; it is never skipped.
package enginetest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.uber.org/goleak"

	"daybreak/pkg/engine"
)

// Main runs the tests and stops what they shared. It does not return.
func Main(m *testing.M) {
	engine.RunChildIfAsked()
	code := m.Run()
	shared.stop()
	os.Exit(code)
}

// MainNoLeaks is Main and fails when goroutines are left after the tests.
func MainNoLeaks(m *testing.M, opts ...goleak.Option) {
	engine.RunChildIfAsked()
	code := m.Run()
	shared.stop()
	if code == 0 {
		if err := goleak.Find(opts...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var shared sharedEngine

type sharedEngine struct {
	mu  sync.Mutex
	ch  *engine.ClickHouse
	dir string
	err error
	dbs atomic.Int64
}

func (s *sharedEngine) get() (*engine.ClickHouse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil || s.err != nil {
		return s.ch, s.err
	}
	if s.dir, s.err = os.MkdirTemp("", "daybreak-test-"); s.err != nil {
		return nil, s.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	s.ch, s.err = engine.StartClickHouse(ctx, engine.CHOptions{
		Dir: s.dir, LibPath: LibPath(), Progress: os.Stderr, Logger: slog.New(slog.DiscardHandler),
	})
	return s.ch, s.err
}

func (s *sharedEngine) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		s.ch.Close()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// LibPath is the library that the environment names, or empty for the cache.
func LibPath() string { return os.Getenv("CHDB_LIB_PATH") }

// Engine gives the shared ClickHouse.
func Engine(t testing.TB) *engine.ClickHouse {
	t.Helper()
	ch, err := shared.get()
	if err != nil {
		t.Fatalf("no embedded ClickHouse: %v\nbring the library with: %s", err, engine.InstallCommand())
	}
	return ch
}

// ClickHouse gives the options of a fresh database in the shared engine; the
// database is dropped when the test ends.
func ClickHouse(t testing.TB) *clickhouse.Options {
	t.Helper()
	ch := Engine(t)
	name := fmt.Sprintf("test_%d", shared.dbs.Add(1))
	admin(t, ch, "CREATE DATABASE "+name)
	t.Cleanup(func() { admin(t, ch, "DROP DATABASE IF EXISTS "+name+" SYNC") })
	opt := ch.Options()
	opt.Auth.Database = name
	return opt
}

func admin(t testing.TB, ch *engine.ClickHouse, sql string) {
	t.Helper()
	conn, err := clickhouse.Open(ch.Options())
	if err == nil {
		defer func() { _ = conn.Close() }()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = conn.Exec(ctx, sql)
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// NATS gives a fresh embedded server with storage in the test's own folder,
// closed when the test ends.
func NATS(t testing.TB) *engine.NATS {
	t.Helper()
	n, err := engine.StartNATS(context.Background(), engine.NATSOptions{
		Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}
