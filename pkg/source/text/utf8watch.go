package text

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// utf8Watch passes the bytes of a file on and refuses its end when all of them turn out to be UTF-8 although another
// charset is named. Most UTF-8 is also valid GB18030, and all of it is valid windows-1252, so the decoder would garble
// names and keys without a word. Text of those charsets is practically never UTF-8 by accident; for GB18030 a character
// of three bytes is asked for, as its two-byte characters can look like one of two.
type utf8Watch struct {
	in      io.Reader
	charset string
	long    int // bytes of a character that make it one of UTF-8's own

	tail  []byte // of a character that the last read cut
	found bool   // such a character was there
	wrong bool   // something was no UTF-8
}

func (w *utf8Watch) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	if !w.wrong {
		w.look(p[:n])
	}
	if errors.Is(err, io.EOF) && w.found && !w.wrong && len(w.tail) == 0 {
		return n, &Error{1, 1, fmt.Sprintf("the whole file is UTF-8, but encoding is %s: name utf-8", w.charset)}
	}
	return n, err
}

func (w *utf8Watch) look(p []byte) {
	if len(w.tail) > 0 {
		p = append(w.tail, p...)
		w.tail = nil
	}
	for len(p) > 0 {
		if p[0] < utf8.RuneSelf {
			p = p[1:]
			continue
		}
		if !utf8.FullRune(p) {
			w.tail = append([]byte(nil), p...)
			return
		}
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			w.wrong = true
			return
		}
		w.found = w.found || n >= w.long
		p = p[n:]
	}
}
