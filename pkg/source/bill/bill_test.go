package bill_test

import (
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
)

// Providers count minor units by tables of their own (bugs B26, B27, B29).
func TestExponents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by                      bill.Exponents
		written, currency, want string
	}{
		{bill.ISO, "2500", "JPY", "2500"},
		{bill.ISO, "2500", "usd", "25"},
		{bill.ISO, "-1", " EUR ", "-0.01"},
		{bill.ISO, "7250", "KWD", "7.25"},
		{bill.ISO, "12345", "CLF", "1.2345"},
		{"stripe-api", "2500", "jpy", "2500"},
		{"stripe-api", "7250", "kwd", "7.25"},
		{"stripe-api", "500", "mga", "500"},
		{"stripe-api", "150000", "isk", "1500"},
		{"stripe-api", "150000", "ugx", "1500"},
		{"adyen-api", "150000", "ISK", "1500"},
		{"adyen-api", "150000", "CLP", "1500"},
		{"adyen-api", "1500", "IDR", "1500"},
		{"adyen-api", "1500", "CVE", "1500"},
		{"paypal-report", "10000", "JPY", "100"},
		{"paypal-report", "10000", "USD", "100"},
		{"paypal-report", "10000", "KWD", "100"},
		{"paypal-report", "10000", "HUF", "100"},
		{"square", "15000", "USD", "150"},
		{"razorpay", "97100", "INR", "971"},
	} {
		got, err := c.by.Minor(c.written, c.currency)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c.want, got.String(), "%+v", c)
	}
	for _, c := range []struct{ written, currency, want string }{
		{"1", "XYZ", `currency "XYZ" is not known`},
		{"1", "", "the currency is empty"},
		{"1.5", "USD", "want whole minor units"},
		{"1e3", "USD", "only digits"},
		{"", "USD", "digits are missing"},
	} {
		_, err := bill.ISO.Minor(c.written, c.currency)
		require.ErrorContains(t, err, c.want)
	}
}

type notes struct{ problems []string }

func (n *notes) Row(*bill.Row) error { return nil }
func (n *notes) Problem(_, _ int, err error) {
	n.problems = append(n.problems, err.Error())
}

func TestControlsMustAgree(t *testing.T) {
	t.Parallel()
	n := &notes{}
	out := bill.NewOut(n)
	one, two := decimal.New(1, 0), decimal.New(2, 0)
	out.Declare("rows", 9, two)
	out.Count("rows", one)
	out.Count("rows", one)
	out.Declare("sum", 9, two)
	out.Count("sum", one)
	out.Declare("fees", 9, one)
	out.Count("undeclared", one)
	out.Declare("rows", 10, one)
	out.Finish()
	require.Equal(t, []string{
		"the bill declares rows twice: 2 in line 9, 1 here",
		"the bill declares sum = 2, but its rows give 1: it is cut, damaged or edited; deliver the whole file again",
		"the bill declares fees = 1, but nothing in the file gives that figure",
	}, n.problems)
}

func TestHeader(t *testing.T) {
	t.Parallel()
	h := bill.NewHeader([]string{"\uFEFF支付宝交易号", "收入金额（+元）\t", "`Amount`", "Reserved4"})
	require.Equal(t, 1, h.At("没有", "收入金额(+元)"))
	require.True(t, h.Has("AMOUNT", "支付宝交易号"))
	require.NoError(t, h.Check([]string{"amount"}, []string{"支付宝交易号", "收入金额（+元）", "Reserved*"}))
	require.EqualError(t, bill.NewHeader([]string{"a", "b", "A"}).Check([]string{"a", "c"}, []string{}),
		`columns missing "c"; not known "b"; there more than once "A"; found: "a", "b", "A"`)
}

func TestNoBill(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"code": "NO_STATEMENT_EXIST", "message": "x"}`:                                                             "NO_STATEMENT_EXIST",
		"<xml><return_code><![CDATA[FAIL]]></return_code>\n<return_msg><![CDATA[no Bill exist]]></return_msg></xml>": "no Bill exist",
		"\xEF\xBB\xBF<xml><return_msg>No Bill Exist</return_msg></xml>":                                              "No Bill Exist",
		`{"alipay_data_response":{"code":"40004","sub_code":"isv.BILL_NOT_EXIST"}}`:                                  "isv.BILL_NOT_EXIST",
		`{"x_response":{"code":"40004","sub_code":"NO_BILL_DATA"}}`:                                                  "NO_BILL_DATA",
	} {
		words, ok := bill.NoBill(bill.NewHead([]byte(content)))
		require.True(t, ok, content)
		require.Equal(t, want, words)
	}
	for _, content := range []string{
		"", `{"code":"PARAM_ERROR"}`, `<xml><return_code>FAIL</return_code><return_msg>签名错误</return_msg></xml>`,
		"交易时间,No Bill Exist\n", `{"message":"NO_STATEMENT_EXIST"}`, `<html>No Bill Exist</html>`,
	} {
		_, ok := bill.NoBill(bill.NewHead([]byte(content)))
		require.False(t, ok, content)
	}
}
