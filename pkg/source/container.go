package source

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/simplifiedchinese"

	"daybreak/pkg/source/text"
)

// limits bound what a container may expand to, so that a small file cannot fill a disk.
type limits struct {
	bytesMax      int64 // expanded
	ratioMax      int64 // expanded over packed, once more than ratioFrom bytes came out
	ratioFrom     int64
	zipEntriesMax int
}

var usualLimits = limits{bytesMax: 64 << 30, ratioMax: 250, ratioFrom: 16 << 20, zipEntriesMax: 1000}

const zstdWindowBytesMax = 128 << 20 // what `zstd --long` makes at most by default

// magic is how a kind of file begins.
type magic struct {
	prefix, name string
}

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	zipMagic  = "PK\x03\x04"
	zipEmpty  = "PK\x05\x06"
)

var containers = []magic{{gzipMagic, "gzip"}, {zstdMagic, "zstd"}, {zipMagic, "zip"}, {zipEmpty, "zip"}}

// strangers are files that are given as CSV by mistake, with what to do about it.
var strangers = []magic{
	{"PAR1\x15", "a parquet file: describe it under parquet"},
	{compoundMagic, "an old Excel workbook (xls), or an encrypted one: export it as CSV"},
	{"%PDF", "a PDF document: ask for the CSV export"},
	{"BZh91AY&SY", "bzip2 data: unpack it, or pack it as gzip, zstd or zip"},
	{"\xFD7zXZ", "xz data: unpack it, or pack it as gzip, zstd or zip"},
	{"7z\xBC\xAF", "a 7z archive: unpack it, or pack it as gzip, zstd or zip"},
	{"Rar!\x1a\x07", "a RAR archive: unpack it, or pack it as gzip, zstd or zip"},
	{"\x04\x22\x4D\x18", "lz4 data: unpack it, or pack it as gzip, zstd or zip"},
	{"SQLite format 3", "an SQLite database"},
}

// document is one document of a file: the file itself without its container, or an entry of a zip.
type document struct {
	name string // of the entry, "" for a file that is its own document
	open func() (io.ReadCloser, error)
}

// documents are those of one file.
type documents struct {
	container string // "", gzip, zstd or zip
	list      []document
}

// unpack returns the content of a plain, gzip, zstd or zip file, told apart by the first bytes. closing it frees the
// decoder; a container that is cut or damaged shows as an error of the reader, at the latest at its end. A zip must hold
// one document, or one that the pattern chooses.
func unpack(in *input, entry string, lim limits) (io.ReadCloser, error) {
	all, err := unpackAll(in, entry, lim)
	if err != nil {
		return nil, err
	}
	if len(all.list) > 1 {
		return nil, fmt.Errorf("%d entries of the zip could be meant: choose one with entry:; it holds %s", len(all.list), text.QuoteList(all.names()))
	}
	return all.list[0].open()
}

func (d documents) names() []string {
	out := make([]string, len(d.list))
	for i, doc := range d.list {
		out[i] = doc.name
	}
	return out
}

// unpackAll lists the documents of a file, at least one, in the order in which they lie there. Only one may be open at a
// time. Their names are for people and patterns and never used as paths.
func unpackAll(in *input, entry string, lim limits) (documents, error) {
	head, err := in.head(8)
	if err != nil {
		return documents{}, err
	}
	if entry != "" && !bytes.HasPrefix(head, []byte("PK")) {
		return documents{}, errors.New("the file is not a zip, but entry: chooses from one: remove entry, or deliver a zip")
	}
	one := func(container string, open func() (io.ReadCloser, error)) documents {
		return documents{container, []document{{open: open}}}
	}
	bounded := func(r io.Reader, kind string, close func()) io.ReadCloser {
		return &expansion{r: named{r, kind}, packed: in.packed, lim: lim, out: new(int64), close: close}
	}
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return one("gzip", func() (io.ReadCloser, error) {
			r, err := gzip.NewReader(in.stream())
			if err != nil {
				return nil, packedError("gzip", err)
			}
			return bounded(r, "gzip", func() { _ = r.Close() }), nil
		}), nil
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		return one("zstd", func() (io.ReadCloser, error) {
			r, err := zstd.NewReader(in.stream(), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowBytesMax))
			if err != nil {
				return nil, packedError("zstd", err)
			}
			return bounded(r, "zstd", r.Close), nil
		}), nil
	case bytes.HasPrefix(head, []byte(zipMagic)), bytes.HasPrefix(head, []byte(zipEmpty)):
		return listZip(in, entry, lim)
	}
	return one("", func() (io.ReadCloser, error) { return io.NopCloser(in.stream()), nil }), nil
}

// named says in its errors which container is damaged.
type named struct {
	r    io.Reader
	kind string
}

func (n named) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = packedError(n.kind, err)
	}
	return k, err
}

func packedError(kind string, err error) error {
	switch {
	case errors.Is(err, ErrChanged):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the %s data is cut: deliver the whole file again", kind)
	case errors.Is(err, gzip.ErrHeader):
		return errors.New("bytes that are not gzip follow the gzip data: the file is damaged or was put together wrongly")
	}
	return fmt.Errorf("the %s data is damaged: %w", kind, err)
}

// expansion counts what really comes out of a container and refuses too much.
type expansion struct {
	r      io.Reader
	packed func() int64 // bytes that went in so far
	lim    limits
	out    *int64 // of all documents of the file
	own    int64  // of this one
	whole  int64  // size of the file, 0 when only packed counts
	close  func()
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	*e.out += int64(n)
	e.own += int64(n)
	switch {
	case *e.out > e.lim.bytesMax:
		return 0, fmt.Errorf("the container expands to more than %d MiB", e.lim.bytesMax>>20)
	case e.own > e.lim.ratioFrom && e.own/max(e.packed(), 1) > e.lim.ratioMax,
		e.whole > 0 && *e.out > e.lim.ratioFrom && *e.out/e.whole > e.lim.ratioMax:
		return 0, fmt.Errorf("the container expands more than %d times: that is an attack or a file of nothing but repetition; deliver it plain", e.lim.ratioMax)
	}
	return n, err
}

func (e *expansion) Close() error {
	e.close()
	return nil
}

// listZip lists the data entries, or those that the pattern chooses. Entries that share their bytes with each other expand
// one small file many times, so all of them together are also held against the file's size.
func listZip(in *input, pattern string, lim limits) (documents, error) {
	if err := in.hashAll(); err != nil {
		return documents{}, err
	}
	z, err := zip.NewReader(in.file, in.info.Size())
	if err != nil {
		return documents{}, fmt.Errorf("the zip is cut or damaged (%w): deliver the whole file again", err)
	}
	if len(z.File) > lim.zipEntriesMax {
		return documents{}, fmt.Errorf("the zip holds %d entries, more than %d", len(z.File), lim.zipEntriesMax)
	}
	files, err := chooseEntries(z.File, pattern)
	if err != nil {
		return documents{}, err
	}
	out := new(int64)
	all := documents{container: "zip"}
	for _, f := range files {
		all.list = append(all.list, document{entryName(f), func() (io.ReadCloser, error) { return openEntry(f, lim, out, in.info.Size()) }})
	}
	return all, nil
}

func openEntry(f *zip.File, lim limits, out *int64, whole int64) (io.ReadCloser, error) {
	switch {
	case f.Method == 99:
		return nil, fmt.Errorf("entry %q is AES-encrypted (method 99): unpack it with its password first", entryName(f))
	case f.Flags&1 != 0:
		return nil, fmt.Errorf("entry %q is encrypted: unpack it with its password first", entryName(f))
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return nil, fmt.Errorf("entry %q is packed with method %d, only stored and deflated ones can be read: pack the zip again", entryName(f), f.Method)
	}
	r, err := f.Open()
	if err != nil {
		return nil, packedError("zip", err)
	}
	packed := func() int64 { return int64(f.CompressedSize64) } //nolint:gosec // bounded by the file's size
	return &expansion{r: named{r, "zip"}, packed: packed, lim: lim, out: out, whole: whole, close: func() { _ = r.Close() }}, nil
}

func chooseEntries(files []*zip.File, pattern string) ([]*zip.File, error) {
	var fits []*zip.File
	var all []string
	for _, f := range files {
		name := entryName(f)
		if strings.HasSuffix(name, "/") || strings.HasPrefix(name, "__MACOSX/") || path.Base(name) == ".DS_Store" {
			continue
		}
		if name == contentTypes {
			return nil, &officeFile{files}
		}
		all = append(all, name)
		if pattern == "" || matches(pattern, name) || matches(pattern, path.Base(name)) {
			fits = append(fits, f)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("the zip holds no file")
	case len(fits) == 0:
		return nil, fmt.Errorf("no entry of the zip matches entry: %q; it holds %s", pattern, text.QuoteList(all))
	}
	return fits, nil
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// entryName decodes a name that is not UTF-8 as GB18030, which is what Chinese archivers write.
func entryName(f *zip.File) string {
	if f.NonUTF8 || !utf8.ValidString(f.Name) {
		if s, err := simplifiedchinese.GB18030.NewDecoder().String(f.Name); err == nil {
			return s
		}
	}
	return f.Name
}

// refuseStranger says what a file really is when its first bytes, before decoding, show that it is no delimited text.
func refuseStranger(head []byte) error {
	for _, c := range containers {
		if bytes.HasPrefix(head, []byte(c.prefix)) {
			return fmt.Errorf("the container holds another container (%s): pack the file once", c.name)
		}
	}
	for _, s := range strangers {
		if bytes.HasPrefix(head, []byte(s.prefix)) {
			return fmt.Errorf("the file is %s", s.name)
		}
	}
	if len(head) >= 262 && string(head[257:262]) == "ustar" {
		return errors.New("the file is a tar archive: deliver the file inside it")
	}
	return nil
}

// refuseDocument tells HTML, XML and JSON by the beginning of the decoded text, which providers answer with instead of a bill.
func refuseDocument(head []byte) error {
	doc := bytes.TrimLeft(head, " \t\r\n")
	lower := bytes.ToLower(doc[:min(len(doc), 64)])
	rest := bytes.TrimLeft(doc[min(1, len(doc)):], " \t\r\n")
	begins := func(c byte) bool { return len(doc) > 0 && doc[0] == c }
	follows := func(set string) bool { return len(rest) > 0 && strings.IndexByte(set, rest[0]) >= 0 }
	what := ""
	switch {
	case bytes.HasPrefix(lower, []byte("<!doctype html")), bytes.HasPrefix(lower, []byte("<html")):
		what = "an HTML page"
	case begins('<') && len(doc) > 1 && (doc[1] == '?' || doc[1] == '!' || doc[1]|0x20 >= 'a' && doc[1]|0x20 <= 'z'):
		what = "an XML document"
	case begins('{') && follows(`"}`), begins('[') && follows(`{["`):
		what = "a JSON document"
	default:
		return nil
	}
	return fmt.Errorf("the file is %s, not CSV: it begins %q; a provider answers so when there is no bill or the request was wrong", what, text.Clip(string(doc), 80))
}
