package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// tableRowsMax bounds what a table holds: its widths are known only when its last row is.
const tableRowsMax = 10_000

// cellWidthMax wraps longer texts, such as errors, inside their column.
const cellWidthMax = 60

// tableRows are the rows of a table until it is drawn.
type tableRows struct {
	kept []table.Row
	used []bool // by column: some row has something in it
}

func (r *rows) addTable(cells []cell) error {
	if r.live {
		return r.addLive(cells)
	}
	if r.n > tableRowsMax {
		return nil
	}
	if r.table.used == nil {
		r.table.used = make([]bool, len(r.columns))
	}
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = visible(c.text)
		r.table.used[i] = r.table.used[i] || c.text != ""
	}
	r.table.kept = append(r.table.kept, row)
	return nil
}

// renderTable draws the table. It uses no colour, so NO_COLOR has nothing to switch off.
func (r *rows) renderTable() error {
	if r.n == 0 {
		return nil
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options = table.Options{SeparateColumns: true, SeparateHeader: true}
	t.Style().Box.PaddingRight = " "
	t.SuppressTrailingSpaces()
	header := make(table.Row, len(r.columns))
	configs := make([]table.ColumnConfig, len(r.columns))
	for i, c := range r.columns {
		header[i] = c.name
		configs[i] = table.ColumnConfig{
			Number: i + 1, Hidden: c.optional && !r.table.used[i], Align: alignOf(c.kind), AlignHeader: alignOf(c.kind),
		}
		if c.kind == outside {
			configs[i].WidthMax, configs[i].WidthMaxEnforcer = cellWidthMax, text.WrapSoft
		}
	}
	t.AppendHeader(header)
	t.AppendRows(r.table.kept)
	t.SetColumnConfigs(configs)
	if r.n > tableRowsMax {
		fmt.Fprintf(r.notes, "only the first %d of %d rows are shown as a table; --format ndjson or csv prints all\n", tableRowsMax, r.n)
	}
	return r.text(t.Render() + "\n")
}

func alignOf(kind columnKind) text.Align {
	if kind == number || kind == money {
		return text.AlignRight
	}
	return text.AlignLeft
}

// liveWidth is the least width of a column whose rows are shown as they come.
const liveWidth = 10

// addLive prints a row at once; wider cells push the others to the right.
func (r *rows) addLive(cells []cell) error {
	if r.n == 1 {
		names := make([]cell, len(r.columns))
		for i, c := range r.columns {
			names[i] = cell{text: c.name}
		}
		if err := r.liveLine(names); err != nil {
			return err
		}
	}
	return r.liveLine(cells)
}

func (r *rows) liveLine(cells []cell) error {
	var b strings.Builder
	for i, c := range cells {
		fmt.Fprintf(&b, "%-*s ", max(liveWidth, r.columns[i].width), visible(c.text))
	}
	return r.text(strings.TrimRight(b.String(), " ") + "\n")
}

// visible shows control characters and what else cannot be seen as escapes: a key of a bill must not move the cursor of
// the terminal that it is shown on. Line breaks of errors stay.
func visible(s string) string {
	if strings.IndexFunc(s, unseen) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unseen(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unseen(r rune) bool { return r != ' ' && r != '\n' && !unicode.IsPrint(r) }
