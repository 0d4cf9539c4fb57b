package stripe_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
)

func list(t testing.TB) *bill.Format { return format(t, "stripe-balance-transactions") }

func transaction(id, amount, fee, net, currency, category, source string) string {
	return `{"id":"` + id + `","object":"balance_transaction","amount":` + amount + `,"created":1772438400,"currency":"` + currency + `","description":null,` +
		`"exchange_rate":null,"fee":` + fee + `,"fee_details":[],"net":` + net + `,"reporting_category":"` + category + `","source":` + source +
		`,"status":"available","type":"` + category + `"}`
}

var elements = []string{
	transaction("txn_1", "5300", "184", "5116", "usd", "charge", `"ch_1"`),
	transaction("txn_2", "-1300", "0", "-1300", "usd", "refund", `"re_1"`),
	transaction("txn_3", "-47", "0", "-47", "usd", "fee", "null"),
	transaction("txn_4", "2500", "90", "2410", "jpy", "charge", `"py_1"`),
	transaction("txn_5", "7250", "250", "7000", "kwd", "charge", `"ch_5"`),
	transaction("txn_6", "150000", "0", "150000", "isk", "charge",
		`{"id":"ch_6","object":"charge","payment_intent":"pi_6","metadata":{"colour":"red","order_no":"0071"}}`),
	transaction("txn_7", "-3769", "0", "-3769", "usd", "payout", `"po_1"`),
}

var listLines = []string{
	"payment ch_1 ch_1 txn_1 53 USD 1.84 available 2026-03-02T08:00:00Z -",
	"refund re_1 re_1 txn_2 -13 USD 0 available 2026-03-02T08:00:00Z -",
	"fee txn_3 txn_3 txn_3 -0.47 USD - available 2026-03-02T08:00:00Z -",
	"payment py_1 py_1 txn_4 2500 JPY 90 available 2026-03-02T08:00:00Z -",
	"payment ch_5 ch_5 txn_5 7.25 KWD 0.25 available 2026-03-02T08:00:00Z -",
	"payment 0071 0071 txn_6 1500 ISK 0 available 2026-03-02T08:00:00Z -",
	"payout po_1 po_1 txn_7 -37.69 USD 0 available 2026-03-02T08:00:00Z po_1",
}

const listEnd = `],"has_more":false,"url":"/v1/balance_transactions"}`

func wrapped() string {
	return `{"object":"list","data":[` + "\n" + strings.Join(elements, ",\n") + listEnd
}

// B26 yen have no decimals, B27 dinars three, B29 Stripe's króna has two, B37 a fee without a source.
func TestList(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"the answer as it is":        wrapped(),
		"members in another order":   `{"url":"/v1/balance_transactions","has_more":false,"data":[` + strings.Join(elements, ",") + `],"object":"list"}`,
		"an array of several pages":  "\uFEFF[" + strings.Join(elements, ",\r\n") + "]",
		"one transaction on a line":  strings.Join(elements, "\n") + "\n",
		"indented, one on two lines": "[\n  " + strings.ReplaceAll(strings.Join(elements, ",\n"), `,"created"`, ",\n  \"created\"") + "\n]\n",
	} {
		r := billtest.One(t, list(t), content)
		require.False(t, r.Refused(), "%s: %v %v", name, r.Err, r.Problems)
		require.Equal(t, listLines, r.Lines(), name)
	}
	r := billtest.One(t, list(t), wrapped())
	require.Equal(t, map[string]string{
		"order_no": "0071", "payment_intent_id": "pi_6", "charge_id": "ch_6", "source_id": "ch_6", "provider_type": "charge",
		"reporting_category": "charge", "net": "1500", "description": "",
	}, r.Rows[5].Attr)
	require.Equal(t, "net ISK", r.Controls[0].Name)
	require.Equal(t, "0", r.Controls[len(r.Controls)-1].Counted.Decimal.String(), "USD nets to zero")
}

func TestListEmptyDay(t *testing.T) {
	t.Parallel()
	for _, content := range []string{`{"object":"list","data":[` + listEnd, "[]\n"} {
		r := billtest.One(t, list(t), content)
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Empty(t, r.Rows)
	}
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	charge := elements[0]
	for _, c := range []struct{ name, content, want string }{
		{"one page of several", `{"object":"list","data":[` + charge + `],"has_more":true}`, "this is one page of several"},
		{"nothing says that it is all", `{"object":"list","data":[` + charge + `]}`, `member "has_more": is missing`},
		{"two pages one after the other", wrapped() + "\n" + wrapped(), "the document goes on after its end"},
		{"amount − fee is not net", "[" + strings.Replace(charge, "5116", "5115", 1) + "]", `member "net": gross 53 − fee 1.84 = 51.16, but net is 51.15`},
		{"a fee that its details do not sum to", "[" + strings.Replace(charge, `"fee_details":[]`, `"fee_details":[{"amount":100,"currency":"usd"}]`, 1) + "]", "the details of the fee sum to 1, but the fee is 1.84"},
		{"B30 a float", "[" + strings.Replace(charge, "5300", "5300.0", 1) + "]", `"5300.0": want a whole number`},
		{"B39 a charge whose fee is not known yet", "[" + charge + `,{"id":"ch_9","object":"charge","amount":100,"balance_transaction":null}]`, "is not known yet, and is never 0"},
		{"another object", "[" + charge + `,{"id":"re_9","object":"refund"}]`, "a refund, not a balance transaction"},
		{"B63 an unknown category", "[" + strings.Replace(charge, `"charge"`, `"moonshot"`, 1) + "]", `reporting category "moonshot" is not known`},
		{"no category", "[" + strings.Replace(charge, `"reporting_category":"charge"`, `"reporting_category":null`, 1) + "]", `member "reporting_category": is missing`},
		{"an unknown currency", "[" + strings.Replace(charge, "usd", "zzz", 1) + "]", `currency "zzz" is not known`},
		{"milliseconds", "[" + strings.Replace(charge, "1772438400", "1772438400000", 1) + "]", "a wrong unit"},
		{"a member twice", "[" + strings.Replace(charge, `"fee":184`, `"fee":184,"fee":184`, 1) + "]", `member "fee" is there twice`},
		{"two order numbers", "[" + strings.Replace(charge, `"ch_1"`, `{"id":"ch_1","metadata":{"order_no":"1","order_id":"2"}}`, 1) + "]", "the number of the order is"},
		{"no object", "[" + charge + ",7]", "want a balance transaction, this is a number"},
	} {
		r := billtest.One(t, list(t), c.content)
		require.True(t, r.Refused(), c.name)
		all := strings.Join(r.Problems, "\n")
		if r.Err != nil {
			all += "\n" + r.Err.Error()
		}
		require.Contains(t, all, c.want, c.name)
	}
}

// B55: a list that is cut anywhere is refused.
func TestListCut(t *testing.T) {
	t.Parallel()
	whole := wrapped()
	for n := range len(whole) {
		r := billtest.Read(t, billtest.Doc{Format: list(t), Content: whole[:n]})
		require.True(t, r.Refused(), "cut at %d", n)
	}
}

func FuzzList(f *testing.F) {
	f.Add(wrapped())
	f.Add(strings.Join(elements, "\n") + "\n")
	f.Add(`[{"object":"balance_transaction","source":{"metadata":{"order":"1"}},"fee_details":[{}]}]`)
	f.Fuzz(func(t *testing.T, content string) { billtest.Fuzz(t, list(t), []byte(content)) })
}
