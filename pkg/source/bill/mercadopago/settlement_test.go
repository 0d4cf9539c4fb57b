package mercadopago_test

import (
	"strings"
	"testing"
	"time"

	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/mercadopago"
)

var settlement = mercadopago.Formats()[0]

const header = "EXTERNAL_REFERENCE;SOURCE_ID;PAYMENT_METHOD_TYPE;PAYMENT_METHOD;TRANSACTION_TYPE;TRANSACTION_AMOUNT;TRANSACTION_CURRENCY;TRANSACTION_DATE;" +
	"FEE_AMOUNT;SETTLEMENT_NET_AMOUNT;SETTLEMENT_CURRENCY;SETTLEMENT_DATE;METADATA;MKP_FEE_AMOUNT;TAXES_AMOUNT;ORDER_ID;PACK_ID\n"

// good holds invented rows of every kind. In the second, FEE_AMOUNT holds the marketplace's fee already; in the third it does not.
const good = header +
	"DB-1;700000001;credit_card;visa;SETTLEMENT;100.00;BRL;2026-03-04T10:00:00.000-03:00;-4.99;95.01;BRL;2026-03-04T10:00:05.000-03:00;\"[{}]\";0.00;0.00;5001;\n" +
	"DB-2;700000002;credit_card;visa;SETTLEMENT;79.00;BRL;2026-03-04T10:00:00.000-03:00;-8.85;70.15;BRL;2026-03-04T10:00:00.000-03:00;[{}];-8.85;0.00;5002;2E+15\n" +
	"DB-3;700000003;ticket;bolbradesco;SETTLEMENT;50.00;BRL;2026-03-02T10:00:00.000-03:00;-2.00;46.70;BRL;2026-03-04T11:00:00.000-03:00;;-1.00;-0.30;5003;\n" +
	"DB-1;700000001;credit_card;visa;REFUND;-30.00;BRL;2026-03-04T12:00:00.000-03:00;0.00;-30.00;BRL;2026-03-04T12:00:00.000-03:00;;0.00;0.00;5001;\n" +
	"DB-1;700000001;credit_card;visa;REFUND;-30.00;BRL;2026-03-04T12:00:00.000-03:00;0.00;-30.00;BRL;2026-03-04T12:00:00.000-03:00;;0.00;0.00;5001;\n" +
	"DB-0;690000000;credit_card;master;CHARGEBACK;-20.00;BRL;2026-03-04T12:00:00.000-03:00;1.00;-19.00;BRL;2026-03-04T12:00:00.000-03:00;;0.00;0.00;;\n" +
	"DB-9;690000009;credit_card;master;dispute;-15.00;BRL;2026-03-04T12:00:00.000-03:00;0.00;-15.00;BRL;2026-03-04T12:00:00.000-03:00;;0.00;0.00;;\n" +
	";700000010;;;PAYOUTS;-60.00;BRL;2026-03-04T13:00:00.000-03:00;0.00;-60.00;BRL;2026-03-04T13:00:00.000-03:00;;0.00;0.00;;\n" +
	"DB-1;700000011;;;SETTLEMENT_SHIPPING;7;BRL;2026-03-04T13:00:00.000-03:00;0;7;BRL;2026-03-04T13:00:00.000-03:00;;0;0;;\n" +
	";700000012;available_money;available_money;SETTLEMENT;-5.5;BRL;2026-03-04T13:00:00.000-03:00;0.00;-5.50;BRL;2026-03-04T13:00:00.000-03:00;;0.00;0.00;;\n" +
	";700000013;;;CASHBACK;1.10;BRL;2026-03-04T13:00:00.000-03:00;0.00;1.10;BRL;2026-03-04T13:00:00.000-03:00;;0.00;0.00;;\n" +
	"DB-7;700000014;credit_card;visa;SETTLEMENT;10.00;USD;2026-03-04T13:00:00.000-03:00;-1.00;51.30;BRL;2026-03-04T13:00:00.000-03:00;;0.00;0.00;;\n"

func wantGood() []string {
	return []string{
		"payment DB-1 DB-1 700000001 100 BRL 4.99 SETTLEMENT 2026-03-04T13:00:05Z -",
		"payment DB-2 DB-2 700000002 79 BRL 8.85 SETTLEMENT 2026-03-04T13:00:00Z -",
		"payment DB-3 DB-3 700000003 50 BRL 3.3 SETTLEMENT 2026-03-04T14:00:00Z -",
		"refund DB-1 DB-1 700000001 -30 BRL 0 REFUND 2026-03-04T15:00:00Z -",
		"refund DB-1 DB-1 700000001 -30 BRL 0 REFUND 2026-03-04T15:00:00Z -",
		"chargeback DB-0 DB-0 690000000 -20 BRL -1 CHARGEBACK 2026-03-04T15:00:00Z -",
		"hold DB-9 DB-9 690000009 -15 BRL 0 DISPUTE 2026-03-04T15:00:00Z -",
		"payout 700000010 700000010 700000010 -60 BRL 0 PAYOUTS 2026-03-04T16:00:00Z -",
		"payment DB-1 DB-1 700000011 7 BRL 0 SETTLEMENT_SHIPPING 2026-03-04T16:00:00Z -",
		"transfer 700000012 700000012 700000012 -5.5 BRL 0 SETTLEMENT 2026-03-04T16:00:00Z -",
		"adjustment 700000013 700000013 700000013 1.1 BRL 0 CASHBACK 2026-03-04T16:00:00Z -",
		"payment DB-7 DB-7 700000014 10 USD - SETTLEMENT 2026-03-04T16:00:00Z -",
	}
}

// B18 B20: the decimal comma of some accounts. B32 B35: equal refunds of one operation are two rows.
func TestSettlement(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"as made":         good,
		"CR LF":           strings.ReplaceAll(good, "\n", "\r\n"),
		"byte order mark": "\xEF\xBB\xBF" + good,
		"decimal comma":   commas(good),
		"commas between":  strings.ReplaceAll(good, ";", ","),
		"tabs":            strings.ReplaceAll(good, ";", "\t"),
		"quoted commas":   `"` + strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(commas(good), "\n"), `"`, ""), ";", `","`), "\n", "\"\n\"") + "\"\n",
		"another order":   rotate(good),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := billtest.One(t, settlement, content)
			require.NoError(t, r.Err)
			require.Empty(t, r.Problems)
			require.Equal(t, wantGood(), r.Lines())
			require.Empty(t, r.Remarks)
		})
	}
	r := billtest.One(t, settlement, good)
	require.Equal(t, map[string]string{
		"provider_type": "SETTLEMENT", "source_id": "700000003", "net_amount": "46.7", "net_currency": "BRL", "taxes": "-0.3",
		"payment_method": "bolbradesco", "payment_method_type": "ticket", "order_id": "5003",
		"transaction_date": "2026-03-02T10:00:00.000-03:00", "money_release_date": "",
	}, r.Rows[2].Attr)
	require.Equal(t, "51.3", r.Rows[11].Attr["net_amount"])
	for _, row := range r.Rows[:11] {
		require.Equal(t, row.Attr["net_amount"], row.Amount.Sub(row.Fee.Decimal).String(), "what settles, line %d", row.Line)
	}
}

// commas turns the points of amounts into commas; times keep theirs.
func commas(content string) string {
	lines := strings.Split(content, "\n")
	for i, l := range lines {
		f := strings.Split(l, ";")
		for j := range f {
			if !strings.Contains(f[j], "T") {
				f[j] = strings.ReplaceAll(f[j], ".", ",")
			}
		}
		lines[i] = strings.Join(f, ";")
	}
	return strings.Join(lines, "\n")
}

func rotate(content string) string {
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	for i, l := range lines {
		f := strings.SplitN(l, ";", 3)
		lines[i] = f[2] + ";" + f[0] + ";" + f[1]
	}
	return strings.Join(lines, "\n") + "\n"
}

const few = "SOURCE_ID;TRANSACTION_TYPE;TRANSACTION_AMOUNT;FEE_AMOUNT;SETTLEMENT_NET_AMOUNT;SETTLEMENT_CURRENCY\n"

// B19: how numbers are written is decided once for a file, and never per number.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rows string
		want       []string // amounts, or what is wrong
		bad        bool
	}{
		{"comma decides for what is above it", "1;REFUND;-7.000;0;-7.000;ARS\n2;REFUND;-18,20;0;-18,20;ARS\n3;SETTLEMENT;5.310,75;0;5.310,75;ARS\n", []string{"-7000", "-18.2", "5310.75"}, false},
		{"point decides", "1;REFUND;-7.000;0;-7.000;ARS\n2;REFUND;-18.20;0;-18.20;ARS\n3;SETTLEMENT;5,310.75;0;5,310.75;ARS\n", []string{"-7", "-18.2", "5310.75"}, false},
		{"a zero decides", "1;SETTLEMENT;7.000;0,00;7.000;ARS\n", []string{"7000"}, false},
		{"whole numbers need no decision", "1;SETTLEMENT;7000;0;7000;CLP\n2;SETTLEMENT;12;0;12;CLP\n", []string{"7000", "12"}, false},
		{"one digit after the mark", "1;SETTLEMENT;45,6;0;45,6;ARS\n", []string{"45.6"}, false},
		{"either way", "1;SETTLEMENT;7.000;0;7.000;ARS\n", []string{`amount "7.000": it could be grouped thousands or a decimal fraction`}, true},
		{"both ways", "1;SETTLEMENT;34,90;0;34,90;ARS\n2;SETTLEMENT;34.90;0;34.90;ARS\n", []string{`amount "34.90", but the file writes numbers with a decimal ","`}, true},
		{"grouped wrongly", "1;SETTLEMENT;1.23.456,00;0;0,00;ARS\n", []string{`amount "1.23.456,00" is not a number`}, true},
		{"two marks", "1;SETTLEMENT;1,23,4;0;0,00;ARS\n", []string{`amount "1,23,4" is not a number`}, true},
		{"B9 spreadsheet", "1;SETTLEMENT;1,5E+03;0;0,00;ARS\n", []string{`amount "1,5E+03" is not a number`}, true},
		{"two signs", "1;SETTLEMENT;--1,50;0;0,00;ARS\n", []string{"only digits"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := billtest.One(t, settlement, few+c.rows)
			require.NoError(t, r.Err)
			if c.bad {
				require.NotEmpty(t, r.Problems)
				require.Contains(t, strings.Join(r.Problems, "\n"), c.want[0])
				return
			}
			require.Empty(t, r.Problems)
			for i, row := range r.Rows {
				require.Equal(t, c.want[i], row.Amount.String())
			}
		})
	}
	// What decides lies far behind: nothing is guessed until then.
	far := few + strings.Repeat("1;SETTLEMENT;7000;0;7000;ARS\n", 4000) + "1;SETTLEMENT;7.000;0;7.000;ARS\n1;SETTLEMENT;0,50;0;0,50;ARS\n"
	r := billtest.One(t, settlement, far)
	require.Len(t, r.Problems, 2)
	require.Contains(t, r.Problems[0], "4002:14:")
}

func TestSettlementRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"neither identity holds", "-4.99;95.01", "-4.98;95.01", "amount 100 + fee -4.98 + taxes 0 = 95.02, with the marketplace's fee 0 it is 95.02, but the net is 95.01"},
		{"a column explains it", "TAXES_AMOUNT", "TAXES", `but the net is 46.7: the report lacks "TAXES_AMOUNT", add what is missing to its columns`},
		{"B63 unknown type", "PAYOUTS", "SURPRISE", `the transaction type "SURPRISE" is not known`},
		{"B9 spreadsheet id", ";700000010;", ";7E+08;", `column "SOURCE_ID": "7E+08" is a number as a spreadsheet rounds it`},
		{"B9 spreadsheet order", "0.00;5001;", "0.00;5.1E+12;", `column "ORDER_ID": "5.1E+12" is a number`},
		{"no id", ";700000010;", ";;", "the number of the operation is empty"},
		{"no amount", "REFUND;-30.00;", "REFUND;;", `column "TRANSACTION_AMOUNT": the amount is empty`},
		{"currency", "100.00;BRL", "100.00;BRX", `currency "BRX" is not known`},
		{"no offset", "10:00:05.000-03:00", "10:00:05.000", `the time "2026-03-04T10:00:05.000" has no offset: name its zone`},
		{"B60 spreadsheet date", "2026-03-04T10:00:05.000-03:00", "04/03/2026 10:00", `column "SETTLEMENT_DATE"`},
		{"B64 fields", "visa;REFUND", "visa;x;REFUND", "18 fields, but the header has 17"},
		{"a column is missing", "SETTLEMENT_NET_AMOUNT", "NET", `columns missing "SETTLEMENT_NET_AMOUNT"; found`},
		{"B41 a column twice", "METADATA", "SOURCE_ID", `there more than once "SOURCE_ID"`},
		{"a quote in a cell", "[{}];-8.85", `[{"a":1}];-8.85`, "a quote inside an unquoted field"},
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
	r := billtest.One(t, settlement, "SOURCE_ID;TRANSACTION_TYPE;TRANSACTION_AMOUNT;SETTLEMENT_NET_AMOUNT\n1;SETTLEMENT;1;1\n")
	require.ErrorContains(t, r.Err, "no column of a currency: add TRANSACTION_CURRENCY or SETTLEMENT_CURRENCY")
}

func TestFewColumns(t *testing.T) {
	t.Parallel()
	r := billtest.One(t, settlement, "SOURCE_ID;TRANSACTION_TYPE;TRANSACTION_AMOUNT;SETTLEMENT_NET_AMOUNT;TRANSACTION_CURRENCY\n1;WITHDRAWAL_CANCEL;5,00;4,00;ars\n")
	require.False(t, r.Refused(), r.Problems)
	require.Equal(t, []string{"payout 1 1 1 5 ARS 1 WITHDRAWAL_CANCEL - -"}, r.Lines())
	require.Equal(t, []string{"the report has no column FEE_AMOUNT: whether amount, fees and taxes give the net cannot be checked"}, r.Remarks)

	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	r = billtest.Read(t, billtest.Doc{Format: settlement, Zone: zone, Content: strings.Replace(good, "10:00:05.000-03:00", "10:00:05.000", 1)})
	require.Empty(t, r.Problems)
	require.Equal(t, wantGood(), r.Lines())
}

// B55: the report declares nothing of itself, so a cut between two lines cannot be told; every other one is refused.
func TestCut(t *testing.T) {
	t.Parallel()
	for n := range len(good) {
		if n > 0 && good[n-1] == '\n' {
			continue
		}
		r := billtest.Read(t, billtest.Doc{Format: settlement, Content: good[:n]})
		require.True(t, r.Refused(), "%d bytes: %q", n, good[max(0, n-40):n])
	}
	r := billtest.One(t, settlement, header)
	require.False(t, r.Refused(), "an empty day")
	require.Empty(t, r.Rows)
}

func TestTelling(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		good: settlement.Name, rotate(good): settlement.Name, few: settlement.Name,
		"SOURCE_ID;TRANSACTION_TYPE;TRANSACTION_AMOUNT\n":                                                settlement.Name,
		"DATE;SOURCE_ID;EXTERNAL_REFERENCE;RECORD_TYPE;DESCRIPTION;NET_CREDIT_AMOUNT;NET_DEBIT_AMOUNT\n": "the release report",
		"date_created,operation_id,external_reference,status,transaction_amount,mercadopago_fee\n":       "a Mercado Pago report",
		"ID DE OPERACIÓN EN MERCADO PAGO;TIPO DE OPERACIÓN;VALOR DE LA COMPRA\n":                         "a report of Mercado Pago whose",
		"a;b\n": "", "": "", "\x00\x01": "",
	} {
		h := bill.NewHead([]byte(content))
		got := ""
		if settlement.Fits(h) {
			got = settlement.Name
		}
		for _, s := range mercadopago.Strangers() {
			if s.Fits(h) {
				got += s.Title
			}
		}
		require.True(t, strings.HasPrefix(got, want) && (want != "" || got == ""), "%q: %s", content, got)
	}
}

func FuzzSettlement(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(commas(good)))
	f.Add([]byte(few + "1;REFUND;-7.000;0;-7.000;ARS\n"))
	f.Fuzz(func(t *testing.T, content []byte) { billtest.Fuzz(t, settlement, content) })
}
