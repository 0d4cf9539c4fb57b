package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// span is where the value of a field lies in the record; a dirty one holds doubled quotes or CR LF to be resolved.
type span struct {
	from, to int
	dirty    bool
}

// splitQuoted cuts a record in which quotes occur. A field that goes over the line end makes the record grow, which moves
// it in memory; so fields are kept as offsets until the record is complete.
func (r *Records) splitQuoted() ([][]byte, error) {
	r.spans = r.spans[:0]
	for at := 0; ; {
		var s span
		var end int
		var err error
		if bytes.HasPrefix(r.raw[at:], r.quote) {
			s, end, err = r.quotedEnd(at)
		} else {
			end, err = r.plainEnd(at)
			s = span{from: at, to: end}
		}
		if err != nil {
			return nil, err
		}
		r.begin, r.spans = append(r.begin, at), append(r.spans, s)
		if end >= len(Body(r.raw)) {
			return r.cut()
		}
		at = end + len(r.delim)
	}
}

// plainEnd finds the end of an unquoted field, in which no quote may stand.
func (r *Records) plainEnd(at int) (int, error) {
	rest := Body(r.raw)[at:]
	if n := bytes.Index(rest, r.delim); n >= 0 {
		rest = rest[:n]
	}
	if n := bytes.Index(rest, r.quote); n >= 0 {
		return 0, r.faultAt(at+n, "a quote inside an unquoted field: quote the whole field and double the quote, or set quote: none")
	}
	if n := bytes.IndexByte(rest, '\r'); n >= 0 {
		return 0, r.faultAt(at+n, loneCR)
	}
	return at + len(rest), nil
}

// quotedEnd finds the value of the field that opens at at and where the delimiter after it stands. It reads further
// lines as needed.
func (r *Records) quotedEnd(at int) (span, int, error) {
	s := span{from: at + len(r.quote)}
	for pos := s.from; ; {
		n := bytes.Index(r.raw[pos:], r.quote)
		if n < 0 {
			s.dirty = s.dirty || bytes.HasSuffix(r.raw, []byte("\r\n"))
			pos = len(r.raw)
			if err := r.grow(at); err != nil {
				return span{}, 0, err
			}
			continue
		}
		s.to, pos = pos+n, pos+n+len(r.quote)
		if bytes.HasPrefix(r.raw[pos:], r.quote) {
			s.dirty, pos = true, pos+len(r.quote)
			continue
		}
		if rest := Body(r.raw)[pos:]; len(rest) > 0 && !bytes.HasPrefix(rest, r.delim) {
			return span{}, 0, r.faultAt(pos, afterQuote(rest))
		}
		return s, pos, nil
	}
}

func afterQuote(rest []byte) string {
	if rest[0] == '\t' {
		return "a tab after the closing quote: remove it, or set delimiter and quote to what the file uses"
	}
	return "text after the closing quote: a quote inside a field must be doubled"
}

// grow adds the next physical line to the record whose field opened at at.
func (r *Records) grow(at int) error {
	if len(r.raw)-at > fieldBytesMax {
		return r.faultAt(at, fmt.Sprintf("a field of more than %d MiB: a closing quote is missing", fieldBytesMax>>20))
	}
	if !r.lines.held {
		r.raw = append(r.lines.spare[:0], r.raw...)
	}
	raw, err := r.lines.read(r.raw)
	if errors.Is(err, io.EOF) {
		return r.faultAt(at, "the quoted field that begins here never ends: the file is cut, or a closing quote is missing")
	}
	if err != nil {
		return err
	}
	r.raw = raw
	return nil
}

// cut turns the offsets of a complete record into fields.
func (r *Records) cut() ([][]byte, error) {
	for i, s := range r.spans {
		value := r.raw[s.from:s.to]
		if len(value) > fieldBytesMax {
			return nil, r.fault(i, fmt.Sprintf("a field of more than %d MiB: a closing quote is missing", fieldBytesMax>>20))
		}
		if s.dirty {
			value = r.unquote(value)
		}
		r.fields = append(r.fields, value)
	}
	return r.fields, nil
}

// unquote resolves doubled quotes and turns CR LF into LF, as encoding/csv does.
func (r *Records) unquote(value []byte) []byte {
	from := len(r.clean)
	for i := 0; i < len(value); i++ {
		if value[i] == '\r' && i+1 < len(value) && value[i+1] == '\n' {
			continue
		}
		r.clean = append(r.clean, value[i])
		if value[i] == r.quote[0] && bytes.HasPrefix(value[i:], r.quote) {
			r.clean = append(r.clean, r.quote[1:]...)
			i += 2*len(r.quote) - 1
		}
	}
	return r.clean[from:len(r.clean):len(r.clean)]
}
