package stripe

import "daybreak/pkg/source/bill"

var types = []bill.Type{
	bill.Payment, bill.Refund, bill.Reversal, bill.Chargeback, bill.ChargebackReversal, bill.Fee, bill.FeeRefund, bill.Payout, bill.Topup,
	bill.Conversion, bill.Transfer, bill.Hold, bill.Release, bill.Adjustment,
}

// Formats are the bills that this package reads.
func Formats() []*bill.Format {
	return []*bill.Format{
		{
			Name: "stripe-report", Title: "Stripe itemized report", Attrs: reportAttrs, Types: types,
			Fits: fitsReport, Read: readReport,
		},
		{
			Name: "stripe-balance-transactions", Title: "Stripe balance transactions of the API", Attrs: listAttrs, Types: types,
			Fits: fitsList, Read: readList,
		},
	}
}
