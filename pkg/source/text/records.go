package text

import (
	"bufio"
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Limits of the record reader in bytes of UTF-8. They bound what it holds: one record and one read buffer.
const (
	fieldBytesMax  = 1 << 20
	recordBytesMax = 4 << 20
)

// NoQuote is the value of [Dialect].Quote for files that do not quote: every quote character is data.
const NoQuote rune = -1

// Dialect is how delimited records are written.
type Dialect struct {
	Delimiter rune   // 0 is ','
	Quote     rune   // 0 is '"'; [NoQuote] switches quoting off
	Comment   string // lines that begin with it are skipped; "" skips none
	Skip      int    // physical lines before the header
}

// Records splits UTF-8 text into records: encoding/csv's strict mode with what that lacks, namely the place of every
// field, any quote, bounds on what is held, and no blank line skipped in silence. After an error it is finished.
type Records struct {
	lines *Lines
	delim []byte
	quote []byte // empty for none
	Dialect

	first  int    // physical line on which the record begins
	raw    []byte // the record with its inner line ends
	begin  []int  // where fields begin in raw
	spans  []span // where the values of a quoted record lie
	fields [][]byte
	clean  []byte // backs fields that had doubled quotes
	blank  int    // a blank line that only further blank lines may follow, 0 for none
}

// Error is what is wrong at a place of a text.
type Error struct {
	Line, Column int // from 1; the column counts characters
	Msg          string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg) }

// NewRecords reads records of UTF-8 text whose lines pass the check; [Decode] returns both.
func NewRecords(in *bufio.Reader, d Dialect, check Check) *Records {
	if d.Delimiter == 0 {
		d.Delimiter = ','
	}
	if d.Quote == 0 {
		d.Quote = '"'
	}
	r := &Records{lines: NewLines(in, check), Dialect: d, delim: utf8.AppendRune(nil, d.Delimiter)}
	if d.Quote != NoQuote {
		r.quote = utf8.AppendRune(nil, d.Quote)
	}
	return r
}

// Next returns the fields of the next record, valid until the next call, or io.EOF after the last.
func (r *Records) Next() ([][]byte, error) {
	r.begin, r.fields, r.clean = r.begin[:0], r.fields[:0], r.clean[:0]
	for {
		line, err := r.lines.read(nil)
		if err != nil {
			return nil, err
		}
		switch {
		case r.lines.line <= r.Skip, r.Comment != "" && bytes.HasPrefix(line, []byte(r.Comment)):
			continue
		case len(Body(line)) == 0:
			if r.blank == 0 {
				r.blank = r.lines.line
			}
			continue
		case r.blank != 0:
			return nil, &Error{r.blank, 1, "a blank line between the records: remove it, or the file was put together wrongly"}
		}
		r.first, r.raw = r.lines.line, line
		return r.split()
	}
}

// First is the physical line on which the last record begins, from 1.
func (r *Records) First() int { return r.first }

// Line is the number of physical lines read so far.
func (r *Records) Line() int { return r.lines.line }

// Ended reports whether the last line had a line end. Without one a file may have been cut.
func (r *Records) Ended() bool { return r.lines.Ended() }

// Raw is the last record as it stands in the file without its line end, valid until the next call.
func (r *Records) Raw() []byte { return Body(r.raw) }

// split cuts r.raw into fields.
func (r *Records) split() ([][]byte, error) {
	line := Body(r.raw)
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

func (r *Records) take(begin int, value []byte) error {
	r.begin, r.fields = append(r.begin, begin), append(r.fields, value)
	if len(value) > fieldBytesMax {
		return r.fault(len(r.fields)-1, fmt.Sprintf("a field of more than %d MiB: a delimiter or a closing quote is missing", fieldBytesMax>>20))
	}
	return nil
}

// Place returns line and column of field i of the last record. Beyond the last field it is the end of the record.
func (r *Records) Place(i int) (line, column int) {
	at := len(Body(r.raw))
	if i < len(r.begin) {
		at = r.begin[i]
	}
	return r.placeOf(at)
}

func (r *Records) placeOf(at int) (line, column int) {
	head := r.raw[:at]
	line = r.first + bytes.Count(head, []byte{'\n'})
	return line, utf8.RuneCount(head[bytes.LastIndexByte(head, '\n')+1:]) + 1
}

func (r *Records) fault(i int, msg string) error {
	line, column := r.Place(i)
	return &Error{line, column, msg}
}

func (r *Records) faultAt(at int, msg string) error {
	line, column := r.placeOf(at)
	return &Error{line, column, msg}
}
