package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"daybreak/pkg/source"
	"daybreak/pkg/source/bill/formats"
)

// asSheet writes every field of a delimited text into a cell, as a spreadsheet does that opens it.
func asSheet(t testing.TB, lines ...[]any) string {
	t.Helper()
	return workbook(t, func(f *excelize.File) {
		for i, cells := range lines {
			put(t, f, i+1, cells...)
		}
	})
}

func inspect(t testing.TB, content string) source.Inspection {
	t.Helper()
	dir := folder(t, map[string]string{"f.xlsx": content})
	i, err := source.Inspect(t.Context(), filepath.Join(dir, "f.xlsx"), source.InspectOptions{})
	require.NoError(t, err)
	return i
}

// A bill that a spreadsheet saved is told as what it was, and refused: its numbers are no longer those of the provider.
func TestBillsSavedAsWorkbooks(t *testing.T) {
	t.Parallel()
	header := []any{
		"交易时间", "公众账号ID", "商户号", "特约商户号", "设备号", "微信订单号", "商户订单号", "用户标识", "交易类型", "交易状态", "付款银行", "货币种类", "应结订单金额", "代金券金额",
		"微信退款单号", "商户退款单号", "退款金额", "充值券退款金额", "退款类型", "退款状态", "商品名称", "商户数据包", "手续费", "费率", "订单金额", "申请退款金额", "费率备注",
	}
	content := asSheet(t, header, []any{"`2026-10-01 09:30:00", "`wx1"})
	want := "an Excel workbook of what looks like a wechatpay-trade (" + formats.ByName("wechatpay-trade").Title +
		"): a workbook keeps 15 digits of a number and makes binary fractions; deliver the file as the provider made it"

	i := inspect(t, content)
	require.True(t, i.Refused)
	require.Equal(t, []source.InspectedProblem{{What: want}}, i.Problems)
	require.Len(t, i.SHA256, 64)

	spec := source.Spec{Kind: source.KindBill, Bill: &source.Bill{Path: "f.xlsx", Format: formats.Auto}}
	_, _, err := readAll(t, spec, folder(t, map[string]string{"f.xlsx": content}), request())
	require.EqualError(t, err, "f.xlsx: "+want)
	require.ErrorIs(t, err, source.ErrInput)
}

func TestWorkbooksThatAreNoBill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"ours":    {asSheet(t, []any{"order", "amount"}, []any{"1", 2}), `an Excel workbook, not a bill of a known format: it begins "order`},
		"blank":   {asSheet(t), "an Excel workbook, not a bill of a known format: the document holds no text; deliver the file as the provider made it, or describe the sheet under xlsx"},
		"word":    {zipped(t, zipEntry{"[Content_Types].xml", "<Types/>"}, zipEntry{"word/document.xml", ""}), "the file is an Office document, not a bill: deliver the file as the provider made it"},
		"damaged": {zipped(t, zipEntry{"[Content_Types].xml", "<Types/>"}, zipEntry{"xl/workbook.xml", "<x"}), "an Excel workbook, which no bill is; deliver the file as the provider made it; the file is a zip, but no Excel workbook"},
	} {
		i := inspect(t, c.content)
		require.True(t, i.Refused, name)
		require.Len(t, i.Problems, 1, name)
		require.Contains(t, i.Problems[0].What, c.want, name)
	}
}

// The same advice for an Office document given as CSV.
func TestOfficeDocumentsGivenAsCSV(t *testing.T) {
	t.Parallel()
	_, _, err := readCSV(t, zipped(t, zipEntry{"[Content_Types].xml", "<Types/>"}, zipEntry{"word/document.xml", ""}), source.CSV{}, columns())
	require.EqualError(t, err, "f.csv: the file is an Office document, not CSV: export its table as CSV")
	_, _, err = readCSV(t, smallBook(t), source.CSV{}, columns())
	require.EqualError(t, err, "f.csv: the file is an Excel workbook, not CSV: describe it under xlsx, or export it as CSV")
}

// FuzzWorkbook changes workbooks: whatever they say, reading ends in entries or in an error of the input.
func FuzzWorkbook(f *testing.F) {
	f.Add([]byte(smallBook(f)), "")
	f.Add([]byte(bookXML(f, "", `<sheetData>`+header("key", "amount")+`</sheetData>`)), "S")
	f.Fuzz(func(t *testing.T, content []byte, sheet string) {
		if len(content) > 1<<20 {
			return
		}
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f.xlsx"), content, 0o600))
		read(t, dir, sheet)
	})
}

// FuzzSheet puts changed XML into a workbook whose checksums are right.
func FuzzSheet(f *testing.F) {
	f.Add(`<sheetData>`+header("key", "amount")+`<row><c><v>1</v></c><c s="2"><v>45123.9</v></c><c t="e"><v>#N/A</v></c></row></sheetData><mergeCells><mergeCell ref="A1:B2"/></mergeCells>`, `<workbookPr date1904="1"/>`)
	f.Add(`<sheetData><row r="2"><c r="A2" t="inlineStr"><is><r><t>key_x000D_</t></r></is></c></row><row r="1048576"/></sheetData>`, ``)
	f.Fuzz(func(t *testing.T, sheet, properties string) {
		if len(sheet)+len(properties) > 1<<16 {
			return
		}
		dir := folder(t, map[string]string{"f.xlsx": bookXML(t, properties, sheet)})
		read(t, dir, "")
	})
}

// read holds the reading of a changed workbook against what a source promises, and its memory against a bound.
func read(t *testing.T, dir, sheet string) {
	t.Helper()
	before := allocated()
	entries, seal, err := readAll(t, source.Spec{Kind: source.KindXLSX, XLSX: &source.XLSX{Path: "f.xlsx", Sheet: sheet}, Columns: columns()}, dir, request())
	if err != nil {
		require.ErrorIs(t, err, source.ErrInput)
		require.Zero(t, seal)
	} else {
		require.Equal(t, uint64(len(entries)), seal.Totals.Count())
	}
	require.Less(t, allocated()-before, uint64(512<<20), "bytes allocated for at most 1 MiB")
	_, err = source.Inspect(t.Context(), filepath.Join(dir, "f.xlsx"), source.InspectOptions{})
	require.NoError(t, err)
}
