package unionpay_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/unionpay"
)

func format(t testing.TB, name string) *bill.Format {
	t.Helper()
	for _, f := range unionpay.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no format %s", name)
	return nil
}

// The widths once more, so that a slip in the reader's table does not repeat itself here.
var (
	zmWidths = []int{
		3, 11, 11, 6, 10, 19, 12, 4, 2, 21, 2, 32, 2, 6, 10, 13, 13, 4, 15, 2, 2, 6, 2, 4, 32, 1, 21, 15, 1, 15, 32,
		13, 13, 8, 32, 13, 13, 12, 2, 1, 32, 98,
	}
	zmeWidths = []int{3, 11, 11, 6, 10, 19, 12, 4, 2, 2, 6, 10, 4, 12, 13, 13, 15, 15, 1, 12, 2, 135}
)

// line writes fields, counted from 1 as UnionPay counts them, in GBK.
func line(t testing.TB, widths []int, values map[int]string) string {
	t.Helper()
	var b bytes.Buffer
	for i, w := range widths {
		cell := billtest.GB18030(t, values[i+1])
		require.LessOrEqual(t, len(cell), w)
		b.WriteString(cell + strings.Repeat(" ", w-len(cell)) + " ")
	}
	b.Truncate(b.Len() - 1)
	return b.String() + "\r\n"
}

type fields map[int]string

func (f fields) with(more fields) fields {
	out := maps.Clone(f)
	maps.Copy(out, more)
	return out
}

// payment is one of 123.45 of which 0.74 is taken; refund gives 23.45 of it back with a fee of 0.14.
var (
	payment = fields{
		1: "S22", 2: "00019999", 3: "00019999", 4: "100001", 5: "0301235959", 6: "6200********0001", 7: "000000012345", 8: "5411",
		9: "07", 10: "202503012359590000011", 12: "SO1001", 14: "000000", 15: "0000000000", 16: "D000000000074", 17: "C000000012271",
		18: "0001", 20: "01", 21: "01", 22: "000201", 28: "777000000000001", 31: "测试商户，名称", 33: "C000000012271", 35: "自定义",
	}
	refund = payment.with(fields{
		1: "S30", 4: "100002", 5: "0302001530", 7: "000000002345", 10: "202503020015300000021", 12: "RF2001", 16: "C000000000014",
		17: "D000000002331", 20: "04", 21: "00", 27: "202503012359590000011", 33: "D000000002331", 41: "SO1001",
	})
	dispute = fields{
		1: "E74", 2: "00019999", 3: "00019999", 4: "100009", 5: "0302101112", 6: "6200********0001", 7: "000000005000", 8: "5411", 9: "07",
		11: "100001", 12: "0301235959", 13: "4502", 15: "D000000000000", 16: "D000000005000", 17: "777000000000001",
	}
)

func zmFile(t testing.TB) string {
	t.Helper()
	return line(t, zmWidths, payment) + line(t, zmWidths, refund)
}

func zmeFile(t testing.TB) string {
	t.Helper()
	return line(t, zmeWidths, dispute) + line(t, zmeWidths, dispute.with(fields{1: "E25", 4: "100010", 16: "C000000005000"}))
}

func loads(t *testing.T, r billtest.Result) billtest.Result {
	t.Helper()
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	return r
}

func refused(t *testing.T, r billtest.Result, words ...string) {
	t.Helper()
	require.True(t, r.Refused(), "it loads: %v", r.Lines())
	said := strings.Join(r.Problems, "\n")
	if r.Err != nil {
		said += "\n" + r.Err.Error()
	}
	for _, w := range words {
		require.Contains(t, said, w)
	}
}

func on(t testing.TB, name, content string, day model.Day) billtest.Result {
	t.Helper()
	return billtest.Read(t, billtest.Doc{Format: format(t, name), Content: content, Day: day})
}

func TestZMRows(t *testing.T) {
	t.Parallel()
	require.Len(t, line(t, zmWidths, nil), 607+2)
	r := loads(t, billtest.One(t, format(t, "unionpay-zm"), zmFile(t)))
	require.Equal(t, []string{
		"payment SO1001 SO1001 202503012359590000011 123.45 CNY 0.74 - 2025-03-01T15:59:59Z -",
		"refund RF2001 SO1001 202503020015300000021 -23.45 CNY -0.14 - 2025-03-01T16:15:30Z -",
	}, r.Lines())
	require.Equal(t, map[string]string{
		"provider_type": "S30", "txn_type": "04", "trace_no": "100002", "orig_query_id": "202503012359590000011",
		"settle_amount": "-23.31", "net_amount": "-23.31", "method": "0001", "business": "000201",
		"merchant_id": "777000000000001", "sub_merchant_id": "",
	}, r.Rows[1].Attr)
	require.Empty(t, r.Remarks)
	require.Equal(t, r.Lines(), loads(t, billtest.One(t, format(t, "unionpay-zm"), strings.ReplaceAll(zmFile(t), "\r\n", "\n"))).Lines(), "LF")
	require.Equal(t, r.Lines(), loads(t, billtest.One(t, format(t, "unionpay-zm"), zmFile(t)+"\r\n")).Lines(), "blank lines at the end")
}

func TestZMTypes(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"01": "payment", "03": "payment", "11": "payment", "13": "payment", "04": "refund", "31": "reversal", "33": "reversal"} {
		from := payment
		if want != "payment" {
			from = refund
		}
		r := loads(t, on(t, "unionpay-zm", line(t, zmWidths, from.with(fields{20: kind})), 0))
		require.Equal(t, want, string(r.Rows[0].Type), kind)
	}
}

func TestZMTheSettlementAmountWithOrWithoutTheFee(t *testing.T) {
	t.Parallel()
	gross := loads(t, on(t, "unionpay-zm", line(t, zmWidths, payment.with(fields{17: "C000000012345"})), 0))
	require.Equal(t, "123.45", gross.Rows[0].Amount.String())
	noFee := loads(t, on(t, "unionpay-zm", line(t, zmWidths, payment.with(fields{16: "", 17: "C000000012345"})), 0))
	require.False(t, noFee.Rows[0].Fee.Valid, "a blank fee is not zero")
	discount := loads(t, on(t, "unionpay-zm", line(t, zmWidths, payment.with(fields{17: "C000000011271", 36: "C000000001000"})), 0))
	require.Equal(t, "123.45", discount.Rows[0].Amount.String())
}

func TestZMRefusals(t *testing.T) {
	t.Parallel()
	for words, f := range map[string]fields{
		`code "S22" with type (交易类型) "12"`:                      {20: "12"},
		`code "S22" with type (交易类型) ""`:                        {20: ""},
		`code "s22"`:                                            {1: "s22"},
		"which way the money went cannot be told":               {17: "D000000012271"},
		"nothing confirms":                                      {17: ""},
		"neither the amount 123.45 nor that with the fee -0.74": {17: "C000000012200"},
		`amount "X000000012271"`:                                {17: "X000000012271"},
		`amount " 000000012271"`:                                {17: " 000000012271"},
		`amount "1234.5`:                                        {7: "1234.5"},
		`time "1301000000": no such`:                            {5: "1301000000"},
		`time "030123595 "`:                                     {5: "030123595"},
		"cannot be matched":                                     {10: "", 12: ""},
		`"4.2E+10" is a number as a spreadsheet`:                {12: "4.2E+10"},
	} {
		refused(t, on(t, "unionpay-zm", zmFile(t)+line(t, zmWidths, payment.with(f)), 0), "3:", words)
	}
}

func TestZMDamage(t *testing.T) {
	t.Parallel()
	good := zmFile(t)
	refused(t, on(t, "unionpay-zm", strings.Replace(good, " 07 ", "  07", 1), 0), "1:85", "fields of the line are shifted")
	refused(t, on(t, "unionpay-zm", strings.Replace(good, "SO1001", "SO10012", 1), 0), "1:0", "608 bytes")
	refused(t, on(t, "unionpay-zm", strings.Replace(good, "\xB2\xE2", "\xB2 ", 1), 0), "field 31 is no text in GBK")
	refused(t, on(t, "unionpay-zm", strings.Replace(good, "SO1001", "SO\x001001"[:6], 1), 0), "field 12 is no text")
	first, second, _ := strings.Cut(good, "\r\n")
	refused(t, on(t, "unionpay-zm", first+"\r\n\r\n"+second, 0), "2:0", "a blank line between")
	utf8 := strings.Replace(good, billtest.GB18030(t, "测试商户，名称"), "测试商户，名称", 1)
	refused(t, on(t, "unionpay-zm", utf8, 0), "converted from GBK")
	refused(t, on(t, "unionpay-zm", "", 0), "the file is empty")
	refused(t, on(t, "unionpay-zm", first+strings.Repeat("x", 100000), 0), "a line of more than")
}

// B8, and the reason for cutting bytes: the second byte of a character may look like a separator of other formats.
func TestZMBytesOfGBK(t *testing.T) {
	t.Parallel()
	r := loads(t, on(t, "unionpay-zm", line(t, zmWidths, payment.with(fields{31: "俙丂亊乗", 35: "名字名字名字名字名字名字名字名字"})), 0))
	require.Len(t, r.Rows, 1)
}

// B43: the year comes from the day asked for, also around New Year.
func TestZMB43Years(t *testing.T) {
	t.Parallel()
	at := func(mmdd, query string, day model.Day) billtest.Result {
		return on(t, "unionpay-zm", line(t, zmWidths, payment.with(fields{5: mmdd + "230501", 10: query})), day)
	}
	newYear := model.NewDay(2026, time.January, 1)
	require.Equal(t, "2025-12-31T15:05:01Z", loads(t, at("1231", "", newYear)).Rows[0].OccurredAt.Format(time.RFC3339))
	require.Equal(t, "2026-01-01T15:05:01Z", loads(t, at("0101", "", newYear.Add(-1))).Rows[0].OccurredAt.Format(time.RFC3339))
	require.Equal(t, "2028-02-29T15:05:01Z", loads(t, at("0229", "", model.NewDay(2028, time.March, 1))).Rows[0].OccurredAt.Format(time.RFC3339))
	require.Equal(t, "2025-12-31T15:05:01Z", loads(t, at("1231", "202601010005010000011", 0)).Rows[0].OccurredAt.Format(time.RFC3339))
	refused(t, at("0229", "", model.NewDay(2026, time.March, 1)), "1:36", "0229230501", "no such date within a year")
	refused(t, at("0701", "", newYear), "more than 60 days away from 2026-01-01")
	refused(t, at("1231", "202512312305010000011", newYear.Add(-365)), "of another year")

	r := loads(t, at("1231", "", 0))
	require.True(t, r.Rows[0].OccurredAt.IsZero())
	require.Equal(t, []string{"1 lines say no year: their times are known when the file is read for a business day"}, r.Remarks)
}

func TestZMZone(t *testing.T) {
	t.Parallel()
	r := billtest.Read(t, billtest.Doc{Format: format(t, "unionpay-zm"), Content: zmFile(t), Zone: time.FixedZone("JST", 9*60*60)})
	require.Equal(t, "2025-03-01T14:59:59Z", r.Rows[0].OccurredAt.Format(time.RFC3339))
}

func TestZMERows(t *testing.T) {
	t.Parallel()
	require.Len(t, line(t, zmeWidths, nil), 339+2)
	require.True(t, format(t, "unionpay-zme").Fits(bill.NewHead([]byte(zmeFile(t)))))
	r := loads(t, on(t, "unionpay-zme", zmeFile(t), model.NewDay(2025, time.March, 2)))
	require.Equal(t, []string{
		"adjustment 100009-0302101112 100009-0302101112 100009-0302101112 -50 CNY 0 - 2025-03-02T02:11:12Z -",
		"adjustment 100010-0302101112 100010-0302101112 100010-0302101112 50 CNY 0 - 2025-03-02T02:11:12Z -",
	}, r.Lines())
	require.Equal(t, map[string]string{
		"provider_type": "E74", "reason": "4502", "trace_no": "100009", "orig_trace_no": "100001", "orig_time": "0301235959",
		"settle_amount": "-50", "merchant_id": "777000000000001",
	}, r.Rows[0].Attr)
	require.Len(t, loads(t, on(t, "unionpay-zme", zmeFile(t), 0)).Remarks, 1)
	for words, f := range map[string]fields{
		"blank or zero": {16: ""}, "neither the amount": {16: "D000000004999"}, "transaction code": {1: "e74"},
		"trace number": {4: "12345"}, "no such date": {5: "0231000000"}, "digits of fen": {7: ""},
	} {
		refused(t, on(t, "unionpay-zme", line(t, zmeWidths, dispute.with(f)), 0), "1:", words)
	}
}

// B55: a file that was cut is refused, except between two lines, where nothing in the file can tell.
func TestB55CutAnywhere(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"unionpay-zm": zmFile(t), "unionpay-zme": zmeFile(t)} {
		for n := range len(content) {
			if n > 0 && content[n-1] == '\n' {
				continue
			}
			require.True(t, on(t, name, content[:n], 0).Refused(), "%s cut at byte %d", name, n)
		}
	}
}

func TestFitsNothingElse(t *testing.T) {
	t.Parallel()
	bank := "00019999    00019999    100001 0301235959 6200********0001    000000012345 000000000000 \r\n"
	for _, content := range []string{"", "\n", "S22", bank, strings.Repeat(" ", 700), "id,amount\n1,2\n", strings.Repeat("S22 ", 200)} {
		for _, f := range unionpay.Formats() {
			require.False(t, f.Fits(bill.NewHead([]byte(content))), "%s claims %.40q", f.Name, content)
		}
	}
	zm, zme := bill.NewHead([]byte(zmFile(t))), bill.NewHead([]byte(zmeFile(t)))
	require.False(t, format(t, "unionpay-zm").Fits(zme))
	require.False(t, format(t, "unionpay-zme").Fits(zm))
	short := zmFile(t)[:550] + "\r\n"
	require.True(t, format(t, "unionpay-zm").Fits(bill.NewHead([]byte(short))), "a damaged first line is claimed, so that Read can say why")

	strangers := unionpay.Strangers()
	require.True(t, strangers[0].Fits(bill.NewHead([]byte(bank))))
	require.False(t, strangers[0].Fits(zm))
	require.True(t, strangers[1].Fits(bill.NewHead([]byte("accessType=0&fileContent=eJzT0yMA&respCode=00"))))
	require.False(t, strangers[1].Fits(zm))
}

// fuzz reads any bytes, and those bytes as lines of the right length.
func fuzz(t *testing.T, name string, bytesPerLine int, content []byte) {
	t.Helper()
	billtest.Fuzz(t, format(t, name), content)
	var fit bytes.Buffer
	for l := range bytes.Lines(content) {
		l = bytes.TrimRight(l, "\r\n")
		l = l[:min(len(l), bytesPerLine)]
		fit.Write(l)
		fit.WriteString(strings.Repeat(" ", bytesPerLine-len(l)) + "\n")
	}
	billtest.Fuzz(t, format(t, name), fit.Bytes())
}

func FuzzZM(f *testing.F) {
	f.Add([]byte(zmFile(f)))
	f.Add([]byte(line(f, zmWidths, payment.with(fields{16: "", 17: "", 20: ""}))))
	f.Fuzz(func(t *testing.T, content []byte) { fuzz(t, "unionpay-zm", 607, content) })
}

func FuzzZME(f *testing.F) {
	f.Add([]byte(zmeFile(f)))
	f.Add([]byte(line(f, zmeWidths, dispute.with(fields{16: "C000000005000"}))))
	f.Fuzz(func(t *testing.T, content []byte) { fuzz(t, "unionpay-zme", 339, content) })
}
