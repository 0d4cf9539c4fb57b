package source

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/formats"
	"daybreak/pkg/source/xlsx"
)

// contentTypes is the part by which a zip is an Office document.
const contentTypes = "[Content_Types].xml"

// officeFile is the error for an Office document where text is read.
type officeFile struct{ files []*zip.File }

func (o *officeFile) isWorkbook() bool {
	for _, f := range o.files {
		if strings.HasPrefix(strings.ToLower(f.Name), "xl/") {
			return true
		}
	}
	return false
}

func (o *officeFile) Error() string {
	if o.isWorkbook() {
		return "the file is an Excel workbook, not CSV: describe it under xlsx, or export it as CSV"
	}
	return "the file is an Office document, not CSV: export its table as CSV"
}

const headRowsMax = 100 // of a sheet, to tell what bill it was

// asBill says what bill a workbook was before a spreadsheet saved it. It is refused whatever it was.
func (o *officeFile) asBill(ctx context.Context, size int64) error {
	if !o.isWorkbook() {
		return errors.New("the file is an Office document, not a bill: deliver the file as the provider made it")
	}
	err := errors.New("no bill of a known format")
	for _, delimiter := range []string{",", "\t"} {
		head, failed := o.head(ctx, size, delimiter)
		if failed != nil {
			return fmt.Errorf("an Excel workbook, which no bill is; deliver the file as the provider made it; %w", failed)
		}
		var format *bill.Format
		if format, err = formats.Tell(bill.NewHead([]byte(head))); err == nil {
			return fmt.Errorf("an Excel workbook of what looks like a %s (%s): a workbook keeps %d digits of a number and makes binary fractions; deliver the file as the provider made it",
				format.Name, format.Title, digitsKept)
		}
		if !errors.Is(err, formats.ErrUnknown) {
			break
		}
	}
	if errors.Is(err, formats.ErrUnknown) {
		return fmt.Errorf("an Excel workbook, %w; deliver the file as the provider made it, or describe the sheet under xlsx", err)
	}
	return fmt.Errorf("an Excel workbook of %w", err)
}

// head is the beginning of the first visible sheet as the text that it may have been.
func (o *officeFile) head(ctx context.Context, size int64, delimiter string) (string, error) {
	book, err := openBook(ctx, o.files, size, workbookLimits)
	if err != nil {
		return "", err
	}
	if len(book.Sheets) == 0 {
		return "", nil
	}
	sheet := book.Sheets[0]
	if i := slices.IndexFunc(book.Sheets, func(s xlsx.Sheet) bool { return !s.Hidden }); i >= 0 {
		sheet = book.Sheets[i]
	}
	rows, err := book.Rows(sheet)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var b strings.Builder
	for range headRowsMax {
		cells, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", damagedWorkbook(err)
		}
		writeLine(&b, book, cells, delimiter)
		if b.Len() > 48<<10 {
			break
		}
	}
	return b.String(), nil
}

// writeLine writes a row as delimited text, quoting what needs it.
func writeLine(b *strings.Builder, book *xlsx.Book, cells []xlsx.Cell, delimiter string) {
	column := 1
	for _, c := range cells {
		for ; column < c.Column; column++ {
			b.WriteString(delimiter)
		}
		value := c.Text()
		if c.Kind == xlsx.Date {
			if at, dayOnly, err := book.Wall(c); err == nil && dayOnly {
				value = at.Format(dayLayout)
			} else if err == nil {
				value = at.Format("2006-01-02 15:04:05")
			}
		}
		if strings.ContainsAny(value, delimiter+"\"\r\n") {
			value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
		}
		b.WriteString(value)
	}
	b.WriteByte('\n')
}
