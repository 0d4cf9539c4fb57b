package xlsx

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	spreadsheetML = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	relationship  = `http://schemas.openxmlformats.org/officeDocument/2006/relationships/`
)

// parts are those of a small workbook with one sheet of that XML below its root.
func parts(sheet string) map[string]string {
	return map[string]string{
		"_rels/.rels":                `<Relationships><Relationship Id="a" Type="` + relationship + `officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook ` + spreadsheetML + `><sheets><sheet name="S" sheetId="1" r:id="s1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="s1" Type="` + relationship + `worksheet" Target="/xl/worksheets/s.xml"/><Relationship Id="t" Type="` + relationship + `sharedStrings" Target="strings.xml"/><Relationship Id="y" Type="` + relationship + `styles" Target="styles.xml"/></Relationships>`,
		"xl/strings.xml":             `<sst ` + spreadsheetML + `><si><t>one</t></si><si><r><t xml:space="preserve"> two</t></r><rPh><t>ni</t></rPh><r><t> parts_x000D_</t></r></si><si/></sst>`,
		"xl/styles.xml":              `<styleSheet ` + spreadsheetML + `><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy&quot;年&quot;m&quot;月&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
		"xl/worksheets/s.xml":        `<worksheet ` + spreadsheetML + `>` + sheet + `</worksheet>`,
	}
}

func open(t testing.TB, parts map[string]string) (*Book, error) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range parts {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	return Open(z.File, func(f *zip.File) (io.ReadCloser, error) { return f.Open() })
}

// read prints the cells of the first sheet.
func read(t testing.TB, parts map[string]string) ([]string, []Area, error) {
	t.Helper()
	b, err := open(t, parts)
	if err != nil {
		return nil, nil, err
	}
	rows, err := b.Rows(b.Sheets[0])
	require.NoError(t, err)
	defer rows.Close()
	var out []string
	for {
		cells, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out, rows.Merged(), nil
		}
		if err != nil {
			return out, nil, err
		}
		for _, c := range cells {
			out = append(out, fmt.Sprintf("%s %d %s", CellName(rows.Row(), c.Column), c.Kind, c.Text()))
		}
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	got, merged, err := read(t, parts(`<sheetViews><x><sheetData/></x></sheetViews><sheetData>
		<row r="2"><c r="A2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c><c t="s"><v>2</v></c><c t="s"><v></v></c></row>
		<row/><row><c r="B4"><v>31.149999999999999</v></c><c r="C4" s="1"><v>45123.999994</v></c><c s="2"><v>1</v></c></row>
		<row r="9" hidden="1"><c t="str"><f>x</f><v>a_x005F_x000D_</v></c><c t="inlineStr"><is><t>b_x005F_x000D_</t></is></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c><f>A1</f></c><c t="str"><f>A1</f><v></v></c><c t="d"><v>2026-10-01</v></c><c s="1"/><c t="inlineStr"><is><r><t>x</t></r><r><t>y</t></r></is></c></row>
		</sheetData><mergeCells><mergeCell ref="A1:$B$2"/><mergeCell ref="C3"/></mergeCells>`))
	require.NoError(t, err)
	require.Equal(t, []string{
		"A2 0 one", "C2 0  two parts\r", "B4 1 31.149999999999999", "C4 2 45123.999994", "D4 2 1",
		"A9 0 a_x000D_", "B9 0 b_x000D_", "C9 4 1", "D9 5 #N/A", "E9 6 ", "G9 3 2026-10-01", "I9 0 xy",
	}, got)
	require.Equal(t, []Area{{1, 1, 2, 2}, {3, 3, 3, 3}}, merged)
}

func TestDamageIsAnError(t *testing.T) {
	t.Parallel()
	for sheet, want := range map[string]string{
		``:                                                                "the sheet holds no rows",
		`<sheetData><row`:                                                 "syntax error",
		`<sheetData/><sheetData/>`:                                        "its rows twice",
		`<sheetData><c/></sheetData>`:                                     "a c lies among the rows",
		`<sheetData><row r="2"/><row r="2"/>`:                             "row 2 follows row 2",
		`<sheetData><row r="1048577"/>`:                                   "row 1048577 follows row 0",
		`<sheetData><row r="x"/>`:                                         `row "x" is no number`,
		`<sheetData><row><c r="B1"/><c r="A1"/></row>`:                    "cell A1 follows B1",
		`<sheetData><row><c r="B1"/><c r="B1"/></row>`:                    "cell B1 follows B1",
		`<sheetData><row><c r="XFE1"/></row>`:                             `cell "XFE1" lies in row 1`,
		`<sheetData><row><c r="A2"/></row>`:                               `cell "A2" lies in row 1`,
		`<sheetData><row><c t="s"><v>3</v></c></row>`:                     "cell A1: a cell names a shared text that the workbook does not have",
		`<sheetData><row><c t="s"><v>-1</v></c></row>`:                    "shared text",
		`<sheetData><row><c s="3"><v>3</v></c></row>`:                     "names a style that the workbook does not have",
		`<sheetData><row><c t="z"><v>3</v></c></row>`:                     `type "z" is not known`,
		`<sheetData/><mergeCells><mergeCell ref="B1:A1"/></mergeCells>`:   `"B1:A1" are no merged cells`,
		`<sheetData>` + strings.Repeat("<row><c/>", 40):                   "syntax error",
		`<sheetData><row>` + strings.Repeat("<x>", 100):                   "elements lie more than 64 deep",
		`<sheetData><row><c><v>` + strings.Repeat("1", 5<<20):             "a text is longer than 1 MiB", // which of the two comes first is the decoder's
		`<sheetData><row z="` + strings.Repeat("1", 5<<20):                "an element holds more than 4 MiB",
		`<sheetData><row>` + strings.Repeat("<c/>", ColumnsMax+1) + `<x>`: "the cells are not in order, or more than 16384",
	} {
		_, _, err := read(t, parts(sheet))
		if strings.Contains(want, "1 MiB") {
			require.Error(t, err)
			continue
		}
		require.ErrorContains(t, err, want, "%.60q", sheet)
	}
}

func TestPartsThatLie(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ part, content, want string }{
		"no workbook":    {"_rels/.rels", `<Relationships/>`, "it holds no workbook"},
		"binary":         {"xl/workbook.bin", "", "it is a binary Excel workbook (xlsb): save it as xlsx"},
		"open document":  {"content.xml", "", "an OpenDocument file (ods)"},
		"two names":      {`XL\workbook.xml`, "", "is there twice"},
		"document type":  {"xl/workbook.xml", `<!DOCTYPE workbook [<!ENTITY a "b">]><workbook/>`, "declares a document type"},
		"another root":   {"xl/workbook.xml", `<html/>`, "it holds a html, not a workbook"},
		"no such sheet":  {"xl/workbook.xml", `<workbook ` + spreadsheetML + `><sheets><sheet name="S" r:id="zz"/></sheets></workbook>`, `sheet "S" is in no part`},
		"cut":            {"xl/styles.xml", `<styleSheet><cellXfs>`, `part "xl/styles.xml": XML syntax error`},
		"format":         {"xl/styles.xml", `<styleSheet><cellXfs><xf numFmtId="x"/></cellXfs></styleSheet>`, `format "x" is no number`},
		"texts":          {"xl/strings.xml", ``, `part "xl/strings.xml": unexpected EOF`},
		"sheet is gone":  {"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="s1" Type="` + relationship + `styles" Target="x.xml"/></Relationships>`, `part "xl/x.xml" is missing`},
		"outside":        {"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="s1" Type="` + relationship + `styles" Target="../../../etc/passwd"/></Relationships>`, `is missing`},
		"two text parts": {"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="s1" Type="` + relationship + `sharedStrings" Target="a"/><Relationship Type="` + relationship + `sharedStrings" Target="b"/></Relationships>`, "more than one part as its sharedStrings"},
	} {
		p := parts(`<sheetData/>`)
		p[c.part] = c.content
		_, err := open(t, p)
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestFormatsOfDates(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]format{
		"General": {}, "0.00": {}, "#,##0.00": {}, "0.00E+00": {}, "@": {}, `"day" 0`: {}, `0 \d`: {}, "[Red]0.00;[Red]-0.00": {}, "[$€-407] #,##0": {}, `_-* #,##0.00\ "kr"_-`: {}, "0%": {}, "# ?/?": {}, `0;yyyy`: {}, "[>=100]0": {}, "": {}, `"`: {}, "[": {}, `\`: {},
		"yyyy-mm-dd": {date: true}, "m/d/yy": {date: true}, `yyyy"年"m"月"d"日"`: {date: true}, "[$-804]yyyy年m月d日;@": {date: true}, "mmm-yy": {date: true}, "[$-411]ggge年": {date: true},
		"yyyy-mm-dd hh:mm:ss": {true, true}, "h:mm AM/PM": {true, true}, "[h]:mm": {true, true}, "mm:ss.0": {true, true}, "[ss]": {true, true},
	} {
		require.Equal(t, want, parseFormat(code), code)
	}
	require.Equal(t, format{}, builtin(0))
	require.Equal(t, format{date: true}, builtin(14))
	require.Equal(t, format{true, true}, builtin(22))
	require.Equal(t, format{}, builtin(49))
	require.Equal(t, format{date: true}, builtin(31))
}

func TestSerialNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		serial string
		old    bool
		want   string
	}{
		{"45123.999994", false, "2023-07-16 23:59:59"},
		{"45123.9999999", false, "2023-07-17 00:00:00"},
		{"45123", false, "2023-07-16 00:00:00"},
		{"42667.8473263889", false, "2016-10-24 20:20:09"},
		{"43661.999988425923", true, "2023-07-16 23:59:59"},
		{"1", false, "1900-01-01 00:00:00"},
		{"59.5", false, "1900-02-28 12:00:00"},
		{"61", false, "1900-03-01 00:00:00"},
		{"60", true, "1904-03-01 00:00:00"},
		{"2958465", false, "9999-12-31 00:00:00"},
	} {
		at, err := wall(c.serial, c.old)
		require.NoError(t, err, c.serial)
		require.Equal(t, c.want, at.Format("2006-01-02 15:04:05"), c.serial)
	}
	for _, bad := range []string{"", "-1", "60", "2958466", "1E5", "4.5e4", "1.2.3", "x", "1E1000000000", strings.Repeat("9", 41)} {
		_, err := wall(bad, false)
		require.Error(t, err, bad)
	}
}

func TestNamesOfCells(t *testing.T) {
	t.Parallel()
	for column, name := range map[int]string{1: "A", 26: "Z", 27: "AA", 702: "ZZ", 703: "AAA", ColumnsMax: "XFD"} {
		require.Equal(t, name, ColumnName(column))
		row, col, ok := parseName(name + "1048576")
		require.True(t, ok)
		require.Equal(t, [2]int{RowsMax, column}, [2]int{row, col})
	}
	for _, bad := range []string{"", "A", "1", "A0", "XFE1", "AAAA1", "A1048577", "A-1", "A1.5", "A99999999999", "é1"} {
		_, _, ok := parseName(bad)
		require.False(t, ok, bad)
	}
}
