package adyen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var accountingAttrs = []string{
	"provider_type", "psp_reference", "modification_reference", "payment_method", "merchant_account",
	"net_currency", "net_amount", "fees_net", "exchange_rate", "original_amount",
}

var accountingNeeded = []string{
	"Psp Reference", "Merchant Reference", "Booking Date", "Record Type", "Modification Psp Reference",
	"Payment Currency", "Exchange Rate", "Captured (PC)", "Settlement Currency", "Payable (SC)",
	"Commission (SC)", "Markup (SC)", "Scheme Fees (SC)", "Interchange (SC)",
}

const (
	settlementCurrency = "Settlement Currency"
	currencyAgain      = "Settlement Currency (again)"
)

// renameCurrency gives the second of two columns Settlement Currency a name of its own. Any other double stays one.
func renameCurrency(names []string) []string {
	seen := false
	for i, n := range names {
		if bill.Fold(n) != bill.Fold(settlementCurrency) {
			continue
		}
		if seen {
			names[i] = currencyAgain
		}
		seen = true
	}
	return names
}

type accounting struct {
	*table
	clocks clocks
	fees   []int
	row    bill.Row
	attrs  [10]string
	steps  map[string]int // records left out, by type
}

func readAccounting(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	t, err := open(ctx, d, out, renameCurrency)
	if err != nil {
		return err
	}
	needed := accountingNeeded
	if d.Zone == nil {
		needed = append([]string{"TimeZone"}, needed...)
	}
	// Further columns are allowed: all that is read has to fit together, row by row.
	if err := t.Header.Check(needed, nil); err != nil {
		return &text.Error{Line: t.rec.First(), Column: 1, Msg: err.Error() + "; choose the standard columns of the payments accounting report in the Customer Area"}
	}
	a := &accounting{
		table: t, clocks: clocks{zone: d.Zone}, steps: map[string]int{},
		fees: t.columns("Commission (SC)", "Markup (SC)", "Scheme Fees (SC)", "Interchange (SC)"),
	}
	if err := t.each(a.take); err != nil {
		return err
	}
	a.remark()
	return nil
}

// remark tells how many steps were left out.
func (a *accounting) remark() {
	var parts []string
	total := 0
	for word, n := range a.steps {
		parts, total = append(parts, fmt.Sprintf("%d %s", n, word)), total+n
	}
	if total > 0 {
		slices.Sort(parts)
		a.Out.Remark("%d records are steps in the life of a payment that move no money, left out: %s", total, strings.Join(parts, ", "))
	}
}

// take reads one record.
func (a *accounting) take() error {
	at := a.Header.At
	if again := at(currencyAgain); again >= 0 && a.Text(again) != a.Text(at(settlementCurrency)) {
		a.Problem(again, fmt.Errorf("two columns Settlement Currency that differ, %q and %q: which one is meant cannot be told",
			text.Clip(a.Text(at(settlementCurrency)), 20), text.Clip(a.Text(again), 20)))
	}
	word := a.Text(at("Record Type"))
	folded := strings.ToLower(word)
	kind, known := accountingTypes[folded]
	if !known {
		a.leaveOut(word, lifeCycle[folded])
		return nil
	}
	r := &a.row
	*r = bill.Row{Line: a.rec.First(), Column: 1, Type: kind.in, Status: word, Batch: a.Ident(at("Payable Batch")), Attrs: a.attrs[:]}
	a.amounts(r, settlesElsewhere[folded])
	a.references(r, kind.in == bill.Payment)
	a.attrs[0], a.attrs[3], a.attrs[4] = word, a.Text(at("Payment Method")), a.Text(at("Merchant Account"))
	a.attrs[9] = a.Text(at("Original Amount"))
	var err error
	if r.OccurredAt, err = a.clocks.parse(a.Text(at("Booking Date")), a.Text(at("TimeZone"))); err != nil {
		a.Problem(at("Booking Date"), err)
	}
	return a.Out.Row(r)
}

// leaveOut counts a record that is a step, and refuses one that is not, or that moves money.
func (a *accounting) leaveOut(word string, step bool) {
	at := a.Header.At
	if !step {
		a.Problem(at("Record Type"), fmt.Errorf("the record type %q is not known: tell us what it means", text.Clip(word, 40)))
		return
	}
	if payable, taken := a.money(at("Payable (SC)")).Decimal, a.sum(a.fees); !payable.IsZero() || !taken.IsZero() {
		a.Problem(at("Payable (SC)"), fmt.Errorf("a record of type %s moves money (payable %s, fees %s), which such a step does not: tell us what it means",
			word, payable, taken))
	}
	a.steps[word]++
}

// amounts sets amount, currency, fee and their attributes.
func (a *accounting) amounts(r *bill.Row, elsewhere bool) {
	at := a.Header.At
	captured, payable := a.money(at("Captured (PC)")), a.money(at("Payable (SC)"))
	taken, rate, netCurrency := a.sum(a.fees), a.Text(at("Exchange Rate")), ""
	if payable.Valid || a.Text(at(settlementCurrency)) != "" {
		netCurrency = a.Currency(at(settlementCurrency))
	}
	a.attrs[5], a.attrs[6], a.attrs[7], a.attrs[8] = netCurrency, printed(payable), taken.String(), rate
	switch {
	case captured.Valid && !captured.Decimal.IsZero():
		r.Amount, r.Currency = captured.Decimal.Neg(), a.Currency(at("Payment Currency"))
	case payable.Valid:
		r.Amount, r.Currency, r.Fee = payable.Decimal.Add(taken), netCurrency, decimal.NewNullDecimal(taken)
		return
	default:
		a.Problem(at("Payable (SC)"), fmt.Errorf("neither an amount captured nor one payable is given"))
		return
	}
	if !payable.Valid {
		if !elsewhere {
			a.Problem(at("Payable (SC)"), fmt.Errorf("no amount payable is given"))
		}
		return
	}
	m := settles{r.Amount, r.Currency, rate, taken, payable.Decimal, netCurrency, elsewhere}
	if elsewhere && rate == "" && !m.oneCurrency() {
		return // Adyen prints no rate for what it does not convert
	}
	if m.oneCurrency() {
		r.Fee = decimal.NewNullDecimal(taken)
	}
	if err := m.check(); err != nil {
		a.Problem(at("Payable (SC)"), err)
	}
}

// references sets key, order and id.
func (a *accounting) references(r *bill.Row, payment bool) {
	at := a.Header.At
	psp, modification := a.Ident(at("Psp Reference")), a.Ident(at("Modification Psp Reference"))
	r.Order = a.Ident(at("Merchant Reference"))
	if own := a.Ident(at("Modification Merchant Reference")); !payment && real(own) {
		r.Key = own
	}
	r.Key = cmp.Or(r.Key, r.Order, modification, psp)
	if r.Key == "" {
		a.Problem(at("Psp Reference"), fmt.Errorf("the record has no reference at all"))
	}
	r.ID = psp + "/" + modification
	if psp == "" || modification == "" {
		r.ID = psp + modification
	}
	a.attrs[1], a.attrs[2] = psp, modification
}
