// Package square reads the entries of payouts that Square's API lists (square-payout-entries).
//
// A payout entry is one movement: gross, the fee that Square took of it, and the net that went into the payout. Gross − fee
// = net is checked on each, all three in one currency and in minor units as ISO counts them. Amounts are signed. What
// happened is told by the type, a word of a table here; an unknown one is refused, and so is a charge that takes money or a
// refund that brings it. Fees of their own (subscriptions, instant deposits) are lines whose amount is the net.
//
// Square does not list the merchant's order number with an entry. The key is Square's id of the refund, else of the
// payment, else of the dispute, else of the entry, so an order table must hold the payment id. The batch is the payout.
//
// The list declares no totals. It is whole when its JSON is and when it names no cursor: a cursor says that more follows.
// The last page of several has none either, so pages must be put together before they are delivered.
package square

import "daybreak/pkg/source/bill"

// Formats are the bills that this package reads.
func Formats() []*bill.Format {
	return []*bill.Format{{
		Name: "square-payout-entries", Title: "Square payout entries of the API", Attrs: attrs,
		Types: []bill.Type{
			bill.Payment, bill.Refund, bill.Chargeback, bill.ChargebackReversal, bill.Fee, bill.FeeRefund, bill.Payout, bill.Conversion,
			bill.Transfer, bill.Hold, bill.Release, bill.Adjustment,
		},
		Fits: fits, Read: read,
	}}
}

// Strangers are files of the same providers that are no bills.
func Strangers() []bill.Stranger {
	const entries = "deliver the entries of the day's payouts, GET /v2/payouts/{id}/payout-entries"
	return []bill.Stranger{
		{Title: "a list of payouts of Square", Advice: "it has one line per payout; " + entries, Fits: holds("payouts")},
		{Title: "a list of payments of Square", Advice: "it tells no fees and payouts; " + entries, Fits: holds("payments")},
		{Title: "a list of refunds of Square", Advice: "it tells no payouts; " + entries, Fits: holds("refunds")},
	}
}
