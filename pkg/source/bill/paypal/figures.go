package paypal

import (
	"slices"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
)

// figures are what rows of one currency sum up to, and what a footer declares of them. The fields are in the order of
// the footer.
type figures struct {
	sums      [4]decimal.Decimal // credits, debits, fee credits, fee debits
	n         int
	converted bool // a change of currency is among them
}

var sumNames = [4]string{"gross credits", "gross debits", "fee credits", "fee debits"}

// goneAway reports whether nothing is left of a currency because it was changed into another.
func (f *figures) goneAway() bool {
	return f.converted && f.sums[0].Sub(f.sums[1]).Add(f.sums[2]).Sub(f.sums[3]).IsZero()
}

// ledger sums up by currency: all records, and those of them that moved money.
type ledger struct {
	all, money map[string]*figures
	footers    map[string]bool
}

func newLedger() *ledger {
	return &ledger{all: map[string]*figures{}, money: map[string]*figures{}, footers: map[string]bool{}}
}

func figuresOf(m map[string]*figures, currency string) *figures {
	f := m[currency]
	if f == nil {
		f = &figures{}
		m[currency] = f
	}
	return f
}

// movement is one record as the footers see it.
type movement struct {
	amount      decimal.Decimal // signed
	currency    string
	fee         decimal.Decimal // signed as the amount is: negative when taken
	feeCurrency string
	converts    bool
}

// add counts a record.
func (l *ledger) add(m movement, money bool) {
	sets := []map[string]*figures{l.all}
	if money {
		sets = append(sets, l.money)
	}
	for _, set := range sets {
		f := figuresOf(set, m.currency)
		f.n++
		f.converted = f.converted || m.converts
		put(f, 0, m.amount)
		if !m.fee.IsZero() {
			put(figuresOf(set, m.feeCurrency), 2, m.fee)
		}
	}
}

// put adds a signed amount to the credits at i or the debits after it.
func put(f *figures, i int, amount decimal.Decimal) {
	if amount.IsNegative() {
		i++
	}
	f.sums[i] = f.sums[i].Add(amount.Abs())
}

// declare sets a footer beside what was counted. A detail report may count the records that moved no money too: where its
// footer has all of their figures, those are meant.
func (l *ledger) declare(out *bill.Out, where string, line int, currency string, declared figures) {
	counted := figuresOf(l.money, currency)
	if all := figuresOf(l.all, currency); same(*all, declared) {
		counted = all
	}
	l.footers[currency] = true
	for i, name := range sumNames {
		out.Declare(where+" "+currency+" "+name, line, declared.sums[i])
		out.Count(where+" "+currency+" "+name, counted.sums[i])
	}
	name := where + " " + currency + " transactions"
	out.Declare(name, line, decimal.NewFromInt(int64(declared.n)))
	out.Count(name, decimal.NewFromInt(int64(counted.n)))
}

func same(a, b figures) bool {
	for i := range a.sums {
		if !a.sums[i].Equal(b.sums[i]) {
			return false
		}
	}
	return a.n == b.n
}

// without are the currencies of rows that have no footer and should have one.
func (l *ledger) without() []string {
	var out []string
	for currency, f := range l.money {
		if (f.n > 0 || !same(*f, figures{})) && !l.footers[currency] && !f.goneAway() {
			out = append(out, currency)
		}
	}
	slices.Sort(out)
	return out
}
