package adyen

import (
	"maps"

	"daybreak/pkg/source/bill"
)

// direction says what a word of Adyen is, by whether money came in or went out.
type direction struct{ in, out bill.Type }

func both(t bill.Type) direction { return direction{t, t} }

var (
	fees  = direction{bill.FeeRefund, bill.Fee}
	holds = direction{bill.Release, bill.Hold}
)

// paymentTypes are the events of payments, in lower case: Adyen's reports differ in it.
var paymentTypes = map[string]direction{
	"settled":                    both(bill.Payment),
	"settledexternally":          both(bill.Payment),
	"settledexternallywithinfo":  both(bill.Payment),
	"refunded":                   both(bill.Refund),
	"refundedexternally":         both(bill.Refund),
	"refundedexternallywithinfo": both(bill.Refund),
	"refundedreversed":           both(bill.Reversal),
	"chargeback":                 both(bill.Chargeback),
	"chargebackexternally":       both(bill.Chargeback),
	"secondchargeback":           both(bill.Chargeback),
	"chargebackreversed":         both(bill.ChargebackReversal),
}

// accountTypes are the events of an account. A payout that the bank sent back is a payout with the other sign.
var accountTypes = map[string]direction{
	"fee":                     fees,
	"misccosts":               fees,
	"invoicededuction":        fees,
	"paymentcost":             fees,
	"depositcorrection":       holds,
	"reserveadjustment":       holds,
	"matchedstatement":        both(bill.Adjustment),
	"manualcorrected":         both(bill.Adjustment),
	"bankinstructionreturned": both(bill.Payout),
	"balancetransfer":         both(bill.Transfer),
	"merchantpayout":          both(bill.Payout),
}

var (
	settlementTypes = merge(paymentTypes, accountTypes)
	accountingTypes = paymentTypes
)

// settlesElsewhere are payments whose money does not pass through Adyen.
var settlesElsewhere = map[string]bool{
	"settledexternally": true, "settledexternallywithinfo": true, "refundedexternally": true, "refundedexternallywithinfo": true,
	"chargebackexternally": true,
}

// lifeCycle are the record types of the accounting report that move no money of the merchant's.
var lifeCycle = map[string]bool{
	"received": true, "authorised": true, "sentforsettle": true, "refused": true, "cancelled": true, "expired": true, "error": true,
	"sentforrefund": true, "refundfailed": true, "capturefailed": true, "retried": true, "authorisedpending": true,
	"notificationofchargeback": true, "requestforinformation": true, "informationsupplied": true, "disputedefenseperiodended": true,
	"notificationoffraud": true,
}

func merge(tables ...map[string]direction) map[string]direction {
	out := map[string]direction{}
	for _, table := range tables {
		maps.Copy(out, table)
	}
	return out
}
