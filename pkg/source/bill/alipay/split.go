package alipay

import (
	"bytes"
	"unicode/utf8"
)

var delimiters = []byte{',', ';', '\t'}

// splitter cuts a line into fields. Alipay quotes nothing, spreadsheets quote as they like; so a field is quoted when it
// reads so from quote to quote, blanks and tabs behind the closing one included, and taken as it stands else. Of the two
// ways to read a line the one that gives the wanted number of fields counts.
type splitter struct {
	delim  byte
	line   []byte
	fields [][]byte
	begin  []int // of the fields in the line
}

// split returns the fields of a line, valid until the next call. want is how many there should be, 0 when that is not known.
func (s *splitter) split(line []byte, want int) [][]byte {
	s.line = line
	if bytes.IndexByte(line, '"') < 0 {
		return s.cut(false)
	}
	if fields := s.cut(true); want == 0 || len(fields) == want {
		return fields
	}
	return s.cut(false)
}

func (s *splitter) cut(quotes bool) [][]byte {
	s.fields, s.begin = s.fields[:0], s.begin[:0]
	for at := 0; ; {
		value, end, ok := s.line[at:], len(s.line), false
		if quotes {
			value, end, ok = s.quoted(at)
		}
		if !ok {
			if n := bytes.IndexByte(s.line[at:], s.delim); n >= 0 {
				end = at + n
			} else {
				end = len(s.line)
			}
			value = s.line[at:end]
		}
		s.fields, s.begin = append(s.fields, value), append(s.begin, at)
		if end >= len(s.line) {
			return s.fields
		}
		at = end + 1
	}
}

// quoted returns the value of the quoted field that begins at at, and where the delimiter behind it stands.
func (s *splitter) quoted(at int) (value []byte, end int, ok bool) {
	if at >= len(s.line) || s.line[at] != '"' {
		return nil, 0, false
	}
	doubled := false
	for pos := at + 1; ; {
		n := bytes.IndexByte(s.line[pos:], '"')
		if n < 0 {
			return nil, 0, false
		}
		closing := pos + n
		if closing+1 < len(s.line) && s.line[closing+1] == '"' {
			doubled, pos = true, closing+2
			continue
		}
		end = closing + 1
		for end < len(s.line) && s.line[end] != s.delim {
			if s.line[end] != ' ' && s.line[end] != '\t' {
				return nil, 0, false
			}
			end++
		}
		value = s.line[at+1 : closing]
		if doubled {
			value = bytes.ReplaceAll(value, []byte(`""`), []byte(`"`))
		}
		return value, end, true
	}
}

// column is where field i begins in its line, from 1; beyond the last it is the end of the line.
func (s *splitter) column(i int) int {
	at := len(s.line)
	if i < len(s.begin) {
		at = s.begin[i]
	}
	return utf8.RuneCount(s.line[:at]) + 1
}
