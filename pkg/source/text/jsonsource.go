package text

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// jsonSource hands the bytes of a document to a decoder and keeps those that the decoder has not used yet, so that the
// place of each token is known by counting over it once. It ends the reading when a value grows beyond what is held.
type jsonSource struct {
	in    *bufio.Reader
	check Check

	held         []byte // backs window
	window       []byte // handed out, and not yet counted
	base         int64  // offset of window in the document
	line, column int    // of base
	mark         int64  // where the element began
	err          error  // of the input, other than its end
}

const jsonReadBytes = 32 << 10

// Read hands out whole characters that belong to the charset.
func (s *jsonSource) Read(p []byte) (int, error) {
	n, err := s.read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *jsonSource) read(p []byte) (int, error) {
	if s.end()-s.mark > jsonElementBytesMax+jsonReadBytes {
		return 0, s.tooLarge()
	}
	if _, err := s.in.Peek(1); err != nil {
		return 0, err
	}
	chunk, err := s.in.Peek(min(s.in.Buffered(), len(p), jsonReadBytes))
	if err != nil {
		return 0, err
	}
	whole := withoutCutRune(chunk)
	if len(whole) == 0 {
		if whole, err = s.in.Peek(min(len(p), utf8.UTFMax)); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if r, n := utf8.DecodeRune(whole); r != utf8.RuneError || n > 1 {
			whole = whole[:n]
		}
	}
	if at, why := s.check(whole); at >= 0 {
		s.keep(whole[:at])
		s.take(s.end())
		return 0, &Error{s.line, s.column, why}
	}
	n := copy(p, whole)
	s.keep(whole[:n])
	_, err = s.in.Discard(n)
	return n, err
}

// keep appends to the window. It moves the window to the beginning of what backs it when that frees at least half of it,
// so that every byte is moved a few times at most.
func (s *jsonSource) keep(b []byte) {
	if cap(s.window)-len(s.window) < len(b) && len(s.window) <= cap(s.held)/2 {
		s.window = s.held[:copy(s.held[:cap(s.held)], s.window)]
	}
	room := cap(s.window)
	s.window = append(s.window, b...)
	if cap(s.window) != room {
		s.held = s.window
	}
}

func (s *jsonSource) tooLarge() error {
	return &Error{s.line, s.column, fmt.Sprintf("a value of more than %d MiB begins or goes on here: a closing quote or bracket is missing", jsonElementBytesMax>>20)}
}

// end is the offset after all that was handed out.
func (s *jsonSource) end() int64 { return s.base + int64(len(s.window)) }

// take counts over everything before an offset and returns it, valid until the next call.
func (s *jsonSource) take(to int64) []byte {
	n := int(min(max(to, s.base), s.end()) - s.base)
	taken := s.window[:n]
	if newlines := bytes.Count(taken, []byte{'\n'}); newlines > 0 {
		s.line, s.column = s.line+newlines, 1
		s.column += utf8.RuneCount(taken[bytes.LastIndexByte(taken, '\n')+1:])
	} else {
		s.column += utf8.RuneCount(taken)
	}
	s.window, s.base = s.window[n:], s.base+int64(n)
	return taken
}

// skipBlanks counts over what stands between tokens.
func (s *jsonSource) skipBlanks() {
	rest := bytes.TrimLeft(s.window, " \t\r\n,:")
	s.take(s.end() - int64(len(rest)))
}
