package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/text"
	"daybreak/pkg/source/xlsx"
)

// xlsxRow is the row of the sheet that the reader stands on.
type xlsxRow struct {
	text.Instants
	file, sheet string
	book        *xlsx.Book
	rows        *xlsx.Rows
	plan        *plan
	idents      []bool // by slot: what it holds identifies
	head        int    // the row of the header
	at          []int  // slot to column
	slots       []int  // column to slot, -1 for those that are not wanted
	cells       []xlsx.Cell
	line        int
}

func newXLSXRow(file, sheet string, book *xlsx.Book, rows *xlsx.Rows, to *sink) *xlsxRow {
	p := to.plan
	r := &xlsxRow{Instants: to.instants, file: file, sheet: sheet, book: book, rows: rows, plan: p}
	r.idents, r.cells = make([]bool, len(p.headers)), make([]xlsx.Cell, len(p.headers))
	identifies := func(f ref) {
		if f.slot >= 0 {
			r.idents[f.slot] = true
		}
	}
	identifies(p.key)
	identifies(p.id)
	for _, a := range p.attrs {
		if a.inKey {
			identifies(a.ref)
		}
	}
	return r
}

// header finds the wanted columns in the first row after those that are skipped.
func (r *xlsxRow) header(skip int) error {
	for {
		cells, err := r.rows.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("there is no header row")
		}
		if err != nil {
			return damagedWorkbook(err)
		}
		if r.line = r.rows.Row(); r.line <= skip {
			continue
		}
		if r.line > skip+1 {
			return &text.Error{Line: skip + 1, Msg: fmt.Sprintf("the row of the header is blank: say with skip how many rows are before it; the next row that is not is %d", r.line)}
		}
		return r.bind(cells)
	}
}

func (r *xlsxRow) bind(cells []xlsx.Cell) error {
	r.head = r.line
	var names []string
	for _, c := range cells {
		for len(names) < c.Column-1 {
			names = append(names, "")
		}
		names = append(names, strings.TrimSpace(strings.Trim(c.Text(), "\uFEFF")))
	}
	at, err := r.plan.bind(names)
	if err != nil {
		return &text.Error{Line: r.line, Msg: err.Error()}
	}
	r.slots = slices.Repeat([]int{-1}, len(names)+1)
	for slot, i := range at {
		r.at = append(r.at, i+1)
		r.slots[i+1] = slot
	}
	return nil
}

// all gives every row to the sink and then reports what was wrong with them.
func (r *xlsxRow) all(ctx context.Context, to *sink) error {
	for {
		cells, err := r.rows.Next()
		if errors.Is(err, io.EOF) {
			r.merged(to.wrong)
			return to.wrong.err()
		}
		if err != nil {
			return errors.Join(to.wrong.err(), r.wrap(damagedWorkbook(err)))
		}
		if n := r.rows.Row(); n > r.line+1 {
			to.wrong.add(func() string { return placeIn(r.file, r.sheet, r.line+1, 0) },
				fmt.Errorf("the row is blank, but row %d is not: remove blank rows between rows, and what is below the table", n))
		}
		r.line = r.rows.Row()
		r.take(cells)
		if err := to.take(ctx, r, uint64(r.line)); err != nil { //nolint:gosec // rows are positive
			return err
		}
	}
}

// take keeps the cells of the wanted columns.
func (r *xlsxRow) take(cells []xlsx.Cell) {
	clear(r.cells) // a column of 0: no cell
	for _, c := range cells {
		if c.Column < len(r.slots) && r.slots[c.Column] >= 0 {
			r.cells[r.slots[c.Column]] = c
		}
	}
}

// merged notes cells of wanted columns that are merged: all but one of their rows or columns look empty.
func (r *xlsxRow) merged(wrong *problems) {
	for _, m := range r.rows.Merged() {
		if m.ToRow <= r.head || m.FromRow > r.line {
			continue
		}
		for _, column := range r.at {
			if column >= m.FromColumn && column <= m.ToColumn {
				wrong.add(func() string { return placeIn(r.file, r.sheet, m.FromRow, m.FromColumn) },
					fmt.Errorf("the cells %s to %s are merged, so all but the first look empty: undo the merge",
						xlsx.CellName(m.FromRow, m.FromColumn), xlsx.CellName(m.ToRow, m.ToColumn)))
				break
			}
		}
	}
}

// wrap puts the file, the sheet and the row when known, before an error of reading.
func (r *xlsxRow) wrap(err error) error {
	if te := (*text.Error)(nil); errors.As(err, &te) {
		return unusable("%s: %s", placeIn(r.file, r.sheet, te.Line, 0), te.Msg)
	}
	return unusable("%s: %w", placeIn(r.file, r.sheet, 0, 0), err)
}

func (r *xlsxRow) place(slot int) string {
	column := 0
	if slot >= 0 {
		column = r.at[slot]
	}
	return placeIn(r.file, r.sheet, r.line, column)
}

// cell returns the cell of a slot; there is none when it is empty. What no value can be made of is an error.
func (r *xlsxRow) cell(slot int) (c xlsx.Cell, there bool, err error) {
	c = r.cells[slot]
	switch {
	case c.Column == 0:
		return c, false, nil
	case c.Kind == xlsx.Failed:
		return c, false, fmt.Errorf("the cell holds the error %s: mend the sheet", text.Clip(c.Text(), 20))
	case c.Kind == xlsx.NoValue:
		return c, false, errors.New("the result of the cell's formula is not stored: open the workbook in Excel and save it, or write values")
	}
	return c, true, nil
}

func (r *xlsxRow) text(slot int) (string, error) {
	c, there, err := r.cell(slot)
	if !there || err != nil {
		return "", err
	}
	if r.idents[slot] {
		return identOf(c)
	}
	switch c.Kind {
	case xlsx.Number:
		return plainNumber(c.Text())
	case xlsx.Date:
		at, dayOnly, err := r.book.Wall(c)
		if dayOnly {
			return at.Format(dayLayout), err
		}
		return at.Format("2006-01-02 15:04:05"), err
	case xlsx.Bool:
		return strconv.FormatBool(c.Text() != "0"), nil
	case xlsx.Text, xlsx.ISODate, xlsx.Failed, xlsx.NoValue:
	}
	return c.Text(), nil
}

// identOf is text that identifies. Of a number it is the digits, as far as a spreadsheet keeps them.
func identOf(c xlsx.Cell) (string, error) {
	switch c.Kind {
	case xlsx.Number:
		s, err := plainNumber(c.Text())
		if err == nil && strings.Contains(s, ".") {
			err = fmt.Errorf("%q is a number with a fraction and cannot identify: write the column as text", s)
		}
		return s, err
	case xlsx.Date, xlsx.ISODate:
		return "", errors.New("the cell is a date and cannot identify: a spreadsheet makes dates of what looks like one; write the column as text")
	case xlsx.Bool:
		return "", errors.New("the cell is true or false and cannot identify: write the column as text")
	case xlsx.Text, xlsx.Failed, xlsx.NoValue:
	}
	return c.Text(), nil
}

// digitsKept is how many digits of a number a spreadsheet keeps; those behind them are zeros or the rest of a binary fraction.
const digitsKept = 15

// plainNumber returns the text of a number as it is stored, when all its digits are those that were written.
func plainNumber(s string) (string, error) {
	digits := strings.TrimPrefix(s, "-")
	whole, frac, point := strings.Cut(digits, ".")
	switch {
	case strings.ContainsAny(s, "eE"):
		return "", fmt.Errorf("the number is stored as %s, with an exponent: write the column as text, or export the sheet as CSV", text.Clip(s, 40))
	case whole == "" || point && frac == "" || strings.Trim(whole+frac, "0123456789") != "":
		return "", fmt.Errorf("the cell holds %q as a number, which is none", text.Clip(s, 40))
	case len(strings.TrimLeft(whole+frac, "0")) > digitsKept:
		return "", fmt.Errorf("the number is stored as %s: a spreadsheet keeps %d digits and makes binary fractions, so these are not those that were written; "+
			"write the column as text, or export the sheet as CSV", text.Clip(s, 40), digitsKept)
	}
	return s, nil
}

// typedDigitsMax is how many digits an amount may have to be told from a computed one after rounding.
const typedDigitsMax = 12

// typedNumber returns an amount as it was typed. Excel stores a typed 31.15 as 31.149999999999999, the nearest binary
// fraction in seventeen digits, and itself shows and compares fifteen: at fifteen digits every typed number is back, and
// shows it by the zeros that it then ends in. What does not end in zeros there, such as a third, was computed and is refused.
func typedNumber(s string) (string, error) {
	plain, err := plainNumber(s)
	if err == nil {
		return plain, nil
	}
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	written, parseErr := decimal.NewFromString(s)
	if parseErr != nil || frac == "" || strings.ContainsAny(s, "eE") {
		return "", err
	}
	places := digitsKept - len(strings.TrimLeft(whole, "0"))
	if strings.Trim(whole, "0") == "" {
		places += len(frac) - len(strings.TrimLeft(frac, "0"))
	}
	rounded := written.Round(int32(places)).String() //nolint:gosec // a few digits
	if len(strings.Trim(strings.ReplaceAll(strings.TrimPrefix(rounded, "-"), ".", ""), "0")) > typedDigitsMax {
		return "", err
	}
	return rounded, nil
}

func (r *xlsxRow) amount(slot int) (decimal.NullDecimal, error) {
	c, there, err := r.cell(slot)
	if !there || err != nil {
		return decimal.NullDecimal{}, err
	}
	switch c.Kind {
	case xlsx.Text:
		return parseMoney(c.Text())
	case xlsx.Number:
		s, err := typedNumber(c.Text())
		if err != nil {
			return decimal.NullDecimal{}, err
		}
		return parseMoney(s)
	case xlsx.Date, xlsx.ISODate:
		return decimal.NullDecimal{}, errors.New("the cell is a date and cannot be an amount: a spreadsheet makes dates of what looks like one; write the column as text")
	case xlsx.Bool, xlsx.Failed, xlsx.NoValue:
	}
	return decimal.NullDecimal{}, errors.New("the cell is true or false and cannot be an amount")
}

func (r *xlsxRow) instant(slot int) (time.Time, error) {
	c, there, err := r.cell(slot)
	if !there || err != nil {
		return time.Time{}, err
	}
	switch c.Kind {
	case xlsx.Date:
		return r.wall(c)
	case xlsx.ISODate:
		return text.Instants{Zone: r.Zone}.Parse(c.Text())
	case xlsx.Number:
		if r.Format == text.TimeUnix || r.Format == text.TimeUnixMS {
			return r.Parse(c.Text())
		}
		return time.Time{}, fmt.Errorf("the cell is the bare number %s: give it the format of a date, or say with time_format whether it is unix or unix_ms", text.Clip(c.Text(), 40))
	case xlsx.Bool:
		return time.Time{}, errors.New("the cell is true or false and cannot be an instant")
	case xlsx.Text, xlsx.Failed, xlsx.NoValue:
	}
	return r.Parse(c.Text())
}

// wall is the instant of a date: what the clock shows in the source's zone.
func (r *xlsxRow) wall(c xlsx.Cell) (time.Time, error) {
	at, dayOnly, err := r.book.Wall(c)
	if err != nil {
		return at, err
	}
	resolve := text.ResolveWall
	if dayOnly {
		resolve = text.StartOfDay
	}
	t, err := resolve(at, r.Zone)
	if err != nil {
		return t, err
	}
	return text.Believable(at.Format("2006-01-02 15:04:05"), t)
}
