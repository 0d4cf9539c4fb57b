package store

import (
	"context"
	"regexp"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// plainConn makes errors of the HTTP transport fit for people: findings, events and pages carry them, and the transport
// repeats the whole address of a request in them, user name and settings included.
type plainConn struct{ driver.Conn }

var address = regexp.MustCompile(`"(https?://)(?:[^/"@]*@)?([^/?"]+)[^"]*"`)

// plainError says what its cause says, with the addresses shortened to scheme and host.
type plainError struct{ cause error }

func (e plainError) Error() string { return address.ReplaceAllString(e.cause.Error(), `"$1$2"`) }
func (e plainError) Unwrap() error { return e.cause }

func plain(err error) error {
	if err == nil || !address.MatchString(err.Error()) {
		return err
	}
	return plainError{err}
}

func (c plainConn) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	rows, err := c.Conn.Query(ctx, query, args...)
	if err != nil {
		return nil, plain(err)
	}
	return plainRows{rows}, nil
}

func (c plainConn) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	return plainRow{c.Conn.QueryRow(ctx, query, args...)}
}

func (c plainConn) Exec(ctx context.Context, query string, args ...any) error {
	return plain(c.Conn.Exec(ctx, query, args...))
}

func (c plainConn) Select(ctx context.Context, dest any, query string, args ...any) error {
	return plain(c.Conn.Select(ctx, dest, query, args...))
}

func (c plainConn) Ping(ctx context.Context) error { return plain(c.Conn.Ping(ctx)) }

func (c plainConn) PrepareBatch(ctx context.Context, query string, opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	b, err := c.Conn.PrepareBatch(ctx, query, opts...)
	if err != nil {
		return nil, plain(err)
	}
	return plainBatch{b}, nil
}

type plainRows struct{ driver.Rows }

func (r plainRows) Err() error   { return plain(r.Rows.Err()) }
func (r plainRows) Close() error { return plain(r.Rows.Close()) }

type plainRow struct{ driver.Row }

func (r plainRow) Err() error             { return plain(r.Row.Err()) }
func (r plainRow) Scan(dest ...any) error { return plain(r.Row.Scan(dest...)) }

type plainBatch struct{ driver.Batch }

func (b plainBatch) Send() error  { return plain(b.Batch.Send()) }
func (b plainBatch) Flush() error { return plain(b.Batch.Flush()) }
