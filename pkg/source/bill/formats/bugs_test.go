package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/formats"
)

// example is a bill of docs/examples, which loads as it stands.
func example(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "examples", "bills", "bills", name))
	require.NoError(t, err)
	return string(content)
}

// told reads a document as the format that its content tells. What is no bill is refused by the error of Tell.
func told(t *testing.T, content string, day model.Day) billtest.Result {
	t.Helper()
	f, err := formats.Tell(bill.NewHead([]byte(content[:min(len(content), 64<<10)])))
	if err != nil {
		return billtest.Result{Err: err}
	}
	return billtest.Read(t, billtest.Doc{Format: f, Content: content, Day: day, Zone: zoneOf[f.Name]})
}

var zoneOf = map[string]*time.Location{"adyen-settlement": time.FixedZone("CEST", 2*3600)}

func refusal(r billtest.Result) string {
	out := strings.Join(r.Problems, "\n")
	if r.Err != nil {
		out += "\n" + r.Err.Error()
	}
	return out
}

const (
	adyen     = "adyen-2026-10-01.csv"
	braintree = "braintree-2026-10-01.json"
	camt      = "bank-camt053-2026-10-01.xml"
	mt940     = "bank-mt940-2026-10-01.sta"
	paypal    = "paypal-2026-10-01.csv"
	razorpay  = "razorpay-2026-10-01.json"
	square    = "square-2026-10-01.json"
	stripe    = "stripe-2026-10-01.csv"
	unionpay  = "unionpay-2026-10-01.txt"
	wechat    = "wechat-2026-10-01.csv"
)

const head2024 = "交易时间,公众账号ID,商户号,子商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,总金额,企业红包金额,"

// Reports of others' bugs (B…) that no format's own test holds by its number: each loads with the right value or is
// refused with the reason.
func TestReportedBugs(t *testing.T) {
	t.Parallel()
	const success = "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额," +
		"商品名称,商户数据包,手续费,费率,订单金额,费率备注\n"
	const row20 = "`2026-10-01 09:00:00,`wx1,`1900000001,`0,`,`4200000000000000000000000001,`W1,`o1,`JSAPI,`SUCCESS,`OTHERS,`CNY,`12.00,`0.00," +
		"`茶,`,`0.07000,`0.60%,`12.00,`\n"
	const totals20 = "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\n`1,`12.00,`0.00,`0.00,`0.07000,`12.00,`0.00\n"
	const old = head2024 + "微信退款单号,商户退款单号,退款金额,企业红包退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率\n" +
		"`2018-05-07 09:00:00,`wx1,`1900000001,`0,`,`4200000000000000000000000001,`W1,`o1,`JSAPI,`SUCCESS,`OTHERS,`CNY,`12.00,`0.00,`0,`0,`0.00,`0.00,`,`,`茶,`,`0.07000,`0.60%\n" +
		"总交易单数,总交易额,总退款金额,总企业红包退款金额,手续费总金额\n`1,`12.00,`0.00,`0.00,`0.07000\n"
	for _, c := range []struct {
		name, content string
		want          []string // lines, or
		refused       string
	}{
		{
			name: "B1 columns of the bill of successes", content: success + row20 + totals20,
			want: []string{"payment W1 W1 4200000000000000000000000001 12 CNY 0.07 SUCCESS 2026-10-01T01:00:00Z -"},
		},
		{name: "B1 a header of no generation", content: strings.Replace(success, "商品名称,", "商品名称二,", 1) + row20 + totals20, refused: "商品名称二"},
		{
			name: "B2 24 columns and five totals", content: old,
			want: []string{"payment W1 W1 4200000000000000000000000001 12 CNY 0.07 SUCCESS 2018-05-07T01:00:00Z -"},
		},
		{name: "B3 gzip as text", content: "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x031900000001All2026-10-01.csv\x00\x01\x02", refused: "not a bill of a known format"},
		{name: "B5 an error that is no empty day", content: "<xml><return_code>FAIL</return_code><return_msg>Sign Error</return_msg></xml>", refused: "Sign Error"},
		{
			name: "B45 BAI2", content: "01,122099999,123456789,261001,0200,1,,,2/\n02,031001234,122099999,1,261001,,USD,2/\n03,07,USD,010,90,,,015/\n88,90,,,072,0,,/\n",
			refused: "not a bill of a known format",
		},
		{name: "B47 base64 of a change stream", content: `{"amount":"AfQ=","id":"1"}` + "\n", refused: "not a bill of a known format"},
		{name: "B48 a zero date", content: strings.Replace(example(t, wechat), "2026-10-01 09:00:00", "0000-00-00 00:00:00", 1), refused: "0000-00-00"},
		{name: "B58 totals are no row", content: example(t, wechat), want: nil},
		{name: "B65 OFX under the name of a statement", content: "OFXHEADER:100\nDATA:OFXSGML\nENCODING:USASCII\nCHARSET:1252\n\n<OFX></OFX>\n", refused: "not a bill of a known format"},
	} {
		r := told(t, c.content, 0)
		if c.refused != "" {
			require.True(t, r.Refused(), c.name)
			require.Contains(t, refusal(r), c.refused, c.name)
			continue
		}
		require.False(t, r.Refused(), "%s: %s", c.name, refusal(r))
		if c.want != nil {
			require.Equal(t, c.want, r.Lines(), c.name)
		}
	}
}

// What was changed in a good bill and still adds up in what it declares is told by what its lines say of themselves.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, from, to, want string }{
		{"a refund under the word of a payment", wechat, "`JSAPI,`REFUND,", "`JSAPI,`SUCCESS,", "in a line of SUCCESS"},
		{"number columns changed places", wechat, "微信订单号,商户订单号", "商户订单号,微信订单号", "is no number of WeChat Pay"},
		{"a refund without WeChat Pay's number", wechat, "`50300002026100100000000000001,", "`,", `column "微信退款单号": ""`},
		{"a payment of another day", wechat, "`2026-10-01 09:10:00", "`2026-10-02 09:10:00", "2026-10-02 in the bill of 2026-10-01"},
		{"a payment without its gross", adyen, "EUR,,100,1,", "EUR,,,1,", "neither gross debit nor gross credit is given"},
		{"dollars under yen", stripe, "08:00:00,usd,50.00,1.75,48.25", "08:00:00,jpy,50.00,1.75,48.25", "1.75 JPY: the currency has 0 decimals"},
		{"a line twice", stripe, "txn_0002,", "txn_0001,", `"txn_0001" is the id of an earlier line too`},
		{"no id", stripe, "txn_0002,", ",", "the id of the balance transaction is empty"},
		{"an entry twice", square, "poe_0002", "poe_0001", `"poe_0001" is the id of an earlier line too`},
		{"an entry without id", square, `"id": "poe_0002"`, `"it": "poe_0002"`, `member "id": is missing`},
		{"an entry of no payout", square, `"payout_id": "po_example_1"`, `"payout": "po_example_1"`, `member "payout_id": is missing`},
		{"an entry of no time", square, `"effective_at"`, `"effective"`, `member "effective_at": is missing`},
		{"details that name no payment", square, `"payment_id": "Q1002"`, `"payment": "Q1002"`, "whose details name no payment"},
		{"an item twice", razorpay, "pay_EXAMPLE000002", "pay_EXAMPLE000001", "is the id of an earlier line too"},
		{"a payment under another type", razorpay, `"type": "payment"`, `"type": "adjustment"`, `"pay_EXAMPLE000001" is the id of a payment`},
		{"a transaction twice", braintree, "dHJhbnNhY3Rpb25fMg", "dHJhbnNhY3Rpb25fMQ", "is the id of an earlier line too"},
		{"a transaction without id", braintree, `"id": "dHJhbnNhY3Rpb25fMg"`, `"it": "dHJhbnNhY3Rpb25fMg"`, `member "id": is missing`},
		{"a void that was paid out", braintree, `"status": "SETTLED"`, `"status": "VOIDED"`, "status VOIDED says that no money moved"},
		{"a query number twice", unionpay, "202610011000000000021", "202610010930150000011", "is the id of an earlier line too"},
		{"an amount in a batch that is none", camt, ">300.00</Amt>", ">300,00</Amt>", `amount "300,00"`},
		{"a direction of a charge that is none", camt, "<CdtDbtInd>DBIT</CdtDbtInd></Chrgs>", "<CdtDbtInd>dbit</CdtDbtInd></Chrgs>", `CdtDbtInd "dbit"`},
		{"a period of a year", paypal, `"SH",2026/10/01`, `"SH",2025/10/01`, "longer than a month"},
		{"a byte order mark inside", stripe, "S1001,\n", "S\uFEFF1001,\n", "holds the character U+FEFF"},
		{"a character that was lost", paypal, `"P1002"`, "\"P\uFFFD002\"", "holds the character U+FFFD"},
		{"an escape sequence", square, `"QR1"`, `"QR1\u001b[2J"`, "holds the character U+001B"},
	} {
		good := example(t, c.file)
		require.False(t, told(t, good, 0).Refused(), "%s: %s", c.file, refusal(told(t, good, 0)))
		require.Contains(t, good, c.from, c.name)
		r := told(t, strings.Replace(good, c.from, c.to, 1), 0)
		require.True(t, r.Refused(), c.name)
		require.Contains(t, refusal(r), c.want, c.name)
	}
}

// A bill that says of what day it is loads for that day and for no other.
func TestBillOfAnotherDay(t *testing.T) {
	t.Parallel()
	asked := model.NewDay(2026, 10, 1)
	for _, file := range []string{wechat, paypal, mt940, camt} {
		content := example(t, file)
		r := told(t, content, asked)
		require.False(t, r.Refused(), "%s: %s", file, refusal(r))
		for _, other := range []model.Day{asked - 1, asked + 1, asked + 365} {
			r := told(t, content, other)
			require.True(t, r.Refused(), "%s for %s", file, other)
			require.Contains(t, refusal(r), other.String(), file)
			require.Contains(t, refusal(r), "2026-10-01", file)
		}
	}
}

// What only cannot be seen is left in a number: both sides may have it.
func TestMarksOfDirectionAreLeft(t *testing.T) {
	t.Parallel()
	r := told(t, strings.Replace(example(t, paypal), `"P1002"`, "\"P\u200F1002\"", 1), 0)
	require.False(t, r.Refused(), refusal(r))
	require.Equal(t, "P\u200F1002", r.Rows[1].Key)
}
