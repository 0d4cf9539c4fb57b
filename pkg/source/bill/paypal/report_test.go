package paypal_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/paypal"
)

var settlement, detail = paypal.Formats()[0], paypal.Formats()[1]

const head = `"RH",2026/03/05 02:21:10 -0800,"A","ACCOUNT00000A",009,
"FH",01
`

const section = `"SH",2026/03/04 00:00:00 -0800,2026/03/04 23:59:59 -0800,"ACCOUNT00000A",""
"CH","Transaction ID","Invoice ID","PayPal Reference ID","PayPal Reference ID Type","Transaction Event Code","Transaction Initiation Date","Transaction Completion Date",Transaction  Debit or Credit,"Gross Transaction Amount","Gross Transaction Currency","Fee Debit or Credit","Fee Amount","Fee Currency","Custom Field","Consumer ID","Payment Tracking ID",Store ID,"Bank Reference ID"
`

// body are invented transactions: a payment and two equal partial refunds of it, a payment in reals that is converted away
// with its fee, a payment in yen, a chargeback with its fee, a withdrawal, a hold and a row for display.
const body = `"SB","TX01","DB-1","","","T0006",2026/03/04 01:00:00 -0800,2026/03/04 01:00:01 -0800,"CR",10000,"USD","DR",320,"USD","c, ""1""","","","S1",""
"SB","TX02","DB-1","TX01","TXN","T1107",2026/03/04 02:00:00 -0800,2026/03/04 02:00:00 -0800,"DR",2500,"USD","CR",80,"USD","","","","",""
"SB","TX03","DB-1","TX01","TXN","T1107",2026/03/04 02:00:00 -0800,2026/03/04 02:00:00 -0800,"DR",2500,"USD","",,"","","","","",""
"SB","TX04","DB-2","","","T0003",2026/03/04 03:00:00 -0800,2026/03/04 03:00:00 -0800,"CR",2200,"BRL","DR",360,"BRL","","","","",""
"SB","TX05","DB-2","TX04","TXN","T0200",2026/03/04 03:00:00 -0800,2026/03/04 03:00:00 -0800,"DR",1840,"BRL","",,"","","","","",""
"SB","TX06","DB-2","TX04","TXN","T0200",2026/03/04 03:00:00 -0800,2026/03/04 03:00:00 -0800,"CR",327,"USD","",,"","","","","",""
"SB","TX07","DB-3","","","T0006",2026/03/04 04:00:00 -0800,2026/03/04 04:00:00 -0800,"CR",10000,"JPY","DR",400,"JPY","","","","",""
"SB","TX08","DB-0","TX00","TXN","T1201",2026/03/04 05:00:00 -0800,2026/03/04 05:00:00 -0800,"DR",5000,"USD","",,"","","","","",""
"SB","TX09","","TX08","TXN","T0106",2026/03/04 05:00:00 -0800,2026/03/04 05:00:00 -0800,"DR",2000,"USD","",,"","","","","",""
"SB","TX10","","","","T0400",2026/03/04 06:00:00 -0800,2026/03/04 06:00:00 -0800,"DR",1000,"USD","",,"","","","","","900700"
"SB","TX11","","","","T2103",2026/03/04 07:00:00 -0800,2026/03/04 07:00:00 -0800,"DR",100,"USD","",,"","","","","",""
"SB","TX12","","","","T9800",2026/03/04 07:00:00 -0800,2026/03/04 07:00:00 -0800,"CR",1,"USD","",,"","","","","",""
`

const footer = `"SF","USD",10327,13100,80,320,"CR",90000,"CR",86987,"CR",90000,"CR",86987,"CR",0,"CR",0,8
"SF","JPY",10000,0,0,400,"CR",0,"CR",9600,"CR",0,"CR",9600,"CR",0,"CR",0,1
"SC",12
`

const tail = `"RF","USD",10327,13100,80,320,"CR",90000,"CR",86987,"CR",90000,"CR",86987,"CR",0,"CR",0,8
"RF","JPY",10000,0,0,400,"CR",0,"CR",9600,"CR",0,"CR",9600,"CR",0,"CR",0,1
"RC",12
"FF",12
`

const good = head + section + body + footer + tail

func wantGood() []string {
	return []string{
		"payment DB-1 DB-1 TX01 100 USD 3.2 - 2026-03-04T09:00:01Z 2026-03-04 USD",
		"refund DB-1 DB-1 TX02 -25 USD -0.8 - 2026-03-04T10:00:00Z 2026-03-04 USD",
		"refund DB-1 DB-1 TX03 -25 USD - - 2026-03-04T10:00:00Z 2026-03-04 USD",
		"payment DB-2 DB-2 TX04 22 BRL 3.6 - 2026-03-04T11:00:00Z 2026-03-04 BRL",
		"conversion DB-2 DB-2 TX05 -18.4 BRL - - 2026-03-04T11:00:00Z 2026-03-04 BRL",
		"conversion DB-2 DB-2 TX06 3.27 USD - - 2026-03-04T11:00:00Z 2026-03-04 USD",
		"payment DB-3 DB-3 TX07 100 JPY 4 - 2026-03-04T12:00:00Z 2026-03-04 JPY",
		"chargeback DB-0 DB-0 TX08 -50 USD - - 2026-03-04T13:00:00Z 2026-03-04 USD",
		"fee TX09 TX09 TX09 -20 USD - - 2026-03-04T13:00:00Z 2026-03-04 USD",
		"payout TX10 TX10 TX10 -10 USD - - 2026-03-04T14:00:00Z 2026-03-04 USD",
		"hold TX11 TX11 TX11 -1 USD - - 2026-03-04T15:00:00Z 2026-03-04 USD",
	}
}

// B26 B27: two implied decimals for yen as well. B32 B35: equal refunds of one payment are two rows.
func TestSettlement(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"as made":                good,
		"B12 byte order mark":    "\xEF\xBB\xBF" + good,
		"CR LF":                  strings.ReplaceAll(good, "\n", "\r\n"),
		"tabs":                   strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(good, "c, ", "c# "), ",", "\t"), "c# ", "c, "),
		"nothing quoted":         strings.ReplaceAll(strings.ReplaceAll(good, `"c, ""1"""`, "c"), `"`, ""),
		"padded by spreadsheets": strings.NewReplacer("\"FH\",01\n", "\"FH\",01,,,,,\n", "\"SC\",12\n", "\"SC\",12,,,,\n", "\"FF\",12\n", "\"FF\",12,,,,\n").Replace(good),
		"names without blanks":   strings.NewReplacer("Transaction ID", "TransactionID", "Fee Debit or Credit", "FeeDebitOrCredit").Replace(good),
		"FF counts all records":  strings.Replace(good, `"FF",12`, `"FF",23`, 1),
		"lower case":             strings.NewReplacer(`"USD"`, `"usd"`, `"CR",`, `"cr",`).Replace(good),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := billtest.One(t, settlement, content)
			require.NoError(t, r.Err)
			require.Empty(t, r.Problems)
			require.Equal(t, wantGood(), r.Lines())
			require.Equal(t, []string{"left out: 1 of code T9800, which moves no money"}, r.Remarks)
			require.Len(t, r.Controls, 2*2*5+3)
			for _, c := range r.Controls {
				require.True(t, c.Agrees(), c.Name)
			}
		})
	}
	r := billtest.One(t, settlement, good)
	require.Equal(t, map[string]string{
		"provider_type": "T0006", "transaction_id": "TX01", "reference_id": "", "reference_id_type": "", "custom_field": `c, "1"`,
		"account": "ACCOUNT00000A", "net_amount": "96.8", "fee_amount": "3.2", "fee_currency": "USD", "store_id": "S1",
	}, r.Rows[0].Attr)
	require.Equal(t, "TX01", r.Rows[1].Attr["reference_id"])
}

// The figures of the test are recomputed by another splitter, in integers as they are printed.
func TestFixtureTies(t *testing.T) {
	t.Parallel()
	sums := map[string][5]int{}
	for line := range strings.SplitSeq(strings.TrimSpace(body), "\n") {
		f := strings.Split(strings.ReplaceAll(line, `"`, ""), ",")
		if f[5] == "T9800" {
			continue
		}
		s := sums[f[10]]
		gross, _ := strconv.Atoi(f[9])
		fee, _ := strconv.Atoi(f[12])
		s[map[string]int{"CR": 0, "DR": 1}[f[8]]] += gross
		s[map[string]int{"CR": 2, "DR": 3, "": 2}[f[11]]] += fee
		s[4]++
		sums[f[10]] = s
	}
	for _, currency := range []string{"USD", "JPY"} {
		s := sums[currency]
		require.Contains(t, footer, fmt.Sprintf(`"SF","%s",%d,%d,%d,%d,`, currency, s[0], s[1], s[2], s[3]))
		require.Contains(t, footer, fmt.Sprintf(`,"CR",0,"CR",0,%d`, s[4]))
	}
	require.Zero(t, sums["BRL"][0]-sums["BRL"][1]-sums["BRL"][3], "converted away, so without footer")
}

func TestSettlementRefused(t *testing.T) {
	t.Parallel()
	brl := strings.Replace(body, `"DR",1840,"BRL"`, `"DR",1839,"BRL"`, 1)
	for _, c := range []struct{ name, content, want string }{
		{"a row is missing", strings.Replace(good, body[:strings.Index(body, "\n")+1], "", 1), "declares section 1 USD gross credits = 103.27, but its rows give 3.27"},
		{"a fee is another", strings.Replace(good, `"CR",80,"USD"`, `"CR",81,"USD"`, 1), "declares report USD fee credits = 0.8, but its rows give 0.81"},
		{"a fee turned around", strings.Replace(good, `"DR",400,"JPY"`, `"CR",400,"JPY"`, 1), "declares section 1 JPY fee credits = 0, but its rows give 4"},
		{"the number in a currency", strings.ReplaceAll(good, `0,1`+"\n", `0,2`+"\n"), "declares section 1 JPY transactions = 2, but its rows give 1"},
		{"section count", strings.Replace(good, `"SC",12`, `"SC",13`, 1), "declares section 1 records = 13, but its rows give 12"},
		{"report count", strings.Replace(good, `"RC",12`, `"RC",11`, 1), "declares report records = 11, but its rows give 12"},
		{"file count", strings.Replace(good, `"FF",12`, `"FF",11`, 1), "declares file records = 11, but its rows give 12"},
		{"a currency without footer", head + section + brl + footer + tail, "rows in BRL, but no section footer (SF) in BRL"},
		{"a footer without rows", strings.Replace(good, `"RC",12`, `"RF","EUR",100,0,0,0,"CR",0,1`+"\n"+`"RC",12`, 1), "declares report EUR gross credits = 1, but its rows give 0"},
		{"a footer twice", strings.Replace(good, `"RC",12`, `"RF","USD",0,0,0,0,0`+"\n"+`"RC",12`, 1), "a second footer for USD"},
		{"a short footer", strings.Replace(good, `"RF","JPY",10000,0,0,400,"CR",0,`, `"RF","JPY",10000,0,0,400,0,`, 1), "a footer of 18 fields"},
		{"B63 unknown code", strings.Replace(good, "T0400", "T4711", 1), `column "Transaction Event Code": the event code "T4711" is not known`},
		{"an authorisation", strings.Replace(good, "T9800", "T1300", 1), "T1300 is an authorisation, which no settlement report has"},
		{"neither side", strings.Replace(good, `"CR",10000,"USD"`, `"",10000,"USD"`, 1), `column "Transaction Debit or Credit": "" is neither CR nor DR`},
		{"a point", strings.Replace(good, `"CR",10000,"USD"`, `"CR",100.00,"USD"`, 1), `amount "100.00": want digits alone, with two implied decimals`},
		{"B17 grouped", strings.Replace(good, `"CR",10000,"USD"`, `"CR","10,000","USD"`, 1), `amount "10,000": want digits alone`},
		{"a sign", strings.Replace(good, `"DR",2500,"USD"`, `"DR",-2500,"USD"`, 1), `amount "-2500": want digits alone`},
		{"no amount", strings.Replace(good, `"CR",10000,"USD"`, `"CR",,"USD"`, 1), `amount "": want digits alone`},
		{"currency", strings.Replace(good, `10000,"JPY"`, `10000,"JPX"`, 1), `currency "JPX" is not known`},
		{"B9 spreadsheet id", strings.Replace(good, `"TX07"`, "1.2E+16", 1), `column "Transaction ID": "1.2E+16" is a number as a spreadsheet rounds it`},
		{"no id", strings.Replace(good, `"TX07"`, `""`, 1), "the transaction id is empty"},
		{"B60 spreadsheet date", strings.Replace(good, "2026/03/04 04:00:00 -0800,2026/03/04 04:00:00 -0800", "3/4/26 4:00,3/4/26 4:00", 1), "not of the form"},
		{"no date", strings.Replace(good, "2026/03/04 04:00:00 -0800,2026/03/04 04:00:00 -0800", ",", 1), "neither date of the transaction is given"},
		{"another day", strings.Replace(good, "2026/03/04 04:00:00 -0800,2026/03/04 04:00:00", "2026/03/04 04:00:00 -0800,2026/03/14 04:00:00", 1), "but its section is of 2026-03-04T08:00:00Z to 2026-03-05T07:59:59Z"},
		{"fields", strings.Replace(good, `"900700"`, `"900700",""`, 1), "20 fields, but the header has 19"},
		{"a column is missing", strings.Replace(good, `"Fee Amount"`, `"Fee"`, 1), `columns missing "Fee Amount"`},
		{"B41 a column twice", strings.Replace(good, `"Custom Field"`, `"Fee Amount"`, 1), `there more than once "Fee Amount"`},
		{"no beginning", section + body + footer + tail, "the report has no RH record: its beginning is missing"},
		{"no period", strings.Replace(good, `"SH",2026/03/04 00:00:00 -0800,2026/03/04 23:59:59 -0800`, `"SH",,`, 1), "the period of the section"},
		{"a split report", strings.Replace(good, `"FH",01`, `"FH",02`, 1), `file "02" of a report that PayPal split over several files`},
		{"an unknown record", strings.Replace(good, `"RC",12`, `"XY",12`+"\n"+`"RC",12`, 1), `the record type "XY" is not known`},
		{"more after the end", good + `"RC",12` + "\n", "a record after the end of the file (FF)"},
		{"a row outside", strings.Replace(good, `"SC",12`+"\n", `"SC",12`+"\n"+body[:strings.Index(body, "\n")+1], 1), "a transaction (SB) outside a section"},
		{"a footer outside", strings.Replace(good, `"RC",12`, `"SF","EUR",0,0,0,0,0`+"\n"+`"RC",12`, 1), "a section footer (SF) outside a section"},
		{"a section without count", strings.Replace(good, `"SC",12`, section[:strings.Index(section, "\n")], 1), "SC"},
		{"B58 a count that is none", strings.Replace(good, `"RC",12`, `"RC",twelve`, 1), `the count "twelve" is not a number`},
		{"two files in one", good + good, "a record after the end of the file (FF)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.NotEqual(t, good, c.content)
			r := billtest.Read(t, billtest.Doc{Format: settlement, Content: c.content})
			require.True(t, r.Refused())
			said := strings.Join(r.Problems, "\n")
			if r.Err != nil {
				said += r.Err.Error()
			}
			require.Contains(t, said, c.want)
		})
	}
}

// B55: a cut report is refused wherever the cut is: at the ends of all lines, at every seventh byte, and at all of the last records.
func TestCut(t *testing.T) {
	t.Parallel()
	for format, content := range map[*bill.Format]string{settlement: good, detail: details} {
		for n := range len(content) {
			if n < len(content)-300 && n%7 > 0 && content[n] != '\n' && (n == 0 || content[n-1] != '\n') {
				continue
			}
			r := billtest.Read(t, billtest.Doc{Format: format, Content: content[:n]})
			require.True(t, r.Refused(), "%s: %d bytes: %q", format.Name, n, content[max(0, n-40):n])
		}
	}
	r := billtest.One(t, settlement, head+section+body+footer)
	require.ErrorIs(t, r.Err, bill.ErrCut)
	require.EqualError(t, r.Err, "the report ends without RC, FF, RF: the bill is cut: deliver the whole file again")
}

func TestEmptyDay(t *testing.T) {
	t.Parallel()
	sf := `"SF","USD",0,0,0,0,"CR",90000,"CR",90000,"CR",90000,"CR",90000,"CR",0,"CR",0,0` + "\n"
	end := `"SC",0` + "\n" + strings.Replace(sf, "SF", "RF", 1) + `"RC",0` + "\n" + `"FF",0` + "\n"
	sh, _, _ := strings.Cut(section, "\n")
	for _, content := range []string{head + section + sf + end, head + sh + "\n" + sf + end} {
		r := billtest.One(t, settlement, content)
		require.False(t, r.Refused(), r.Problems)
		require.Empty(t, r.Rows)
	}
}

// Accounts of one merchant are sections of one report; every section is checked, and the report over all.
func TestSections(t *testing.T) {
	t.Parallel()
	second := strings.ReplaceAll(section, "ACCOUNT00000A", "ACCOUNT00000B")
	content := head + section + body + footer + second + body + footer +
		strings.NewReplacer("10327,13100,80,320", "20654,26200,160,640", "10000,0,0,400", "20000,0,0,800", "0,8\n", "0,16\n", "0,1\n", "0,2\n", "12\n", "24\n").Replace(tail)
	r := billtest.One(t, settlement, content)
	require.Empty(t, r.Problems)
	require.NoError(t, r.Err)
	require.Len(t, r.Rows, 22)
	require.Equal(t, "ACCOUNT00000B", r.Rows[11].Attr["account"])
	moved := strings.Replace(content, body+footer+second, footer+second+body, 1)
	require.True(t, billtest.One(t, settlement, moved).Refused(), "rows of another section")
}

// A fee in another currency than the gross is no fee of the row, but counts in the footer of its currency.
func TestForeignFee(t *testing.T) {
	t.Parallel()
	content := strings.Replace(good, `"DR",320,"USD"`, `"DR",320,"JPY"`, 1)
	content = strings.ReplaceAll(content, "10327,13100,80,320", "10327,13100,80,0")
	content = strings.ReplaceAll(content, "10000,0,0,400", "10000,0,0,720")
	r := billtest.One(t, settlement, content)
	require.Empty(t, r.Problems)
	require.False(t, r.Rows[0].Fee.Valid)
	require.Equal(t, "3.2", r.Rows[0].Attr["fee_amount"])
	require.Equal(t, "JPY", r.Rows[0].Attr["fee_currency"])
	require.Empty(t, r.Rows[0].Attr["net_amount"])
}

// The table of codes against codes picked by hand, both ways.
func TestCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, credit, debit string }{
		{"T0000", "payment", "transfer"},
		{"T0013", "payment", "transfer"},
		{"T0017", "transfer", "transfer"},
		{"T0106", "fee_refund", "fee"},
		{"T0201", "conversion", "conversion"},
		{"T0300", "topup", "topup"},
		{"T0403", "payout", "payout"},
		{"T0801", "adjustment", "adjustment"},
		{"T1101", "payout", "payout"},
		{"T1106", "reversal", "reversal"},
		{"T1107", "transfer", "refund"},
		{"T1108", "fee_refund", "fee"},
		{"T1110", "release", "hold"},
		{"T1111", "release", "hold"},
		{"T1201", "chargeback_reversal", "chargeback"},
		{"T1202", "chargeback_reversal", "chargeback"},
		{"T1503", "release", "hold"},
		{"T1900", "adjustment", "adjustment"},
		{"T2001", "transfer", "transfer"},
		{"T2105", "release", "hold"},
		{"T3000", "payment", "transfer"},
		{"T9700", "adjustment", "adjustment"},
		{"T9900", "adjustment", "adjustment"},
	} {
		for side, want := range map[string]string{"CR": c.credit, "DR": c.debit} {
			row := `"SB","TX1","DB-1","","","` + c.code + `",2026/03/04 01:00:00 -0800,2026/03/04 01:00:01 -0800,"` + side + `",100,"USD","",,"","","","","",""` + "\n"
			r := billtest.Read(t, billtest.Doc{Format: settlement, Content: head + section + row})
			require.Len(t, r.Rows, 1, c.code)
			require.Equal(t, want, string(r.Rows[0].Type), c.code+side)
		}
	}
	for _, code := range []string{"T0023", "T0119", "T0203", "T0404", "T1120", "T1206", "T2100", "T2116", "T9901", "T99", "0006", ""} {
		row := `"SB","TX1","DB-1","","","` + code + `",2026/03/04 01:00:00 -0800,2026/03/04 01:00:01 -0800,"CR",100,"USD","",,"","","","","",""` + "\n"
		r := billtest.Read(t, billtest.Doc{Format: settlement, Content: head + section + row})
		require.Empty(t, r.Rows, code)
		require.Len(t, r.Problems, 1, code)
	}
}

func FuzzSettlement(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("\xEF\xBB\xBF" + strings.ReplaceAll(good, ",", "\t")))
	f.Fuzz(func(t *testing.T, content []byte) { billtest.Fuzz(t, settlement, content) })
}
