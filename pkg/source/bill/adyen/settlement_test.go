package adyen_test

import (
	"strings"
	"testing"
	"time"

	_ "time/tzdata"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/adyen"
	"daybreak/pkg/source/bill/billtest"
)

var settlement, accounting = adyen.Formats()[0], adyen.Formats()[1]

const header = "Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,Modification Reference," +
	"Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency,Net Debit (NC),Net Credit (NC)," +
	"Commission (NC),Markup (NC),Scheme Fees (NC),Interchange (NC),Payment Method Variant,Modification Merchant Reference,Batch Number,Reserved4\n"

// good is a batch of invented rows that nets to zero: 39.18 − 0.03 + 8.85 − 12.50 − 12.70 − 37.50 + 25.00 − 1.10 + 5.00 − 14.20.
const good = header +
	"Co,Shop,9100000000000001,DB-1001,visa,2024-07-03 10:00:00,CET,Settled,9200000000000001,EUR,,40,1,EUR,,39.18,,0.5,0.12,0.2,visadebit,,71,\n" +
	"Co,Shop,9100000000000002,DB-1002,mc,2024-07-03 10:00:01,CET,Settled,9200000000000002,EUR,,0.02,1,EUR,0.03,,,0.05,,,mc,,71,\n" +
	"Co,Shop,9100000000000003,DB-1003,mc,2024-07-03 10:00:02,CET,Settled,9200000000000003,USD,,10,0.9123456,EUR,,8.85,0.27,,,,mc,,71,\n" +
	"Co,Shop,9100000000000001,DB-1001,visa,2024-07-04 09:00:00,CET,Refunded,9200000000000004,EUR,12.5,,1,EUR,12.5,,,,,,visadebit,R-77,71,\n" +
	"Co,Shop,9100000000000001,DB-1001,visa,2024-07-04 09:00:00,CET,Refunded,9200000000000005,EUR,12.5,,1,EUR,12.7,,,0.2,,,visadebit,<auto>,71,\n" +
	"Co,Shop,9100000000000006,DB-0900,visa,2024-06-01 09:00:00,CET,Chargeback,9200000000000006,EUR,30.00,,1,EUR,37.50,,,7.50,,,visadebit,,71,\n" +
	"Co,Shop,9100000000000007,DB-0800,visa,2024-06-01 09:00:00,CET,ChargebackReversed,9200000000000007,EUR,,25,1,EUR,,25,,,,,visadebit,,71,\n" +
	"Co,Shop,,,,2024-07-05 00:10:00,CET,Fee,\"Transaction Fees July 03 2024\",USD,,,,EUR,1.1,,,,,,,,71,\n" +
	"Co,Shop,,,,2024-07-05 00:10:00,CET,BalanceTransfer,\"Transfer from batch 70, Shop\",,,,,EUR,,5,,,,,,,71,\n" +
	"Co,Shop,,,,2024-07-05 00:11:00,CET,MerchantPayout,\"TX900XT batch 71, Shop\",,,,,EUR,14.2,,,,,,,,71,\n"

func wantGood() []string {
	return []string{
		"payment DB-1001 DB-1001 9100000000000001/9200000000000001 40 EUR 0.82 Settled 2024-07-03T08:00:00Z 71",
		"payment DB-1002 DB-1002 9100000000000002/9200000000000002 0.02 EUR 0.05 Settled 2024-07-03T08:00:01Z 71",
		"payment DB-1003 DB-1003 9100000000000003/9200000000000003 10 USD - Settled 2024-07-03T08:00:02Z 71",
		"refund R-77 DB-1001 9100000000000001/9200000000000004 -12.5 EUR 0 Refunded 2024-07-04T07:00:00Z 71",
		"refund DB-1001 DB-1001 9100000000000001/9200000000000005 -12.5 EUR 0.2 Refunded 2024-07-04T07:00:00Z 71",
		"chargeback DB-0900 DB-0900 9100000000000006/9200000000000006 -30 EUR 7.5 Chargeback 2024-06-01T07:00:00Z 71",
		"chargeback_reversal DB-0800 DB-0800 9100000000000007/9200000000000007 25 EUR 0 ChargebackReversed 2024-06-01T07:00:00Z 71",
		"fee Transaction Fees July 03 2024 Transaction Fees July 03 2024 Transaction Fees July 03 2024 -1.1 EUR - Fee 2024-07-04T22:10:00Z 71",
		"transfer Transfer from batch 70, Shop Transfer from batch 70, Shop Transfer from batch 70, Shop 5 EUR - BalanceTransfer 2024-07-04T22:10:00Z 71",
		"payout TX900XT batch 71, Shop TX900XT batch 71, Shop TX900XT batch 71, Shop -14.2 EUR - MerchantPayout 2024-07-04T22:11:00Z 71",
	}
}

func TestSettlement(t *testing.T) {
	t.Parallel()
	r := billtest.One(t, settlement, good)
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	require.Empty(t, r.Remarks)
	require.Equal(t, wantGood(), r.Lines())
	require.Len(t, r.Controls, 1)
	require.Equal(t, "batch 71 EUR nets to", r.Controls[0].Name)
	require.True(t, r.Controls[0].Agrees())
	require.Equal(t, map[string]string{
		"provider_type": "Settled", "psp_reference": "9100000000000003", "modification_reference": "9200000000000003", "payment_method": "mc",
		"merchant_account": "Shop", "net_currency": "EUR", "net_amount": "8.85", "fees_net": "0.27", "exchange_rate": "0.9123456", "booking_date": "",
	}, r.Rows[2].Attr)
	require.Equal(t, "-0.03", r.Rows[1].Attr["net_amount"], "B34 net is a debit when fees exceed the payment")
	requireSettles(t, r)
}

// requireSettles recomputes with a splitter of its own what every row settles: the nets of the file are the amounts less the
// fees, wherever both are in the net currency.
func requireSettles(t *testing.T, r billtest.Result) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(good, "\n"), "\n")[1:]
	for i, row := range r.Rows {
		head, tail, quoted := strings.Cut(lines[i], `"`)
		if quoted {
			_, tail, _ = strings.Cut(tail, `"`)
		}
		f := strings.Split(head+tail, ",")
		net := amount(f[15]).Sub(amount(f[14]))
		require.Equal(t, net.String(), row.Attr["net_amount"])
		if row.Currency == f[13] {
			require.True(t, net.Equal(row.Amount.Sub(row.Fee.Decimal)), lines[i])
		}
	}
}

func amount(s string) decimal.Decimal {
	if s == "" {
		return decimal.Zero
	}
	return decimal.RequireFromString(s)
}

// The order of columns, the delimiter, line ends, a byte order mark and columns that were added change nothing.
func TestSettlementDialects(t *testing.T) {
	t.Parallel()
	rotated := rotate(good)
	for name, content := range map[string]string{
		"columns in another order": rotated,
		"B12 byte order mark":      "\xEF\xBB\xBF" + strings.Replace(good, "Company Account", `"Company Account"`, 1),
		"CR LF":                    strings.ReplaceAll(good, "\n", "\r\n"),
		"zeros for none":           strings.ReplaceAll(good, ",EUR,,40,1,EUR,,39.18,", ",EUR,0.00,40,1,EUR,0,39.18,"),
		"lower-case currency":      strings.ReplaceAll(good, ",EUR,,40,1,EUR,", ",eur,,40,1, EUR ,"),
		"B25 newline in a cell":    strings.ReplaceAll(good, "Shop,9100000000000001", "\"Sh\nop\",9100000000000001"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := billtest.One(t, settlement, content)
			require.NoError(t, r.Err)
			require.Empty(t, r.Problems)
			require.Equal(t, wantGood(), r.Lines())
		})
	}
	r := billtest.One(t, settlement, addColumn(good, "Store", "S1"))
	require.Empty(t, r.Problems)
	require.Equal(t, []string{`columns that are not in the standard report, not read: "Store"`}, r.Remarks)
}

// rotate moves the first three columns to the end.
func rotate(content string) string {
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	for i, l := range lines {
		f := strings.SplitN(l, ",", 4)
		lines[i] = f[3] + "," + f[0] + "," + f[1] + "," + f[2]
	}
	return strings.Join(lines, "\n") + "\n"
}

func addColumn(content, name, value string) string {
	head, rows, _ := strings.Cut(content, "\n")
	return head + "," + name + "\n" + strings.ReplaceAll(rows, "\n", ","+value+"\n")
}

func TestSettlementTabs(t *testing.T) {
	t.Parallel()
	for _, delim := range []string{"\t", ";"} {
		content := strings.ReplaceAll(strings.ReplaceAll(good, ", Shop", "· Shop"), ",", delim)
		r := billtest.One(t, settlement, strings.ReplaceAll(content, "· Shop", ", Shop"))
		require.NoError(t, r.Err)
		require.Empty(t, r.Problems)
		require.Equal(t, wantGood(), r.Lines())
	}
}

func TestSettlementRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"a row is missing", good[strings.Index(good, "Co,Shop,,,,2024-07-05 00:10:00,CET,Fee"):strings.Index(good, "Co,Shop,,,,2024-07-05 00:10:00,CET,Bal")], "", "batch 71 EUR nets to: must be 0, but its rows give 1.1"},
		{"B35 a twin was added", "Co,Shop,9100000000000007", "Co,Shop,9100000000000002,DB-1002,mc,2024-07-03 10:00:01,CET,Settled,9200000000000002,EUR,,0.02,1,EUR,0.03,,,0.05,,,mc,,71,\nCo,Shop,9100000000000007", "its rows give -0.03"},
		{"a fee was changed", ",0.5,0.12,0.2,", ",0.5,0.12,0.3,", `2:102: column "Net Debit (NC)": gross 40 EUR × rate 1 − fees 0.92 = 39.08, but the net is 39.18 EUR`},
		{"a conversion does not fit", ",0.9123456,EUR,,8.85,", ",0.9133456,EUR,,8.85,", "gross 10 USD × rate 0.9133456 − fees 0.27 = 8.863456, but the net is 8.85 EUR (allowed difference 0.0050005)"},
		{"no rate", ",USD,,10,0.9123456,", ",USD,,10,,", "the exchange rate is empty, but gross is USD and net EUR"},
		{"a rate in one currency", ",EUR,,25,1,EUR,", ",EUR,,25,1.1,EUR,", "exchange rate 1.1, but gross and net are both EUR"},
		{"a rate that is none", ",0.9123456,", ",9.1E-1,", `exchange rate "9.1E-1" is not a decimal number`},
		{"both sides", ",EUR,,25,1,EUR,,25,", ",EUR,25,25,1,EUR,,25,", "debit 25 and credit 25 in one row: only one of them can be"},
		{"a sign", ",EUR,,25,1,EUR,,25,", ",EUR,,-25,1,EUR,,-25,", "both are positive in a report of Adyen"},
		{"no net", ",EUR,1.1,,", ",EUR,,,", "neither net debit nor net credit is given"},
		{"B63 an unknown type", ",Fee,", ",Surprise,", `column "Type": the type "Surprise" is not known`},
		{"B17 grouped", ",EUR,,40,1,", `,EUR,,"1,040",1,`, `amount "1,040" is grouped or localised: deliver the file as Adyen made it`},
		{"B30 damaged", ",EUR,,40,1,", ",EUR,,4O,1,", "only digits and one decimal point are allowed"},
		{"B9 spreadsheet id", "9100000000000003,DB", "9.1E+15,DB", `column "Psp Reference": "9.1E+15" is a number as a spreadsheet rounds it`},
		{"currency", ",USD,,10,", ",USX,,10,", `currency "USX" is not known`},
		{"no batch", ",mc,,71,\nCo,Shop,9100000000000003", ",mc,,,\nCo,Shop,9100000000000003", "the batch number is empty"},
		{"zone", "09:00:00,CET,Chargeback,", "09:00:00,CST,Chargeback,", `the zone "CST" is not known, or stands for several places: name the zone`},
		{"B60 spreadsheet date", "2024-07-03 10:00:02", "7/3/24 10:00", `column "Creation Date": instant "7/3/24 10:00"`},
		{"a short row", "visadebit,R-77,71,\n", "visadebit,R-77,71\n", "23 fields, but the header has 24"},
		{"B41 a column twice", "Reserved4", "Type", `columns there more than once "Type"`},
		{"a column is missing", "Markup (NC)", "Mark-up", `columns missing "Markup (NC)"`},
		{"another column of money", "Reserved4", "Tax (NC)", `not known "Tax (NC)"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			content := strings.Replace(good, c.from, c.to, 1)
			require.NotEqual(t, good, content)
			r := billtest.One(t, settlement, content)
			require.True(t, r.Refused())
			said := strings.Join(r.Problems, "\n")
			if r.Err != nil {
				said += r.Err.Error()
			}
			require.Contains(t, said, c.want)
		})
	}
}

// B55: a file that was cut is refused wherever the cut is (at the ends of all lines, at every seventh byte and at all of the last
// two records), but for one whose header alone is left, which is an empty report.
func TestSettlementCut(t *testing.T) {
	t.Parallel()
	for n := range len(good) {
		if n == len(header) || n < len(good)-250 && n%7 > 0 && good[n] != '\n' && (n == 0 || good[n-1] != '\n') {
			continue
		}
		r := billtest.Read(t, billtest.Doc{Format: settlement, Content: good[:n]})
		require.True(t, r.Refused(), "%d bytes: %q", n, good[max(0, n-40):n])
	}
	r := billtest.One(t, settlement, header)
	require.False(t, r.Refused())
	require.Empty(t, r.Rows)
}

func TestSettlementBatches(t *testing.T) {
	t.Parallel()
	two := good + strings.ReplaceAll(strings.TrimPrefix(good, header), ",71,\n", ",72,\n")
	r := billtest.One(t, settlement, two)
	require.False(t, r.Refused(), r.Problems)
	require.Len(t, r.Rows, 20, "B32 B35 equal rows are all there")
	require.Len(t, r.Controls, 2)

	// A batch that only carries a rest, and currencies of a batch that each net to zero.
	rest := header +
		"Co,Shop,,,,2024-07-05 00:10:00,CET,Balancetransfer,in,,,,,EUR,,0.07,,,,,,,9,\n" +
		"Co,Shop,,,,2024-07-05 00:10:00,CET,balanceTransfer,out,,,,,EUR,0.07,,,,,,,,9,\n" +
		"Co,Shop,,,,2024-07-05 00:10:00,CET,ReserveAdjustment,,,,,,ISK,150.5,,,,,,,,9,\n" +
		"Co,Shop,,,,2024-07-05 00:10:00,CET,DepositCorrection,,,,,,ISK,,150.5,,,,,,,9,\n" +
		"Co,Shop,9100000000000009,DB-5,amex,2024-07-05 00:10:00,CET,SettledExternally,9200000000000009,USD,,10,,EUR,0.25,,0.25,,,,amex,,9,\n" +
		"Co,Shop,9100000000000009,DB-5,amex,2024-07-05 00:10:00,CET,SettledExternally,9200000000000009,USD,,10,,,,,,,,,amex,,9,\n" +
		"Co,Shop,,,,2024-07-05 00:10:00,CET,InvoiceDeduction,,,,,,EUR,,0.25,,,,,,,9,\n"
	r = billtest.One(t, settlement, rest)
	require.False(t, r.Refused(), r.Problems)
	require.Equal(t, []string{
		"transfer in in in 0.07 EUR - Balancetransfer 2024-07-04T22:10:00Z 9",
		"transfer out out out -0.07 EUR - balanceTransfer 2024-07-04T22:10:00Z 9",
		"hold ReserveAdjustment of batch 9 ReserveAdjustment of batch 9 - -150.5 ISK - ReserveAdjustment 2024-07-04T22:10:00Z 9",
		"release DepositCorrection of batch 9 DepositCorrection of batch 9 - 150.5 ISK - DepositCorrection 2024-07-04T22:10:00Z 9",
		"payment DB-5 DB-5 9100000000000009/9200000000000009 10 USD - SettledExternally 2024-07-04T22:10:00Z 9",
		"payment DB-5 DB-5 9100000000000009/9200000000000009 10 USD - SettledExternally 2024-07-04T22:10:00Z 9",
		"fee_refund InvoiceDeduction of batch 9 InvoiceDeduction of batch 9 - 0.25 EUR - InvoiceDeduction 2024-07-04T22:10:00Z 9",
	}, r.Lines())
}

// B29: the rounding that a conversion may have is that of Adyen's minor units, two decimals for the Icelandic krona.
func TestConversionRoundsToAdyensMinorUnits(t *testing.T) {
	t.Parallel()
	row := func(net string) string {
		return header + "Co,Shop,9100000000000001,A,visa,2024-07-03 10:00:00,CET,Settled,9200000000000001,EUR,,1.00,150.123,ISK,," + net + ",,,,,visa,,3,\n" +
			"Co,Shop,,,,2024-07-03 10:00:00,CET,MerchantPayout,x,,,,,ISK," + net + ",,,,,,,,3,\n"
	}
	require.False(t, billtest.One(t, settlement, row("150.12")).Refused())
	require.True(t, billtest.One(t, settlement, row("150")).Refused())
}

func TestZones(t *testing.T) {
	t.Parallel()
	at := func(zone *time.Location, clock, abbreviation string) (string, []string) {
		content := header + "Co,Shop,,,," + clock + "," + abbreviation + ",Balancetransfer,x,,,,,EUR,,0,,,,,,,3,\n"
		r := billtest.Read(t, billtest.Doc{Format: settlement, Content: content, Zone: zone})
		return r.Rows[0].OccurredAt.Format(time.RFC3339), r.Problems
	}
	for _, c := range []struct{ clock, abbreviation, want string }{
		{"2024-01-15 10:00:00", "PST", "2024-01-15T18:00:00Z"},
		{"2024-10-15 10:00:00", "PST", "2024-10-15T17:00:00Z"}, // winter's name in summer: the place decides
		{"2024-10-15 10:00:00", "PDT", "2024-10-15T17:00:00Z"},
		{"2024-07-15 10:00:00", "CEST", "2024-07-15T08:00:00Z"},
		{"2024-07-15 10:00:00", "BST", "2024-07-15T09:00:00Z"},
		{"2024-01-15 10:00:00", "GMT", "2024-01-15T10:00:00Z"},
		{"2024-07-15 10:00:00", "EDT", "2024-07-15T14:00:00Z"},
		{"2024-07-15 10:00:00", "UTC", "2024-07-15T10:00:00Z"},
		{"2024-07-15 10:00:00", "SGT", "2024-07-15T02:00:00Z"},
		{"2024-07-15 10:00:00", "Asia/Kolkata", "2024-07-15T04:30:00Z"},
		{"2024-11-03 01:30:00", "PST", "2024-11-03T08:30:00Z"}, // B53: shown twice, the first is taken
	} {
		got, problems := at(nil, c.clock, c.abbreviation)
		require.Empty(t, problems, c)
		require.Equal(t, c.want, got, c)
	}
	for _, c := range []struct{ clock, abbreviation, want string }{
		{"2024-07-15 10:00:00", "GMT", "may be Europe/London or a place without summer time"},
		{"2024-07-15 10:00:00", "MST", "may be America/Denver or a place without summer time"},
		{"2024-07-15 10:00:00", "IST", "stands for several places"},
		{"2024-07-15 10:00:00", "Nowhere/At all", "is not known"},
		{"2024-03-10 02:30:00", "PST", "clocks in America/Los_Angeles skip this time"}, // B53
		{"2024-02-30 10:00:00", "PST", "no such date"},                                 // B42
	} {
		_, problems := at(nil, c.clock, c.abbreviation)
		require.Len(t, problems, 1, c)
		require.Contains(t, problems[0], c.want)
	}
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	got, problems := at(shanghai, "2024-07-15 10:00:00", "CST")
	require.Empty(t, problems)
	require.Equal(t, "2024-07-15T02:00:00Z", got, "the configuration wins")
}

func TestTelling(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		good:                                  "adyen-settlement",
		strings.Replace(good, "Type", "T", 1): "adyen-settlement",
		accounts:                              "adyen-accounting",
		"Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Amount,Type\n": "stranger",
		"a,b\n": "", "": "", "\x00\x01": "",
	} {
		h := bill.NewHead([]byte(content))
		var got []string
		for _, f := range adyen.Formats() {
			if f.Fits(h) {
				got = append(got, f.Name)
			}
		}
		for _, s := range adyen.Strangers() {
			if s.Fits(h) {
				got = append(got, "stranger")
			}
		}
		require.Equal(t, want, strings.Join(got, " "), content)
	}
}

func FuzzSettlement(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(rotate(good)))
	f.Add([]byte(strings.ReplaceAll(good, ",", ";")))
	f.Fuzz(func(t *testing.T, content []byte) { billtest.Fuzz(t, settlement, content) })
}
