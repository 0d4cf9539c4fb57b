package text

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// Encodings lists the names that [Decode] knows. "auto" is a byte order mark, else strict UTF-8; nothing is guessed.
var Encodings = []string{"auto", "utf-8", "gb18030", "gbk", "utf-16", "utf-16le", "utf-16be", "windows-1252"}

const readBufferBytes = 64 << 10

// Check reports the first byte of a line that its charset forbids, at -1 when there is none.
type Check func(line []byte) (at int, why string)

// bom is a byte order mark and the charset that it announces.
type bom struct {
	mark    string
	charset string
}

// UTF-32's little-endian mark begins with that of UTF-16 and so comes first.
var boms = []bom{
	{"\xEF\xBB\xBF", "utf-8"},
	{"\xFF\xFE\x00\x00", "utf-32"},
	{"\x00\x00\xFE\xFF", "utf-32"},
	{"\xFF\xFE", "utf-16le"},
	{"\xFE\xFF", "utf-16be"},
	{"\x84\x31\x95\x33", "gb18030"},
}

// Decode turns the bytes of a file into UTF-8 without a byte order mark and returns the check that its lines must pass.
func Decode(in *bufio.Reader, name string) (*bufio.Reader, Check, error) {
	charset, err := chooseCharset(in, name)
	if err != nil {
		return nil, nil, err
	}
	switch charset {
	case "utf-8":
		return in, CheckUTF8, nil
	case "gb18030":
		return decoded(&utf8Watch{in: in, charset: charset, long: 3}, simplifiedchinese.GB18030), checkDecoded(charset), nil
	case "utf-16le":
		return decoded(in, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)), checkDecoded(charset), nil
	case "utf-16be":
		return decoded(in, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)), checkDecoded(charset), nil
	}
	return decoded(&utf8Watch{in: in, charset: charset, long: 2}, charmap.Windows1252), checkDecoded(charset), nil
}

// chooseCharset settles the charset by what is asked for and by the byte order mark, which it consumes. A mark that
// contradicts what is asked for is an error: one of the two is wrong, and choosing would garble names and keys.
func chooseCharset(in *bufio.Reader, name string) (string, error) {
	want := map[string]string{"": "auto", "gbk": "gb18030"}[name]
	if want == "" {
		want = name
	}
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	for _, b := range boms {
		if !bytes.HasPrefix(head, []byte(b.mark)) {
			continue
		}
		fits := want == "auto" || want == b.charset || (want == "utf-16" && (b.charset == "utf-16le" || b.charset == "utf-16be"))
		if !fits || b.charset == "utf-32" {
			return "", &Error{1, 1, fmt.Sprintf("the file begins with the byte order mark of %s, but encoding is %s: name one of %s", b.charset, want, nameable)}
		}
		_, err := in.Discard(len(b.mark))
		return b.charset, err
	}
	switch want {
	case "auto":
		return "utf-8", nil
	case "utf-16":
		return "", &Error{1, 1, "encoding is utf-16, but the file has no byte order mark: name utf-16le or utf-16be"}
	}
	return want, nil
}

const nameable = "utf-8, gb18030, utf-16le, utf-16be, windows-1252"

func decoded(in io.Reader, e encoding.Encoding) *bufio.Reader {
	return NewReader(e.NewDecoder().Reader(in))
}

// CheckUTF8 is the [Check] of UTF-8.
func CheckUTF8(line []byte) (int, string) {
	if utf8.Valid(line) {
		return -1, ""
	}
	for at := 0; at < len(line); {
		r, n := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && n <= 1 {
			return at, fmt.Sprintf("byte 0x%02X is not UTF-8: name the file's encoding, one of %s", line[at], nameable)
		}
		at += n
	}
	return -1, ""
}

var replacement = []byte(string(utf8.RuneError))

// checkDecoded finds the mark that decoders leave where bytes made no sense; they return no error for it.
func checkDecoded(charset string) Check {
	return func(line []byte) (int, string) {
		return bytes.Index(line, replacement), "bytes here are not " + charset + ": name the file's encoding, one of " + nameable
	}
}

// NewReader buffers as much as the readers of this package want.
func NewReader(in io.Reader) *bufio.Reader { return bufio.NewReaderSize(in, readBufferBytes) }
