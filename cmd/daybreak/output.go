package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// The formats in which rows are printed.
const (
	formatTable  = "table"
	formatJSON   = "json"
	formatNDJSON = "ndjson"
	formatCSV    = "csv"
)

var formats = []string{formatTable, formatJSON, formatNDJSON, formatCSV}

// columnKind says what a column holds, which decides how it is aligned and what must be made harmless.
type columnKind int

const (
	plain   columnKind = iota // text that this program makes: ids, dates, states
	outside                   // text that others wrote: keys, notes, errors
	number                    // counts and sequences, numbers in JSON
	money                     // exact amounts, decimal text in JSON
)

// column is a named column of rows. A table leaves an optional one out where every row is empty in it.
type column struct {
	name     string
	kind     columnKind
	optional bool
	width    int // of rows that are shown as they come
}

// rows prints rows with named columns to standard output in the chosen format. Nothing but tables is held in memory.
// Whoever makes it calls end after the last row; without it a JSON array stays open, so that a result which was cut
// short cannot be taken for a whole one.
type rows struct {
	format  string
	columns []column
	out     *bufio.Writer
	live    bool // every row is shown as it comes
	n       int
	table   tableRows
	notes   io.Writer
}

const rowsBuffer = 64 << 10

// checkFormat refuses a format that is not known.
func (c *cli) checkFormat() error {
	if c.flags.format == "" || slices.Contains(formats, c.flags.format) {
		return nil
	}
	return usage(fmt.Errorf("--format %q: want %s", c.flags.format, strings.Join(formats, ", ")))
}

// formatOf is the chosen format: a table for people, lines of JSON for programs.
func (c *cli) formatOf() string {
	switch {
	case c.flags.format != "":
		return c.flags.format
	case terminal(c.stdout):
		return formatTable
	}
	return formatNDJSON
}

// rows begins rows.
func (c *cli) rows(columns ...column) *rows {
	return &rows{format: c.formatOf(), columns: columns, out: bufio.NewWriterSize(c.stdout, rowsBuffer), notes: c.stderr}
}

// add prints one row: one value per column. nil, zero instants, absent days and absent amounts are null.
func (r *rows) add(values ...any) error {
	if len(values) != len(r.columns) {
		return fmt.Errorf("a row of %d values for %d columns", len(values), len(r.columns))
	}
	cells := make([]cell, len(values))
	for i, v := range values {
		cells[i] = cellOf(v)
	}
	r.n++
	var err error
	switch r.format {
	case formatTable:
		err = r.addTable(cells)
	case formatCSV:
		err = r.addCSV(cells)
	case formatJSON:
		if err = r.text(openOrComma(r.n)); err == nil {
			err = r.addJSON(cells)
		}
	default:
		if err = r.addJSON(cells); err == nil {
			err = r.text("\n")
		}
	}
	if err == nil && r.live {
		err = r.out.Flush()
	}
	return err
}

func openOrComma(n int) string {
	if n == 1 {
		return "[\n"
	}
	return ",\n"
}

// end prints what is left.
func (r *rows) end() error {
	var err error
	switch {
	case r.format == formatTable && !r.live:
		err = r.renderTable()
	case r.format == formatCSV && r.n == 0:
		err = r.header()
	case r.format == formatJSON && r.n == 0:
		err = r.text("[]\n")
	case r.format == formatJSON:
		err = r.text("\n]\n")
	}
	if err != nil {
		return err
	}
	return r.out.Flush()
}

func (r *rows) text(s string) error {
	_, err := r.out.WriteString(s)
	return err
}

// raw prints an object that is JSON already, as a row of json or ndjson.
func (r *rows) raw(object []byte) error {
	r.n++
	if r.format == formatJSON {
		if err := r.text(openOrComma(r.n)); err != nil {
			return err
		}
	}
	if _, err := r.out.Write(object); err != nil {
		return err
	}
	if r.format == formatJSON {
		return nil
	}
	if err := r.text("\n"); err != nil || !r.live {
		return err
	}
	return r.out.Flush()
}

// addJSON prints one object with the columns in their order.
func (r *rows) addJSON(cells []cell) error {
	line := []byte{'{'}
	for i, c := range cells {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(strconv.AppendQuote(line, r.columns[i].name), ':')
		line = append(line, c.json...)
	}
	_, err := r.out.Write(append(line, '}'))
	return err
}

// cell is one value as text and as JSON. The text of null is empty.
type cell struct {
	text string
	json []byte
}

var null = []byte("null")

// cellOf turns a value into text and JSON. Amounts stay exact decimal text in both.
func cellOf(v any) cell {
	switch v := v.(type) {
	case nil:
		return cell{json: null}
	case string:
		return cell{v, quoted(v)}
	case bool:
		return literal(strconv.FormatBool(v))
	case int:
		return literal(strconv.Itoa(v))
	case uint64:
		return literal(strconv.FormatUint(v, 10))
	case []string:
		return cell{strings.Join(v, ","), quoted(append([]string{}, v...))}
	case time.Time:
		if v.IsZero() {
			return cell{json: null}
		}
		return textCell(v.UTC().Format(time.RFC3339Nano))
	case *time.Time:
		if v == nil {
			return cell{json: null}
		}
		return cellOf(*v)
	case *model.Day:
		if v == nil {
			return cell{json: null}
		}
		return textCell(v.String())
	case decimal.Decimal:
		return textCell(v.String())
	case decimal.NullDecimal:
		if !v.Valid {
			return cell{json: null}
		}
		return textCell(v.Decimal.String())
	}
	return textCell(fmt.Sprint(v))
}

func literal(s string) cell  { return cell{s, []byte(s)} }
func textCell(s string) cell { return cell{s, quoted(s)} }

// quoted is JSON without the escapes that are only of use inside HTML.
func quoted(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return null // text always encodes
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// orNull is the value, or null when it is the zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func textsOf[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = string(v)
	}
	return out
}
