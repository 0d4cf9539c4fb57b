package text

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// DecodeFirst is [Decode] for a file whose charset is one of several. A byte order mark decides; else the first charset
// in which the bytes from the first non-ASCII one on make sense, as far as the buffer of in reaches. From there on the
// choice is strict: what does not belong to it is an error of the check. No charsets means utf-8 alone. The returned
// function names the choice, which may be made late: until then it is the first.
func DecodeFirst(in *bufio.Reader, charsets []string) (lines *bufio.Reader, check Check, chosen func() string, err error) {
	if len(charsets) == 0 {
		charsets = []string{"utf-8"}
	}
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, nil, err
	}
	marked := slices.ContainsFunc(boms, func(b bom) bool { return bytes.HasPrefix(head, []byte(b.mark)) })
	if marked || len(charsets) == 1 {
		name := charsets[0]
		if marked {
			name = "auto"
			if name, err = chooseCharset(in, name); err != nil {
				return nil, nil, nil, err
			}
		}
		lines, check, err = Decode(in, name)
		return lines, check, func() string { return name }, err
	}
	l := &ladder{in: in, charsets: charsets}
	return NewReader(l), l.check, l.name, nil
}

// ladder passes ASCII on and settles the charset at the first byte that is none.
type ladder struct {
	in       *bufio.Reader
	charsets []string
	out      io.Reader // once settled
	strict   Check
}

func (l *ladder) name() string { return l.charsets[0] }

func (l *ladder) check(line []byte) (int, string) {
	if l.strict == nil {
		return -1, "" // nothing but ASCII so far
	}
	return l.strict(line)
}

func (l *ladder) Read(p []byte) (int, error) {
	for l.out == nil {
		if _, err := l.in.Peek(1); err != nil {
			return 0, err
		}
		ascii, _ := l.in.Peek(min(l.in.Buffered(), len(p)))
		if at := bytes.IndexFunc(ascii, func(r rune) bool { return r >= utf8.RuneSelf }); at >= 0 {
			ascii = ascii[:at]
		}
		if n := copy(p, ascii); n > 0 {
			_, err := l.in.Discard(n)
			return n, err
		}
		if err := l.settle(); err != nil {
			return 0, err
		}
	}
	return l.out.Read(p)
}

// settle chooses the first charset that the window ahead can be, the last when none fits: its check will tell.
func (l *ladder) settle() error {
	window, err := l.in.Peek(l.in.Size())
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	whole := errors.Is(err, io.EOF)
	i := slices.IndexFunc(l.charsets, func(name string) bool { return makesSense(window, name, whole) })
	if i < 0 {
		i = len(l.charsets) - 1
	}
	l.charsets = l.charsets[i : i+1]
	if l.charsets[0] == "utf-8" {
		l.out, l.strict = l.in, CheckUTF8
		return nil
	}
	l.out, l.strict = decoderOf(l.charsets[0]).NewDecoder().Reader(l.in), checkDecoded(l.charsets[0])
	return nil
}

func decoderOf(charset string) encoding.Encoding {
	switch charset {
	case "gb18030", "gbk":
		return simplifiedchinese.GB18030
	case "windows-1252":
		return charmap.Windows1252
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return unicode.UTF8
}

// makesSense reports whether all bytes belong to the charset; unless whole, the last character may be cut. UTF-8 may hold
// the replacement character itself, where a bank lost letters long before.
func makesSense(b []byte, charset string, whole bool) bool {
	out, ok := tryDecode(b, charset, whole)
	return ok && (charset == "utf-8" || !bytes.Contains(out, replacement))
}

func tryDecode(b []byte, charset string, whole bool) ([]byte, bool) {
	if charset == "utf-8" {
		if !whole {
			b = withoutCutRune(b)
		}
		return b, utf8.Valid(b)
	}
	dst := make([]byte, 3*len(b)+utf8.UTFMax)
	n, _, err := decoderOf(charset).NewDecoder().Transform(dst, b, whole)
	short := err != nil && !whole // the only fault there can be is a cut last character
	return dst[:n], err == nil || short
}

// withoutCutRune drops a character at the end of which bytes are missing.
func withoutCutRune(b []byte) []byte {
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

// Guess decodes the beginning of a file, for telling what it is and for nothing else: by its byte order mark, else as
// utf-8, gb18030 or windows-1252, whichever fits first. It is "" for bytes that are no text.
func Guess(raw []byte) string {
	for _, b := range boms {
		if bytes.HasPrefix(raw, []byte(b.mark)) && b.charset != "utf-32" {
			out, _ := tryDecode(raw[len(b.mark):], b.charset, false)
			return strings.ToValidUTF8(string(out), string(utf8.RuneError))
		}
	}
	if bytes.IndexByte(raw, 0) >= 0 {
		return ""
	}
	for _, charset := range []string{"utf-8", "gb18030", "windows-1252"} {
		if makesSense(raw, charset, false) {
			out, _ := tryDecode(raw, charset, false)
			return string(out)
		}
	}
	return strings.ToValidUTF8(string(raw), string(utf8.RuneError))
}
