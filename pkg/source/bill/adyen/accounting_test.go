package adyen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill/billtest"
)

const accountsHeader = "Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Booking Date,TimeZone,Record Type,Modification Psp Reference," +
	"Main Currency,Main Amount,Payment Currency,Received (PC),Exchange Rate,Authorised (PC),Captured (PC),Settlement Currency,Payable (SC)," +
	"Commission (SC),Markup (SC),Scheme Fees (SC),Interchange (SC),Processing Fee Currency,Processing Fee (FC),Modification Merchant Reference,Original Amount,Payable Batch\n"

const accounts = accountsHeader +
	"Co,Shop,9100000000000001,DB-1,visa,2024-01-10 09:00:00,CET,Received,,EUR,,EUR,20,,,,,,,,,,EUR,0.1,,20,\n" +
	"Co,Shop,9100000000000001,DB-1,visa,2024-01-10 09:00:01,CET,Authorised,,EUR,,EUR,-20,,20,,,,,,,,,,,20,\n" +
	"Co,Shop,9100000000000001,DB-1,visa,2024-01-10 09:00:02,CET,SentForSettle,9200000000000001,EUR,,EUR,,,-20,20,,,,,,,,,,20,\n" +
	"Co,Shop,9100000000000001,DB-1,visa,2024-01-11 09:00:00,CET,Settled,9200000000000001,EUR,,EUR,,1,,-20,EUR,19.40,,0.4,0.1,0.1,,,,20,71\n" +
	"Co,Shop,9100000000000002,DB-2,visa,2024-01-11 09:00:00,CET,Settled,9200000000000002,EUR,,JPY,,0.0065,,-2000,EUR,12.80,0.2,,,,,,,2000,71\n" +
	"Co,Shop,9100000000000001,DB-1,visa,2024-01-12 09:00:00,CET,Refunded,9200000000000003,EUR,,EUR,,1,,5,EUR,-5.2,,0.2,,,,,R-9,5,71\n" +
	"Co,Shop,9100000000000004,DB-4,visa,2024-01-12 09:00:00,CET,Chargeback,9200000000000004,USD,7,JPY,,1,,,EUR,-20,,7.5,,,,,,2000,71\n" +
	"Co,Shop,9100000000000005,DB-5,amex,2024-01-12 09:00:00,CET,SettledExternally,9200000000000005,EUR,,USD,,,,-8,EUR,-0.1,0.1,,,,,,,8,71\n" +
	"Co,Shop,9100000000000006,DB-6,amex,2024-01-12 09:00:00,CET,Refused,,EUR,,EUR,-8,,,,,,,,,,,,,8,\n"

func wantAccounts() []string {
	return []string{
		"payment DB-1 DB-1 9100000000000001/9200000000000001 20 EUR 0.6 Settled 2024-01-11T08:00:00Z 71",
		"payment DB-2 DB-2 9100000000000002/9200000000000002 2000 JPY - Settled 2024-01-11T08:00:00Z 71",
		"refund R-9 DB-1 9100000000000001/9200000000000003 -5 EUR 0.2 Refunded 2024-01-12T08:00:00Z 71",
		"chargeback DB-4 DB-4 9100000000000004/9200000000000004 -12.5 EUR 7.5 Chargeback 2024-01-12T08:00:00Z 71",
		"payment DB-5 DB-5 9100000000000005/9200000000000005 8 USD - SettledExternally 2024-01-12T08:00:00Z 71",
	}
}

func TestAccounting(t *testing.T) {
	t.Parallel()
	r := billtest.One(t, accounting, accounts)
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	require.Equal(t, wantAccounts(), r.Lines())
	require.Equal(t, []string{"4 records are steps in the life of a payment that move no money, left out: 1 Authorised, 1 Received, 1 Refused, 1 SentForSettle"}, r.Remarks)
	require.Equal(t, "12.8", r.Rows[1].Attr["net_amount"])
	require.Equal(t, "2000", r.Rows[1].Attr["original_amount"])
}

// B41: the same column twice loads when both say the same in every row, and no other column may be there twice.
func TestAccountingCurrencyTwice(t *testing.T) {
	t.Parallel()
	twice := func(name, again string) string {
		head, rows, _ := strings.Cut(accounts, "\n")
		lines := strings.Split(strings.TrimSuffix(rows, "\n"), "\n")
		for i, l := range lines {
			cell := strings.Split(l, ",")[16]
			if i == 3 {
				cell = again
			}
			lines[i] = l + "," + cell
		}
		return head + "," + name + "\n" + strings.Join(lines, "\n") + "\n"
	}
	r := billtest.One(t, accounting, twice("Settlement Currency", "EUR"))
	require.Empty(t, r.Problems)
	require.Equal(t, wantAccounts(), r.Lines())
	r = billtest.One(t, accounting, twice("Settlement Currency", "USD"))
	require.Equal(t, []string{`5:134: column "Settlement Currency (again)": two columns Settlement Currency that differ, "EUR" and "USD": which one is meant cannot be told`}, r.Problems)
	r = billtest.One(t, accounting, twice("Record Type", "x"))
	require.ErrorContains(t, r.Err, `there more than once "Record Type"`)
	r = billtest.One(t, accounting, addColumn(twice("Settlement Currency", "EUR"), "Settlement Currency", "EUR"))
	require.ErrorContains(t, r.Err, "there more than once")
}

func TestAccountingRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"a fee was changed", ",0.4,0.1,0.1,", ",0.4,0.1,0.2,", "gross 20 EUR × rate 1 − fees 0.7 = 19.3, but the net is 19.4 EUR"},
		{"a sign was lost", ",5,EUR,-5.2,", ",-5,EUR,-5.2,", "but the net is -5.2 EUR"},
		{"a conversion does not fit", ",0.0065,", ",0.0066,", "gross 2000 JPY × rate 0.0066 − fees 0.2 = 13, but the net is 12.8 EUR"},
		{"an unknown type", ",Refused,", ",Teleported,", `the record type "Teleported" is not known`},
		{"a step that moves money", ",-20,20,,,,,,,,,,20,\n", ",-20,20,EUR,1,,,,,,,,20,\n", "a record of type SentForSettle moves money (payable 1, fees 0)"},
		{"no amount at all", ",EUR,-20,,7.5,", ",EUR,,,7.5,", "neither an amount captured nor one payable is given"},
		{"nothing payable", ",-20,EUR,19.40,", ",-20,EUR,,", "no amount payable is given"},
		{"no reference", "9100000000000004,DB-4,visa,2024-01-12 09:00:00,CET,Chargeback,9200000000000004", ",,visa,2024-01-12 09:00:00,CET,Chargeback,", "no reference at all"},
		{"a column is missing", "Payable (SC)", "Payable", `columns missing "Payable (SC)"`},
		{"zone", "2024-01-11 09:00:00,CET,Settled,9200000000000001", "2024-01-11 09:00:00,XYZ,Settled,9200000000000001", `the zone "XYZ" is not known`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			content := strings.Replace(accounts, c.from, c.to, 1)
			require.NotEqual(t, accounts, content)
			r := billtest.One(t, accounting, content)
			require.True(t, r.Refused())
			said := strings.Join(r.Problems, "\n")
			if r.Err != nil {
				said += r.Err.Error()
			}
			require.Contains(t, said, c.want)
		})
	}
}

// B55: the report declares nothing of itself, so a cut between two lines cannot be told; every other one is refused.
func TestAccountingCut(t *testing.T) {
	t.Parallel()
	for n := range len(accounts) {
		if n > 0 && accounts[n-1] == '\n' {
			continue
		}
		r := billtest.Read(t, billtest.Doc{Format: accounting, Content: accounts[:n]})
		require.True(t, r.Refused(), "%d bytes: %q", n, accounts[max(0, n-40):n])
	}
}

func FuzzAccounting(f *testing.F) {
	f.Add([]byte(accounts))
	f.Add([]byte(strings.ReplaceAll(accounts, ",", "\t")))
	f.Fuzz(func(t *testing.T, content []byte) { billtest.Fuzz(t, accounting, content) })
}
