package xlsx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// What a sheet can hold.
const (
	RowsMax    = 1 << 20
	ColumnsMax = 1 << 14
)

const (
	mergedMax   = 1 << 16
	rowBytesMax = 4 << 20 // of the texts of a row that are not shared
)

// Kind is what a cell holds.
type Kind int

// The kinds of cells.
const (
	Text    Kind = iota
	Number       // Text is the number as it is stored
	Date         // a number whose format is that of a date, see [Book.Wall]
	ISODate      // a date as text of ISO 8601
	Bool         // Text is 0 or 1
	Failed       // Text is the error, such as #N/A
	NoValue      // a formula whose result is not stored
)

// Cell is a cell that is not empty. It is valid until the next [Rows.Next].
type Cell struct {
	Column int // from 1
	Kind   Kind

	text     []byte
	from, to int // of the text in the buffer, while the row is read
	format   format
}

// Text is what is stored in the cell.
func (c Cell) Text() string { return string(c.text) }

// Area is a rectangle of cells; rows and columns from 1, both ends within.
type Area struct{ FromRow, FromColumn, ToRow, ToColumn int }

// Rows gives the rows of a sheet that hold anything.
type Rows struct {
	book   *Book
	part   string
	stream *stream
	row    int
	inData bool
	cells  []Cell
	buf    []byte
	merged []Area
}

// Rows begins to read a sheet. Close it.
func (b *Book) Rows(sheet Sheet) (*Rows, error) {
	file := b.parts[fold(sheet.part)]
	if file == nil {
		return nil, fmt.Errorf("part %.60q is missing", sheet.part)
	}
	r, err := b.open(file)
	if err != nil {
		return nil, err
	}
	return &Rows{book: b, part: sheet.part, stream: newStream(r)}, nil
}

// Close frees what reading needs.
func (r *Rows) Close() { r.stream.close() }

// Row is the number of the row that Next returned, from 1.
func (r *Rows) Row() int { return r.row }

// Merged are the merged cells of the sheet; they are known once Next has returned [io.EOF].
func (r *Rows) Merged() []Area { return r.merged }

// Next returns the cells of the next row that are not empty, in their order, leaving out rows without any. At the end of
// the sheet, which was read to its end then, it returns [io.EOF].
func (r *Rows) Next() ([]Cell, error) {
	cells, err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("part %.60q: %w", r.part, err)
	}
	return cells, err
}

func (r *Rows) next() ([]Cell, error) {
	if !r.inData {
		if err := r.begin(); err != nil {
			return nil, cut(err)
		}
		r.inData = true
	}
	for {
		t, err := r.stream.next()
		if err != nil {
			return nil, cut(err)
		}
		switch e := t.(type) {
		case xml.StartElement:
			if e.Name.Local != "row" {
				return nil, fmt.Errorf("a %s lies among the rows", e.Name.Local)
			}
			if err := r.readRow(e); err != nil {
				return nil, cut(err)
			}
			if len(r.cells) > 0 {
				return r.cells, nil
			}
		case xml.EndElement:
			if err := r.rest(); err != nil {
				return nil, cut(err)
			}
			return nil, io.EOF
		}
	}
}

// begin reads up to the rows.
func (r *Rows) begin() error {
	if err := r.stream.root("worksheet"); err != nil {
		return err
	}
	for {
		t, err := r.stream.next()
		if err != nil {
			return err
		}
		e, ok := t.(xml.StartElement)
		if !ok {
			if _, end := t.(xml.EndElement); end {
				return errors.New("the sheet holds no rows")
			}
			continue
		}
		if e.Name.Local == "sheetData" {
			return nil
		}
		if err := r.stream.skip(); err != nil {
			return err
		}
	}
}

// rest reads what follows the rows: which cells are merged, and no rows.
func (r *Rows) rest() error {
	err := r.stream.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "sheetData":
			return errors.New("the sheet holds its rows twice")
		case "mergeCells":
			return r.stream.children(func(e xml.StartElement) error {
				a, ok := area(attr(e, "ref"))
				if !ok || len(r.merged) == mergedMax {
					return fmt.Errorf("%.40q are no merged cells, or there are more than %d", attr(e, "ref"), mergedMax)
				}
				r.merged = append(r.merged, a)
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.stream.end()
}

// readRow reads a row into cells.
func (r *Rows) readRow(e xml.StartElement) error {
	n := r.row + 1
	if written := attr(e, "r"); written != "" {
		var err error
		if n, err = strconv.Atoi(written); err != nil {
			return fmt.Errorf("row %.20q is no number", written)
		}
	}
	if n <= r.row || n > RowsMax {
		return fmt.Errorf("row %d follows row %d: the rows are not in order, or more than %d", n, r.row, RowsMax)
	}
	r.row, r.cells, r.buf = n, r.cells[:0], r.buf[:0]
	last := 0
	err := r.stream.children(func(e xml.StartElement) error {
		if e.Name.Local != "c" {
			return nil
		}
		var err error
		if last, err = r.place(attr(e, "r"), last); err != nil {
			return err
		}
		if err := r.readCell(e, last); err != nil {
			return fmt.Errorf("cell %s: %w", CellName(n, last), err)
		}
		return nil
	})
	for i := range r.cells {
		if c := &r.cells[i]; c.text == nil {
			c.text = r.buf[c.from:c.to]
		}
	}
	return err
}

// place returns the column of a cell that follows the column last.
func (r *Rows) place(name string, last int) (int, error) {
	column := last + 1
	if name != "" {
		row, col, ok := parseName(name)
		if !ok || row != r.row {
			return 0, fmt.Errorf("cell %.20q lies in row %d", name, r.row)
		}
		column = col
	}
	if column <= last || column > ColumnsMax {
		return 0, fmt.Errorf("cell %s follows %s: the cells are not in order, or more than %d", CellName(r.row, column), CellName(r.row, last), ColumnsMax)
	}
	return column, nil
}

// written are the parts of a cell.
type written struct {
	formula, value bool
	from           int // of its text in the buffer
}

// readCell reads a cell and keeps it unless it is empty.
func (r *Rows) readCell(e xml.StartElement, column int) error {
	w := written{from: len(r.buf)}
	err := r.stream.children(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "f":
			w.formula = true
		case "v":
			w.value = true
			r.buf, err = r.append(r.stream.text)
		case "is":
			r.buf, err = r.append(r.stream.rich)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.keep(e, column, w)
}

// append lets f read a text and puts it behind those of the row.
func (r *Rows) append(f func([]byte) ([]byte, error)) ([]byte, error) {
	n := len(r.buf)
	text, err := f(r.buf[n:n]) // in place as long as there is room
	if n+len(text) > rowBytesMax {
		return r.buf, fmt.Errorf("the row holds more than %d MiB", rowBytesMax>>20)
	}
	return append(r.buf, text...), err
}

// keep makes a cell of what was read, by its type.
func (r *Rows) keep(e xml.StartElement, column int, w written) error {
	c := Cell{Column: column, from: w.from, to: len(r.buf)}
	text := r.buf[w.from:]
	switch kind := attr(e, "t"); kind {
	case "", "n":
		c.Kind = Number
		f, err := r.book.style(attr(e, "s"))
		if err != nil {
			return err
		}
		if c.format = f; f.date {
			c.Kind = Date
		}
	case "s":
		if len(text) == 0 {
			break
		}
		n, err := strconv.Atoi(string(text))
		shared, ok := r.book.strings.at(n)
		if err != nil || !ok {
			return errNoStrings
		}
		c.text, text = shared, shared
	case "inlineStr":
	case "str":
		unescaped := unescape(text)
		text, c.to = unescaped, w.from+len(unescaped)
	case "b":
		c.Kind = Bool
	case "e":
		c.Kind = Failed
	case "d":
		c.Kind = ISODate
	default:
		return fmt.Errorf("type %.20q is not known", kind)
	}
	switch {
	case len(text) > 0:
		r.cells = append(r.cells, c)
	case w.formula && !w.value:
		r.cells = append(r.cells, Cell{Column: column, Kind: NoValue, text: []byte{}})
	}
	return nil
}

func (b *Book) style(s string) (format, error) {
	if s == "" || s == "0" && len(b.formats) == 0 {
		return format{}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n >= len(b.formats) {
		return format{}, errNoStyle
	}
	return b.formats[n], nil
}
