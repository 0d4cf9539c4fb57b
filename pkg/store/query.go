package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/model"
)

// params are server parameters: {name:Type} in a statement. No value is ever written into the text of one.
type params map[string]any

func (p params) args() []any {
	var out []any
	for name, v := range p {
		out = append(out, clickhouse.Named(name, v))
	}
	return out
}

// each runs a query and hands every row to scan as it arrives. When scan fails, the rest of the answer is dropped on the
// server too.
func (s *Store) each(ctx context.Context, query string, p params, scan func(driver.Rows) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := s.conn.Query(inner, query, p.args()...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			cancel() // else Close reads the answer to its end
			_ = rows.Close()
			return err
		}
	}
	return errors.Join(ctx.Err(), rows.Close(), rows.Err())
}

// one scans the only row of a query.
func (s *Store) one(ctx context.Context, query string, p params, dest ...any) error {
	return s.conn.QueryRow(ctx, query, p.args()...).Scan(dest...)
}

var errStop = errors.New("the reader has seen enough")

// sequence turns a function that hands out values into an iterator. An error is its last element.
func sequence[T any](run func(yield func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := run(func(v T) error {
			if !yield(v, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			var none T
			yield(none, err)
		}
	}
}

// column is a named slice with one value per row.
type column struct {
	name   string
	values any
}

// insert sends the rows as one block under a deduplication token. When the connection breaks, it is tried once more: the
// token makes the server drop the block if the first attempt had arrived. An answer of the server is final.
func (s *Store) insert(ctx context.Context, table, token string, columns []column) error {
	err := s.send(ctx, table, token, columns)
	var answer *clickhouse.Exception
	if err != nil && ctx.Err() == nil && !errors.As(err, &answer) && !errors.Is(err, errAppend) {
		err = s.send(ctx, table, token, columns)
	}
	if err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}

var errAppend = errors.New("the client does not take the values")

func (s *Store) send(ctx context.Context, table, token string, columns []column) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = quoteName(c.name)
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": token}))
	batch, err := s.conn.PrepareBatch(ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+")")
	if err != nil {
		return err
	}
	for i, c := range columns {
		if err := batch.Column(i).Append(c.values); err != nil {
			return errors.Join(fmt.Errorf("column %s: %w: %w", c.name, errAppend, err), batch.Abort())
		}
	}
	return batch.Send()
}

// collect makes a column's slice from the rows.
func collect[R, V any](rows []R, value func(*R) V) []V {
	out := make([]V, len(rows))
	for i := range rows {
		out[i] = value(&rows[i])
	}
	return out
}

// constant makes a column's slice of one value.
func constant[V any](n int, v V) []V {
	out := make([]V, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func batchParams(job string, day model.Day) params {
	return params{"job": job, "day": day.String()}
}

func runParams(job string, day model.Day, runID string) params {
	return params{"job": job, "day": day.String(), "run": runID}
}

// ofRun selects the rows of one run; with the prefix of the sort key it reads only that batch.
const ofRun = `job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String}`

const ofBatch = `job = {job:String} AND biz_date = {day:Date}`
