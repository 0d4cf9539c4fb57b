package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Limits of the record reader in bytes of UTF-8. They bound what it holds: one record and one read buffer.
const (
	fieldBytesMax  = 1 << 20
	recordBytesMax = 4 << 20
)

// dialect is how records are written; see [CSV].
type dialect struct {
	delimiter, quote rune
	comment          string
	skip             int
}

// records splits UTF-8 text into records: encoding/csv's strict mode with what that lacks, namely the place of every
// field, any quote, bounds on what is held, and no blank line skipped in silence. After an error it is finished.
type records struct {
	in    *bufio.Reader
	delim []byte
	quote []byte // empty for none
	dialect
	check func(line []byte) (at int, why string) // what the charset forbids, at -1 when fine

	line   int    // physical lines read
	first  int    // physical line on which the record begins
	raw    []byte // the record with its inner line ends
	spare  []byte // backs raw when it does not lie in the read buffer
	held   bool   // raw lies in spare
	begin  []int  // where fields begin in raw
	spans  []span // where the values of a quoted record lie
	fields [][]byte
	clean  []byte // backs fields that had doubled quotes
	blank  int    // a blank line that only further blank lines may follow, 0 for none
}

// textError is what is wrong at a place of a text file.
type textError struct {
	line, column int // from 1; the column counts characters
	msg          string
}

func (e *textError) Error() string { return fmt.Sprintf("%d:%d: %s", e.line, e.column, e.msg) }

func newRecords(in *bufio.Reader, d dialect, check func([]byte) (int, string)) *records {
	if d.delimiter == 0 {
		d.delimiter = ','
	}
	if d.quote == 0 {
		d.quote = '"'
	}
	r := &records{in: in, dialect: d, check: check, delim: utf8.AppendRune(nil, d.delimiter)}
	if d.quote != NoQuote {
		r.quote = utf8.AppendRune(nil, d.quote)
	}
	return r
}

// next returns the fields of the next record, valid until the next call, or io.EOF after the last.
func (r *records) next() ([][]byte, error) {
	r.begin, r.fields, r.clean = r.begin[:0], r.fields[:0], r.clean[:0]
	for {
		r.held = false
		line, err := r.readLine(nil)
		if err != nil {
			return nil, err
		}
		switch {
		case r.line <= r.skip, r.comment != "" && bytes.HasPrefix(line, []byte(r.comment)):
			continue
		case len(body(line)) == 0:
			if r.blank == 0 {
				r.blank = r.line
			}
			continue
		case r.blank != 0:
			return nil, &textError{r.blank, 1, "a blank line between the records: remove it, or the file was put together wrongly"}
		}
		r.first, r.raw = r.line, line
		return r.split()
	}
}

// body is the line without its end.
func body(line []byte) []byte {
	n := len(line)
	if n > 0 && line[n-1] == '\n' {
		n--
	}
	if n > 0 && line[n-1] == '\r' {
		n--
	}
	return line[:n]
}

// readLine returns the next physical line with its end, appended to held when that is not nil (a quoted field goes on).
func (r *records) readLine(held []byte) ([]byte, error) {
	chunk, err := r.in.ReadSlice('\n')
	if held == nil && err == nil {
		r.line++
		return chunk, r.checkLine(chunk)
	}
	from := len(held)
	if held == nil {
		held = r.spare[:0]
	}
	held = append(held, chunk...)
	for errors.Is(err, bufio.ErrBufferFull) && len(held) <= recordBytesMax {
		chunk, err = r.in.ReadSlice('\n')
		held = append(held, chunk...)
	}
	r.spare, r.held = held[:0], true
	r.line++
	switch {
	case len(held) > recordBytesMax:
		return nil, &textError{r.line, 1, fmt.Sprintf("a record of more than %d MiB: a line end or a closing quote is missing", recordBytesMax>>20)}
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(held) == from:
		r.line--
		return nil, io.EOF
	}
	return held, r.checkLine(held[from:])
}

// checkLine refuses what no text line holds: bytes foreign to the charset, and NUL.
func (r *records) checkLine(line []byte) error {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		return r.atByte(line, at, "a NUL byte: the file is damaged, or it is UTF-16 without a byte order mark (encoding: utf-16le or utf-16be)")
	}
	if at, why := r.check(line); at >= 0 {
		return r.atByte(line, at, why)
	}
	return nil
}

func (r *records) atByte(line []byte, at int, why string) error {
	return &textError{r.line, utf8.RuneCount(line[:at]) + 1, why}
}

// split cuts r.raw into fields.
func (r *records) split() ([][]byte, error) {
	line := body(r.raw)
	if len(r.quote) > 0 && bytes.IndexByte(line, r.quote[0]) >= 0 {
		return r.splitQuoted()
	}
	if at := bytes.IndexByte(line, '\r'); at >= 0 {
		return nil, r.faultAt(at, loneCR)
	}
	for at := 0; ; {
		n := bytes.Index(line[at:], r.delim)
		if len(r.delim) == 1 {
			n = bytes.IndexByte(line[at:], r.delim[0])
		}
		if n < 0 {
			return r.fields, r.take(at, line[at:])
		}
		if err := r.take(at, line[at:at+n]); err != nil {
			return nil, err
		}
		at += n + len(r.delim)
	}
}

const loneCR = "a carriage return inside a line: lines end with LF or CR LF, and a field that holds one must be quoted"

func (r *records) take(begin int, value []byte) error {
	r.begin, r.fields = append(r.begin, begin), append(r.fields, value)
	if len(value) > fieldBytesMax {
		return r.fault(len(r.fields)-1, fmt.Sprintf("a field of more than %d MiB: a delimiter or a closing quote is missing", fieldBytesMax>>20))
	}
	return nil
}

// place returns line and column of field i of the last record. Beyond the last field it is the end of the record.
func (r *records) place(i int) (line, column int) {
	at := len(body(r.raw))
	if i < len(r.begin) {
		at = r.begin[i]
	}
	return r.placeOf(at)
}

func (r *records) placeOf(at int) (line, column int) {
	head := r.raw[:at]
	line = r.first + bytes.Count(head, []byte{'\n'})
	return line, utf8.RuneCount(head[bytes.LastIndexByte(head, '\n')+1:]) + 1
}

func (r *records) fault(i int, msg string) error {
	line, column := r.place(i)
	return &textError{line, column, msg}
}

func (r *records) faultAt(at int, msg string) error {
	line, column := r.placeOf(at)
	return &textError{line, column, msg}
}
