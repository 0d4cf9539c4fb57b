package razorpay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/razorpay"
)

func format() *bill.Format { return razorpay.Formats()[0] }

// item composes one; figures are amount, fee, tax, credit, debit.
func item(id, kind string, figures [5]int, more string) string {
	return fmt.Sprintf(`{"entity_id":"%s","type":"%s","debit":%d,"credit":%d,"amount":%d,"fee":%d,"tax":%d,"created_at":1772438400,"currency":"INR",`+
		`"on_hold":false,"settled":true,"settled_at":1772524800,"settlement_id":"setl_1","settlement_utr":"17725utr"%s}`,
		id, kind, figures[4], figures[3], figures[0], figures[1], figures[2], more)
}

var items = []string{
	item("pay_1", "payment", [5]int{100000, 2900, 442, 97100, 0}, `,"notes":"{}","payment_id":null,"order_id":"order_1","method":"card","order_receipt":"SO-1"`),
	item("pay_2", "payment", [5]int{10, 25, 4, 0, 15}, `,"notes":"{\"order_no\":\"0072\",\"colour\":\"red\"}","order_id":"order_2"`),
	item("rfnd_1", "refund", [5]int{40000, 0, 0, 0, 40000}, `,"notes":"[]","payment_id":"pay_1","order_id":"order_1","order_receipt":"SO-1"`),
	item("rfnd_2", "refund", [5]int{40000, 590, 90, 0, 40590}, `,"notes":null,"payment_id":"pay_1","order_id":"order_1","order_receipt":"SO-1"`),
	item("trf_1", "transfer", [5]int{100000, 296, 46, 0, 100296}, `,"payment_id":"pay_1"`),
	item("adj_1", "adjustment", [5]int{1012, 0, 0, 1012, 0}, ""),
	item("adj_2", "adjustment", [5]int{5000, 0, 0, 0, 5000}, `,"dispute_id":"disp_1","payment_id":"pay_1"`),
	item("adj_3", "adjustment", [5]int{5000, 0, 0, 5000, 0}, `,"dispute_id":"disp_1","payment_id":"pay_1","settlement_utr_":null`),
}

func wrapped(count int, items ...string) string {
	return fmt.Sprintf(`{"entity":"collection","count":%d,"items":[%s]}`, count, strings.Join(items, ",\n"))
}

// B32 two equal refunds of one payment, B33 their direction, B34 a fee that exceeds the payment.
func TestRecon(t *testing.T) {
	t.Parallel()
	want := []string{
		"payment SO-1 SO-1 pay_1 1000 INR 29 settled 2026-03-02T08:00:00Z setl_1",
		"payment 0072 0072 pay_2 0.1 INR 0.25 settled 2026-03-02T08:00:00Z setl_1",
		"refund SO-1 SO-1 rfnd_1 -400 INR 0 settled 2026-03-02T08:00:00Z setl_1",
		"refund SO-1 SO-1 rfnd_2 -400 INR 5.9 settled 2026-03-02T08:00:00Z setl_1",
		"transfer pay_1 pay_1 trf_1 -1000 INR 2.96 settled 2026-03-02T08:00:00Z setl_1",
		"adjustment adj_1 adj_1 adj_1 10.12 INR 0 settled 2026-03-02T08:00:00Z setl_1",
		"chargeback pay_1 pay_1 adj_2 -50 INR 0 settled 2026-03-02T08:00:00Z setl_1",
		"chargeback_reversal pay_1 pay_1 adj_3 50 INR 0 settled 2026-03-02T08:00:00Z setl_1",
	}
	for _, content := range []string{wrapped(8, items...), "[" + strings.Join(items, ",") + "]\n", strings.Join(items, "\n") + "\n"} {
		r := billtest.One(t, format(), content)
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Equal(t, want, r.Lines())
		require.Equal(t, "-827.89", r.Controls[0].Counted.Decimal.String()) // 971 − 0.15 − 400 − 405.90 − 1002.96 + 10.12 − 50 + 50
		require.Equal(t, map[string]string{
			"order_no": "SO-1", "order_id": "order_1", "payment_id": "pay_1", "dispute_id": "", "provider_type": "payment", "net": "971",
			"tax": "4.42", "method": "card", "settlement_utr": "17725utr", "settled_at": "2026-03-03T08:00:00Z",
		}, r.Rows[0].Attr)
	}
}

func TestEmptyDay(t *testing.T) {
	t.Parallel()
	for _, content := range []string{wrapped(0), "[]\n"} {
		r := billtest.One(t, format(), content)
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Empty(t, r.Rows)
	}
}

// A page that is full may be one of several: the largest is refused, the usual one is remarked on, an array is taken.
func TestPages(t *testing.T) {
	t.Parallel()
	many := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = strings.Replace(items[5], `"entity_id":"`, fmt.Sprintf(`"entity_id":"x%d`, i), 1)
		}
		return out
	}
	r := billtest.One(t, format(), wrapped(1000, many(1000)...))
	require.Contains(t, strings.Join(r.Problems, ""), "1000 items are the most that one answer holds")
	r = billtest.One(t, format(), wrapped(10, many(10)...))
	require.False(t, r.Refused())
	require.Contains(t, strings.Join(r.Remarks, ""), "exactly 10 items")
	r = billtest.One(t, format(), "["+strings.Join(many(1000), ",")+"]")
	require.False(t, r.Refused())
	require.Empty(t, r.Remarks)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"count is not the number of items", wrapped(9, items...), "the bill declares items = 9, but its rows give 8"},
		{"no count", strings.Replace(wrapped(1, items[0]), "count", "kount", 1), `member "count": is missing`},
		{"a payment whose credit is wrong", wrapped(1, item("pay_1", "payment", [5]int{100, 3, 1, 98, 0}, "")), "a payment of amount 1 with fee 0.03 moves 0.97, but credit is 0.98 and debit 0"},
		{"a refund that is credited", wrapped(1, item("rfnd_1", "refund", [5]int{100, 0, 0, 100, 0}, "")), "a refund of amount 1 with fee 0 moves -1, but credit is 1"},
		{"both ways at once", wrapped(1, item("adj_1", "adjustment", [5]int{100, 0, 0, 100, 100}, "")), "credit 1 and debit 1 in one item"},
		{"more tax than fee", wrapped(1, item("pay_1", "payment", [5]int{100, 3, 4, 97, 0}, "")), "tax 0.04 is more than fee 0.03"},
		{"a negative figure", wrapped(1, item("pay_1", "payment", [5]int{-100, 0, 0, 0, 100}, "")), "Razorpay writes no negative figures"},
		{"B63 an unknown type", wrapped(1, item("x_1", "moonshot", [5]int{1, 0, 0, 1, 0}, "")), `type "moonshot" is not known`},
		{"broken notes", wrapped(1, item("pay_1", "payment", [5]int{1, 0, 0, 1, 0}, `,"notes":"{\"order_no\":\"S"`)), `member "notes": not the JSON that notes are`},
		{"two order numbers", wrapped(1, item("pay_1", "payment", [5]int{1, 0, 0, 1, 0}, `,"notes":{"order_no":"1","invoice":"2"}`)), `the number of the order is "2" here and "1" under another name`},
		{"B30 a float", strings.Replace(wrapped(1, items[0]), "97100", "971.00", 1), "want a whole number"},
	} {
		r := billtest.One(t, format(), c.content)
		require.True(t, r.Refused(), c.name)
		require.Contains(t, strings.Join(r.Problems, "\n"), c.want, c.name)
	}
}

// B55: a list that is cut anywhere is refused.
func TestCut(t *testing.T) {
	t.Parallel()
	whole := wrapped(2, items[:2]...)
	for n := range len(whole) {
		require.True(t, billtest.Read(t, billtest.Doc{Format: format(), Content: whole[:n]}).Refused(), "cut at %d", n)
	}
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	for i, content := range []string{
		`{"entity":"collection","count":1,"items":[{"id":"setl_1","entity":"settlement","amount":1,"created_at":1}]}`,
		`{"entity":"collection","count":1,"items":[{"id":"pay_1","entity":"payment","amount":1,"created_at":1}]}`,
	} {
		h := bill.NewHead([]byte(content))
		require.False(t, format().Fits(h))
		require.True(t, razorpay.Strangers()[i].Fits(h))
	}
}

func FuzzRecon(f *testing.F) {
	f.Add(wrapped(8, items...))
	f.Add(strings.Join(items, "\n"))
	f.Add(`[{"entity_id":"a","credit":0,"notes":"{\"order\":{}}"}]`)
	f.Fuzz(func(t *testing.T, content string) { billtest.Fuzz(t, format(), []byte(content)) })
}
