// Package braintree reads what Braintree's API says of transactions and refunds (braintree-transactions) and of disputes
// (braintree-disputes). Braintree has no file: merchants write the objects of the API as they are into a JSON array, one
// per line, or a single one. Empty objects may stand as [].
//
// # Transactions
//
// An object is a payment; one with refundedTransaction is a refund. Its amount is positive whatever it is, in major units as
// text; the sign follows from the kind, and the disbursement, which is negative for a refund, must agree with it, also in
// figures where it is in the same currency. Only what is SETTLED has moved money; the other statuses are left out and
// counted, an unknown one is refused. Fees are in other reports of Braintree: rows have none, which is not 0.
//
// The order is the payment's orderId. A refund has an orderId of its own, which is the refund's number where the merchant
// gave it one and a copy of the payment's otherwise: it is the key. The batch is the settlementBatchId of the history.
//
// # Disputes
//
// A dispute is a case, not a movement. Its history says with a disbursementDate which of its events moved money:
//
//   - the disputed amount is gone when the case is LOST, ACCEPTED, AUTO_ACCEPTED or EXPIRED, or when any event but WON has
//     a disbursementDate: a chargeback;
//   - it has come back, as far as it was won, when the case is WON and it was gone or the event WON has a disbursementDate:
//     a chargeback and a reversal of it;
//   - everything else is left out and counted: open cases, cases won before any money moved, retrievals.
//
// A case that is lost but has an amount won contradicts itself and is refused, as is one that is won with nothing.
//
// Neither kind declares totals; the JSON says whether it is whole, except that objects on lines may be cut between lines.
package braintree

import (
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// Formats are the bills that this package reads.
func Formats() []*bill.Format {
	return []*bill.Format{
		{
			Name: "braintree-transactions", Title: "Braintree transactions and refunds of the API", Attrs: transactionAttrs,
			Types: []bill.Type{bill.Payment, bill.Refund}, Fits: fitsTransactions, Read: readTransactions,
		},
		{
			Name: "braintree-disputes", Title: "Braintree disputes of the API", Attrs: disputeAttrs,
			Types: []bill.Type{bill.Chargeback, bill.ChargebackReversal}, Fits: fitsDisputes, Read: readDisputes,
		},
	}
}

// Strangers are files of the same providers that are no bills.
func Strangers() []bill.Stranger {
	return []bill.Stranger{
		{
			Title:  "a batch report that other software made of Braintree's answers",
			Advice: "it has lost the statuses, the disbursements and the batches; deliver the objects as Braintree's API gives them",
			Fits: func(h bill.Head) bool {
				_, tracked := element(h)["contribution_tracking_id"]
				return tracked
			},
		},
		{
			Title:  "an answer of Braintree's GraphQL API with its envelope",
			Advice: "put the objects (each node of edges) into one array, from all pages",
			Fits: func(h bill.Head) bool {
				if !h.Begins("{") {
					return false
				}
				top := text.PeekJSON(h.Text).Top
				_, data := top["data"]
				return data && braintreeWords.MatchString(h.Text)
			},
		},
	}
}
