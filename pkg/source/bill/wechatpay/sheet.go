package wechatpay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// sheet reads the dialect of the bills: a header, rows, a second header and one row of totals.
type sheet struct {
	lines  *text.Lines
	mark   string // the first name of the second header, folded
	header *bill.Header
	cells  bill.Cells // of the current row

	line   []byte // the current row as it stands
	begins []int  // where the values of the current row begin in it
}

// totals are the figures at the end of a bill.
type totals struct {
	line   int
	names  []string
	values []decimal.Decimal
}

// openSheet reads the header.
func openSheet(d *bill.Doc, out *bill.Out, mark string) (*sheet, error) {
	lines, err := d.Lines()
	if err != nil {
		return nil, err
	}
	s := &sheet{lines: lines, mark: bill.Fold(mark)}
	line, err := s.filled()
	if errors.Is(err, io.EOF) {
		return nil, bill.Cut("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	names := splitNames(line)
	if len(names) == 1 && strings.ContainsAny(names[0], ";\t") {
		return nil, s.fault("the columns are not separated by commas: a spreadsheet has rewritten the file; deliver it as WeChat Pay made it")
	}
	s.header = bill.NewHeader(names)
	s.cells = bill.Cells{Header: s.header, Out: out, Place: s.place}
	return s, nil
}

// filled is the next line that is not blank.
func (s *sheet) filled() ([]byte, error) {
	for {
		line, err := s.lines.Next()
		if err != nil || len(bytes.TrimLeft(line, ", \t")) > 0 {
			return line, err
		}
	}
}

func (s *sheet) fault(format string, args ...any) error {
	return &text.Error{Line: s.lines.Number(), Column: 1, Msg: fmt.Sprintf(format, args...)}
}

// place is where a field of the current row is.
func (s *sheet) place(field int) (line, column int) {
	at := len(s.line)
	if field < len(s.begins) {
		at = s.begins[field]
	}
	return s.lines.Number(), utf8.RuneCount(s.line[:at]) + 1
}

// next reads a row into the cells, whatever its number of fields; false is the second header. A line that is no row is
// noted and passed over.
func (s *sheet) next() (bool, error) {
	for {
		line, err := s.lines.Next()
		if errors.Is(err, io.EOF) {
			return false, bill.Cut(fmt.Sprintf("after line %d the totals are missing, which begin with %s", s.lines.Number(), s.mark))
		}
		if err != nil {
			return false, err
		}
		if len(line) > 0 && line[0] == '`' && !s.isMark(line[1:]) {
			s.line = line
			s.cells.Fields, s.begins = splitRow(line, s.cells.Fields[:0], s.begins[:0])
			return true, nil
		}
		if s.isMark(line) {
			s.line = line
			return false, nil
		}
		s.cells.Out.Problem(s.lines.Number(), 0, "every value begins with a backtick, but this line does not: %q; "+
			"it holds a line end inside a value, or the file was edited; deliver it as WeChat Pay made it", text.Clip(string(line), 80))
	}
}

// isMark reports whether a line is the second header.
func (s *sheet) isMark(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\"`")
	return bytes.HasPrefix(line, []byte(s.mark))
}

// splitRow cuts a row on comma and backtick. A comma alone is part of a value, and so is a backtick alone.
func splitRow(line []byte, fields [][]byte, begins []int) ([][]byte, []int) {
	begin, from := 1, 1
	for {
		n := bytes.IndexByte(line[from:], '`')
		if n < 0 {
			return append(fields, line[begin:]), append(begins, begin)
		}
		at := from + n
		from = at + 1
		if at > begin && line[at-1] == ',' {
			fields, begins = append(fields, line[begin:at-1]), append(begins, begin)
			begin = from
		}
	}
}

// splitNames are the cells of a header, without those that a spreadsheet adds at the end of short lines.
func splitNames(line []byte) []string {
	names := strings.Split(string(line), ",")
	for len(names) > 1 && strings.Trim(names[len(names)-1], " \t") == "" {
		names = names[:len(names)-1]
	}
	return names
}

// totals reads the second header, which is the current line, and the figures after it. Only blank lines may follow.
func (s *sheet) totals() (totals, error) {
	t := totals{names: splitNames(s.line)}
	for i, n := range t.names {
		t.names[i] = strings.Trim(n, " \t\"`")
	}
	line, err := s.filled()
	if errors.Is(err, io.EOF) {
		return t, bill.Cut("the line of figures after the names of the totals is missing")
	}
	if err != nil {
		return t, err
	}
	t.line, s.line = s.lines.Number(), bytes.TrimRight(line, ", \t")
	if s.line[0] != '`' {
		return t, s.fault("the figures of the totals begin with backticks, but the line is %q", text.Clip(string(line), 80))
	}
	s.cells.Fields, s.begins = splitRow(s.line, s.cells.Fields[:0], s.begins[:0])
	if len(s.cells.Fields) != len(t.names) {
		return t, bill.Cut(fmt.Sprintf("line %d has %d figures, but the totals have %d names", t.line, len(s.cells.Fields), len(t.names)))
	}
	for i, b := range s.cells.Fields {
		v, err := bill.ParseMoney(string(b))
		if err != nil {
			s.cells.Out.Problem(t.line, s.column(i), "%s: %w", t.names[i], err)
		}
		t.values = append(t.values, v)
	}
	return t, s.end()
}

func (s *sheet) column(field int) int {
	_, column := s.place(field)
	return column
}

// end asks for nothing but blank lines.
func (s *sheet) end() error {
	line, err := s.filled()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.fault("the bill has ended with its totals, but there is more: %q; two bills were joined, or the file was edited", text.Clip(string(line), 80))
}

// ident is an id. A lone 0 stands where there is none.
func (s *sheet) ident(col int) string {
	if id := s.cells.Ident(col); id != "0" {
		return id
	}
	return ""
}
