package mt940_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/mt940"
)

func format(t testing.TB) *bill.Format {
	t.Helper()
	fs := mt940.Formats()
	require.Len(t, fs, 1)
	return fs[0]
}

// bare is two statements of one account without blocks.
const bare = ":20:STMT1\r\n:25:DE02120300000000202051\r\n:28C:00007/001\r\n:60F:C260105EUR1000,00\r\n" +
	":61:2601050105CR250,50NTRFNONREF//BK1\r\n" +
	":86:166?00GUTSCHRIFT?20EREF+ORDER-1?21SVWZ+Invoice 0017 of Januar?22y?30BYLADEM1001?31DE75512108001245126199?32ERIKA MUSTER?33MANN\r\n" +
	":61:260106D30,NMSCKREF+//BK2\r\n:86:116?00UEBERWEISUNG?20KREF+REFUND-9?21SVWZ+back\r\n" +
	":61:2601060106RC0,5NTRF1007\r\n" +
	":61:2601060106RD1,NTRFNONREF\r\nsome more\r\n" +
	":62F:C260106EUR1221,00\r\n-\r\n" +
	":20:STMT2\r\n:25:DE02120300000000202051\r\n:28C:00008/001\r\n:60F:C260106EUR1221,00\r\n:62F:C260107EUR1221,00\r\n:64:C260107EUR1221,00\r\n-\r\n"

var bareRows = []string{
	"bank_credit ORDER-1 ORDER-1 BK1 250.5 EUR - C - DE02120300000000202051/00007",
	"bank_debit REFUND-9 REFUND-9 BK2 -30 EUR - D - DE02120300000000202051/00007",
	"bank_debit 1007 1007 DE02120300000000202051/00007/001/260105/3 -0.5 EUR - RC - DE02120300000000202051/00007",
	"bank_credit DE02120300000000202051/00007/001/260105/4 DE02120300000000202051/00007/001/260105/4 DE02120300000000202051/00007/001/260105/4 1 EUR - RD - DE02120300000000202051/00007",
}

func TestRowsOfAStatement(t *testing.T) {
	t.Parallel()
	r := billtest.One(t, format(t), bare)
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	require.Equal(t, bareRows, r.Lines())
	require.Len(t, r.Controls, 2)
	require.Equal(t, map[string]string{
		"account": "DE02120300000000202051", "value_date": "2026-01-05", "entry_date": "2026-01-05", "raw_dates": "",
		"transaction_type": "NTRF", "customer_reference": "NONREF", "bank_reference": "BK1",
		"counterparty_account": "DE75512108001245126199", "counterparty_name": "ERIKA MUSTERMANN", "remittance": "Invoice 0017 of January",
	}, r.Rows[0].Attr)
	require.Equal(t, "some more", r.Rows[3].Attr["remittance"])
	require.Equal(t, []int{5, 7, 9, 10}, []int{r.Rows[0].Line, r.Rows[1].Line, r.Rows[2].Line, r.Rows[3].Line})
}

// The balance is worked out anew with nothing but a splitter.
func TestSumsByAnotherWay(t *testing.T) {
	t.Parallel()
	sum := decimal.Zero
	for _, amount := range []string{"250.50", "-30", "-0.5", "1"} {
		sum = sum.Add(decimal.RequireFromString(amount))
	}
	require.Equal(t, map[string]string{"EUR": sum.String()}, billtest.One(t, format(t), bare).Totals())
	require.True(t, decimal.RequireFromString("1000").Add(sum).Equal(decimal.RequireFromString("1221")))
}

// B52: a date of a bank is a date; it becomes an instant only in a zone that is configured.
func TestB52DaysOfABankAreInstantsOnlyInAZone(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	r := billtest.Read(t, billtest.Doc{Format: format(t), Content: bare, Zone: berlin})
	require.Empty(t, r.Problems)
	require.Equal(t, "2026-01-04T23:00:00Z", r.Rows[0].OccurredAt.Format(time.RFC3339))
	require.Equal(t, "2026-01-05T23:00:00Z", r.Rows[1].OccurredAt.Format(time.RFC3339), "no entry date: the value date")
	require.Empty(t, r.Rows[1].Attr["entry_date"])
}

// one is a statement around movements, whose closing balance is given.
func one(closing string, movements ...string) string {
	return ":20:X\n:25:ACC1\n:28C:1\n:60F:C260105EUR100,\n" + strings.Join(movements, "\n") + "\n:62F:" + closing + "\n"
}

func TestB42DatesThatNoCalendarHas(t *testing.T) {
	t.Parallel()
	r := billtest.One(t, format(t), ":20:X\n:25:ACC1\n:28C:1\n:60F:C260227EUR100,\n:61:2602300301DR4,50N024X1\n:61:2602290227D1,00NTRFX2\n:62F:C260301EUR94,50\n")
	require.Empty(t, r.Problems)
	require.Equal(t, "2026-02-28", r.Rows[0].Attr["value_date"])
	require.Equal(t, "2026-03-01", r.Rows[0].Attr["entry_date"])
	require.Equal(t, "2602300301", r.Rows[0].Attr["raw_dates"])
	require.Equal(t, "2026-02-28", r.Rows[1].Attr["value_date"])
	require.Equal(t, []string{"2 dates are not in the calendar (February 29 or 30): they are read as the end of February"}, r.Remarks)
	for _, date := range []string{"260431", "260231", "261301", "260100", "260001", "26011"} {
		r := billtest.One(t, format(t), one("C260106EUR99,", ":61:"+date+"D1,NTRFX"))
		require.NotEmpty(t, r.Problems, date)
		require.Contains(t, r.Problems[0], "5:5: the value date of the movement", date)
	}
}

func TestB43EntryDatesGetTheirYearBothWays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ opening, dates, value, entry string }{
		{"251230", "2512310102", "2025-12-31", "2026-01-02"},
		{"260101", "2601011231", "2026-01-01", "2025-12-31"},
		{"260105", "2601050105", "2026-01-05", "2026-01-05"},
		{"240228", "2403010229", "2024-03-01", "2024-02-29"},
		{"210107", "2006150108", "2020-06-15", "2021-01-08"}, // corrected half a year later: the opening balance decides
		{"200301", "2101150115", "2021-01-15", "2021-01-15"}, // an account that slept
		{"991230", "9912310101", "1999-12-31", "2000-01-01"},
	} {
		r := billtest.One(t, format(t), ":20:X\n:25:ACC1\n:28C:1\n:60F:C"+c.opening+"EUR100,\n:61:"+c.dates+"D1,NTRFX\n:62F:C"+c.opening+"EUR99,\n")
		require.Empty(t, r.Problems)
		require.Equal(t, c.value, r.Rows[0].Attr["value_date"])
		require.Equal(t, c.entry, r.Rows[0].Attr["entry_date"], c.dates)
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{"5,": "-5", "5,1": "-5.1", "5,12": "-5.12", "000000000000005,1": "-5.1", "00,50": "-0.5"} {
		d := decimal.RequireFromString("100").Add(decimal.RequireFromString(want))
		r := billtest.One(t, format(t), one("C260106EUR"+strings.ReplaceAll(d.StringFixed(2), ".", ","), ":61:260105D"+written+"NTRFX"))
		require.Empty(t, r.Problems, written)
		require.Equal(t, want, r.Rows[0].Amount.String())
	}
	for written, why := range map[string]string{
		"5":                      "decimal comma", // B30, and a cut amount
		"5.00":                   "decimal comma",
		"1.005,00":               "decimal comma", // B17: grouped
		"1,005":                  "EUR has 2 decimals",
		"1,000":                  "EUR has 2 decimals",
		",50":                    "decimal comma",
		"1,0,0":                  "decimal comma",
		"1234567890123456789,00": "more than 18 integer digits",
	} {
		r := billtest.One(t, format(t), one("C260106EUR99,", ":61:260105D"+written+"NTRFX"))
		require.Len(t, r.Problems, 1, written)
		require.Contains(t, r.Problems[0], "5:12: the amount of the movement", written)
		require.Contains(t, r.Problems[0], why, written)
	}
	yen := ":20:X\n:25:A\n:28C:1\n:60F:C260105JPY1500,\n:61:260105D500,NTRFX\n:62F:C260105JPY1000,00\n"
	r := billtest.One(t, format(t), yen) // B26
	require.Empty(t, r.Problems)
	require.Equal(t, "-500", r.Rows[0].Amount.String())
	dinar := ":20:X\n:25:A\n:28C:1\n:60F:C260105KWD1,500\n:61:260105DD0,250NTRFX\n:62F:C260105KWD1,250\n"
	require.Equal(t, "-0.25", billtest.One(t, format(t), dinar).Rows[0].Amount.String()) // B27
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for mark, want := range map[string]string{"C": "7", "D": "-7", "RC": "-7", "RD": "7", "CR": "7", "DR": "-7", "RCR": "-7", "RDR": "7"} {
		d := decimal.RequireFromString("100").Add(decimal.RequireFromString(want))
		r := billtest.One(t, format(t), one("C260106EUR"+d.String()+",", ":61:2601050105"+mark+"7,NTRFX"))
		require.Empty(t, r.Problems, mark)
		require.Equal(t, want, r.Rows[0].Amount.String(), mark)
		require.Equal(t, strings.TrimSuffix(mark[:1]+mark[1:], "R"), r.Rows[0].Status, mark)
	}
	for mark, why := range map[string]string{"CN": "the letter N after C is not the third one of EUR", "X": "want C, D, RC or RD", "": "want C, D, RC or RD"} {
		r := billtest.One(t, format(t), one("C260106EUR107,", ":61:2601050105"+mark+"7,NTRFX"))
		require.Len(t, r.Problems, 1)
		require.Contains(t, r.Problems[0], why)
	}
	// Expected movements and messages of amount zero move nothing.
	r := billtest.One(t, format(t), one("C260106EUR100,", ":61:2601050105EC7,NTRFX", ":61:2601050105C0,00NDIV", ":86: we have moved"))
	require.Empty(t, r.Problems)
	require.Empty(t, r.Rows)
	require.Equal(t, []string{"2 entries are left out: 1 of amount zero, 1 only expected (EC, ED)"}, r.Remarks)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, reference, details, key, id string }{
		{"ING", "EREF//0001005\n/TRCD/00100/", ":86:/EREF/A/1//CNTP/NL13TEST0123456789/TESTNL2A/JANE//\n/REMI/USTD//Thank you/", "A/1", "0001005"},
		{"ING wrapped", "EREF//0001\n005\n/TRCD/0\n0100/", ":86:/EREF/EV12\n34//CNTP/NL13TEST0123456789/TESTNL2A/JANE///REMI/USTD//x/", "EV1234", "0001005"},
		{"ING pointer", "PREF//B1", ":86:/PREF/BATCH7//REMI/USTD//x/", "BATCH7", "B1"},
		{"Rabobank", "NONREF", ":86:/EREF/01-02 77/BENM//NAME/JANE/REMI/x", "01-02 77", "ACC1/1/260105/1"},
		{"ABN AMRO", "NONREF", ":86:/TRTP/SEPA/IBAN/NL13TEST0123456789/BIC/TESTNL2A/NAME/JANE/REMI/x/EREF/NOTPROVIDED", "ACC1/1/260105/1", "ACC1/1/260105/1"},
		{"German, over fields", "NONREF//B1", ":86:166?00X?20EREF+ABCDEFGHIJKLMNOPQRSTUV?21WXYZ?22SVWZ+t", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "B1"},
		{"German, in wrapped lines", "NONREF//B1", ":86:166?00X?20ER\nEF+AB\nC?2\n1SVWZ+EREF+no?22EREF+neither", "ABC", "B1"},
		{"customer's", "ORDER 7//B1", ":86:text EREF+no", "ORDER 7", "B1"},
		{"account in its place", "NL91ABNA0417164300", ":86:text", "ACC1/1/260105/1", "ACC1/1/260105/1"},
		{"bank's", "NONREF//B1", "", "B1", "B1"},
		{"a letter", "N", "", "ACC1/1/260105/1", "ACC1/1/260105/1"},
		{"leading zeros stay (B24)", "0070", "", "0070", "ACC1/1/260105/1"},
	} {
		r := billtest.One(t, format(t), one("C260106EUR107,", ":61:2601050105C7,NTRF"+c.reference, c.details))
		require.NoError(t, r.Err, c.name)
		require.Empty(t, r.Problems, c.name)
		require.Equal(t, []string{c.key, c.id}, []string{r.Rows[0].Key, r.Rows[0].ID}, c.name)
		require.Equal(t, c.key, r.Rows[0].Order, c.name)
	}
	r := billtest.One(t, format(t), one("C260106EUR107,", ":61:2601050105C7,NTRFA", "one", "two"))
	require.Contains(t, r.Problems[0], "2 lines follow a :61:")
}

// Text of :86: may look like tags, ends of messages and blocks.
func TestTextThatLooksLikeTags(t *testing.T) {
	t.Parallel()
	text := ":86:at 12\n:26:37 and\n:25:11\n:28C:9\n:20:37 and\n-\n- dash\n{brace\n:940:\n:99X:y\n\n:13D:z"
	r := billtest.One(t, format(t), one("C260106EUR107,", ":61:2601050105C7,NTRFA", text)+"-\n")
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	require.Equal(t, "at 12 :26:37 and :25:11 :28C:9 :20:37 and - - dash {brace :940: :99X:y :13D:z", r.Rows[0].Attr["remittance"])
	cut := billtest.One(t, format(t), strings.Replace(bare, ":62F:C260106EUR1221,00\r\n-\r\n", ":86:x\r\n", 1))
	require.ErrorIs(t, cut.Err, bill.ErrCut, "a real :20: is none of the text")
	require.ErrorContains(t, cut.Err, "line 1")
}

const block = "{1:F01TESTNL2AXXXX0000000000}{2:O940TESTNL2AXXXXN}{3:}{4:\r\n"

func TestContainersOfMessages(t *testing.T) {
	t.Parallel()
	inner := strings.TrimSuffix(one("C260106EUR107,", ":61:2601050105C7,NTRFA1"), "\n")
	for name, content := range map[string]string{
		"blocks":             block + inner + "\r\n-}{5:}\r\n",
		"block lines":        "{1:F01TESTNL2AXXXX0000000000}\r\n{2:I940TESTNL2AXXXN}\r\n{4:\r\n" + inner + "\n-}",
		"MT950":              strings.Replace(block, "O940", "O950", 1) + inner + "\n-}",
		"glued messages":     block + strings.Replace(inner, "ACC1", "ACC2", 1) + "\n-}" + block + inner + "\n-}{5:}",
		"lines of a bank":    "ABNANL2A\n940\nABNANL2A\n" + inner + "\n-",
		"other lines":        "0000 01TESTNL2AXXXX00001\n940 00\n" + inner + "\n-XXX",
		":940:":              ":940:\n" + inner + "\n",
		"SOH and ETX":        "\x01\r\n" + inner + "\r\n-\x03",
		"SOH before a block": "\x01" + block + inner + "\r\n-}\x03",
		"blank lines":        "\r\n\n" + strings.ReplaceAll(inner, "\n", "\n\n") + "\n \n",
		"byte order mark":    "\uFEFF" + inner + "\n", // B12
		"blanks at ends":     strings.ReplaceAll(inner, "\n", "   \n") + "\n",
		"CR LF":              strings.ReplaceAll(inner, "\n", "\r\n") + "\r\n",
	} {
		r := billtest.One(t, format(t), content)
		require.NoError(t, r.Err, name)
		require.Empty(t, r.Problems, name)
		require.Equal(t, "bank_credit A1 A1 ACC1/1/260105/1 7 EUR - C - ACC1/1", r.Lines()[len(r.Rows)-1], name)
	}
}

// B46: no charset is declared anywhere; UTF-8 is tried first, then windows-1252.
func TestB46Charsets(t *testing.T) {
	t.Parallel()
	for charset, name := range map[string]string{"utf-8": "J\u00FCrgen", "windows-1252": "J\xFCrgen"} {
		r := billtest.One(t, format(t), one("C260106EUR107,", ":61:2601050105C7,NTRFA", ":86:"+name))
		require.Empty(t, r.Problems)
		require.Equal(t, "Jürgen", r.Rows[0].Attr["remittance"])
		require.Equal(t, charset, r.Charset)
	}
}

func TestStatementsFollowOneAnother(t *testing.T) {
	t.Parallel()
	page := func(number, from, movement, to string) string {
		return ":20:X\n:25:ACC1\n:28C:" + number + "\n:60" + from + "\n" + movement + "\n:62" + to + "\n"
	}
	first := page("5/1", "F:C260105EUR100,", ":61:260105C5,NTRFNONREF", "M:C260105EUR105,")
	second := page("5/2", "M:C260105EUR105,", ":61:260105C5,NTRFNONREF", "F:C260105EUR110,")
	r := billtest.One(t, format(t), first+second)
	require.Empty(t, r.Problems)
	require.Len(t, r.Rows, 2)
	require.Equal(t, "ACC1/5", r.Rows[1].Batch)
	same := strings.ReplaceAll(first+second, "5/", "5/1") // some banks do not count pages
	same = strings.ReplaceAll(strings.ReplaceAll(same, "5/11", "5/1"), "5/12", "5/1")
	r = billtest.One(t, format(t), same)
	require.Empty(t, r.Problems)
	require.NotEqual(t, r.Rows[0].Key, r.Rows[1].Key)
	require.ErrorIs(t, billtest.One(t, format(t), first).Err, bill.ErrCut, "the last page is missing")
	require.Contains(t, billtest.One(t, format(t), second).Problems[0], "the page before it is not in the file")

	last := page("6/1", "F:C260105EUR110,", ":61:260106D10,NTRFNONREF", "F:C260106EUR100,")
	require.Empty(t, billtest.One(t, format(t), first+second+last).Problems)
	require.Contains(t, billtest.One(t, format(t), first+last).Problems[0], "a page is missing")
	gap := page("7/1", "F:C260107EUR90,", ":61:260107D10,NTRFNONREF", "F:C260107EUR80,")
	require.Contains(t, billtest.One(t, format(t), last+gap).Problems[0], "begins with 90, but statement 6/1 before it ends with 100 in line 6")
	other := strings.ReplaceAll(gap, "ACC1", "ACC2")
	require.Empty(t, billtest.One(t, format(t), last+other).Problems, "another account has its own chain")

	twins := page("6/1", "F:C260105EUR100,", ":61:260106D10,NTRFA\n:61:260106C10,NTRFA", "F:C260106EUR100,")
	require.Contains(t, billtest.One(t, format(t), twins+twins).Problems[0], "is in the file twice, also in line 1")
}

// Banks without numbers of statements repeat everything that names one; the totals stay apart.
func TestStatementsWithoutNumber(t *testing.T) {
	t.Parallel()
	a := ":20:X\n:25:ACC1\n:28C:0\n:60F:C260105EUR100,\n:61:260105D1,NTRFNONREF\n:62F:C260105EUR99,\n"
	b := ":20:X\n:25:ACC1\n:28C:0\n:60F:C260105EUR99,\n:61:260105D2,NTRFNONREF\n:62F:C260105EUR97,\n"
	r := billtest.One(t, format(t), a+b)
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	require.Len(t, r.Controls, 2)
	require.NotEqual(t, r.Rows[0].Key, r.Rows[1].Key)
}

func TestSumsAfterTheClosingBalance(t *testing.T) {
	t.Parallel()
	two := one("C260106EUR104,", ":61:260105C7,NTRFA", ":61:260105D3,NTRFB")
	for _, good := range []string{":86:/SUM/1/1/3,00/7,00/", ":86:D000001C000001D3,00C7,00", ":86:anything"} {
		require.Empty(t, billtest.One(t, format(t), two+good+"\n").Problems, good)
	}
	r := billtest.One(t, format(t), two+":86:/SUM/1/2/3,00/8,00/\n")
	require.Equal(t, []string{"8:5: the bank counts 2 credits of 8 in statement 1 of ACC1, but the file holds 1 of 7: it is cut, damaged or edited; deliver the whole file again"}, r.Problems)
}

func FuzzMT940(f *testing.F) {
	f.Add([]byte(bare))
	f.Add([]byte(block + one("C260106EUR107,", ":61:2601050105C7,NTRFEREF//1\n2\n/TRCD/1/", ":86:/EREF/A//CNTP/B/C/D///REMI/USTD//x/") + ":86:/SUM/0/1/0,/7,/\n-}{5:}\n"))
	f.Add([]byte("\x01\n:20:\n:25:X\n:28:1\n:NS:22a\n:60M:D020229DEM1,\n:61:0202290230RDM1,S   X\n:NS:01b\n:62M:C020301DEM0,\n"))
	f.Add([]byte(":20:\xE9\n:20:\n:86:166?20EREF+?21?2"))
	f.Fuzz(func(t *testing.T, content []byte) { billtest.Fuzz(t, mt940.Formats()[0], content) })
}
