package bill

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// Doc is one document on its way through a format: a file without its container, or an entry of a zip.
type Doc struct {
	Raw  *bufio.Reader  // the bytes, container peeled; buffers at least 64 KiB
	Zone *time.Location // that the configuration names for wall clocks of the bill; nil when it names none
	Day  model.Day      // the business day asked for; 0 when a bill is only looked at

	charsets []string
	charset  func() string
}

// NewDoc is a document of the given format.
func NewDoc(raw io.Reader, f *Format) *Doc {
	buf, ok := raw.(*bufio.Reader)
	if !ok || buf.Size() < headBytes {
		buf = bufio.NewReaderSize(raw, headBytes)
	}
	return &Doc{Raw: buf, charsets: f.Charsets}
}

// Text returns the document as UTF-8 without byte order mark, and the check that every line of it must pass. Call it
// once, and do not read Raw then.
func (d *Doc) Text() (*bufio.Reader, text.Check, error) {
	lines, check, charset, err := text.DecodeFirst(d.Raw, d.charsets)
	d.charset = charset
	return lines, check, err
}

// Charset is the one that [Doc.Text] settled, "" before. It is final at the end of the document only: a text that is
// ASCII until late is utf-8 until then.
func (d *Doc) Charset() string {
	if d.charset == nil {
		return ""
	}
	return d.charset()
}

// Records reads the document as delimited records.
func (d *Doc) Records(dialect text.Dialect) (*text.Records, error) {
	lines, check, err := d.Text()
	if err != nil {
		return nil, err
	}
	return text.NewRecords(lines, dialect, check), nil
}

// Lines reads the document line by line, for formats with a syntax of their own.
func (d *Doc) Lines() (*text.Lines, error) {
	lines, check, err := d.Text()
	if err != nil {
		return nil, err
	}
	return text.NewLines(lines, check), nil
}

const headBytes = 64 << 10

// PeekHead looks at the beginning of a document without taking it. The reader must buffer 64 KiB. The text is that of a
// byte order mark, else UTF-8, else GB18030, else windows-1252, whichever the bytes can be first.
func PeekHead(in *bufio.Reader) (Head, error) {
	raw, err := in.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return Head{}, err
	}
	return NewHead(raw), nil
}

// NewHead decodes the beginning of a document, which may end in the middle of a character.
func NewHead(raw []byte) Head {
	return Head{Raw: raw, Text: text.Guess(raw)}
}

// FirstLine is the first line of the text, trimmed of what spreadsheets add: commas, blanks, quotes.
func (h Head) FirstLine() string {
	line, _, _ := strings.Cut(strings.TrimLeft(h.Text, "\r\n"), "\n")
	return strings.TrimRight(line, "\r,; \t")
}

// Lines are the first lines of the text, at most n, without their ends.
func (h Head) Lines(n int) []string {
	var out []string
	for line := range strings.SplitSeq(h.Text, "\n") {
		if len(out) == n {
			break
		}
		out = append(out, strings.TrimSuffix(line, "\r"))
	}
	return out
}

// Begins reports whether the text begins with the prefix, after blanks.
func (h Head) Begins(prefix string) bool {
	return strings.HasPrefix(strings.TrimLeft(h.Text, " \t\r\n"), prefix)
}

// IsBinary reports whether the bytes are no text in any of the charsets that bills have.
func (h Head) IsBinary() bool { return bytes.IndexByte(h.Raw, 0) >= 0 && h.Text == "" }
