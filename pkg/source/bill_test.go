package source_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/simplifiedchinese"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
	billpkg "daybreak/pkg/source/bill"
)

const tradeRows = "2026100122000000000000000001\t,A1\t,交易\t,茶\t,2026-10-01 08:00:00,2026-10-01 08:00:05,10.00,10.00,0.00,\t,-0.06\n" +
	"2026100122000000000000000002\t,A2\t,交易\t,茶\t,2026-10-01 09:00:00,2026-10-01 09:00:05,20.50,20.50,0.00,\t,-0.12\n" +
	"2026100122000000000000000001\t,A1\t,退款\t,茶\t,2026-10-01 08:00:00,2026-10-01 10:00:00,-4.00,-4.00,0.00,R1\t,0.02\n"

// tradeBill is an Alipay trade bill of two payments and a refund, as UTF-8.
func tradeBill() string {
	return "#支付宝业务明细查询\n#账号：[20881234567890120156]\n#起始日期：[2026年10月01日 00:00:00]   终止日期：[2026年10月02日 00:00:00]\n" +
		"#-----业务明细列表----\n" +
		"支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,订单金额（元）,商家实收（元）,商家优惠（元）,退款批次号/请求号,服务费（元）\n" + tradeRows +
		"#-----业务明细列表结束----\n#交易合计：2笔，商家实收共30.50元，商家优惠共0.00元\n#退款合计：1笔，商家实收退款共-4.00元，商家优惠退款共0.00元\n#导出时间：[2026年10月02日 05:00:00]\n"
}

// tradeSummary is the summary that comes with it.
func tradeSummary(received string) string {
	return "#支付宝业务汇总查询\n#账号：[20881234567890120156]\n#起始日期：[2026年10月01日 00:00:00]   终止日期：[2026年10月02日 00:00:00]\n#-----业务汇总列表----\n" +
		"门店编号,门店名称,交易订单总笔数,退款订单总笔数,订单金额（元）,商家实收（元）\n" +
		"合计\t,\t,2,1," + received + "," + received + "\n#-----业务汇总列表结束----\n#导出时间：[2026年10月02日 05:00:00]\n"
}

func gb(t testing.TB, s string) string { return encode(t, simplifiedchinese.GB18030, s) }

func billSpec(b source.Bill) source.Spec {
	if b.Path == "" {
		b.Path = "bill*"
	}
	if b.Format == "" {
		b.Format = "alipay-trade"
	}
	return source.Spec{Kind: source.KindBill, Bill: &b}
}

// readBill reads files of a day as the channel of a job.
func readBill(t testing.TB, files map[string]string, b source.Bill, key ...string) ([]model.Entry, model.Seal, error) {
	t.Helper()
	req := request()
	req.Side = model.Channel
	if len(key) > 0 {
		req.Rules.Key = key
	}
	return readAll(t, billSpec(b), folder(t, files), req)
}

func entryLines(entries []model.Entry) []string {
	var out []string
	for _, e := range entries {
		fee := "-"
		if e.Fee.Valid {
			fee = e.Fee.Decimal.String()
		}
		out = append(out, fmt.Sprintf("%d %s %s %s %s %s %s", e.Line, e.Attrs["type"], e.Key, e.Amount, e.Currency, fee, e.Attrs["order"]))
	}
	return out
}

var tradeEntries = []string{"6 payment A1 10 CNY 0.06 A1", "7 payment A2 20.5 CNY 0.12 A2", "8 refund R1 -4 CNY -0.02 A1"}

// A bill is the same entries in every container and charset, whether its format is named or told by its content.
func TestBillInEveryContainer(t *testing.T) {
	t.Parallel()
	utf, gbk := tradeBill(), gb(t, tradeBill())
	detail, summary := gb(t, "2088_20261001_业务明细.csv"), gb(t, "2088_20261001_业务明细(汇总).csv")
	for name, content := range map[string]string{
		"utf-8":                     utf,
		"utf-8 with mark":           "\ufeff" + utf,
		"gb18030":                   gbk,
		"crlf":                      strings.ReplaceAll(utf, "\n", "\r\n"),
		"gzip":                      gz(t, gbk),
		"zstd":                      zst(t, gbk),
		"zip":                       zipped(t, zipEntry{detail, gbk}),
		"zip with summary":          zipped(t, zipEntry{detail, gbk}, zipEntry{summary, gb(t, tradeSummary("26.50"))}),
		"zip with summary first":    zipped(t, zipEntry{summary, gb(t, tradeSummary("26.50"))}, zipEntry{detail, gbk}),
		"zip with an empty entry":   zipped(t, zipEntry{"x.csv", ""}, zipEntry{detail, gbk}),
		"zip with names that climb": zipped(t, zipEntry{"../../x.csv", gbk}),
	} {
		for _, format := range []string{"alipay-trade", "auto"} {
			t.Run(name+" "+format, func(t *testing.T) {
				t.Parallel()
				entries, seal, err := readBill(t, map[string]string{"bill.dat": content}, source.Bill{Format: format})
				require.NoError(t, err)
				require.Equal(t, tradeEntries, entryLines(entries))
				require.Equal(t, "CNY 3 entries 26.5", seal.Totals.String())
				require.Len(t, seal.Sources, 1)
				require.Empty(t, seal.NoBill)
			})
		}
	}
}

// Only the asked types become entries, but all rows are held against what the bill declares.
func TestBillTypes(t *testing.T) {
	t.Parallel()
	entries, seal, err := readBill(t, map[string]string{"bill": tradeBill()}, source.Bill{Types: []billpkg.Type{billpkg.Refund}})
	require.NoError(t, err)
	require.Equal(t, tradeEntries[2:], entryLines(entries))
	require.Equal(t, uint64(1), seal.Sources[0].Rows)
	_, _, err = readBill(t, map[string]string{"bill": strings.Replace(tradeBill(), "30.50元", "30.51元", 1)}, source.Bill{Types: []billpkg.Type{billpkg.Refund}})
	require.ErrorContains(t, err, "30.51")
}

// Attributes of the format are columns like any other, in the match key and compared.
func TestBillAttributesMatch(t *testing.T) {
	t.Parallel()
	entries, _, err := readBill(t, map[string]string{"bill": tradeBill()}, source.Bill{}, "order", "type")
	require.NoError(t, err)
	require.Equal(t, []string{"A1|payment", "A2|payment", "A1|refund"}, keys(entries))
	_, _, err = readBill(t, map[string]string{"bill": tradeBill()}, source.Bill{}, "refund_no")
	require.ErrorContains(t, err, "refund_no is empty, but the match key needs it", "a payment has no refund number: strangers would meet")
	_, _, err = readBill(t, map[string]string{"bill": tradeBill()}, source.Bill{Format: "auto"}, "psp_reference")
	require.ErrorIs(t, err, source.ErrSpec)
	require.ErrorContains(t, err, "alipay-trade")
}

// What is wrong is told with file, entry, line and column, and nothing of the file is used.
func TestWrongBills(t *testing.T) {
	t.Parallel()
	cut := tradeBill()[:strings.Index(tradeBill(), "#-----业务明细列表结束")]
	aes := []byte(zipped(t, zipEntry{"bill.csv", tradeBill()}))
	for at := bytes.Index(aes, []byte("PK\x01\x02")); at >= 0; at = -1 {
		binary.LittleEndian.PutUint16(aes[at+10:], 99)
	}
	for name, c := range map[string]struct {
		content string
		bill    source.Bill
		want    []string
	}{
		"empty":                  {"", source.Bill{}, []string{"bill.dat: the file is empty"}},
		"a total that is not so": {strings.Replace(tradeBill(), "共30.50元", "共30.05元", 1), source.Bill{}, []string{"bill.dat:10", "30.05", "30.5"}},
		"an amount":              {strings.Replace(tradeBill(), ",20.50,20.50", ",2O.50,20.50", 1), source.Bill{}, []string{`bill.dat:7:`, `"2O.50"`}},
		"in an entry": {
			zipped(t, zipEntry{"a/x.csv", strings.Replace(tradeBill(), ",20.50,20.50", ",2O.50,20.50", 1)}),
			source.Bill{},
			[]string{`bill.dat!a/x.csv:7:`, `"2O.50"`},
		},
		"cut":                       {cut, source.Bill{}, []string{"the bill is cut"}},
		"cut gzip":                  {gz(t, tradeBill())[:200], source.Bill{}, []string{"bill.dat", "cut"}},
		"encrypted":                 {string(aes), source.Bill{}, []string{`entry "bill.csv" is AES-encrypted (method 99)`}},
		"summary alone":             {tradeSummary("26.50"), source.Bill{}, []string{"it holds no rows", "alipay-trade"}},
		"summary that differs":      {zipped(t, zipEntry{"a.csv", tradeBill()}, zipEntry{"b.csv", tradeSummary("26.05")}), source.Bill{}, []string{"bill.dat!b.csv", "26.05", "26.5"}},
		"a stranger":                {"id,amount\n1,2\n", source.Bill{}, []string{"not of format alipay-trade", "not a bill of a known format", `"id,amount"`}},
		"another format":            {tradeBill(), source.Bill{Format: "alipay-signcustomer"}, []string{"not of format alipay-signcustomer", "but of alipay-trade"}},
		"a page":                    {"<!DOCTYPE html><html>login", source.Bill{}, []string{"a web page"}},
		"another answer":            {`{"code":"SIGN_ERROR","message":"wrong signature"}`, source.Bill{}, []string{"not of format alipay-trade"}},
		"gzip in gzip":              {gz(t, gz(t, tradeBill())), source.Bill{}, []string{"the container holds another container (gzip)"}},
		"a zip with a stranger":     {zipped(t, zipEntry{"a.csv", tradeBill()}, zipEntry{"notes.txt", "hello"}), source.Bill{}, []string{`bill.dat!notes.txt`, "hello"}},
		"an answer beside a bill":   {zipped(t, zipEntry{"a.csv", tradeBill()}, zipEntry{"b.json", `{"code":"NO_STATEMENT_EXIST"}`}), source.Bill{}, []string{"NO_STATEMENT_EXIST"}},
		"nothing but empty entries": {zipped(t, zipEntry{"a.csv", ""}, zipEntry{"b.csv", ""}), source.Bill{}, []string{"no document is of format alipay-trade", "an empty entry"}},
		"no entry fits":             {zipped(t, zipEntry{"a.csv", tradeBill()}), source.Bill{Entry: "*.txt"}, []string{`entry: "*.txt"`, "a.csv"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readBill(t, map[string]string{"bill.dat": c.content}, c.bill)
			require.ErrorIs(t, err, source.ErrInput)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// The entry pattern lets a zip hold what is no bill.
func TestBillEntry(t *testing.T) {
	t.Parallel()
	content := zipped(t, zipEntry{"a.csv", tradeBill()}, zipEntry{"notes.txt", "hello"})
	entries, _, err := readBill(t, map[string]string{"bill.zip": content}, source.Bill{Entry: "*.csv"})
	require.NoError(t, err)
	require.Equal(t, tradeEntries, entryLines(entries))
}

// An answer that there is no bill is sealed as such; beside bills it contradicts them.
func TestNoBillIsSealed(t *testing.T) {
	t.Parallel()
	answer := "<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[No Bill Exist]]></return_msg></xml>"
	for _, content := range []string{answer, gz(t, answer), zipped(t, zipEntry{"a.xml", answer})} {
		entries, seal, err := readBill(t, map[string]string{"bill": content}, source.Bill{})
		require.NoError(t, err)
		require.Empty(t, entries)
		require.Equal(t, "No Bill Exist", seal.NoBill)
		require.Zero(t, seal.Totals.Count())
	}
	_, _, err := readBill(t, map[string]string{"bill1": answer, "bill2": tradeBill()}, source.Bill{})
	require.ErrorContains(t, err, "1 of 2 files")
	require.ErrorIs(t, err, source.ErrInput)
}

// The answer is believed when the other side has nothing either, and waited over when it has something.
func TestNoBillMustAgree(t *testing.T) {
	t.Parallel()
	some := model.Seal{Totals: model.Totals{}}
	some.Totals.Add("CNY", 1, tradeAmount)
	none := model.Seal{NoBill: "No Bill Exist", Totals: model.Totals{}}
	require.NoError(t, source.Job{}.Agreed(map[model.Side]model.Seal{model.Ledger: {}, model.Channel: none}))
	require.NoError(t, source.Job{}.Agreed(map[model.Side]model.Seal{model.Ledger: none, model.Channel: none}))
	for _, side := range model.Sides {
		err := source.Job{}.Agreed(map[model.Side]model.Seal{side: none, side.Other(): some})
		require.ErrorIs(t, err, source.ErrNotThere)
		var of *source.SideError
		require.ErrorAs(t, err, &of)
		require.Equal(t, side, of.Side)
	}
}

var tradeAmount = dec("1")

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// Inspect says of any file what reading it would say, and reads no more than reading does.
func TestInspect(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"good": gz(t, gb(t, tradeBill())), "bad": strings.Replace(tradeBill(), "共30.50元", "共30.05元", 1),
		"none": `{"code":"NO_STATEMENT_EXIST"}`, "stranger": "id,amount\n1,2\n",
	})
	look := func(name string, opts source.InspectOptions) source.Inspection {
		seen, err := source.Inspect(context.Background(), filepath.Join(dir, name), opts)
		require.NoError(t, err)
		return seen
	}
	good := look("good", source.InspectOptions{Rows: 2})
	require.False(t, good.Refused)
	require.Equal(t, "alipay-trade", good.Format)
	require.Equal(t, "gzip", good.Container)
	require.Equal(t, "gb18030", good.Documents[0].Charset)
	require.Equal(t, uint64(3), good.Rows)
	require.Len(t, good.First, 2)
	require.Equal(t, "A1", good.First[0].Key)
	require.Equal(t, "0.06", good.First[0].Fee)
	require.Len(t, good.SHA256, 64)
	var sums []string
	for _, sum := range good.Sums {
		sums = append(sums, fmt.Sprintf("%d %s %s %s %s", sum.Count, sum.Type, sum.Amount, sum.Currency, sum.Fee))
	}
	require.Equal(t, []string{"2 payment 30.5 CNY 0.18", "1 refund -4 CNY -0.02"}, sums)
	for _, c := range good.Controls {
		require.True(t, c.Agrees || c.Declared == "", c.Name)
	}
	bad := look("bad", source.InspectOptions{})
	require.True(t, bad.Refused)
	require.Equal(t, 10, bad.Problems[0].Line)
	none := look("none", source.InspectOptions{})
	require.False(t, none.Refused)
	require.Equal(t, "NO_STATEMENT_EXIST", none.NoBill)
	require.True(t, look("stranger", source.InspectOptions{}).Refused)
	require.True(t, look("good", source.InspectOptions{Format: "alipay-signcustomer"}).Refused)
	_, err := source.Inspect(context.Background(), filepath.Join(dir, "absent"), source.InspectOptions{})
	require.ErrorIs(t, err, source.ErrNotThere)
	_, err = source.Inspect(context.Background(), filepath.Join(dir, "good"), source.InspectOptions{Format: "nosuch"})
	require.ErrorIs(t, err, source.ErrSpec)
}

// A zip whose list of entries is damaged in any byte is refused or gives the very same entries: never others.
func TestDamagedZipOfBills(t *testing.T) {
	t.Parallel()
	content := zipped(t, zipEntry{"a.csv", tradeBill()}, zipEntry{"b.csv", tradeSummary("26.50")})
	z, err := zip.NewReader(strings.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	require.Len(t, z.File, 2)
	dir := t.TempDir()
	for at := range len(content) {
		damaged := []byte(content)
		damaged[at] ^= 0x55
		entries, _, err := readAll(t, billSpec(source.Bill{}), folderIn(t, dir, at, string(damaged)), request())
		if err == nil {
			require.Equal(t, tradeEntries, entryLines(entries), "byte %d", at)
		}
	}
}

func folderIn(t *testing.T, dir string, n int, content string) string {
	t.Helper()
	sub := filepath.Join(dir, fmt.Sprint(n))
	writeFile(t, filepath.Join(sub, "bill"), content)
	return sub
}
