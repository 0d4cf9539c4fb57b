package source_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// workbook lets excelize write one, with Sheet1 in it.
func workbook(t testing.TB, fill func(f *excelize.File)) string {
	t.Helper()
	f := excelize.NewFile()
	fill(f)
	b, err := f.WriteToBuffer()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return b.String()
}

// put writes a row of Sheet1 from column A on; nil leaves a cell out.
func put(t testing.TB, f *excelize.File, row int, values ...any) {
	t.Helper()
	for i, v := range values {
		cell, err := excelize.CoordinatesToCellName(i+1, row)
		require.NoError(t, err)
		if v != nil {
			require.NoError(t, f.SetCellValue("Sheet1", cell, v))
		}
	}
}

// sheetXML is a workbook whose only sheet, S, holds those rows as XML; style 1 is a date, 2 a date with a clock.
func sheetXML(t testing.TB, rows string) string {
	t.Helper()
	return bookXML(t, "", `<sheetData>`+rows+`</sheetData>`)
}

func bookXML(t testing.TB, properties, sheet string) string {
	t.Helper()
	const main = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	const rel = `http://schemas.openxmlformats.org/officeDocument/2006/relationships/`
	return zipped(t,
		zipEntry{"[Content_Types].xml", `<Types/>`},
		zipEntry{"_rels/.rels", `<Relationships><Relationship Id="a" Type="` + rel + `officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		zipEntry{"xl/workbook.xml", `<workbook ` + main + `>` + properties + `<sheets><sheet name="S" r:id="s"/></sheets></workbook>`},
		zipEntry{"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="s" Type="` + rel + `worksheet" Target="s.xml"/><Relationship Id="y" Type="` + rel + `styles" Target="styles.xml"/></Relationships>`},
		zipEntry{"xl/styles.xml", `<styleSheet ` + main + `><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>`},
		zipEntry{"xl/s.xml", `<worksheet ` + main + `>` + sheet + `</worksheet>`})
}

// header is that row as XML, with texts in the cells.
func header(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(`<c t="inlineStr"><is><t>` + n + `</t></is></c>`)
	}
	return `<row>` + b.String() + `</row>`
}

func readXLSX(t testing.TB, content string, x source.XLSX, cols source.Columns) ([]model.Entry, model.Seal, error) {
	t.Helper()
	x.Path = "f.xlsx"
	spec := source.Spec{Kind: source.KindXLSX, XLSX: &x, Columns: cols}
	return readAll(t, spec, folder(t, map[string]string{"f.xlsx": content}), request())
}

// The same table gives the same entries, as CSV and as a workbook of texts, numbers and dates.
func TestWorkbookAndCSVGiveTheSameEntries(t *testing.T) {
	t.Parallel()
	csv := "key,amount,fee,id,status,occurred_at,note\n" +
		"0070,31.15,0.01,123456789012345,paid,2026-10-01 09:30:00,\"a,b\n\"\n" +
		"单号２,-5,,7,\"退款\",2026-10-01,\n" +
		"420000123420261001123,1234567.89,0,8,paid,2026-10-01 23:59:59, x \n"
	at := func(text string) time.Time {
		v, err := time.Parse("2006-01-02 15:04:05", text)
		require.NoError(t, err)
		return v
	}
	book := workbook(t, func(f *excelize.File) {
		date := "yyyy-mm-dd"
		style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &date})
		require.NoError(t, err)
		money := `"¥"#,##0.00`
		yuan, err := f.NewStyle(&excelize.Style{CustomNumFmt: &money})
		require.NoError(t, err)
		put(t, f, 1, "key", "amount", "fee", "id", "status", "occurred_at", "note")
		put(t, f, 2, "0070", 31.15, 0.01, int64(123456789012345), "paid", at("2026-10-01 09:30:00"), "a,b\n")
		put(t, f, 3, "单号２", -5, nil, 7, "退款", at("2026-10-01 00:00:00"), nil)
		put(t, f, 4, "420000123420261001123", "1234567.89", "0", "8", "paid", at("2026-10-01 23:59:59"), " x ")
		require.NoError(t, f.SetCellStyle("Sheet1", "F3", "F3", style))
		require.NoError(t, f.SetCellStyle("Sheet1", "B2", "B3", yuan))
		require.NoError(t, f.SetRowVisible("Sheet1", 3, false))
		require.NoError(t, f.SetColVisible("Sheet1", "D", false))
		require.NoError(t, f.SetRowHeight("Sheet1", 9, 30)) // a row of nothing but its height
	})
	cols := columns("fee", "id", "status", "occurred_at", "note")
	want, seal, err := readCSV(t, csv, source.CSV{}, cols)
	require.NoError(t, err)
	got, sealX, err := readXLSX(t, book, source.XLSX{}, cols)
	require.NoError(t, err)
	require.Len(t, got, 3)
	for i := range want {
		require.True(t, want[i].Amount.Equal(got[i].Amount))
		require.True(t, want[i].Fee.Decimal.Equal(got[i].Fee.Decimal) && want[i].Fee.Valid == got[i].Fee.Valid)
		want[i].Amount, want[i].Fee, want[i].File, want[i].Line = got[i].Amount, got[i].Fee, "f.xlsx", got[i].Line
	}
	require.Equal(t, want, got)
	require.Equal(t, []uint64{2, 3, 4}, []uint64{got[0].Line, got[1].Line, got[2].Line})
	require.Equal(t, seal.Totals.String(), sealX.Totals.String())
	require.Equal(t, int64(len(book)), sealX.Sources[0].Bytes)
	require.Equal(t, uint64(3), sealX.Sources[0].Rows)
	require.Len(t, sealX.Sources[0].SHA256, 64)
}

// Serial numbers are wall clocks of the source's zone, to the second (bug B60), also where days count from 1904.
func TestDatesOfWorkbooks(t *testing.T) {
	t.Parallel()
	rows := header("key", "amount", "occurred_at", "day") +
		`<row><c><v>1</v></c><c><v>1</v></c><c s="2"><v>45123.999994</v></c><c s="1"><v>45123</v></c></row>` +
		`<row><c><v>2</v></c><c><v>1</v></c><c s="1"><v>45123</v></c><c s="2"><v>45123</v></c></row>` +
		`<row><c><v>3</v></c><c><v>1</v></c><c s="1"><v>45123.5</v></c><c><v>45123.5</v></c></row>` +
		`<row><c><v>4</v></c><c><v>1</v></c><c t="d"><v>2023-07-16T01:00:00Z</v></c><c t="b"><v>1</v></c></row>` +
		`<row><c><v>5</v></c><c><v>1</v></c><c t="str"><v>2023-07-16 01:00:00</v></c><c t="d"><v>2023-07-16</v></c></row>`
	got, _, err := readXLSX(t, sheetXML(t, rows), source.XLSX{}, columns("occurred_at", "day"))
	require.NoError(t, err)
	var times, days []string
	for _, e := range got {
		times, days = append(times, e.OccurredAt.In(zone).Format("2006-01-02 15:04:05")), append(days, e.Attrs["day"])
	}
	require.Equal(t, []string{"2023-07-16 23:59:59", "2023-07-16 00:00:00", "2023-07-16 12:00:00", "2023-07-16 09:00:00", "2023-07-16 01:00:00"}, times)
	require.Equal(t, []string{"2023-07-16", "2023-07-16 00:00:00", "45123.5", "true", "2023-07-16"}, days)

	old := bookXML(t, `<workbookPr date1904="1"/>`, `<sheetData>`+header("key", "amount", "occurred_at")+
		`<row><c><v>1</v></c><c><v>1</v></c><c s="2"><v>43661.999994</v></c></row></sheetData>`)
	got, _, err = readXLSX(t, old, source.XLSX{}, columns("occurred_at"))
	require.NoError(t, err)
	require.Equal(t, "2023-07-16 23:59:59", got[0].OccurredAt.In(zone).Format("2006-01-02 15:04:05"))
}

func TestEpochsInWorkbooks(t *testing.T) {
	t.Parallel()
	content := sheetXML(t, header("key", "amount", "occurred_at")+`<row><c><v>1</v></c><c><v>1</v></c><c><v>1790818200</v></c></row>`)
	spec := source.Spec{Kind: source.KindXLSX, XLSX: &source.XLSX{Path: "f.xlsx"}, Columns: columns("occurred_at"), TimeFormat: "unix"}
	got, _, err := readAll(t, spec, folder(t, map[string]string{"f.xlsx": content}), request())
	require.NoError(t, err)
	require.Equal(t, time.Unix(1790818200, 0).UTC(), got[0].OccurredAt)
}

// What a cell cannot give is refused with its place and what to do.
func TestCellsThatAreRefused(t *testing.T) {
	t.Parallel()
	const digits = `these are not those that were written; write the column as text, or export the sheet as CSV`
	key, one := `<c><v>1</v></c>`, `<c><v>1</v></c>`
	for name, c := range map[string]struct{ row, want string }{
		"a computed third": {key + `<c><v>31.333333333333332</v></c>`, `f.xlsx!S:2:2: column "amount": the number is stored as 31.333333333333332: a spreadsheet keeps 15 digits and makes binary fractions, so ` + digits},
		"17 digits":        {key + `<c><v>123456789.12345679</v></c>`, `column "amount": the number is stored as 123456789.12345679`},
		"exponent":         {key + `<c><v>1E-3</v></c>`, `column "amount": the number is stored as 1E-3, with an exponent`},
		"no number":        {key + `<c><v>1,5</v></c>`, `column "amount": the cell holds "1,5" as a number, which is none`},
		"amount a date":    {key + `<c s="1"><v>45366</v></c>`, `column "amount": the cell is a date and cannot be an amount: a spreadsheet makes dates of what looks like one`},
		"amount a truth":   {key + `<c t="b"><v>1</v></c>`, `column "amount": the cell is true or false and cannot be an amount`},
		"amount missing":   {key, `f.xlsx!S:2:2: column "amount": the amount is empty`},
		"text amount":      {key + `<c t="str"><v>1,234.50</v></c>`, `amount "1,234.50": only digits and one decimal point are allowed`},
		"16 digits":        {`<c><v>1234567890123456</v></c>` + one, `f.xlsx!S:2:1: column "key": the number is stored as 1234567890123456: a spreadsheet keeps 15 digits`},
		"rounded id":       {`<c><v>4.20000123420261E+20</v></c>` + one, `column "key": the number is stored as 4.20000123420261E+20, with an exponent`},
		"rounded text":     {`<c t="str"><v>4.2E+27</v></c>` + one, `column "key": "4.2E+27" is a number as a spreadsheet rounds it`},
		"key a fraction":   {`<c><v>1.5</v></c>` + one, `column "key": "1.5" is a number with a fraction and cannot identify`},
		"key a date":       {`<c s="1"><v>45366</v></c>` + one, `column "key": the cell is a date and cannot identify`},
		"key a truth":      {`<c t="b"><v>1</v></c>` + one, `column "key": the cell is true or false and cannot identify`},
		"key missing":      {`<c/>` + one, `f.xlsx!S:2:1: column "key": key is empty, but the match key needs it`},
		"error":            {`<c t="e"><v>#N/A</v></c>` + one, `column "key": the cell holds the error #N/A: mend the sheet`},
		"formula":          {key + `<c><f>A1+1</f></c>`, `column "amount": the result of the cell's formula is not stored: open the workbook in Excel and save it`},
		"bare number":      {key + one + `<c><v>45366</v></c>`, `column "occurred_at": the cell is the bare number 45366: give it the format of a date`},
		"time of day":      {key + one + `<c s="2"><v>0.5</v></c>`, `f.xlsx!S:2:3: column "occurred_at": instant "1899-12-31 12:00:00" is in the year 1899`},
		"negative date":    {key + one + `<c s="2"><v>-1</v></c>`, `serial number "-1" is no date`},
		"instant a truth":  {key + one + `<c t="b"><v>1</v></c>`, `the cell is true or false and cannot be an instant`},
		"replaced":         {`<c t="str"><v>a&#xFFFD;</v></c>` + one, "replacement character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readXLSX(t, sheetXML(t, header("key", "amount", "occurred_at")+`<row>`+c.row+`</row>`), source.XLSX{}, columns("occurred_at"))
			require.ErrorIs(t, err, source.ErrInput)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestShapesOfSheets(t *testing.T) {
	t.Parallel()
	row := func(n int) string {
		return fmt.Sprintf(`<row r="%d"><c><v>%d</v></c><c><v>1.5</v></c></row>`, n, n)
	}
	head := header("key", "amount")
	for name, c := range map[string]struct {
		sheet string
		skip  int
		want  string // "" for a good one
	}{
		"header only":         {`<sheetData>` + head + `</sheetData>`, 0, ""},
		"trailing blank rows": {`<sheetData>` + head + row(2) + `<row r="3"/><row r="9"><c s="1"/></row></sheetData>`, 0, ""},
		"merged title":        {`<sheetData>` + header("title") + head + row(3) + `</sheetData><mergeCells><mergeCell ref="A1:B1"/></mergeCells>`, 1, ""},
		"blank before header": {`<sheetData><row r="1"/><row r="2"/>` + head + row(4) + `</sheetData>`, 2, ""},
		"merged elsewhere":    {`<sheetData>` + head + row(2) + row(3) + `</sheetData><mergeCells><mergeCell ref="C2:C3"/><mergeCell ref="A9:A12"/></mergeCells>`, 0, ""},
		"no rows":             {`<sheetData/>`, 0, "f.xlsx!S: there is no header row"},
		"no header":           {`<sheetData>` + row(7) + `</sheetData>`, 0, "f.xlsx!S:1: the row of the header is blank: say with skip how many rows are before it; the next row that is not is 7"},
		"other header":        {`<sheetData>` + header("key", "", "key") + `</sheetData>`, 0, `f.xlsx!S:1: columns missing "amount"; there more than once "key"; found: "key", "", "key"`},
		"blank between":       {`<sheetData>` + head + row(2) + row(5) + `</sheetData>`, 0, "f.xlsx!S:3: the row is blank, but row 5 is not: remove blank rows between rows, and what is below the table"},
		"note below":          {`<sheetData>` + head + row(2) + `<row r="4"><c t="str"><v>note</v></c></row></sheetData>`, 0, "f.xlsx!S:3: the row is blank, but row 4 is not"},
		"merged":              {`<sheetData>` + head + row(2) + row(3) + `</sheetData><mergeCells><mergeCell ref="B2:B3"/></mergeCells>`, 0, "f.xlsx!S:2:2: the cells B2 to B3 are merged, so all but the first look empty: undo the merge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readXLSX(t, bookXML(t, "", c.sheet), source.XLSX{Skip: c.skip}, columns())
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, source.ErrInput)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSheetsAreChosen(t *testing.T) {
	t.Parallel()
	book := func(second bool) string {
		return workbook(t, func(f *excelize.File) {
			put(t, f, 1, "key", "amount")
			put(t, f, 2, "visible", 1)
			_, err := f.NewSheet("账单")
			require.NoError(t, err)
			require.NoError(t, f.SetSheetRow("账单", "A1", &[]any{"key", "amount"}))
			require.NoError(t, f.SetSheetRow("账单", "A2", &[]any{"other", 1}))
			require.NoError(t, f.SetSheetVisible("账单", second))
		})
	}
	got, _, err := readXLSX(t, book(false), source.XLSX{}, columns())
	require.NoError(t, err)
	require.Equal(t, []string{"visible"}, keys(got))
	got, _, err = readXLSX(t, book(false), source.XLSX{Sheet: "账单"}, columns())
	require.NoError(t, err)
	require.Equal(t, []string{"other"}, keys(got))
	_, _, err = readXLSX(t, book(true), source.XLSX{}, columns())
	require.EqualError(t, err, `f.xlsx: 2 sheets could be meant: name one with sheet; the workbook holds "Sheet1", "账单"`)
	_, _, err = readXLSX(t, book(true), source.XLSX{Sheet: "sheet1"}, columns())
	require.EqualError(t, err, `f.xlsx: there is no sheet "sheet1"; the workbook holds "Sheet1", "账单"`)
	_, _, err = readXLSX(t, sheetXML(t, ""), source.XLSX{Sheet: "T"}, columns())
	require.EqualError(t, err, `f.xlsx: there is no sheet "T"; the workbook holds "S"`)
}

func TestFilesThatAreNoWorkbook(t *testing.T) {
	t.Parallel()
	encrypted := func() string {
		f := excelize.NewFile()
		b, err := f.WriteToBuffer()
		require.NoError(t, err)
		out, err := excelize.Encrypt(b.Bytes(), &excelize.Options{Password: "x"})
		require.NoError(t, err)
		return string(out)
	}
	for name, c := range map[string]struct{ content, want string }{
		"empty":      {"", "f.xlsx: the file is empty: an empty day is a sheet that holds the header"},
		"csv":        {"key,amount\n1,2\n", `f.xlsx: the file is no Excel workbook: it begins "key,amount\n1,2\n"; describe delimited text under csv`},
		"html":       {"<html><table>", `the file is no Excel workbook: it begins "<html><table>"`},
		"encrypted":  {encrypted(), "f.xlsx: the workbook is encrypted: save it without a password"},
		"xls":        {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + strings.Repeat("\x00", 2000), "f.xlsx: the file is an old Excel workbook (xls): save it as xlsx, or export it as CSV"},
		"gzip":       {gz(t, "x"), "the file is packed with gzip or zstd: unpack it"},
		"zip":        {zipped(t, zipEntry{"a.csv", "key,amount\n"}), `the file is a zip, but no Excel workbook: it holds no workbook; it holds "a.csv"`},
		"word":       {zipped(t, zipEntry{"[Content_Types].xml", ""}, zipEntry{"word/document.xml", ""}), "it is a Word document"},
		"xlsb":       {zipped(t, zipEntry{"[Content_Types].xml", ""}, zipEntry{"xl/workbook.bin", ""}), "it is a binary Excel workbook (xlsb): save it as xlsx"},
		"being sent": {strings.Repeat("\x00", 100), "the file is no Excel workbook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, seal, err := readXLSX(t, c.content, source.XLSX{}, columns())
			require.ErrorIs(t, err, source.ErrInput)
			require.ErrorContains(t, err, c.want)
			require.Zero(t, seal)
		})
	}
}

// A workbook with macros is a workbook, and the path says nothing.
func TestWorkbookWithMacros(t *testing.T) {
	t.Parallel()
	content := workbook(t, func(f *excelize.File) {
		require.NoError(t, f.AddVBAProject([]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 no macros")))
		put(t, f, 1, "key", "amount")
		put(t, f, 2, "k", 1)
	})
	got, _, err := readXLSX(t, content, source.XLSX{}, columns())
	require.NoError(t, err)
	require.Equal(t, []string{"k"}, keys(got))
}

func smallBook(t testing.TB) string {
	return workbook(t, func(f *excelize.File) {
		put(t, f, 1, "key", "amount")
		for i := range 40 {
			put(t, f, i+2, fmt.Sprintf("k%d", i), i)
		}
	})
}

// TestCutWorkbooksAreErrors cuts a workbook at every 50 bytes: never is a part taken for the whole.
func TestCutWorkbooksAreErrors(t *testing.T) {
	t.Parallel()
	content := smallBook(t)
	for n := 0; n < len(content); n += 50 {
		_, seal, err := readXLSX(t, content[:n], source.XLSX{}, columns())
		require.ErrorIs(t, err, source.ErrInput, "cut to %d of %d bytes", n, len(content))
		require.Zero(t, seal)
	}
}

// TestDamagedWorkbooksGiveTheSameOrNothing flips bytes all over: a checksum shows it, or it was not looked at.
func TestDamagedWorkbooksGiveTheSameOrNothing(t *testing.T) {
	t.Parallel()
	content := smallBook(t)
	want, _, err := readXLSX(t, content, source.XLSX{}, columns())
	require.NoError(t, err)
	for n := 0; n < len(content); n += 7 {
		damaged := []byte(content)
		damaged[n] ^= 0x10
		got, _, err := readXLSX(t, string(damaged), source.XLSX{}, columns())
		if err != nil {
			require.ErrorIs(t, err, source.ErrInput, "byte %d", n)
			continue
		}
		require.Equal(t, want, got, "byte %d", n)
	}
}

// bombXML is a workbook whose sheet begins so and then holds 32 MiB of nothing but the unit.
func bombXML(t testing.TB, begin, unit string) string {
	t.Helper()
	var b bytes.Buffer
	old, err := zip.NewReader(strings.NewReader(sheetXML(t, "")), int64(len(sheetXML(t, ""))))
	require.NoError(t, err)
	w := zip.NewWriter(&b)
	for _, f := range old.File {
		if f.Name != "xl/s.xml" {
			require.NoError(t, w.Copy(f))
		}
	}
	sheet, err := w.Create("xl/s.xml")
	require.NoError(t, err)
	_, err = io.WriteString(sheet, `<worksheet>`+begin)
	require.NoError(t, err)
	block := strings.Repeat(unit, 1<<20/len(unit))
	for range 32 {
		_, err = io.WriteString(sheet, block)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

// TestWorkbookBombs reads small files that want to be large: every one is refused soon and in little memory.
func TestWorkbookBombs(t *testing.T) {
	head := `<sheetData>` + header("key", "amount")
	for name, c := range map[string]struct{ begin, unit, want string }{
		"blanks":  {`<sheetData>`, " ", "an element holds more than 4 MiB"},
		"text":    {head + `<row><c t="inlineStr"><is><t>`, "x", "a text is longer than 1 MiB"},
		"comment": {head + `<!--`, "x", "an element holds more than 4 MiB"},
		"rows":    {head, "<row/>", "row 1048577 follows row 1048576"},
		"cells":   {head + `<row>`, "<c/>", "or more than 16384"},
		"depth":   {head, "<row>", "elements lie more than 64 deep"},
		"runs":    {head + `<row><c t="inlineStr"><is>`, "<t>xxxxxxxxxxxxxxxxxxxxxxxx</t>", "a text is longer than 1 MiB"},
		"merged":  {head + `</sheetData><mergeCells>`, `<mergeCell ref="A1:B2"/>`, "or there are more than 65536"},
		"unknown": {head + `</sheetData>`, "<x/>", "expands more than 100 times"},
	} {
		content := bombXML(t, c.begin, c.unit)
		require.Less(t, len(content), 200<<10, name)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		started := time.Now()
		_, _, err := readXLSX(t, content, source.XLSX{}, columns())
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, source.ErrInput, name)
		require.ErrorContains(t, err, c.want, name)
		require.Less(t, time.Since(started), time.Minute, name)
		require.Less(t, int64(after.HeapSys)-int64(before.HeapSys), int64(64<<20), name)
	}
}

// allocated is how many bytes were ever taken from the heap.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// An amount is what was typed: Excel stores the nearest binary fraction in up to seventeen digits. Every typed amount of
// twelve digits comes back, which strconv proves by making the same text that Excel stores.
func TestTypedAmounts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test
	amounts := []string{"31.15", "-31.15", "0.07", "0.1", "8.2", "19.99", "4.35", "1.005", "222228.53", "1234567890.12", "0.00001", "-0.3", "100"}
	for range 2000 {
		amounts = append(amounts, fmt.Sprintf("%d.%02d", rng.Int64N(10_000_000_000), 1+rng.IntN(99)))
	}
	rows := ""
	for i, a := range amounts {
		f, err := strconv.ParseFloat(a, 64)
		require.NoError(t, err)
		stored := strings.TrimRight(strconv.FormatFloat(f, 'f', max(0, 17-len(strings.TrimLeft(strings.Split(strings.TrimPrefix(a, "-"), ".")[0], "0"))), 64), "0")
		rows += fmt.Sprintf(`<row r="%d"><c><v>%d</v></c><c><v>%s</v></c></row>`, i+2, i, strings.TrimSuffix(stored, "."))
	}
	got, _, err := readXLSX(t, sheetXML(t, header("key", "amount")+rows), source.XLSX{}, columns())
	require.NoError(t, err)
	require.Len(t, got, len(amounts))
	for i, e := range got {
		require.True(t, decimal.RequireFromString(amounts[i]).Equal(e.Amount), "%s became %s", amounts[i], e.Amount)
	}
}
