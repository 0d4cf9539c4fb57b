package alipay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// sheet is a file of one kind while it is read: preamble, then rows, then what stands behind the list.
type sheet struct {
	kind  *kind
	out   *bill.Out
	doc   *bill.Doc
	lines *text.Lines
	split splitter
	bill.Cells

	period  period
	said    int  // line that says the period
	started bool // the comment that begins the list was there
	ended   bool // and the one that ends it
	blank   int  // a blank line that no row may follow, 0 for none
	totals  map[string]bool
	counted counted
}

// counted adds up figures by the names of their controls, in the order in which they were named.
type counted struct {
	names []string
	sums  map[string]decimal.Decimal
}

func (c *counted) add(v decimal.Decimal, names ...string) {
	for _, name := range names {
		sum, there := c.sums[name]
		if !there {
			c.names = append(c.names, name)
		}
		if c.sums == nil {
			c.sums = map[string]decimal.Decimal{}
		}
		c.sums[name] = sum.Add(v)
	}
}

// open reads up to the header.
func (k *kind) open(ctx context.Context, d *bill.Doc, out *bill.Out) (*sheet, error) {
	lines, err := d.Lines()
	if err != nil {
		return nil, err
	}
	s := &sheet{kind: k, out: out, doc: d, lines: lines, totals: map[string]bool{}}
	s.Cells = bill.Cells{Trim: "\t ", Place: s.place, Out: out}
	for s.Header == nil {
		line, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil, bill.Cut("no line holds the header with columns " + text.QuoteList(k.needed))
		}
		if err != nil {
			return nil, err
		}
		if err := s.preamble(line); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// place is where a field of the current row stands.
func (s *sheet) place(field int) (line, column int) {
	return s.lines.Number(), s.split.column(field)
}

// next returns the next line that is not blank.
func (s *sheet) next(ctx context.Context) ([]byte, error) {
	for {
		if s.lines.Number()%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		line, err := s.lines.Next()
		if err != nil {
			return nil, err
		}
		if bytes.Contains(line, []byte("\r")) {
			return nil, &text.Error{Line: s.lines.Number(), Column: 1, Msg: "a carriage return inside a line: lines end with LF or CR LF; deliver the file as Alipay made it"}
		}
		if len(bytes.Trim(line, " \t,;")) > 0 {
			return line, nil
		}
		if s.blank == 0 {
			s.blank = s.lines.Number()
		}
	}
}

// preamble takes a line before the header, or the header itself.
func (s *sheet) preamble(line []byte) error {
	s.blank = 0
	if comment, ok := isComment(line); ok {
		return s.opening(comment)
	}
	delim, names := s.kind.delimiter(line)
	if names < 2 {
		if s.started || s.lines.Number() > headLines {
			return &text.Error{Line: s.lines.Number(), Column: 1, Msg: fmt.Sprintf("the header with columns %s is expected here, but the line is %q",
				text.QuoteList(s.kind.needed), text.Clip(string(line), 80))}
		}
		return nil // a title without its #, or a note
	}
	s.split.delim = delim
	s.Header = bill.NewHeader(s.split.split(line, 0))
	if err := s.Header.Check(s.kind.needed, s.kind.known); err != nil {
		return &text.Error{Line: s.lines.Number(), Column: 1, Msg: err.Error()}
	}
	return nil
}

// opening takes a comment before the header.
func (s *sheet) opening(comment string) error {
	switch {
	case strings.Contains(comment, s.kind.list+"结束"), isTotal(comment):
		return bill.Cut(fmt.Sprintf("line %d ends the list, but no header was before it", s.lines.Number()))
	case strings.Contains(comment, s.kind.list):
		s.started = true
	case strings.Contains(comment, "起始日期"):
		p, err := readPeriod(comment)
		if err != nil {
			return &text.Error{Line: s.lines.Number(), Column: 1, Msg: err.Error()}
		}
		if s.period.known() {
			return &text.Error{Line: s.lines.Number(), Column: 1, Msg: "a second period: two bills were put together; deliver each as a file of its own"}
		}
		s.period, s.said = p, s.lines.Number()
	}
	return nil
}

// row moves on to the next row of the list, io.EOF behind the last. Rows with a wrong number of fields are problems and
// passed over.
func (s *sheet) row(ctx context.Context) error {
	for {
		line, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return s.close()
		}
		if err != nil {
			return err
		}
		if comment, ok := isComment(line); ok {
			if err := s.closing(comment); err != nil {
				return err
			}
			continue
		}
		if s.ended {
			s.out.Problem(s.lines.Number(), 1, "text behind the end of the list: %q; two files were put together, or the file was edited", text.Clip(string(line), 80))
			continue
		}
		if s.blank > 0 {
			s.out.Problem(s.blank, 1, "a blank line between the rows: remove it, or the file was put together wrongly")
			s.blank = 0
		}
		if s.take(line) {
			return nil
		}
	}
}

// take cuts a row and checks what holds for every row.
func (s *sheet) take(line []byte) bool {
	s.Fields = s.split.split(line, s.Header.Len())
	if len(s.Fields) != s.Header.Len() {
		s.out.Problem(s.lines.Number(), 1, "%d fields, but the header has %d: a text holds a comma, a quote or a line end that is not quoted, or the row is cut; the row is %q",
			len(s.Fields), s.Header.Len(), text.Clip(string(line), 400))
		return false
	}
	for i, name := range s.Header.Names() {
		if name == "" && s.Text(i) != "" {
			s.Problem(i, fmt.Errorf("the value %q stands in a column without a name", text.Clip(s.Text(i), 40)))
		}
	}
	return true
}

// closing takes a comment behind the header.
func (s *sheet) closing(comment string) error {
	at := s.lines.Number()
	switch {
	case strings.Contains(comment, s.kind.list+"结束"):
		if s.ended {
			s.out.Problem(at, 1, "the list ends a second time: two bills were put together; deliver each as a file of its own")
		}
		s.ended, s.blank = true, 0
	case !s.ended:
		s.out.Problem(at, 1, "the comment %q stands between the rows: two bills were put together, or the file was edited", text.Clip(comment, 80))
	case isTotal(comment):
		t, err := s.kind.readTotal(comment)
		if err != nil {
			s.out.Problem(at, 1, "%w", err)
			return nil
		}
		s.declare(at, t)
	case strings.Contains(comment, "起始日期"):
		s.out.Problem(at, 1, "a second period: two bills were put together; deliver each as a file of its own")
	}
	return nil
}

func (s *sheet) declare(line int, t total) {
	s.totals[t.name] = true
	s.out.Declare(controlCount(t.name), line, t.count)
	for _, figure := range s.kind.totals[t.name] {
		s.out.Declare(controlSum(t.name, figure), line, t.figures[figure])
	}
}

// close checks that the list is whole, and hands over what was counted.
func (s *sheet) close() error {
	if !s.ended {
		return bill.Cut("the end of the list (#…" + s.kind.list + "结束…) is missing")
	}
	for _, name := range s.kind.totalNames() {
		if !s.totals[name] {
			return bill.Cut("the line #" + name + " behind the list is missing")
		}
	}
	s.Close()
	for _, name := range s.counted.names {
		s.out.Count(name, s.counted.sums[name])
	}
	s.checkPeriod()
	return io.EOF
}

// checkPeriod refuses the bill of another day: with a quiet ledger it would make a wrong day look right.
func (s *sheet) checkPeriod() {
	y, m, d := s.doc.Day.Date()
	switch {
	case !s.period.known():
		s.out.Remark("the file does not say its period, so the times of its rows were not held against one")
	case s.doc.Day > 0 && !s.period.holds(time.Date(y, m, d, 0, 0, 0, 0, beijing)):
		s.out.Problem(s.said, 0, "the file covers %s, but business day %s was asked for: deliver the bill of that day", s.period, s.doc.Day)
	}
}
