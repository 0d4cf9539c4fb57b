package stripe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/stripe"
)

func format(t testing.TB, name string) *bill.Format {
	t.Helper()
	for _, f := range stripe.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatal(name)
	return nil
}

func report(t testing.TB) *bill.Format { return format(t, "stripe-report") }

const reportHead = "balance_transaction_id,created_utc,created,currency,gross,fee,net,reporting_category,source_id,charge_id,payment_intent_id," +
	"automatic_payout_id,payment_method_type,customer_facing_amount,customer_facing_currency,payment_metadata[order_no],refund_metadata[refund_no]\n"

const reportRows = "txn_a1,2026-03-02 08:00:01,2026-03-02 16:00:01,usd,120.50,3.79,116.71,charge,ch_a1,ch_a1,pi_a1,po_7,card,111.00,eur,SO-1001,\n" +
	"txn_a2,2026-03-02 09:10:11,2026-03-02 17:10:11,USD,-30.25,-0.10,-30.15,refund,re_b1,ch_a1,pi_a1,po_7,card,-27.87,eur,SO-1001,RF-1\n" +
	"txn_a3,2026-03-02 09:20:11,2026-03-02 17:20:11,USD,-30.25,0.00,-30.25,refund,re_b2,ch_a1,pi_a1,po_7,card,-27.87,eur,SO-1001,RF-2\n" +
	"txn_a4,2026-03-02 10:00:00,2026-03-02 18:00:00,USD,-60.00,15.00,-75.00,dispute,dp_c1,ch_a1,pi_a1,po_7,card,,,SO-1001,\n" +
	"txn_a5,2026-03-02 11:00:00,2026-03-02 19:00:00,USD,60.00,-15.00,75.00,dispute_reversal,dp_c1,ch_a1,pi_a1,po_7,card,,,SO-1001,\n" +
	"txn_a6,2026-03-02 12:00:00,2026-03-02 20:00:00,USD,-0.31,0.00,-0.31,fee,,,,po_7,,,,,\n" +
	"txn_a7,2026-03-02 12:00:00,2026-03-02 20:00:00,USD,0.31,0.00,0.31,fee,,,,,,,,,\n" +
	"txn_a8,2026-03-02 13:00:00,2026-03-02 21:00:00,jpy,2500,90,2410,charge,py_d1,py_d1,pi_d1,po_8,konbini,2500,jpy,,\n" +
	"txn_a9,2026-03-02 14:00:00,2026-03-02 22:00:00,USD,-7.00,0.00,-7.00,financing_paydown,,,,po_7,,,,,\n" +
	"txn_b1,2026-03-02 15:00:00,2026-03-02 23:00:00,USD,-5.00,0.00,-5.00,risk_reserved_funds,,,,,,,,,\n" +
	"txn_b2,2026-03-02 16:00:00,2026-03-03 00:00:00,USD,5.00,0.00,5.00,risk_reserved_funds,,,,,,,,,\n" +
	"txn_b3,2026-03-02 17:00:00,2026-03-03 01:00:00,USD,-86.71,0.00,-86.71,payout,po_7,,,,,,,,\n"

var reportLines = []string{
	"payment SO-1001 SO-1001 txn_a1 120.5 USD 3.79 - 2026-03-02T08:00:01Z po_7",
	"refund RF-1 SO-1001 txn_a2 -30.25 USD -0.1 - 2026-03-02T09:10:11Z po_7",
	"refund RF-2 SO-1001 txn_a3 -30.25 USD 0 - 2026-03-02T09:20:11Z po_7",
	"chargeback SO-1001 SO-1001 txn_a4 -60 USD 15 - 2026-03-02T10:00:00Z po_7",
	"chargeback_reversal SO-1001 SO-1001 txn_a5 60 USD -15 - 2026-03-02T11:00:00Z po_7",
	"fee txn_a6 txn_a6 txn_a6 -0.31 USD - - 2026-03-02T12:00:00Z po_7",
	"fee_refund txn_a7 txn_a7 txn_a7 0.31 USD - - 2026-03-02T12:00:00Z -",
	"payment pi_d1 pi_d1 txn_a8 2500 JPY 90 - 2026-03-02T13:00:00Z po_8",
	"adjustment txn_a9 txn_a9 txn_a9 -7 USD 0 - 2026-03-02T14:00:00Z po_7",
	"hold txn_b1 txn_b1 txn_b1 -5 USD 0 - 2026-03-02T15:00:00Z -",
	"release txn_b2 txn_b2 txn_b2 5 USD 0 - 2026-03-02T16:00:00Z -",
	"payout po_7 po_7 txn_b3 -86.71 USD 0 - 2026-03-02T17:00:00Z -",
}

// B26 whole yen, B28 case of the currency, B32 two equal refunds of one payment, B33 direction of a refund, B37 fees without
// a payment, B38 repayments as lines of their own.
func TestReport(t *testing.T) {
	t.Parallel()
	r := billtest.One(t, report(t), reportHead+reportRows)
	require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
	require.Equal(t, reportLines, r.Lines())
	require.Empty(t, r.Remarks)
	require.Equal(t, map[string]string{
		"order_no": "SO-1001", "refund_no": "RF-1", "payment_intent_id": "pi_a1", "charge_id": "ch_a1", "source_id": "re_b1",
		"provider_type": "refund", "net": "-30.15", "method": "card", "customer_amount": "-27.87", "customer_currency": "EUR",
	}, r.Rows[1].Attr)

	// what the balance changed by, summed by a splitter of its own
	want := map[string]decimal.Decimal{}
	for line := range strings.Lines(reportRows) {
		cells := strings.Split(line, ",")
		currency := "net " + strings.ToUpper(cells[3])
		want[currency] = want[currency].Add(decimal.RequireFromString(cells[6]))
	}
	require.Len(t, r.Controls, len(want))
	for _, c := range r.Controls {
		require.True(t, want[c.Name].Equal(c.Counted.Decimal), "%s: %s, not %s", c.Name, c.Counted.Decimal, want[c.Name])
	}
}

func TestReportColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		zone          string
		want, remark  string
	}{
		{
			name:    "other order, CR LF, BOM, no order number",
			content: "\uFEFFnet,fee,gross,reporting_category,currency,source_id,created_utc\r\n9.70,0.30,10.00,charge,EUR,ch_1,2026-03-02 08:00:00\r\n",
			want:    "payment ch_1 ch_1 ch_1 10 EUR 0.3 - 2026-03-02T08:00:00Z -",
		},
		{
			name:    "a semicolon in place of the comma",
			content: "source_id;created_utc;currency;gross;fee;net;reporting_category\nch_1;2026-03-02 08:00:00;EUR;10.5;0.5;10;charge\n",
			want:    "payment ch_1 ch_1 ch_1 10.5 EUR 0.5 - 2026-03-02T08:00:00Z -",
		},
		{
			name: "created in the configured zone", zone: "Europe/Helsinki",
			content: "source_id,created,currency,gross,fee,net,reporting_category\nch_1,2026-03-02 08:00:00,EUR,1,0,1,charge\n",
			want:    "payment ch_1 ch_1 ch_1 1 EUR 0 - 2026-03-02T06:00:00Z -",
		},
		{
			name:    "created without a zone is UTC, with a remark",
			content: "source_id,created,currency,gross,fee,net,reporting_category\nch_1,2026-03-02 08:00:00,EUR,1,0,1,charge\n",
			want:    "payment ch_1 ch_1 ch_1 1 EUR 0 - 2026-03-02T08:00:00Z -", remark: "read as UTC",
		},
		{
			name: "created_utc wins", zone: "Asia/Tokyo",
			content: "source_id,created,created_utc,currency,gross,fee,net,reporting_category\nch_1,2026-03-02 17:00:00,2026-03-02 08:00:00,EUR,1,0,1,charge\n",
			want:    "payment ch_1 ch_1 ch_1 1 EUR 0 - 2026-03-02T08:00:00Z -",
		},
		{
			name:    "the only column of metadata is the order, whatever its name",
			content: "source_id,created_utc,currency,gross,fee,net,reporting_category,payment_metadata[cart]\nch_1,2026-03-02 08:00:00,EUR,1,0,1,charge,0070\n",
			want:    "payment 0070 0070 ch_1 1 EUR 0 - 2026-03-02T08:00:00Z -",
		},
		{
			name: "of several columns the one with a known name; its order comes with a refund too",
			content: "source_id,created_utc,currency,gross,fee,net,reporting_category,payment_metadata[ref1],payment_metadata[External_Identifier],refund_metadata[order_id]\n" +
				"re_1,2026-03-02 08:00:00,EUR,-1,0,-1,refund,zz,,A7\n",
			want: "refund A7 A7 re_1 -1 EUR 0 - 2026-03-02T08:00:00Z -",
		},
	} {
		var zone *time.Location
		if c.zone != "" {
			var err error
			zone, err = time.LoadLocation(c.zone)
			require.NoError(t, err)
		}
		require.True(t, report(t).Fits(bill.NewHead([]byte(c.content))), c.name)
		r := billtest.Read(t, billtest.Doc{Format: report(t), Content: c.content, Zone: zone})
		require.False(t, r.Refused(), "%s: %v %v", c.name, r.Err, r.Problems)
		require.Equal(t, []string{c.want}, r.Lines(), c.name)
		require.Equal(t, c.remark != "", len(r.Remarks) == 1 && strings.Contains(r.Remarks[0], c.remark), c.name)
	}
}

// A day without transactions is a report that is only a header.
func TestReportEmptyDay(t *testing.T) {
	t.Parallel()
	r := billtest.One(t, report(t), reportHead)
	require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
	require.Empty(t, r.Rows)
	r = billtest.One(t, report(t), strings.TrimSuffix(reportHead, "\n"))
	require.ErrorIs(t, r.Err, bill.ErrCut)
}

func TestReportRefusals(t *testing.T) {
	t.Parallel()
	const head = "source_id,created_utc,currency,gross,fee,net,reporting_category,payment_metadata[order_no],payment_metadata[order_id]\n"
	for _, c := range []struct{ name, content, want string }{
		{"gross − fee is not net", head + "ch_1,2026-03-02 08:00:00,EUR,10.00,0.30,9.80,charge,A,\n", `2:41: column "net": gross 10 − fee 0.3 = 9.7, but net is 9.8`},
		{"B63 an unknown category", head + "ch_1,2026-03-02 08:00:00,EUR,1,0,1,moonshot,A,\n", `2:36: column "reporting_category": reporting category "moonshot" is not known`},
		{"B33 a refund that brings money", head + "re_1,2026-03-02 08:00:00,EUR,1,0,1,refund,A,\n", "a refund of 1: this category never brings money"},
		{"a charge that takes money", head + "ch_1,2026-03-02 08:00:00,EUR,-1,0,-1,charge,A,\n", "a charge of -1: this category never takes money"},
		{"a payout that is printed positive", head + "po_1,2026-03-02 08:00:00,EUR,24,0,24,payout,A,\n", "a payout of 24: this category never brings money"},
		{"an unknown currency", head + "ch_1,2026-03-02 08:00:00,ZZZ,1,0,1,charge,A,\n", `column "currency": currency "ZZZ" is not known`},
		{"B17 B18 B19 a decimal comma", head + "ch_1,2026-03-02 08:00:00,EUR,\"1,25\",0,\"1,25\",charge,A,\n", "decimal_separator comma"},
		{"B17 grouped digits", head + "ch_1,2026-03-02 08:00:00,EUR,\"1,250.00\",0,1250,charge,A,\n", "has a comma"},
		{"two order numbers", head + "ch_1,2026-03-02 08:00:00,EUR,1,0,1,charge,A,B\n", `the number of the order is "B" here and "A" in another column`},
		{"B9 a rounded id", head + "ch_1,2026-03-02 08:00:00,EUR,1,0,1,charge,4.2E+27,\n", "a number as a spreadsheet rounds it"},
		{"B60 a date of a spreadsheet", head + "ch_1,3/2/26 8:00,EUR,1,0,1,charge,A,\n", `column "created_utc": instant "3/2/26 8:00"`},
		{"no instant", head + "ch_1,,EUR,1,0,1,charge,A,\n", "the instant is empty"},
		{"no amount", head + "ch_1,2026-03-02 08:00:00,EUR,,0,0,charge,A,\n", `column "gross": the amount is empty`},
		{"no id", head + ",2026-03-02 08:00:00,EUR,1,0,1,charge,,\n", "the line has no id"},
		{"B64 a comma that is not quoted", head + "ch_1,2026-03-02 08:00:00,EUR,1,0,1,charge,A,B,C\n", "10 fields, but the header has 9"},
		{"B58 a line of totals", head + "ch_1,2026-03-02 08:00:00,EUR,1,0,1,charge,A,\nTotal,,,1,0,1,,,\n", `reporting category "" is not known`},
		{"B41 a column twice", "source_id,created_utc,currency,gross,fee,net,reporting_category,Currency\n", `there more than once "Currency"`},
		{"a column that is missing", "source_id,created_utc,currency,gross,fee,reporting_category\n", `columns missing "net"`},
		{"no instant column", "source_id,currency,gross,fee,net,reporting_category\n", "neither created_utc nor created"},
		{"B53 an hour that clocks skip", "source_id,created,currency,gross,fee,net,reporting_category\nch_1,2026-03-29 03:30:00,EUR,1,0,1,charge\n", "clocks in Europe/Helsinki skip this time"},
	} {
		zone, err := time.LoadLocation("Europe/Helsinki")
		require.NoError(t, err)
		require.True(t, report(t).Fits(bill.NewHead([]byte(c.content))), c.name)
		r := billtest.Read(t, billtest.Doc{Format: report(t), Content: c.content, Zone: zone})
		require.True(t, r.Refused(), c.name)
		all := strings.Join(r.Problems, "\n")
		if r.Err != nil {
			all += "\n" + r.Err.Error()
		}
		require.Contains(t, all, c.want, c.name)
	}
}

// B55: a report that is cut anywhere is refused, but for a cut at a line end, which nothing in the file tells.
func TestReportCut(t *testing.T) {
	t.Parallel()
	whole := reportHead + reportRows
	for n := 1; n < len(whole); n++ {
		if whole[n-1] == '\n' {
			continue
		}
		r := billtest.Read(t, billtest.Doc{Format: report(t), Content: whole[:n]})
		require.True(t, r.Refused(), "cut at %d", n)
	}
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ content, want string }{
		{"reporting_category,currency,count,gross,fee,net\ncharge,usd,1,2,0,2\n", "a Stripe summary report"},
		{"category,description,net_amount,currency\n", "a Stripe summary report"},
		{"payout_id,effective_at_utc,effective_at,currency,gross,fee,net,reporting_category,balance_transaction_id\n", "a Stripe report of payouts"},
		{"id,Description,Seller Message,Created date (UTC),Amount,Amount Refunded,Currency\n", "payments exported from Stripe's dashboard"},
		{"id,Type,Source,Amount,Fee,Net,Currency,Created (UTC),Available On (UTC)\n", "the balance history exported"},
		{"id,Amount,Created (UTC),Arrival Date (UTC)\n", "payouts exported"},
		{`{"object":"event","data":{"object":{}}}`, "an event"},
		{`{"object":"list","data":[{"id":"ch_1","object":"charge","balance_transaction":null}],"has_more":false}`, "objects of Stripe's API other"},
	} {
		h := bill.NewHead([]byte(c.content))
		for _, f := range stripe.Formats() {
			require.False(t, f.Fits(h), "%s: %s", f.Name, c.content)
		}
		found := ""
		for _, s := range stripe.Strangers() {
			if s.Fits(h) {
				found = s.Title
				break
			}
		}
		require.Contains(t, found, c.want, c.content)
	}
}

func FuzzReport(f *testing.F) {
	f.Add(reportHead + reportRows)
	f.Add("source_id;created;currency;gross;fee;net;reporting_category\nch_1;2026-03-02 08:00:00;EUR;\"1,5\";0;1;charge\n")
	f.Add("\uFEFFreporting_category,balance_transaction_id,gross,fee,net,currency,created\n\"\n")
	f.Fuzz(func(t *testing.T, content string) { billtest.Fuzz(t, report(t), []byte(content)) })
}
