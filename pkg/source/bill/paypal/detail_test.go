package paypal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/paypal"
)

const detailSection = `"SH",2026/03/04 00:00:00 -0800,2026/03/04 23:59:59 -0800,"ACCOUNT00000A",""
CH,Transaction ID,Invoice ID,PayPal Reference ID,PayPal Reference ID Type,Transaction Event Code,Transaction Initiation Date,Transaction Completion Date,Transaction Debit or Credit,Gross Transaction Amount,Gross Transaction Currency,Fee Debit or Credit,Fee Amount,Fee Currency,Transactional Status,Insurance Amount,Payer's Account ID,Custom Field
`

const detailBody = `"SB",TX01,DB-1,,,"T0006",2026/03/04 01:00:00 -0800,2026/03/04 01:00:01 -0800,"CR",5000,"EUR","DR",175,"EUR","S",,a@example.org,
"SB",TX02,DB-2,,,"T0006",2026/03/04 02:00:00 -0800,2026/03/04 02:00:00 -0800,"CR",4000,"EUR","DR",150,"EUR","V",,b@example.org,
"SB",TX03,DB-2,TX02,TXN,"T1107",2026/03/04 03:00:00 -0800,2026/03/04 03:00:00 -0800,"DR",4000,"EUR","CR",150,"EUR","S",,b@example.org,
"SB",TX04,DB-3,,,"T0006",2026/03/04 04:00:00 -0800,2026/03/04 04:00:00 -0800,"CR",3000,"EUR","DR",125,"EUR","F",,c@example.org,
"SB",TX05,DB-4,,,"T0000",2026/03/04 05:00:00 -0800,2026/03/04 05:00:00 -0800,"CR",2000,"EUR",,,,"P",,d@example.org,
"SB",TX06,DB-5,,,"T0006",2026/03/04 06:00:00 -0800,2026/03/04 06:00:00 -0800,"CR",1000,"EUR",,,,"D",,e@example.org,
"SB",TX07,DB-6,,,"T1300",2026/02/04 06:00:00 -0800,2026/03/04 06:00:00 -0800,"CR",1000,"EUR",,,,"S",,f@example.org,
"SB",TX08,DB-6,,,"T1302",2026/02/04 06:00:00 -0800,2026/03/04 06:00:00 -0800,"CR",1000,"EUR",,,,"V",,f@example.org,
`

const details = head + detailSection + detailBody + `"SC",8
"RC",8
"FF",8
`

func TestDetail(t *testing.T) {
	t.Parallel()
	want := []string{
		"payment DB-1 DB-1 TX01 50 EUR 1.75 S 2026-03-04T09:00:01Z 2026-03-04 EUR",
		"payment DB-2 DB-2 TX02 40 EUR 1.5 V 2026-03-04T10:00:00Z 2026-03-04 EUR",
		"refund DB-2 DB-2 TX03 -40 EUR -1.5 S 2026-03-04T11:00:00Z 2026-03-04 EUR",
		"payment DB-3 DB-3 TX04 30 EUR 1.25 F 2026-03-04T12:00:00Z 2026-03-04 EUR",
	}
	money := `"SF","EUR",12000,4000,150,450,4` + "\n"
	all := `"SF","EUR",17000,4000,150,450,8` + "\n"
	for name, content := range map[string]string{
		"without footers":               details,
		"footers of what moved":         strings.Replace(details, `"SC"`, money+`"SC"`, 1),
		"footers of all":                strings.Replace(details, `"SC"`, all+`"SC"`, 1),
		"footers of a form not known":   strings.Replace(details, `"SC"`, "\"SF\",8\n\"SC\"", 1),
		"one report footer":             strings.Replace(details, `"RC"`, strings.Replace(money, "SF", "RF", 1)+`"RC"`, 1),
		"columns in front of the known": strings.ReplaceAll(strings.ReplaceAll(details, "CH,", "CH,New,"), `"SB",`, `"SB",x,`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := billtest.One(t, detail, content)
			require.NoError(t, r.Err)
			require.Empty(t, r.Problems)
			require.Equal(t, want, r.Lines())
			require.Len(t, r.Remarks, 1)
			require.Contains(t, r.Remarks[0], "1 of code T1300, which moves no money; 1 of code T1302, which moves no money; ")
			require.Contains(t, r.Remarks[0], "1 of status D, not done; 1 of status P, not done")
		})
	}
}

func TestDetailRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown status", `"EUR","F"`, `"EUR","Q"`, `column "Transactional Status": the status "Q" is not known`},
		{"no status", `"EUR","F"`, `"EUR",`, `the status "" is not known`},
		{"no column of status", "Transactional Status", "Status", `columns missing "Transactional Status"`},
		{"an event that says nothing", `"T0006",2026/03/04 04`, `"T9900",2026/03/04 04`, "whether it moved money cannot be told from this report"},
		{"a footer that does not tie", `"SC"`, `"SF","EUR",12000,4000,150,451,4` + "\n" + `"SC"`, "declares section 1 EUR fee debits = 4.51, but its rows give 4.5"},
		{"a row is missing", detailBody[:strings.Index(detailBody, "\n")+1], "", "declares section 1 records = 8, but its rows give 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			content := strings.Replace(details, c.from, c.to, 1)
			require.NotEqual(t, details, content)
			r := billtest.One(t, detail, content)
			require.True(t, r.Refused())
			require.Contains(t, strings.Join(r.Problems, "\n"), c.want)
		})
	}
}

// A report is told by its columns, and what people give instead is known. B18: also where the web site is in another language.
func TestTelling(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		good:                           "paypal-stl",
		"\xEF\xBB\xBF" + good:          "paypal-stl",
		details:                        "paypal-trr",
		section + body:                 "paypal-stl",
		detailSection:                  "paypal-trr",
		head + "\"SH\",a,b,c\n":        "a PayPal report on",
		head:                           "a PayPal report on",
		"\"CH\",\"Subscription ID\"\n": "a PayPal report on",
		head + "\"SH\",a\n\"CH\",\"Preapproved Payment ID\"\n":                                                                                              "a PayPal report on",
		`"Date","Time","TimeZone","Name","Type","Status","Currency","Gross","Fee","Net","Transaction ID","Balance"` + "\n":                                  "a PayPal activity",
		"\xEF\xBB\xBF\"Fecha\",\"Hora\",\"Zona horaria\",\"Descripción\",\"Divisa\",\"Bruto\",\"Comisión\",\"Neto\",\"Saldo\",\"Id. de transacción\",,,\n":  "a PayPal activity",
		"\"Datum\",\" Uhrzeit\",\" Zeitzone\",\" Name\",\" Typ\",\" Status\",\" W\xE4hrung\",\" Brutto\",\" Geb\xFChr\",\" Netto\",\" Transaktionscode\"\n": "a PayPal activity",
		"Date,Time,Time Zone,Gross Sales,Discounts,Net Sales,Tax,Tip,Total,Gross,Net\n":                                                                     "",
		"a,b\n": "", "": "", "RH": "", "\x00\x01": "",
	} {
		h := bill.NewHead([]byte(content))
		got := ""
		for _, f := range paypal.Formats() {
			if f.Fits(h) {
				got += f.Name
			}
		}
		for _, s := range paypal.Strangers() {
			if s.Fits(h) {
				got += s.Title
			}
		}
		require.True(t, strings.HasPrefix(got, want) && (want != "" || got == ""), "%q: %s", content, got)
	}
}

func FuzzDetail(f *testing.F) {
	f.Add([]byte(details))
	f.Add([]byte(strings.Replace(details, `"SC"`, `"SF","EUR",12000,4000,150,450,4`+"\n"+`"SC"`, 1)))
	f.Fuzz(func(t *testing.T, content []byte) { billtest.Fuzz(t, detail, content) })
}
