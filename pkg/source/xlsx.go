package source

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"daybreak/pkg/source/text"
	"daybreak/pkg/source/xlsx"
)

// KindXLSX reads Excel workbooks, see package xlsx.
const KindXLSX Kind = "xlsx"

// XLSX describes Excel workbooks.
type XLSX struct {
	Path  string // that of [CSV]
	Sheet string // by name; "" wants exactly one that is visible
	Skip  int    // rows before the header
}

// workbookLimits are narrower than those of text: a sheet has about a million rows, and the names of its cells, which
// differ, keep real ones from being packed much better than 20 to 1.
var workbookLimits = limits{bytesMax: 4 << 30, ratioMax: 100, ratioFrom: 16 << 20, zipEntriesMax: 10_000}

// readXLSX reads one sheet of a workbook. An end of the context within it is no fault of the file.
func readXLSX(ctx context.Context, in *input, spec Spec, to *sink) error {
	err := readSheet(ctx, in, spec, to)
	if err != nil && ctx.Err() != nil && to.failed == nil {
		return context.Cause(ctx)
	}
	return err
}

func readSheet(ctx context.Context, in *input, spec Spec, to *sink) error {
	book, err := openWorkbook(ctx, in)
	if err != nil {
		return unusable("%s: %w", in.base(), err)
	}
	sheet, err := chooseSheet(book.Sheets, spec.XLSX.Sheet)
	if err != nil {
		return unusable("%s: %w", in.base(), err)
	}
	rows, err := book.Rows(sheet)
	if err != nil {
		return unusable("%s: %w", in.base(), damagedWorkbook(err))
	}
	defer rows.Close()
	r := newXLSXRow(in.base(), sheet.Name, book, rows, to)
	if err := r.header(spec.XLSX.Skip); err != nil {
		return r.wrap(err)
	}
	return r.all(ctx, to)
}

// openWorkbook opens a file as a workbook, or says what it is instead.
func openWorkbook(ctx context.Context, in *input) (*xlsx.Book, error) {
	if err := refuseNoWorkbook(in); err != nil {
		return nil, err
	}
	if err := in.hashAll(); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(in.file, in.info.Size())
	if err != nil {
		return nil, damagedWorkbook(err)
	}
	return openBook(ctx, z.File, in.info.Size(), workbookLimits)
}

// openBook opens the parts of a zip of that size as a workbook. All of them together are held against the limits.
func openBook(ctx context.Context, files []*zip.File, size int64, lim limits) (*xlsx.Book, error) {
	if len(files) > lim.zipEntriesMax {
		return nil, fmt.Errorf("the workbook holds %d parts, more than %d", len(files), lim.zipEntriesMax)
	}
	out := new(int64)
	book, err := xlsx.Open(files, func(f *zip.File) (io.ReadCloser, error) {
		r, err := openEntry(f, lim, out, size)
		if err != nil {
			return nil, err
		}
		return &interruptible{r, ctx}, nil
	})
	switch {
	case errors.Is(err, xlsx.ErrNoWorkbook):
		return nil, fmt.Errorf("the file is a zip, but no Excel workbook: %w; it holds %s", err, text.QuoteList(entryNames(files)))
	case err != nil:
		return nil, damagedWorkbook(err)
	}
	return book, nil
}

func entryNames(files []*zip.File) []string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = entryName(f)
	}
	return names
}

// interruptible ends the reading of a part with its context, also where there are no rows for long.
type interruptible struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the reading that the part is opened for
}

func (i *interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.ReadCloser.Read(p)
}

func damagedWorkbook(err error) error {
	return fmt.Errorf("the workbook is cut or damaged, or is more than it seems (%w): deliver the whole file again", err)
}

const compoundMagic = "\xD0\xCF\x11\xE0" // of old Excel workbooks, and of the safe around an encrypted new one

// refuseNoWorkbook says by the first bytes what a file is that is no zip.
func refuseNoWorkbook(in *input) error {
	head, err := in.head(512)
	switch {
	case err != nil:
		return err
	case len(head) == 0:
		return errors.New("the file is empty: an empty day is a sheet that holds the header")
	case bytes.HasPrefix(head, []byte(zipMagic)):
		return nil
	case bytes.HasPrefix(head, []byte(compoundMagic)):
		encrypted, err := streamHolds(in.stream(), utf16LE("EncryptedPackage"))
		if err != nil {
			return err
		}
		if encrypted {
			return errors.New("the workbook is encrypted: save it without a password")
		}
		return errors.New("the file is an old Excel workbook (xls): save it as xlsx, or export it as CSV")
	case bytes.HasPrefix(head, []byte(gzipMagic)), bytes.HasPrefix(head, []byte(zstdMagic)):
		return errors.New("the file is packed with gzip or zstd: unpack it, a workbook is packed already")
	}
	return fmt.Errorf("the file is no Excel workbook: it begins %.60q; describe delimited text under csv", head[:min(len(head), 60)])
}

func utf16LE(ascii string) []byte {
	out := make([]byte, 0, 2*len(ascii))
	for i := range len(ascii) {
		out = append(out, ascii[i], 0)
	}
	return out
}

// streamHolds reports whether the bytes occur anywhere in what is left of a stream.
func streamHolds(r io.Reader, want []byte) (bool, error) {
	buf, kept := make([]byte, 64<<10), 0
	for {
		n, err := r.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], want) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		from := max(kept+n-len(want), 0)
		kept = copy(buf, buf[from:kept+n])
	}
}

// chooseSheet finds a sheet by name, hidden or not, or the only one that is visible.
func chooseSheet(sheets []xlsx.Sheet, name string) (xlsx.Sheet, error) {
	var all, visible []string
	for _, s := range sheets {
		all = append(all, s.Name)
		if !s.Hidden {
			visible = append(visible, s.Name)
		}
	}
	want := name
	switch {
	case name != "":
		if !slices.Contains(all, name) {
			return xlsx.Sheet{}, fmt.Errorf("there is no sheet %q; the workbook holds %s", name, text.QuoteList(all))
		}
	case len(visible) == 1:
		want = visible[0]
	case len(visible) == 0:
		return xlsx.Sheet{}, fmt.Errorf("the workbook has no visible sheet of cells: name one with sheet; it holds %s", cmp.Or(text.QuoteList(all), "none"))
	default:
		return xlsx.Sheet{}, fmt.Errorf("%d sheets could be meant: name one with sheet; the workbook holds %s", len(visible), text.QuoteList(visible))
	}
	at := slices.IndexFunc(sheets, func(s xlsx.Sheet) bool { return s.Name == want && (name != "" || !s.Hidden) })
	return sheets[at], nil
}

// check lists what cannot work whatever the workbook holds.
func (x *XLSX) check() []Problem {
	out := checkPath("xlsx.path", x.Path)
	if x.Skip < 0 || x.Skip >= xlsx.RowsMax {
		out = append(out, Problem{"xlsx.skip", fmt.Sprintf("%d rows cannot be skipped", x.Skip)})
	}
	if strings.ContainsAny(x.Sheet, "\x00\r\n") {
		out = append(out, Problem{"xlsx.sheet", fmt.Sprintf("%q is no name of a sheet", x.Sheet)})
	}
	return out
}
