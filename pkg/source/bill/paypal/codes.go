package paypal

import (
	"slices"
	"strconv"

	"daybreak/pkg/source/bill"
)

// event is what a code says: a type by direction, or that no money moves.
type event struct {
	credit, debit bill.Type
	still         bool
}

func both(t bill.Type) event { return event{credit: t, debit: t} }

var (
	// A payment that we make to another account is a transfer, not a customer's payment.
	payments    = event{credit: bill.Payment, debit: bill.Transfer}
	charges     = event{credit: bill.FeeRefund, debit: bill.Fee}
	holds       = event{credit: bill.Release, debit: bill.Hold}
	chargebacks = event{credit: bill.ChargebackReversal, debit: bill.Chargeback}
	refunds     = event{credit: bill.Transfer, debit: bill.Refund}
	still       = event{still: true}
)

// group is a run of codes of the same meaning: T, two digits of group, and two digits from first to last.
type group struct {
	code, first, last int
	event             event
}

// groups are the codes that PayPal publishes, and no others. Exceptions come after the run that they are in.
var groups = []group{
	{0, 0, 19, payments},                                          // payments from account to account
	{0, 15, 17, both(bill.Transfer)},                              // third-party payout, recoupment, store to store
	{0, 20, 20, both(bill.Adjustment)},                            // tax collected by a partner
	{0, 21, 22, payments},                                         // cryptocurrency, seller profiles
	{1, 0, 17, charges},                                           // fees that belong to no payment
	{2, 0, 2, both(bill.Conversion)},                              //
	{3, 0, 3, both(bill.Topup)},                                   // from our bank
	{4, 0, 3, both(bill.Payout)},                                  // to our bank
	{5, 0, 4, both(bill.Transfer)},                                // bought with PayPal's debit card
	{5, 5, 5, holds},                                              // authorisation of that card
	{6, 0, 0, both(bill.Payout)},                                  // back to our credit card
	{7, 0, 1, both(bill.Topup)},                                   // from our credit card
	{8, 0, 8, both(bill.Adjustment)},                              // bonus
	{9, 0, 5, both(bill.Adjustment)},                              // incentive
	{10, 0, 0, both(bill.Transfer)},                               // bills that we pay
	{11, 0, 0, both(bill.Reversal)},                               //
	{11, 1, 1, both(bill.Payout)},                                 // a payout comes back
	{11, 2, 2, both(bill.Transfer)},                               // of the debit card
	{11, 3, 3, both(bill.Adjustment)},                             // points
	{11, 4, 4, both(bill.Topup)},                                  // a topup goes back
	{11, 5, 5, holds},                                             //
	{11, 6, 6, both(bill.Reversal)},                               // by PayPal
	{11, 7, 7, refunds},                                           // by the merchant
	{11, 8, 9, charges},                                           // fees given back
	{11, 10, 11, holds},                                           // for disputes
	{11, 12, 12, both(bill.Transfer)},                             // cancelled transfer
	{11, 13, 13, event{credit: bill.Payment, debit: bill.Refund}}, // credit without reference
	{11, 14, 15, both(bill.Transfer)},                             // mass payments that come back
	{11, 16, 16, both(bill.Reversal)},                             // instant payment review
	{11, 17, 17, both(bill.Adjustment)},                           // rebate
	{11, 18, 18, both(bill.Reversal)},                             // open wallet, as seller
	{11, 19, 19, both(bill.Transfer)},                             // open wallet, as buyer
	{12, 0, 0, both(bill.Adjustment)},                             //
	{12, 1, 2, chargebacks},                                       //
	{12, 3, 4, both(bill.Adjustment)},                             // charge-off, incentive
	{12, 5, 5, chargebacks},                                       //
	{12, 7, 8, chargebacks},                                       //
	{13, 0, 2, still},                                             // authorisations
	{14, 0, 0, both(bill.Adjustment)},                             // dividend
	{15, 0, 3, holds},                                             //
	{16, 0, 3, both(bill.Topup)},                                  // from buyer credit
	{17, 0, 1, both(bill.Payout)},                                 // to others than banks
	{18, 0, 1, both(bill.Payout)},                                 // to buyer credit
	{19, 0, 0, both(bill.Adjustment)},                             //
	{20, 0, 4, both(bill.Transfer)},                               // between accounts
	{21, 1, 13, holds},                                            // reserves
	{21, 15, 15, holds},                                           // tax hold
	{22, 1, 1, both(bill.Transfer)},                               // restricted balance
	{30, 0, 0, payments},                                          // open wallet
	{50, 0, 1, holds},                                             // deferred disbursement
	{97, 0, 2, both(bill.Adjustment)},                             // payables and receivables
	{98, 0, 0, still},                                             // display only
	{99, 0, 0, both(bill.Adjustment)},                             // other
}

// uncategorised is a code that says nothing of what happened.
const uncategorised = "T9900"

// events are the codes by their text.
var events = func() map[string]event {
	out := map[string]event{}
	for _, g := range groups {
		for n := g.first; n <= g.last; n++ {
			out["T"+two(g.code)+two(n)] = g.event
		}
	}
	return out
}()

func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// types lists what the codes can yield.
func types() []bill.Type {
	var out []bill.Type
	for _, g := range groups {
		if !g.event.still {
			out = append(out, g.event.credit, g.event.debit)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// moved says of every status of TRR whether money moved.
var moved = map[string]bool{"S": true, "V": true, "F": true, "P": false, "D": false}
