package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

const floatAdviceParquet = "a binary float does not hold the digits that were written; write the column as DECIMAL or text"

// readParquet reads one parquet file: the wanted columns only, page by page.
func readParquet(ctx context.Context, in *input, spec Spec, to *sink) (err error) {
	// The library checks much of what a file declares, but not everything it might meet in a damaged one.
	defer func() {
		if p := recover(); p != nil {
			if to.yielding {
				panic(p) // the caller's own
			}
			err = unusable("%s: the parquet data is damaged: %v", in.base(), p)
		}
	}()
	if err := checkParquetFrame(in); err != nil {
		return err
	}
	if err := in.hashAll(); err != nil {
		return err
	}
	f, err := parquet.OpenFile(in.file, in.info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return damagedParquet(in, err)
	}
	columns, err := bindParquet(f, to.plan, spec.TimeFormat)
	if err != nil {
		return unusable("%s: %w", in.base(), err)
	}
	row := &typedRow{Instants: to.instants, file: in.base(), headers: to.plan.headers, cells: make([]cell, len(columns))}
	for _, group := range f.RowGroups() {
		if err := readGroup(ctx, group, columns, row, to); err != nil {
			return damagedParquet(in, err)
		}
	}
	return to.wrong.err()
}

// checkParquetFrame looks at what is around the data, so that a damaged length is not taken for an order of memory.
func checkParquetFrame(in *input) error {
	head, err := in.head(4)
	if err != nil {
		return err
	}
	switch string(head) {
	case "PAR1":
	case "PARE":
		return unusable("%s: the parquet file is encrypted: deliver it plain", in.base())
	case "":
		return unusable("%s: the file is empty: an empty day is a parquet file without rows", in.base())
	default:
		return unusable("%s: the file is not parquet: it begins %q", in.base(), head)
	}
	var end [8]byte
	_, err = in.file.ReadAt(end[:], max(in.info.Size()-int64(len(end)), 0))
	if length := binary.LittleEndian.Uint32(end[:]); err != nil || string(end[4:]) != "PAR1" || int64(length) > in.info.Size()-12 {
		return unusable("%s: the parquet file has no end: it is cut; deliver the whole file again", in.base())
	}
	return nil
}

// damagedParquet marks errors of the data, and passes on those of the caller.
func damagedParquet(in *input, err error) error {
	if s := (*stop)(nil); errors.As(err, &s) {
		return s.err
	}
	return unusable("%s: the parquet data is cut or damaged (%w): deliver the whole file again", in.base(), err)
}

// stop carries an error that is not the file's through the reading.
type stop struct{ err error }

func (s *stop) Error() string { return s.err.Error() }

// parquetColumn is a wanted column of the file.
type parquetColumn struct {
	leaf   int
	decode func(parquet.Value) cell
}

func bindParquet(f *parquet.File, p *plan, format string) ([]parquetColumn, error) {
	all := f.Root().Columns()
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name()
	}
	at, err := p.bind(names)
	if err != nil {
		return nil, err
	}
	columns, types := make([]parquetColumn, len(at)), make([]columnType, len(at))
	for slot, i := range at {
		c := all[i]
		if !c.Leaf() || c.Repeated() {
			types[slot] = columnType{name: "nested or repeated"}
			continue
		}
		types[slot], columns[slot].decode = parquetType(c.Type())
		columns[slot].leaf = c.Index()
	}
	return columns, p.checkTypes(types, format, floatAdviceParquet)
}

// readGroup walks the wanted columns of a row group side by side.
func readGroup(ctx context.Context, group parquet.RowGroup, columns []parquetColumn, row *typedRow, to *sink) error {
	chunks := group.ColumnChunks()
	cursors := make([]*cursor, len(columns))
	for i, c := range columns {
		cursors[i] = &cursor{pages: chunks[c.leaf].Pages()}
		defer cursors[i].close()
	}
	for n := group.NumRows(); n > 0; n-- {
		for i, c := range columns {
			v, err := cursors[i].next()
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("column %q holds fewer values than the %d rows of its group", row.headers[i], group.NumRows())
			}
			if err != nil {
				return err
			}
			row.cells[i] = cell{null: true}
			if !v.IsNull() {
				row.cells[i] = c.decode(v)
			}
		}
		row.line++
		if err := to.take(ctx, row, row.line); err != nil {
			return &stop{err}
		}
	}
	for i, c := range cursors {
		if _, err := c.next(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("column %q holds more values than the %d rows of its group", row.headers[i], group.NumRows())
		}
	}
	return nil
}

// cursor gives the values of one flat column chunk one by one, holding one page.
type cursor struct {
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [256]parquet.Value
	at, n  int
}

func (c *cursor) next() (parquet.Value, error) {
	for c.at == c.n {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return parquet.Value{}, err
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buf[:])
		c.at, c.n = 0, n
		switch {
		case err == nil, errors.Is(err, io.EOF) && n > 0:
		case errors.Is(err, io.EOF):
			c.release()
		default:
			return parquet.Value{}, err
		}
	}
	v := c.buf[c.at]
	c.at++
	return v, nil
}

func (c *cursor) release() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.values = nil, nil
}

func (c *cursor) close() {
	c.release()
	_ = c.pages.Close()
}
