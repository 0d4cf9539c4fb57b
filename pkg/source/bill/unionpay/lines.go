package unionpay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/simplifiedchinese"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// lines reads lines of fixed widths. It looks at bytes only: a character of two bytes may hold any byte above a blank.
type lines struct {
	layout
	in     *bufio.Reader
	out    *bill.Out
	number int
	line   []byte
	blank  int // a blank line that only further blank lines may follow, 0 for none
}

// next reads the next good line; false is the end of the file. A line that is not good is noted and passed over.
func (l *lines) next(ctx context.Context) (bool, error) {
	for {
		if l.number%4096 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		line, err := l.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return false, &text.Error{Line: l.number + 1, Column: 1, Msg: fmt.Sprintf("a line of more than %d bytes, but lines of this file have %d", len(line), l.bytes)}
		case errors.Is(err, io.EOF) && len(line) == 0:
			return false, l.ended()
		case errors.Is(err, io.EOF):
			return false, bill.Cut(fmt.Sprintf("line %d has no line end", l.number+1))
		case err != nil:
			return false, err
		}
		l.number++
		switch l.line = text.Body(line); {
		case len(l.line) == 0 && l.blank == 0:
			l.blank = l.number
		case len(l.line) > 0 && l.good():
			return true, nil
		}
	}
}

func (l *lines) ended() error {
	if l.number == 0 {
		return bill.Cut("the file is empty")
	}
	return nil
}

// good reports whether the line has the right length, blanks between its fields, and text in all of them.
func (l *lines) good() bool {
	if l.blank > 0 {
		l.out.Problem(l.blank, 0, "a blank line between the lines: the file was put together wrongly")
		l.blank = 0
	}
	if len(l.line) != l.bytes {
		l.out.Problem(l.number, 0, "the line has %d bytes, but lines of this file have %d: it is cut, or the file was converted from GBK or edited; deliver it as UnionPay made it", len(l.line), l.bytes)
		return false
	}
	plain := isPlain(l.line)
	for i := range l.widths {
		if i < len(l.widths)-1 && l.line[l.end(i)] != ' ' {
			l.problem(i, "there is no blank after byte %d, where field %d ends: the fields of the line are shifted", l.end(i), i+1)
			return false
		}
		if plain {
			continue
		}
		if _, ok := decode(l.cut(l.line, i)); !ok {
			l.problem(i, "field %d is no text in GBK: the fields of the line are shifted, or the file is damaged", i+1)
			return false
		}
	}
	return true
}

// problem notes what is wrong with a field. Columns count bytes, as the layout does.
func (l *lines) problem(field int, format string, args ...any) {
	l.out.Problem(l.number, l.begin[field]+1, format, args...)
}

// text is a field without the blanks that fill it.
func (l *lines) text(field int) string {
	s, _ := decode(l.cut(l.line, field))
	return s
}

// ident is an id. Fields that hold nothing are blank or all zeros.
func (l *lines) ident(field int) string {
	s := l.text(field)
	if strings.Trim(s, "0") == "" {
		return ""
	}
	if text.IsSpreadsheetNumber(s) {
		l.problem(field, "%q is a number as a spreadsheet rounds it: its digits are lost; deliver the file as UnionPay made it", s)
	}
	return s
}

// isPlain reports whether all bytes are printable ASCII.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// decode turns a field into text without the blanks that fill it; false when its bytes are no text.
func decode(b []byte) (string, bool) {
	b = bytes.Trim(b, " ")
	if isPlain(b) {
		return string(b), true
	}
	s, err := simplifiedchinese.GB18030.NewDecoder().Bytes(b)
	if err != nil || bytes.ContainsRune(s, '\uFFFD') || bytes.ContainsFunc(s, unicode.IsControl) {
		return "", false
	}
	return string(s), true
}
