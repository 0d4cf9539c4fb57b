package braintree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/braintree"
)

func transactions() *bill.Format { return braintree.Formats()[0] }
func disputes() *bill.Format     { return braintree.Formats()[1] }

func payment(id, order, amount, status, more string) string {
	return fmt.Sprintf(`{"id":"%s","legacyId":"l%s","orderId":"%s","createdAt":"2026-03-01T22:58:37.000000Z","merchantAccountId":"acme","status":"%s",`+
		`"customer":null,"disputes":[],"amount":{"value":"%s","currencyCode":"USD"}%s}`, id, id, order, status, amount, more)
}

func settled(amount, currency, batch string) string {
	return fmt.Sprintf(`,"statusHistory":[{"timestamp":"2026-03-01T23:13:10.000000Z","settlementBatchId":"%s"},[],{}],"disbursementDetails":{"date":"2026-03-02",`+
		`"amount":{"value":"%s","currencyCode":"%s"},"exchangeRate":"1","fundsHeld":false}`, batch, amount, currency)
}

func refundOf(order string) string {
	return fmt.Sprintf(`,"refundedTransaction":{"id":"t1","orderId":"%s","legacyId":"lt1"}`, order)
}

var objects = []string{
	payment("t1", "SO-1", "30.10", "SETTLED", settled("30.10", "USD", "b_1")),
	payment("t2", "0073", "5", "SETTLED", settled("4.55", "EUR", "b_1")),
	payment("r1", "SO-1", "10.00", "SETTLED", settled("-10.00", "USD", "b_2")+refundOf("SO-1")),
	payment("r2", "RF-2", "10.00", "SETTLED", settled("-10.00", "USD", "b_2")+refundOf("SO-1")),
	payment("t3", "SO-3", "7.00", "SETTLED", `,"statusHistory":[[],[]],"disbursementDetails":[],"refundedTransaction":null`),
	payment("t4", "SO-4", "7.00", "VOIDED", `,"statusHistory":[]`),
	payment("t5", "SO-5", "7.00", "SETTLING", `,"statusHistory":[]`),
	payment("t6", "SO-6", "7.00", "SETTLING", `,"statusHistory":[]`),
}

// B32 two refunds of one payment, B33 their direction, B24 leading zeros; B39 there is no fee, which is not 0.
func TestTransactions(t *testing.T) {
	t.Parallel()
	want := []string{
		"payment SO-1 SO-1 t1 30.1 USD - SETTLED 2026-03-01T22:58:37Z b_1",
		"payment 0073 0073 t2 5 USD - SETTLED 2026-03-01T22:58:37Z b_1",
		"refund SO-1 SO-1 r1 -10 USD - SETTLED 2026-03-01T22:58:37Z b_2",
		"refund RF-2 SO-1 r2 -10 USD - SETTLED 2026-03-01T22:58:37Z b_2",
		"payment SO-3 SO-3 t3 7 USD - SETTLED 2026-03-01T22:58:37Z -",
	}
	for _, content := range []string{"[" + strings.Join(objects, ",\n ") + "]", strings.Join(objects, "\n") + "\n"} {
		r := billtest.One(t, transactions(), content)
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Equal(t, want, r.Lines())
		require.Equal(t, []string{"left out, as they moved no money: 1 VOIDED, 2 SETTLING"}, r.Remarks)
		require.Equal(t, map[string]string{
			"legacy_id": "lr2", "parent_id": "t1", "parent_legacy_id": "lt1", "merchant_account": "acme", "settled_at": "2026-03-01T23:13:10Z",
			"disbursed_on": "2026-03-02", "disbursed_amount": "-10", "disbursed_currency": "USD", "funds_held": "false",
		}, r.Rows[3].Attr)
	}
	r := billtest.One(t, transactions(), objects[0])
	require.False(t, r.Refused(), "a single object without a line end: %v %v", r.Err, r.Problems)
	require.Equal(t, want[:1], r.Lines())
}

func TestTransactionRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"a refund whose disbursement is positive", payment("r1", "S", "10.00", "SETTLED", settled("10.00", "USD", "b")+refundOf("S")), "10 USD were disbursed for a refund of -10 USD"},
		{"a payment whose disbursement is negative", payment("t1", "S", "10.00", "SETTLED", settled("-9.00", "EUR", "b")), "-9 EUR were disbursed for a payment of 10 USD"},
		{"another figure in the same currency", payment("t1", "S", "10.00", "SETTLED", settled("9.00", "USD", "b")), "9 USD were disbursed for a payment of 10 USD"},
		{"a signed amount", payment("t1", "S", "-10.00", "SETTLED", settled("-10.00", "USD", "b")), "Braintree writes amounts without a sign"},
		{"B63 an unknown status", payment("t1", "S", "10.00", "MOONSHOT", settled("10.00", "USD", "b")), `status "MOONSHOT" is not known`},
		{"two batches", payment("t1", "S", "10.00", "SETTLED", `,"statusHistory":[{"settlementBatchId":"a"},{"settlementBatchId":"b"}]`), `"b" here and "a" in another event`},
		{"B30 a number in place of text", strings.Replace(objects[0], `"value":"30.10"`, `"value":30.10`, 1), "want text, this is a number"},
		{"B17 grouped digits", payment("t1", "S", "1,000.00", "SETTLED", `,"statusHistory":[]`), "only digits and one decimal point"},
		{"no amount", strings.Replace(objects[0], `"amount":{"value":"30.10","currencyCode":"USD"}`, `"amount":[]`, 1), `member "value": is missing`},
		{"no time", strings.Replace(objects[0], `"createdAt":"2026-03-01T22:58:37.000000Z"`, `"createdAt":null`, 1), `member "createdAt": is missing`},
		{"a kind that contradicts", strings.Replace(objects[0], `{"id"`, `{"__typename":"Refund","id"`, 1), "refundedTransaction says the contrary"},
		{"a dispute among them", objects[0] + "\n" + `{"id":"d","amountDisputed":{}}` + "\n", "a dispute among transactions"},
		{"an envelope", objects[0] + "\n" + `{"data":{"search":{}}}` + "\n", "an answer of the API with its envelope"},
		{"no object", "[" + objects[0] + ",[]]", "want a transaction or refund, this is an array"},
	} {
		r := billtest.One(t, transactions(), c.content)
		require.True(t, r.Refused(), c.name)
		require.Contains(t, strings.Join(r.Problems, "\n"), c.want, c.name)
	}
}

type happening struct{ status, at, disbursed string }

func dispute(id, kind, status, disputed, won string, history ...happening) string {
	var events []string
	for _, e := range history {
		disbursed := "null"
		if e.disbursed != "" {
			disbursed = `"` + e.disbursed + `"`
		}
		events = append(events, fmt.Sprintf(`{"__typename":"DisputeStatusEvent","timestamp":"2026-03-%sT08:00:00Z","disbursementDate":%s,"status":"%s"}`, e.at, disbursed, e.status))
	}
	return fmt.Sprintf(`{"id":"%s","legacyId":"l%s","type":"%s","caseNumber":"N-%s","createdAt":"2026-03-01T08:00:00Z","receivedDate":"2026-03-01","status":"%s",`+
		`"transaction":{"id":"t%s","legacyId":"lt%s","orderId":"SO-%s"},"amountDisputed":{"value":"%s","currencyCode":"USD"},"amountWon":{"value":"%s","currencyCode":"USD"},`+
		`"statusHistory":[%s]}`, id, id, kind, id, status, id, id, id, disputed, won, strings.Join(events, ","))
}

var cases = []string{
	dispute("1", "CHARGEBACK", "LOST", "5.35", "0.00", happening{"LOST", "04", ""}, happening{"EXPIRED", "03", "2026-03-05"}, happening{"OPEN", "01", ""}),
	dispute("2", "CHARGEBACK", "EXPIRED", "6.00", "0.00", happening{"OPEN", "01", ""}, happening{"EXPIRED", "02", ""}),
	dispute("3", "PRE_ARBITRATION", "ACCEPTED", "7.00", "0.00"),
	dispute("4", "CHARGEBACK", "WON", "8.00", "8.00", happening{"WON", "04", ""}, happening{"OPEN", "01", ""}),
	dispute("5", "CHARGEBACK", "WON", "9.00", "4.00", happening{"WON", "06", "2026-03-07"}, happening{"OPEN", "02", "2026-03-03"}),
	dispute("6", "CHARGEBACK", "OPEN", "3.10", "0.00", happening{"OPEN", "01", ""}),
	dispute("7", "CHARGEBACK", "UNDER_REVIEW", "3.20", "0.00", happening{"OPEN", "01", "2026-03-02"}, happening{"UNDER_REVIEW", "05", ""}),
	dispute("8", "RETRIEVAL", "EXPIRED", "3.30", "0.00", happening{"EXPIRED", "01", ""}),
}

func TestDisputes(t *testing.T) {
	t.Parallel()
	want := []string{
		"chargeback SO-1 SO-1 1 -5.35 USD - LOST 2026-03-03T08:00:00Z -",
		"chargeback SO-2 SO-2 2 -6 USD - EXPIRED 2026-03-02T08:00:00Z -",
		"chargeback SO-3 SO-3 3 -7 USD - ACCEPTED 2026-03-01T08:00:00Z -",
		"chargeback SO-5 SO-5 5 -9 USD - WON 2026-03-02T08:00:00Z -",
		"chargeback_reversal SO-5 SO-5 5 4 USD - WON 2026-03-06T08:00:00Z -",
		"chargeback SO-7 SO-7 7 -3.2 USD - UNDER_REVIEW 2026-03-01T08:00:00Z -",
	}
	for _, content := range []string{"[" + strings.Join(cases, ",") + "]", strings.Join(cases, "\n") + "\n"} {
		r := billtest.One(t, disputes(), content)
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Equal(t, want, r.Lines())
		require.Equal(t, []string{"left out, as they moved no money: 1 EXPIRED RETRIEVAL, 1 OPEN CHARGEBACK, 1 WON CHARGEBACK"}, r.Remarks)
		require.Equal(t, map[string]string{
			"legacy_id": "l5", "case_number": "N-5", "provider_type": "CHARGEBACK", "transaction_id": "t5", "transaction_legacy_id": "lt5",
			"received_on": "2026-03-01", "disbursed_on": "2026-03-07",
		}, r.Rows[4].Attr)
		require.Equal(t, "2026-03-03", r.Rows[3].Attr["disbursed_on"])
	}
}

func TestDisputeRefusals(t *testing.T) {
	t.Parallel()
	open := happening{"OPEN", "01", "2026-03-02"}
	for _, c := range []struct{ name, content, want string }{
		{"lost, but won", dispute("1", "CHARGEBACK", "LOST", "5.35", "5.35"), "the case is LOST, but 5.35 of 5.35 were won"},
		{"won with nothing", dispute("1", "CHARGEBACK", "WON", "5.35", "0.00", open), "the case is won, but the amount won is 0"},
		{"more than all", dispute("1", "CHARGEBACK", "WON", "5.35", "5.36", open), "5.36 were won of 5.35"},
		{"open, but returned", dispute("1", "CHARGEBACK", "OPEN", "5.35", "0.00", open, happening{"WON", "02", "2026-03-03"}), "the case is OPEN, but its history returned the money"},
		{"B63 an unknown status", dispute("1", "CHARGEBACK", "MOONSHOT", "5.35", "0.00"), `status "MOONSHOT" is not known`},
		{"B63 an unknown status in the history", dispute("1", "CHARGEBACK", "OPEN", "5.35", "0.00", happening{"MOONSHOT", "01", ""}), `status "MOONSHOT" is not known`},
		{"B63 an unknown type", dispute("1", "MOONSHOT", "LOST", "5.35", "0.00"), `type "MOONSHOT" is not known`},
		{"two currencies", strings.Replace(cases[0], `"amountWon":{"value":"0.00","currencyCode":"USD"`, `"amountWon":{"value":"0.00","currencyCode":"EUR"`, 1), "EUR, but the disputed amount is in USD"},
		{"no amount", strings.Replace(cases[0], `"value":"5.35"`, `"value":null`, 1), `member "value": is missing`},
	} {
		r := billtest.One(t, disputes(), c.content)
		require.True(t, r.Refused(), c.name)
		require.Contains(t, strings.Join(r.Problems, "\n"), c.want, c.name)
	}
}

// B55: an array that is cut anywhere is refused; lines are, unless they are cut between lines, or after the first object.
func TestCut(t *testing.T) {
	t.Parallel()
	for f, of := range map[*bill.Format][]string{transactions(): objects[:3], disputes(): cases[:3]} {
		whole := "[" + strings.Join(of, ",") + "]"
		for n := range len(whole) {
			require.True(t, billtest.Read(t, billtest.Doc{Format: f, Content: whole[:n]}).Refused(), "%s cut at %d", f.Name, n)
		}
		lines := strings.Join(of, "\n") + "\n"
		for n := range len(lines) {
			if n == len(of[0]) || n > 0 && lines[n-1] == '\n' {
				continue
			}
			require.True(t, billtest.Read(t, billtest.Doc{Format: f, Content: lines[:n]}).Refused(), "%s cut at %d", f.Name, n)
		}
	}
}

func TestEmptyDay(t *testing.T) {
	t.Parallel()
	for _, f := range braintree.Formats() {
		r := billtest.One(t, f, " [\n]\n")
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Empty(t, r.Rows)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]int{objects[0]: 0, "[" + objects[2] + "]": 0, cases[0]: 1, "[\n" + cases[5][:400]: 1} {
		h := bill.NewHead([]byte(content))
		for i, f := range braintree.Formats() {
			require.Equal(t, i == want, f.Fits(h), "%s: %s", f.Name, content)
		}
	}
	for i, content := range []string{
		`[{"contribution_tracking_id":"1","gross":"3.33","currency":"USD"}]`,
		`{"data":{"search":{"transactions":{"edges":[{"node":{"disbursementDetails":{}}}]}}}}`,
	} {
		h := bill.NewHead([]byte(content))
		require.False(t, transactions().Fits(h) || disputes().Fits(h))
		require.True(t, braintree.Strangers()[i].Fits(h))
		require.False(t, braintree.Strangers()[1-i].Fits(h))
	}
}

func FuzzTransactions(f *testing.F) {
	f.Add("[" + strings.Join(objects, ",") + "]")
	f.Add(`[{"status":"SETTLED","refundedTransaction":[],"statusHistory":[7],"disbursementDetails":{"amount":1}}]`)
	f.Fuzz(func(t *testing.T, content string) { billtest.Fuzz(t, transactions(), []byte(content)) })
}

func FuzzDisputes(f *testing.F) {
	f.Add("[" + strings.Join(cases, ",") + "]")
	f.Add(`[{"type":"CHARGEBACK","status":"WON","amountWon":[],"statusHistory":{}}]`)
	f.Fuzz(func(t *testing.T, content string) { billtest.Fuzz(t, disputes(), []byte(content)) })
}
