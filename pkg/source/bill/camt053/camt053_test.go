package camt053_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/camt053"
)

func format(t testing.TB) *bill.Format {
	t.Helper()
	fs := camt053.Formats()
	require.Len(t, fs, 1)
	return fs[0]
}

// document puts statements into a message of a version.
func document(version string, statements ...string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.` + version + `"><BkToCstmrStmt><GrpHdr><MsgId>M1</MsgId></GrpHdr>` + "\n" +
		strings.Join(statements, "\n") + "</BkToCstmrStmt></Document>\n"
}

// stmt is a statement in euro.
func stmt(opening, closing string, entries ...string) string {
	return "<Stmt><Id>S1</Id><Acct><Id><IBAN>DE02120300000000202051</IBAN></Id></Acct>\n" +
		bal("OPBD", "EUR", opening) + bal("CLBD", "EUR", closing) + strings.Join(entries, "\n") + "</Stmt>"
}

func bal(code, currency, amount string) string {
	ind := "CRDT"
	if rest, ok := strings.CutPrefix(amount, "-"); ok {
		ind, amount = "DBIT", rest
	}
	return fmt.Sprintf("<Bal><Tp><CdOrPrtry><Cd>%s</Cd></CdOrPrtry></Tp><Amt Ccy=%q>%s</Amt><CdtDbtInd>%s</CdtDbtInd><Dt><Dt>2026-01-05</Dt></Dt></Bal>\n", code, currency, amount, ind)
}

// ntry is a booked entry with more inside.
func ntry(amount, ind, more string) string {
	return `<Ntry><Amt Ccy="EUR">` + amount + "</Amt><CdtDbtInd>" + ind + "</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-01-05</Dt></BookgDt><ValDt><Dt>2026-01-06</Dt></ValDt>" + more + "</Ntry>"
}

// tx is a transaction of an entry.
func tx(amount, ref, more string) string {
	return "<TxDtls><Refs><EndToEndId>" + ref + `</EndToEndId></Refs><Amt Ccy="EUR">` + amount + "</Amt>" + more + "</TxDtls>"
}

func details(txs ...string) string { return "<NtryDtls>" + strings.Join(txs, "") + "</NtryDtls>" }

func loads(t *testing.T, content string) billtest.Result {
	t.Helper()
	r := billtest.One(t, format(t), content)
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	return r
}

const account = "DE02120300000000202051/S1"

func TestRowsOfAStatement(t *testing.T) {
	t.Parallel()
	in := ntry("250.50", "CRDT", "<AcctSvcrRef>BK1</AcctSvcrRef><BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd>"+
		details(tx("250.50", "ORDER-1", "<RltdPties><Dbtr><Nm>Erika\nMuster</Nm></Dbtr><DbtrAcct><Id><IBAN>DE75512108001245126199</IBAN></Id></DbtrAcct><Cdtr><Nm>Us</Nm></Cdtr></RltdPties>"+
			"<RmtInf><Ustrd>Invoice 17 &amp;</Ustrd><Ustrd>18</Ustrd></RmtInf>")))
	out := ntry("30.00", "DBIT", "<BkTxCd><Prtry><Cd>NTRF</Cd></Prtry></BkTxCd>"+details(
		"<TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs><RltdPties><Cdtr><Pty><Nm>Shop</Nm></Pty></Cdtr></RltdPties><RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls>")+
		"<AddtlNtryInf>transfer</AddtlNtryInf>")
	undone := strings.Replace(ntry("5.00", "CRDT", "<AcctSvcrRef>BK3</AcctSvcrRef>"), "<Sts>", "<RvslInd>true</RvslInd><Sts>", 1)
	r := loads(t, document("02", stmt("1000.00", "1225.50", in, out, undone)))
	require.Equal(t, []string{
		"bank_credit ORDER-1 ORDER-1 BK1 250.5 EUR - BOOK - " + account,
		"bank_debit " + account + "/2 " + account + "/2 " + account + "/2 -30 EUR - BOOK - " + account,
		"bank_credit BK3 BK3 BK3 5 EUR - BOOK - " + account,
	}, r.Lines())
	require.Equal(t, map[string]string{
		"account": "DE02120300000000202051", "value_date": "2026-01-06", "entry_date": "2026-01-05", "transaction_type": "PMNT/RCDT/ESCT",
		"creditor_reference": "", "counterparty_account": "DE75512108001245126199", "counterparty_name": "Erika Muster", "return_reason": "",
		"reversal": "", "remittance": "Invoice 17 & 18",
	}, r.Rows[0].Attr)
	require.Equal(t, []string{"Shop", "AC04", "transfer", "NTRF"}, []string{r.Rows[1].Attr["counterparty_name"], r.Rows[1].Attr["return_reason"], r.Rows[1].Attr["remittance"], r.Rows[1].Attr["transaction_type"]})
	require.Equal(t, "true", r.Rows[2].Attr["reversal"], "a reversal turns nothing round: the entry says its own direction")
	require.Equal(t, []bill.Control{{
		Name:     "closing balance of DE02120300000000202051 on 2026-01-05, statement S1 in EUR",
		Declared: decimal.NewNullDecimal(decimal.RequireFromString("1225.50")), Counted: r.Controls[0].Counted, Line: 5,
	}}, r.Controls)
	require.Equal(t, []int{6, 8, 9}, []int{r.Rows[0].Line, r.Rows[1].Line, r.Rows[2].Line})
}

// B44: the entry is what was booked. Transactions become rows when they are the entry, with or without its charges.
func TestB44BatchesAndCharges(t *testing.T) {
	t.Parallel()
	charge := func(ind string) string { return `<Chrgs><Amt Ccy="EUR">15.00</Amt>` + ind + `</Chrgs>` }
	records := `<Chrgs><TtlChrgsAndTaxAmt Ccy="EUR">15.00</TtlChrgsAndTaxAmt><Rcrd><Amt Ccy="EUR">10.00</Amt><CdtDbtInd>DBIT</CdtDbtInd></Rcrd><Rcrd><Amt Ccy="EUR">5.00</Amt><CdtDbtInd>DBIT</CdtDbtInd></Rcrd></Chrgs>`
	b := func(n string) string {
		return "<NtryDtls><Btch><PmtInfId>RUN-9</PmtInfId><NbOfTxs>" + n + "</NbOfTxs></Btch>"
	}
	two := func(a, b string) string { return tx(a, "A", "") + tx(b, "B", "") + "</NtryDtls>" }
	id := account + "/1"
	row := func(kind, key, id, amount string) string {
		return kind + " " + key + " " + key + " " + id + " " + amount + " EUR - BOOK - " + account
	}
	whole := []string{row("bank_debit", "RUN-9", id, "-815")}
	split := []string{row("bank_debit", "A", id+"/1", "-500"), row("bank_debit", "B", id+"/2", "-300"), row("fee", id+"/fee", id+"/fee", "-15")}
	for name, c := range map[string]struct {
		more string
		want []string
	}{
		"charge of the entry":       {charge("") + b("2") + two("500.00", "300.00"), split},
		"charge with its direction": {charge("<CdtDbtInd>DBIT</CdtDbtInd>") + b("2") + two("500.00", "300.00"), split},
		"charge in records":         {records + b("2") + two("500.00", "300.00"), split},
		"charge of a transaction":   {b("2") + tx("500.00", "A", charge("")) + tx("300.00", "B", "") + "</NtryDtls>", split},
		"charge inside already": {charge("") + b("2") + two("500.00", "315.00"), []string{
			row("bank_debit", "A", id+"/1", "-500"), row("bank_debit", "B", id+"/2", "-315"),
		}},
		"charge given back does not fit": {charge("<CdtDbtInd>CRDT</CdtDbtInd>") + b("2") + two("500.00", "300.00"), whole},
		"another charge":                 {charge("") + b("2") + two("500.00", "301.00"), whole},
		"no charge":                      {b("2") + two("500.00", "300.00"), whole},
		"a transaction is missing":       {b("3") + two("500.00", "315.00"), whole},
		"no amounts":                     {b("2") + "<TxDtls/><TxDtls/></NtryDtls>", whole},
		"one amount": {b("2") + tx("815.00", "A", "") +
			"<TxDtls><Refs><EndToEndId>B</EndToEndId></Refs></TxDtls></NtryDtls>", whole},
		"another currency": {b("2") + strings.ReplaceAll(two("500.00", "315.00"), "EUR", "USD"), whole},
		"no transactions":  {b("2") + "</NtryDtls>", whole},
		"amount deep, as in version 02": {b("2") + strings.NewReplacer("<Amt", "<AmtDtls><TxAmt><Amt", "</Amt>", "</Amt></TxAmt></AmtDtls>").Replace(two("500.00", "315.00")), []string{
			row("bank_debit", "A", id+"/1", "-500"), row("bank_debit", "B", id+"/2", "-315"),
		}},
		"a transaction the other way": {b("2") + tx("900.00", "A", "") + tx("85.00", "B", "<CdtDbtInd>CRDT</CdtDbtInd>") + "</NtryDtls>", []string{
			row("bank_debit", "A", id+"/1", "-900"), row("bank_credit", "B", id+"/2", "85"),
		}},
		"one transaction and its charge": {charge("") + details(tx("800.00", "A", "")), []string{
			row("bank_debit", "A", id+"/1", "-800"), "fee " + id + "/fee A " + id + "/fee -15 EUR - BOOK - " + account,
		}},
	} {
		r := loads(t, document("04", stmt("1000.00", "185.00", ntry("815.00", "DBIT", c.more))))
		require.Equal(t, c.want, r.Lines(), name)
		require.Equal(t, "-815", r.Totals()["EUR"], "%s: no money twice, none lost", name)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bank, transaction, key string }{
		{"", "<Refs><EndToEndId> E1 </EndToEndId><PmtInfId>P1</PmtInfId></Refs>", "E1"},
		{"", "<Refs><EndToEndId>NOTPROVIDED</EndToEndId><PmtInfId>P1</PmtInfId><AcctSvcrRef>B2</AcctSvcrRef></Refs>", "P1"},
		{"", "<Refs><EndToEndId>0070</EndToEndId></Refs>", "0070"}, // B24
		{"", "<RmtInf><Strd><CdtrRefInf><Ref>RF18539007547034</Ref></CdtrRefInf></Strd></RmtInf>", "RF18539007547034"},
		{"B1", "<RmtInf><Strd><CdtrRefInf><Ref>R1</Ref></CdtrRefInf></Strd><Strd><CdtrRefInf><Ref>R2</Ref></CdtrRefInf></Strd></RmtInf>", "B1"},
		{"B1", "<Refs><AcctSvcrRef>B2</AcctSvcrRef></Refs>", "B2"},
		{"", "", account + "/1"},
	} {
		more := details("<TxDtls>" + c.transaction + "</TxDtls>")
		if c.bank != "" {
			more = "<AcctSvcrRef>" + c.bank + "</AcctSvcrRef>" + more
		}
		r := loads(t, document("08", stmt("0", "7", ntry("7", "CRDT", more))))
		require.Equal(t, c.key, r.Rows[0].Key, c.transaction)
		require.Equal(t, c.key, r.Rows[0].Order)
	}
}

func TestOnlyBookedEntriesAreMoney(t *testing.T) {
	t.Parallel()
	with := func(status string) string {
		return strings.Replace(ntry("7", "CRDT", ""), "<Sts>BOOK</Sts>", status, 1)
	}
	for _, status := range []string{"<Sts>PDNG</Sts>", "<Sts><Cd>FUTR</Cd></Sts>", "<Sts>INFO</Sts>"} {
		r := loads(t, document("08", stmt("1", "8", with("<Sts>\n <Cd>BOOK</Cd>\n</Sts>"), with(status))))
		require.Len(t, r.Rows, 1)
		require.Contains(t, r.Remarks[0], "1 entries are left out")
	}
	r := loads(t, document("04", stmt("1", "1", ntry("0.00", "CRDT", ""))))
	require.Empty(t, r.Rows)
	require.Equal(t, []string{"1 entries are left out: 0 pending, 0 for information, 1 of amount zero"}, r.Remarks)
	for _, status := range []string{"<Sts>DONE</Sts>", "<Sts><Prtry>BOOK</Prtry></Sts>"} {
		r := billtest.One(t, format(t), document("08", stmt("1", "8", with(status))))
		require.Contains(t, r.Problems[0], "the status")
	}
	r = billtest.One(t, format(t), document("08", stmt("1", "8", with(""))))
	require.Contains(t, r.Problems[0], "0 elements Sts")
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{"000000000000149.87": "149.87", "149.8": "149.8", "149.87000": "149.87", " 149.87\n": "149.87", "149": "149", "0.12345": "0.12345"} {
		r := loads(t, document("02", stmt("0", want, ntry(written, "CRDT", ""))))
		require.Equal(t, want, r.Rows[0].Amount.String())
	}
	for _, written := range []string{"149,87", "1,149.87", "-149.87", "+1", "1.234567", "", "1e3", ".", "NaN"} { // B17, B30
		r := billtest.One(t, format(t), document("02", stmt("0", "1", ntry(written, "CRDT", ""))))
		require.Len(t, r.Problems, 1, written)
		require.Contains(t, r.Problems[0], "6:1: entry 1 of the statement", written)
	}
	yen := strings.ReplaceAll(document("02", stmt("0", "2500", ntry("2500", "CRDT", ""))), "EUR", "JPY") // B26
	require.Equal(t, "2500", loads(t, yen).Rows[0].Amount.String())
	for _, c := range []struct{ old, with, want string }{
		{`"EUR">7`, `"EUX">7`, "is not known"},
		{` Ccy="EUR">7`, `>7`, "the currency is empty"},
		{"<CdtDbtInd>CRDT</CdtDbtInd><Sts>", "<Sts>", "0 elements CdtDbtInd"},
		{"<CdtDbtInd>CRDT</CdtDbtInd><Sts>", "<CdtDbtInd>C</CdtDbtInd><Sts>", "want CRDT or DBIT"},
		{"<Sts>", `<Amt Ccy="EUR">1</Amt><Sts>`, "2 elements Amt"},
		{"<Sts>", "<RvslInd>yes</RvslInd><Sts>", "want true or false"},
		{"<BookgDt><Dt>2026-01-05", "<BookgDt><Dt>2026-02-30", "BookgDt"}, // B42: the schema has no such date
		{"<ValDt><Dt>2026", "<ValDt><Dt>26", "ValDt"},
	} {
		r := billtest.One(t, format(t), strings.Replace(document("02", stmt("0", "7", ntry("7", "CRDT", ""))), c.old, c.with, 1))
		require.NotEmpty(t, r.Problems, c.with)
		require.Contains(t, r.Problems[0], c.want)
	}
}

// B52: dates stay dates; an instant needs an offset or a configured zone.
func TestB52Instants(t *testing.T) {
	t.Parallel()
	amsterdam, err := time.LoadLocation("Europe/Amsterdam")
	require.NoError(t, err)
	for _, c := range []struct {
		booked, date, at string
		zone             *time.Location
	}{
		{"<Dt>2026-01-05</Dt>", "2026-01-05", "", nil},
		{"<Dt>2026-01-05+01:00</Dt>", "2026-01-05", "", nil},
		{"<Dt>2026-01-05</Dt>", "2026-01-05", "2026-01-04T23:00:00Z", amsterdam},
		{"<DtTm>2026-01-04T23:00:00.000Z</DtTm>", "2026-01-04", "2026-01-04T23:00:00Z", nil},
		{"<DtTm>2026-01-04T23:00:00.000Z</DtTm>", "2026-01-05", "2026-01-04T23:00:00Z", amsterdam},
		{"<DtTm>2026-01-05T10:00:00+01:00</DtTm>", "2026-01-05", "2026-01-05T09:00:00Z", amsterdam},
		{"<DtTm>2026-01-05T10:00:00</DtTm>", "2026-01-05", "", nil},
		{"<DtTm>2026-01-05T10:00:00</DtTm>", "2026-01-05", "2026-01-05T09:00:00Z", amsterdam},
	} {
		content := strings.Replace(document("02", stmt("0", "7", ntry("7", "CRDT", ""))), "<BookgDt><Dt>2026-01-05</Dt>", "<BookgDt>"+c.booked, 1)
		r := billtest.Read(t, billtest.Doc{Format: format(t), Content: content, Zone: c.zone})
		require.False(t, r.Refused(), "%v %v", r.Err, r.Problems)
		require.Equal(t, c.date, r.Rows[0].Attr["entry_date"], c.booked)
		at := ""
		if !r.Rows[0].OccurredAt.IsZero() {
			at = r.Rows[0].OccurredAt.Format(time.RFC3339)
		}
		require.Equal(t, c.at, at, c.booked)
	}
}

func TestBalances(t *testing.T) {
	t.Parallel()
	entry := ntry("7", "CRDT", "")
	good := document("02", stmt("-1", "6", entry))
	loads(t, good)
	loads(t, strings.Replace(good, "OPBD", "PRCD", 1))
	loads(t, strings.Replace(good, "<Bal>", bal("CLAV", "EUR", "99")+bal("PRCD", "EUR", "50")+"<Bal>", 1))
	loads(t, document("02", stmt("5.00", "5", ""))) // an empty day
	usd := strings.ReplaceAll(entry, "EUR", "USD")
	loads(t, document("02", strings.Replace(stmt("1", "8", entry, usd), "<Bal>", bal("OPBD", "USD", "10")+bal("CLBD", "USD", "17")+"<Bal>", 1)))
	for name, c := range map[string]struct{ content, want string }{
		"sum":                    {document("02", stmt("-1", "7", entry)), "= 7, but its rows give 6"},
		"no closing balance":     {strings.Replace(good, "CLBD", "CLAV", 1), "no opening (OPBD or PRCD) and closing (CLBD) balance in EUR"},
		"no opening balance":     {strings.Replace(good, "OPBD", "ITBD", 1), "no opening (OPBD or PRCD) and closing (CLBD) balance in EUR"},
		"no balance":             {strings.NewReplacer("CLBD", "X", "OPBD", "Y").Replace(good), "has no opening and closing balance"},
		"an entry elsewhere":     {document("02", stmt("-1", "6", entry, usd)), "balance in USD"},
		"two closing balances":   {strings.Replace(good, "<Bal>", bal("CLBD", "EUR", "1")+"<Bal>", 1), "a second balance CLBD"},
		"the same statement":     {document("02", stmt("-1", "6", entry), stmt("-1", "6", entry)), "its rows give 12"},
		"balance without amount": {strings.Replace(good, ">6<", "><", 1), "balance CLBD"},
		"no account":             {strings.Replace(good, "Acct>", "Acc>", 2), "before the Id and the account"},
		"no statement":           {document("02"), "holds no statement"},
	} {
		r := billtest.One(t, format(t), c.content)
		require.True(t, r.Refused(), name)
		require.Contains(t, fmt.Sprint(r.Err, r.Problems), c.want, name)
	}
}

// The same document twice in a zip is refused, also when everything was swept away in the evening.
func TestSameStatementTwiceInAZip(t *testing.T) {
	t.Parallel()
	for _, closing := range []string{"0", "7"} {
		swept := billtest.Doc{Format: format(t), Content: document("04", stmt("0", closing, ntry(closing, "CRDT", ""), ntry("5", "CRDT", ""), ntry("5", "DBIT", "")))}
		require.False(t, billtest.Read(t, swept).Refused())
		require.True(t, billtest.Read(t, swept, swept).Refused())
		next := billtest.Doc{Format: format(t), Content: strings.NewReplacer("<Id>S1", "<Id>S2", "2026-01-05", "2026-01-06").Replace(swept.Content)}
		require.False(t, billtest.Read(t, swept, next).Refused())
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	sum := func(n, sum, cn, csum, dn, dsum string) string {
		return "<TxsSummry><TtlNtries><NbOfNtries>" + n + "</NbOfNtries><Sum>" + sum + "</Sum></TtlNtries><TtlCdtNtries><NbOfNtries>" + cn + "</NbOfNtries><Sum>" + csum +
			"</Sum></TtlCdtNtries><TtlDbtNtries><NbOfNtries>" + dn + "</NbOfNtries><Sum>" + dsum + "</Sum></TtlDbtNtries></TxsSummry>"
	}
	pending := strings.Replace(ntry("9", "CRDT", ""), "BOOK", "PDNG", 1)
	with := func(s string, more ...string) string {
		return document("04", stmt("0", "4", append([]string{s, ntry("7", "CRDT", ""), ntry("3", "DBIT", "")}, more...)...))
	}
	loads(t, with(sum("2", "10.00", "1", "7", "1", "3")))
	loads(t, with(sum("2", "4.00", "1", "7", "1", "3")))
	loads(t, with(sum("3", "19", "2", "16", "1", "3"), pending))
	loads(t, with(sum("2", "10", "1", "7", "1", "3"), pending))
	loads(t, with("<TxsSummry/>"))
	for _, bad := range []string{
		sum("3", "10", "1", "7", "1", "3"), sum("2", "11", "1", "7", "1", "3"), sum("2", "10", "2", "7", "1", "3"),
		sum("2", "10", "1", "8", "1", "3"), sum("2", "10", "1", "7", "0", "3"), sum("2", "10", "1", "7", "1", "4"), sum("x", "10", "1", "7", "1", "3"),
	} {
		require.Len(t, billtest.One(t, format(t), with(bad)).Problems, 1, bad)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	page := func(n, last, from, to string) string {
		return strings.Replace(document("04", stmt(from, to, ntry("7", "CRDT", ""))), "</GrpHdr>", "<MsgPgntn><PgNb>"+n+"</PgNb><LastPgInd>"+last+"</LastPgInd></MsgPgntn></GrpHdr>", 1)
	}
	loads(t, page("1", "true", "0", "7"))
	first, second, third := page("1", "false", "0", "7"), page("2", "0", "7", "14"), page("3", "true", "14", "21")
	read := func(pages ...string) billtest.Result {
		var docs []billtest.Doc
		for _, p := range pages {
			docs = append(docs, billtest.Doc{Format: format(t), Content: p})
		}
		return billtest.Read(t, docs...)
	}
	r := read(first, second, third)
	require.False(t, r.Refused(), "%v", r.Problems)
	require.Len(t, r.Rows, 3)
	for _, some := range [][]string{{first}, {second}, {third}, {first, second}, {second, third}, {first, third}} {
		require.True(t, read(some...).Refused())
	}
}

func FuzzCamt053(f *testing.F) {
	f.Add([]byte(document("02", stmt("0", "7", ntry("7", "CRDT", "")))))
	f.Add([]byte(document("08", stmt("1000.00", "185.00", ntry("815.00", "DBIT", `<Chrgs><Amt Ccy="EUR">15</Amt></Chrgs>`+details(tx("500", "A", ""), tx("300", "B", "")))))))
	f.Add([]byte("<a>\xFC<Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.053.001.04'><BkToCstmrStmt><Stmt><Id>1</Id><Ntry><Sts><Cd/>"))
	f.Fuzz(func(t *testing.T, content []byte) { billtest.Fuzz(t, camt053.Formats()[0], content) })
}
