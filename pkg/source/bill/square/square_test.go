package square_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/square"
)

func format() *bill.Format { return square.Formats()[0] }

func entry(n int, kind string, gross, fee, net int, currency, details string) string {
	money := func(name string, amount int) string {
		return fmt.Sprintf(`"%s_amount_money":{"amount":%d,"currency_code":null,"currency":"%s"}`, name, amount, currency)
	}
	return fmt.Sprintf(`{"id":"poe_%d","payout_id":"po_7","effective_at":"2026-03-02T08:00:0%dZ","type":"%s",%s,%s,%s%s}`,
		n, n, kind, money("gross", gross), money("fee", fee), money("net", net), details)
}

var entries = []string{
	entry(1, "CHARGE", 15000, 420, 14580, "USD", `,"type_charge_details":{"payment_id":"P1"}`),
	entry(2, "REFUND", -5000, -140, -4860, "USD", `,"type_refund_details":{"payment_id":"P1","refund_id":"R1"},"type_fee_details":null`),
	entry(3, "REFUND", -5000, 0, -5000, "USD", `,"type_refund_details":{"payment_id":"P1","refund_id":"R2"}`),
	entry(4, "CHARGE", 2500, 90, 2410, "JPY", ""),
	entry(5, "DISPUTE", -1000, 0, -1000, "USD", `,"type_dispute_details":{"payment_id":"P1","dispute_id":"D1"}`),
	entry(6, "DISPUTE", 1000, 0, 1000, "USD", `,"type_dispute_details":{"payment_id":"P1","dispute_id":"D1"}`),
	entry(7, "DEPOSIT_FEE", 0, 25, -25, "USD", ""),
	entry(8, "SUBSCRIPTION_FEE_REFUND", 30, 0, 30, "USD", ""),
	entry(9, "HOLD_ADJUSTMENT", -700, 0, -700, "USD", ""),
}

// B26 whole yen, B32 two equal refunds of one payment, B33 direction of a refund, B37 fees without a payment.
func TestEntries(t *testing.T) {
	t.Parallel()
	want := []string{
		"payment P1 P1 poe_1 150 USD 4.2 - 2026-03-02T08:00:01Z po_7",
		"refund R1 P1 poe_2 -50 USD -1.4 - 2026-03-02T08:00:02Z po_7",
		"refund R2 P1 poe_3 -50 USD 0 - 2026-03-02T08:00:03Z po_7",
		"payment poe_4 poe_4 poe_4 2500 JPY 90 - 2026-03-02T08:00:04Z po_7",
		"chargeback P1 P1 poe_5 -10 USD 0 - 2026-03-02T08:00:05Z po_7",
		"chargeback_reversal P1 P1 poe_6 10 USD 0 - 2026-03-02T08:00:06Z po_7",
		"fee poe_7 poe_7 poe_7 -0.25 USD - - 2026-03-02T08:00:07Z po_7",
		"fee_refund poe_8 poe_8 poe_8 0.3 USD - - 2026-03-02T08:00:08Z po_7",
		"hold poe_9 poe_9 poe_9 -7 USD 0 - 2026-03-02T08:00:09Z po_7",
	}
	for _, content := range []string{
		`{"payout_entries":[` + strings.Join(entries, ",") + "]}", `{"cursor":null,"payout_entries":[` + strings.Join(entries, ",\n") + "],\"errors\":[]}\n",
		"[" + strings.Join(entries, ",") + "]", strings.Join(entries, "\n") + "\n",
	} {
		r := billtest.One(t, format(), content)
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Equal(t, want, r.Lines())
		require.Equal(t, map[string]string{"payment_id": "P1", "refund_id": "R1", "dispute_id": "", "provider_type": "REFUND", "net": "-48.6"}, r.Rows[1].Attr)
		require.Equal(t, "net JPY", r.Controls[0].Name)
		require.Equal(t, "2410", r.Controls[0].Counted.Decimal.String())
		require.Equal(t, "40.25", r.Controls[1].Counted.Decimal.String()) // 145.80 − 48.60 − 50 − 10 + 10 − 0.25 + 0.30 − 7
	}
}

func TestEmptyDay(t *testing.T) {
	t.Parallel()
	for _, content := range []string{`{"payout_entries":[]}`, "[]\n"} {
		r := billtest.One(t, format(), content)
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Empty(t, r.Rows)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"one page of several", `{"payout_entries":[` + entries[0] + `],"cursor":"EMPC"}`, `member "cursor": this is one page of several`},
		{"errors", `{"errors":[{"code":"X"}],"payout_entries":[]}`, "the answer has errors of Square"},
		{"gross − fee is not net", "[" + entry(1, "CHARGE", 100, 3, 98, "USD", "") + "]", "gross 1 − fee 0.03 = 0.97, but net is 0.98"},
		{"two currencies", "[" + strings.Replace(entries[0], `"USD"},"net`, `"EUR"},"net`, 1) + "]", `member "currency": EUR, but the gross amount is in USD`},
		{"B63 an unknown type", "[" + entry(1, "MOONSHOT", 1, 0, 1, "USD", "") + "]", `type "MOONSHOT" is not known`},
		{"B33 a refund that brings money", "[" + entry(1, "REFUND", 1, 0, 1, "USD", "") + "]", "a REFUND of 0.01: this type never brings money"},
		{"a charge that takes money", "[" + entry(1, "CHARGE", -1, 0, -1, "USD", "") + "]", "a CHARGE of -0.01: this type never takes money"},
		{"no fee", "[" + strings.Replace(entries[0], `"fee_amount_money"`, `"x"`, 1) + "]", `member "amount": is missing`},
		{"B30 a float", "[" + strings.Replace(entries[0], "15000", "15000.5", 1) + "]", "want a whole number"},
		{"two payments in one entry", "[" + entry(1, "CHARGE", 1, 0, 1, "USD", `,"type_a_details":{"payment_id":"P1"},"type_b_details":{"payment_id":"P2"}`) + "]", `"P2" here and "P1" in other details`},
		{"no object", "[" + entries[0] + ",null]", "want a payout entry, this is null"},
	} {
		r := billtest.One(t, format(), c.content)
		require.True(t, r.Refused(), c.name)
		require.Contains(t, strings.Join(r.Problems, "\n"), c.want, c.name)
	}
}

// B55: a list that is cut anywhere is refused.
func TestCut(t *testing.T) {
	t.Parallel()
	whole := `{"payout_entries":[` + strings.Join(entries[:2], ",") + "]}"
	for n := range len(whole) {
		require.True(t, billtest.Read(t, billtest.Doc{Format: format(), Content: whole[:n]}).Refused(), "cut at %d", n)
	}
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	h := bill.NewHead([]byte(`{"payments":[{"id":"P1","amount_money":{"amount":1}}]}`))
	require.False(t, format().Fits(h))
	require.True(t, square.Strangers()[1].Fits(h))
	require.False(t, square.Strangers()[0].Fits(h))
}

func FuzzEntries(f *testing.F) {
	f.Add(`{"payout_entries":[` + strings.Join(entries, ",") + "]}")
	f.Add(strings.Join(entries, "\n"))
	f.Fuzz(func(t *testing.T, content string) { billtest.Fuzz(t, format(), []byte(content)) })
}
