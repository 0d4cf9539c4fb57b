package mercadopago

import (
	"slices"

	"daybreak/pkg/source/bill"
)

// direction says what a word of Mercado Pago is, by whether money came in or went out.
type direction struct{ in, out bill.Type }

func both(t bill.Type) direction { return direction{t, t} }

// words are the values of TRANSACTION_TYPE, documented ones and some that only files have (PAYOUTS, SHIPPING, TRANSFER and
// the cancellations). A settlement with a negative amount is a payment that we made. Money in dispute is held until it ends.
var words = map[string]direction{
	"SETTLEMENT":          {bill.Payment, bill.Transfer},
	"SETTLEMENT_SHIPPING": {bill.Payment, bill.Transfer},
	"SHIPPING":            {bill.Payment, bill.Transfer},
	"REFUND":              both(bill.Refund),
	"REFUND_SHIPPING":     both(bill.Refund),
	"CHARGEBACK":          {bill.ChargebackReversal, bill.Chargeback},
	"CHARGEBACK_SHIPPING": {bill.ChargebackReversal, bill.Chargeback},
	"DISPUTE":             {bill.Release, bill.Hold},
	"DISPUTE_SHIPPING":    {bill.Release, bill.Hold},
	"WITHDRAWAL":          both(bill.Payout),
	"WITHDRAWAL_CANCEL":   both(bill.Payout),
	"PAYOUT":              both(bill.Payout),
	"PAYOUTS":             both(bill.Payout),
	"CASHBACK":            both(bill.Adjustment),
	"CASHBACK_CANCEL":     both(bill.Adjustment),
	"TRANSFER":            both(bill.Transfer),
}

func types() []bill.Type {
	var out []bill.Type
	for _, d := range words {
		out = append(out, d.in, d.out)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
