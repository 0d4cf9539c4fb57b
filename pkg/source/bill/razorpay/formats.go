// Package razorpay reads the combined reconciliation list of Razorpay's settlements API (razorpay-recon).
//
// An item is one entity of a settlement: a payment, a refund, a transfer to a linked account or an adjustment. Its amount
// is positive whatever it does; credit and debit say which way the money went and how much of it, in subunits as ISO counts
// them. At most one of the two is not zero, and fee includes the tax on it:
//
//	payment               credit − debit = amount − fee
//	refund, transfer      debit − credit = amount + fee
//	adjustment            the one or the other
//
// which is checked on each item. An adjustment that names a dispute is the chargeback or its return. An unknown type is
// refused.
//
// The merchant's order number is the receipt of the order, else the value under a name that means an order in the notes
// (a string of JSON, or null); without either it is Razorpay's id of the order, then of the payment, then of the entity.
// Refunds carry no number of the merchant's. The batch is the settlement.
//
// count must be the number of items. A list of 1,000 items in an envelope is refused: that is the most that one page holds.
package razorpay

import "daybreak/pkg/source/bill"

// Formats are the bills that this package reads.
func Formats() []*bill.Format {
	return []*bill.Format{{
		Name: "razorpay-recon", Title: "Razorpay combined settlement recon of the API", Attrs: attrs,
		Types: []bill.Type{bill.Payment, bill.Refund, bill.Transfer, bill.Adjustment, bill.Chargeback, bill.ChargebackReversal},
		Fits:  fits, Read: read,
	}}
}

// Strangers are files of the same providers that are no bills.
func Strangers() []bill.Stranger {
	const recon = "deliver the list /v1/settlements/recon/combined of the day"
	return []bill.Stranger{
		{Title: "a list of settlements of Razorpay", Advice: "it has one line per settlement; " + recon, Fits: isEntity("settlement")},
		{Title: "a list of payments, orders or refunds of Razorpay", Advice: "it does not say what was settled; " + recon, Fits: isEntity("payment", "order", "refund")},
	}
}
