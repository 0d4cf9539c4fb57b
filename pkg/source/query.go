package source

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/model"
)

const (
	queryName        = "query"
	floatAdviceQuery = "a binary float does not hold the digits that were written; keep the column exact, for example toDecimal64(x, 2) over text, or select it as text"

	codeFileDoesNotExist = 107 // of ClickHouse, FILE_DOESNT_EXIST
)

// querySource runs one SELECT in ClickHouse.
type querySource struct {
	spec Spec
	conn func(context.Context) (driver.Conn, error)
}

// Peek says that a query is always there: only asking it shows what it reads.
func (s *querySource) Peek(context.Context, Request) (string, error) { return "", nil }

func (s *querySource) Read(ctx context.Context, req Request, yield func(model.Entry) error) (model.Seal, error) {
	to, err := newSink(s.spec, req, yield)
	if err != nil {
		return model.Seal{}, err
	}
	to.begin(queryName)
	conn, err := s.conn(ctx)
	if err != nil {
		return model.Seal{}, fmt.Errorf("query: %w", err)
	}
	rows, err := conn.Query(queryContext(ctx, req), s.spec.Query.SQL)
	if err != nil {
		return model.Seal{}, s.refused(err)
	}
	defer func() { _ = rows.Close() }()
	answer, err := bindQuery(rows, to, s.spec.TimeFormat)
	if len(rows.ColumnTypes()) == 0 { // no row, and a server that then sends no header either
		answer, err = s.bindNothing(ctx, conn, req, to)
	}
	if err != nil {
		return model.Seal{}, err
	}
	if err := answer.read(ctx, rows, to); err != nil {
		return model.Seal{}, err
	}
	if err := rows.Err(); err != nil {
		return model.Seal{}, s.refused(err)
	}
	if err := to.wrong.err(); err != nil {
		return model.Seal{}, err
	}
	to.seal.Sources = []model.FileSeal{answer.digest.seal(to.rows)}
	return to.sealed(), nil
}

// queryContext hands over the day. Instants go as epoch seconds, which mean the same whatever the server's zone is.
// readonly 2 lets a query read through table functions and change settings, and write nothing.
func queryContext(ctx context.Context, req Request) context.Context {
	instant := func(t time.Time) string {
		ms := t.UnixMilli()
		return fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
	}
	return clickhouse.Context(ctx,
		clickhouse.WithParameters(clickhouse.Parameters{"date": req.Day.String(), "from": instant(req.From), "to": instant(req.To)}),
		clickhouse.WithSettings(clickhouse.Settings{"readonly": 2}))
}

// refused explains an error of the server. A missing file is waited for only where it can mean nothing else: the server
// says that a file does not exist and the query reads one by file().
func (s *querySource) refused(err error) error {
	var ex *clickhouse.Exception
	if !errors.As(err, &ex) {
		return fmt.Errorf("query: %w", err)
	}
	words, _ := sqlWords(s.spec.Query.SQL)
	for i, w := range words {
		if ex.Code == codeFileDoesNotExist && strings.EqualFold(w, "file") && i+1 < len(words) && words[i+1] == "(" {
			return fmt.Errorf("query: %s: %w", ex.Message, ErrNotThere)
		}
	}
	return fmt.Errorf("query: %w", err)
}

// answer is the result of the query, row by row.
type answer struct {
	row    *typedRow
	dest   []any // one pointer a column of the result
	at     []int // slot to column
	types  []columnType
	digest rowDigest
}

func bindQuery(rows driver.Rows, to *sink, format string) (*answer, error) {
	columns := rows.ColumnTypes()
	names, types := make([]string, len(columns)), make([]string, len(columns))
	dest := make([]any, len(columns))
	for i, c := range columns {
		names[i], types[i] = c.Name(), c.DatabaseTypeName()
		dest[i] = reflect.New(c.ScanType()).Interface()
	}
	a, err := bindColumns(names, types, to, format)
	if err == nil {
		a.dest = dest
	}
	return a, err
}

// bindNothing binds an answer without rows: a day without payments is a day, and a query that would not fit is told on
// such a day as on any other.
func (s *querySource) bindNothing(ctx context.Context, conn driver.Conn, req Request, to *sink) (*answer, error) {
	sql := strings.TrimRight(strings.TrimSpace(s.spec.Query.SQL), ";")
	rows, err := conn.Query(queryContext(ctx, req), "DESCRIBE TABLE ("+sql+"\n)")
	if err != nil {
		return nil, s.refused(err)
	}
	defer func() { _ = rows.Close() }()
	var names, types []string
	for rows.Next() {
		dest := make([]any, len(rows.ColumnTypes()))
		for i := range dest {
			dest[i] = new(string)
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, fmt.Errorf("query: its columns: %w", err)
		}
		names, types = append(names, *dest[0].(*string)), append(types, *dest[1].(*string))
	}
	if err := rows.Err(); err != nil {
		return nil, s.refused(err)
	}
	return bindColumns(names, types, to, s.spec.TimeFormat)
}

func bindColumns(names, types []string, to *sink, format string) (*answer, error) {
	a := &answer{digest: rowDigest{hash: sha256.New()}}
	var err error
	if a.at, err = to.plan.bind(names); err != nil {
		return nil, unusable("query: %w", err)
	}
	for _, i := range a.at {
		a.types = append(a.types, queryType(types[i]))
	}
	if err := to.plan.checkTypes(a.types, format, floatAdviceQuery); err != nil {
		return nil, unusable("query: %w", err)
	}
	a.row = &typedRow{Instants: to.instants, file: queryName, headers: to.plan.headers, cells: make([]cell, len(a.at))}
	return a, nil
}

func (a *answer) read(ctx context.Context, rows driver.Rows, to *sink) error {
	for rows.Next() {
		if err := rows.Scan(a.dest...); err != nil {
			return fmt.Errorf("query: row %d: %w", a.row.line+1, err)
		}
		a.row.line++
		for slot, i := range a.at {
			c, err := queryCell(a.types[slot], reflect.ValueOf(a.dest[i]).Elem())
			if err != nil {
				return unusable("query:%d:%s: %w", a.row.line, a.row.headers[slot], err)
			}
			a.row.cells[slot] = c
		}
		a.digest.add(a.row)
		if err := to.take(ctx, a.row, a.row.line); err != nil {
			return err
		}
	}
	return nil
}

// rowDigest is a fingerprint of a set of rows that does not depend on their order, which a server does not promise: the
// sum of the rows' hashes.
type rowDigest struct {
	hash  hash.Hash
	sum   [4]uint64
	bytes int64
}

func (d *rowDigest) add(r *typedRow) {
	d.hash.Reset()
	for slot := range r.cells {
		text, _ := r.text(slot)
		null := byte('v')
		if r.cells[slot].null {
			null = 'n'
		}
		_, _ = fmt.Fprintf(d.hash, "%c%d:%s", null, len(text), text)
		d.bytes += int64(len(text))
	}
	var carry uint64
	row := d.hash.Sum(nil)
	for i := range d.sum {
		d.sum[i], carry = bits.Add64(d.sum[i], binary.LittleEndian.Uint64(row[i*8:]), carry)
	}
}

// seal names the answer; its bytes are those of the values as text.
func (d *rowDigest) seal(rows uint64) model.FileSeal {
	h := sha256.New()
	_, _ = h.Write([]byte(strconv.FormatUint(rows, 10)))
	for _, v := range d.sum {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, v))
	}
	return model.FileSeal{Name: queryName, Bytes: d.bytes, SHA256: hex.EncodeToString(h.Sum(nil)), Rows: rows}
}
