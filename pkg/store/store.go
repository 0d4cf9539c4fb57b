package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jonboulle/clockwork"
)

// Options say where the tables are.
type Options struct {
	// Conn reaches the server. The database it names is created when it does not exist.
	Conn *clickhouse.Options
	// Cluster names a cluster of one shard whose replicas hold the tables; "" is one server.
	Cluster string
	// Prepared says that the tables were laid out by somebody with the right to do so: the layout is looked at and never
	// changed.
	Prepared bool
	// Clock stamps the schema version; nil is the real clock.
	Clock clockwork.Clock
	// Logger takes what is worth a look but is no error; nil is [slog.Default].
	Logger *slog.Logger
}

// Store reads and writes the tables. It is safe for concurrent use.
type Store struct {
	conn  driver.Conn
	clock clockwork.Clock
	log   *slog.Logger
}

// connectionsMax lets every landing, compare and reader of a process have its own connection at the same time.
const connectionsMax = 64

// Open connects, lays out what is missing and returns the store. It fails with [ErrSchemaNewer] when a newer program
// has laid out the tables.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Conn == nil {
		return nil, errors.New("store: no connection options")
	}
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	reach := connect
	if o.Prepared {
		reach = open
	}
	conn, err := reach(ctx, guarded(o.Conn, o.Cluster))
	if ex, ok := errors.AsType[*clickhouse.Exception](err); ok && ex.Code == codeUnknownDatabase {
		err = fmt.Errorf("%w: %w", ErrNotLaidOut, err)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s := &Store{conn: conn, clock: o.Clock, log: cmp.Or(o.Logger, slog.Default())}
	if err := s.layOut(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), conn.Close())
	}
	return s, nil
}

// Conn is the connection, for reads that are not of this package (query sources, the auditor).
func (s *Store) Conn() driver.Conn { return s.conn }

// Close closes the connection.
func (s *Store) Close() error { return s.conn.Close() }

// guarded copies the options and adds the settings without which results could be wrong: inserts are synchronous and
// deduplicated by token, joins fill with defaults, decimal overflow is an error and, on a cluster, a majority of the
// replicas has an insert before it counts.
func guarded(o *clickhouse.Options, cluster string) *clickhouse.Options {
	c := *o
	c.Settings = clickhouse.Settings{}
	maps.Copy(c.Settings, o.Settings)
	maps.Copy(c.Settings, clickhouse.Settings{
		"async_insert":           0,
		"insert_deduplicate":     1,
		"join_use_nulls":         0,
		"decimal_check_overflow": 1,
	})
	if cluster != "" {
		c.Settings["insert_quorum"] = "auto"
		c.Settings["insert_quorum_parallel"] = 1
		c.Settings["distributed_ddl_output_mode"] = "throw"
	}
	c.MaxOpenConns = cmp.Or(c.MaxOpenConns, connectionsMax)
	return &c
}

const codeUnknownDatabase = 81

// connect opens the connection and creates the database when the server does not know it.
func connect(ctx context.Context, o *clickhouse.Options) (driver.Conn, error) {
	conn, err := open(ctx, o)
	var ex *clickhouse.Exception
	if !errors.As(err, &ex) || ex.Code != codeUnknownDatabase || o.Auth.Database == "" {
		return conn, err
	}
	outside := *o
	outside.Auth.Database = ""
	admin, err := open(ctx, &outside)
	if err != nil {
		return nil, err
	}
	err = admin.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quoteName(o.Auth.Database))
	if err := errors.Join(err, admin.Close()); err != nil {
		return nil, fmt.Errorf("create the database: %w", err)
	}
	return open(ctx, o)
}

func open(ctx context.Context, o *clickhouse.Options) (driver.Conn, error) {
	raw, err := clickhouse.Open(o)
	if err != nil {
		return nil, err
	}
	conn := plainConn{raw}
	if err := conn.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect: %w", err), conn.Close())
	}
	return conn, nil
}
