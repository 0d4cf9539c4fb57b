package text

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Lines reads UTF-8 text line by line, within bounds, and refuses what no line of text holds. After an error it is
// finished.
type Lines struct {
	in    *bufio.Reader
	check Check
	line  int    // physical lines read
	spare []byte // backs a line that does not lie in the read buffer
	held  bool   // the last line lies in spare
	cut   bool   // the last line had no end
}

// NewLines reads lines that pass the check, which [Decode] returned together with the reader.
func NewLines(in *bufio.Reader, check Check) *Lines { return &Lines{in: in, check: check} }

// Next returns the next line without its end, valid until the next call, or io.EOF after the last. An [*Error] says where
// a line is longer than 4 MiB, holds NUL, or bytes foreign to the charset.
func (l *Lines) Next() ([]byte, error) {
	line, err := l.read(nil)
	return Body(line), err
}

// Number is that of the last line, from 1.
func (l *Lines) Number() int { return l.line }

// Ended reports whether the last line had a line end. Without one a file may have been cut.
func (l *Lines) Ended() bool { return !l.cut }

// Body is the line without its end.
func Body(line []byte) []byte {
	n := len(line)
	if n > 0 && line[n-1] == '\n' {
		n--
	}
	if n > 0 && line[n-1] == '\r' {
		n--
	}
	return line[:n]
}

// read returns the next physical line with its end, appended to held when that is not nil (a quoted field goes on).
func (l *Lines) read(held []byte) ([]byte, error) {
	l.held = held != nil
	chunk, err := l.in.ReadSlice('\n')
	if held == nil && err == nil {
		l.line++
		return chunk, l.checkLine(chunk)
	}
	from := len(held)
	if held == nil {
		held = l.spare[:0]
	}
	held = append(held, chunk...)
	for errors.Is(err, bufio.ErrBufferFull) && len(held) <= recordBytesMax {
		chunk, err = l.in.ReadSlice('\n')
		held = append(held, chunk...)
	}
	l.spare, l.held = held[:0], true
	l.line++
	switch {
	case len(held) > recordBytesMax:
		return nil, &Error{l.line, 1, fmt.Sprintf("a record of more than %d MiB: a line end or a closing quote is missing", recordBytesMax>>20)}
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(held) == from:
		l.line--
		return nil, io.EOF
	}
	l.cut = err != nil
	return held, l.checkLine(held[from:])
}

// checkLine refuses what no text line holds: bytes foreign to the charset, and NUL.
func (l *Lines) checkLine(line []byte) error {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		return l.atByte(line, at, "a NUL byte: the file is damaged, or it is UTF-16 without a byte order mark (encoding: utf-16le or utf-16be)")
	}
	if at, why := l.check(line); at >= 0 {
		return l.atByte(line, at, why)
	}
	return nil
}

func (l *Lines) atByte(line []byte, at int, why string) error {
	return &Error{l.line, utf8.RuneCount(line[:at]) + 1, why}
}
