package camt053

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"daybreak/pkg/source/text"
)

// input hands bytes to the XML decoder one by one: checked against the charset, counted, and no more than allowed at once.
type input struct {
	in     *bufio.Reader
	check  text.Check
	chunk  []byte // checked, of in's buffer
	used   int    // of the chunk
	left   int    // bytes that may be read until more are allowed
	line   int    // from 1
	column int    // characters of the line that were read
	tails  int    // bytes of the line that go on a character
}

// Read makes it a reader for the decoder's sake, which uses ReadByte.
func (r *input) Read(p []byte) (int, error) {
	for i := range p {
		b, err := r.ReadByte()
		if err != nil {
			return i, err
		}
		p[i] = b
	}
	return len(p), nil
}

// ReadByte implements [io.ByteReader].
func (r *input) ReadByte() (byte, error) {
	if r.used == len(r.chunk) {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	if r.left--; r.left < 0 {
		return 0, r.fail("an element or a text of more than %d bytes", elementBytesMax)
	}
	b := r.chunk[r.used]
	r.used++
	switch {
	case b == '\n':
		r.line, r.column, r.tails = r.line+1, 0, 0
	case utf8.RuneStart(b):
		r.column++
	default:
		r.tails++
	}
	return b, nil
}

// fill takes what is buffered, up to the end of a character.
func (r *input) fill() error {
	if _, err := r.in.Discard(len(r.chunk)); err != nil {
		return err
	}
	r.chunk, r.used = nil, 0
	want := 1
	for {
		b, err := r.in.Peek(want)
		if len(b) == 0 {
			return err
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if b, _ = r.in.Peek(r.in.Buffered()); err == nil {
			b = whole(b)
		}
		if len(b) == 0 { // nothing but the beginning of a character
			want = r.in.Buffered() + 1
			continue
		}
		if at, why := r.check(b); at >= 0 {
			for _, c := range b[:at] {
				if c == '\n' {
					r.line, r.column = r.line+1, 0
				} else if utf8.RuneStart(c) {
					r.column++
				}
			}
			return r.fail("%s", why)
		}
		r.chunk = b
		return nil
	}
}

// whole drops a character at the end of which bytes are missing.
func whole(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// fail is an error at the next character.
func (r *input) fail(format string, args ...any) error {
	return &text.Error{Line: r.line, Column: r.column + 1, Msg: fmt.Sprintf(format, args...)}
}
