package razorpay

import (
	"fmt"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// figures are those of an item in major units, none of them negative.
type figures struct{ amount, fee, tax, credit, debit decimal.Decimal }

// fill checks the figures against each other and puts type, amount and fee into a row.
func (f figures) fill(row *bill.Row, kind string, disputed bool) error {
	comes := true
	switch kind {
	case "payment":
		row.Type = bill.Payment
	case "refund":
		row.Type, comes = bill.Refund, false
	case "transfer":
		row.Type, comes = bill.Transfer, false
	case "adjustment":
		row.Type, comes = bill.Adjustment, f.debit.IsZero()
		if disputed {
			row.Type = bill.Chargeback
			if comes {
				row.Type = bill.ChargebackReversal
			}
		}
	default:
		return fmt.Errorf("type %q is not known: what it means for the books must be settled before it is read; tell us", text.Clip(kind, 60))
	}
	row.Amount, row.Fee = f.amount, decimal.NewNullDecimal(f.fee)
	if !comes {
		row.Amount = f.amount.Neg()
	}
	net := row.Amount.Sub(f.fee)
	switch {
	case !f.credit.IsZero() && !f.debit.IsZero():
		return fmt.Errorf("credit %s and debit %s in one item: only one of them can be", f.credit, f.debit)
	case !f.credit.Sub(f.debit).Equal(net):
		return fmt.Errorf("a %s of amount %s with fee %s moves %s, but credit is %s and debit %s", kind, f.amount, f.fee, net, f.credit, f.debit)
	case f.tax.GreaterThan(f.fee):
		return fmt.Errorf("tax %s is more than fee %s, which includes it", f.tax, f.fee)
	}
	return nil
}
