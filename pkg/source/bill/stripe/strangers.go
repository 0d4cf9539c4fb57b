package stripe

import (
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

const runItemized = "run the report balance_change_from_activity.itemized or payout_reconciliation.itemized with the columns balance_transaction_id, " +
	"created_utc, currency, gross, fee, net, reporting_category, source_id, payment_intent_id and the metadata that holds the order number"

// Strangers are files of Stripe that are no bills.
func Strangers() []bill.Stranger {
	return []bill.Stranger{
		{Title: "a Stripe summary report", Advice: runItemized, Fits: has("reporting_category", "count", "gross", "net")},
		{Title: "a Stripe summary report", Advice: runItemized, Fits: has("category", "description", "net_amount", "currency")},
		{Title: "a Stripe report of payouts", Advice: "it has one line per payout; " + runItemized, Fits: func(h bill.Head) bool {
			header, _ := headerOf(h)
			return isPayouts(header)
		}},
		{
			Title: "payments exported from Stripe's dashboard", Advice: "it lacks what is no payment, and its lines change with refunds; " + runItemized,
			Fits: has("id", "amount", "amount refunded", "currency"),
		},
		{
			Title: "the balance history exported from Stripe's dashboard", Advice: "it names no reporting category; " + runItemized,
			Fits: has("id", "type", "source", "amount", "fee", "net"),
		},
		{Title: "payouts exported from Stripe's dashboard", Advice: runItemized, Fits: has("id", "amount", "arrival date (utc)")},
		{
			Title: "an event that Stripe sent to a webhook", Advice: "it tells of one change; deliver the list /v1/balance_transactions",
			Fits: object("event"),
		},
		{
			Title: "objects of Stripe's API other than balance transactions", Advice: "they do not say what Stripe took; deliver the list /v1/balance_transactions",
			Fits: object("charge", "refund", "payout", "payment_intent", "invoice", "dispute", "transfer", "checkout.session"),
		},
	}
}

// isPayouts knows the report payouts.itemized, whose lines are payouts with the instant effective_at.
func isPayouts(h *bill.Header) bool {
	return h.Has("payout_id") && h.At("effective_at", "effective_at_utc") >= 0 && h.At("created", "created_utc") < 0
}

func has(names ...string) func(bill.Head) bool {
	return func(h bill.Head) bool {
		header, _ := headerOf(h)
		return header.Has(names...)
	}
}

func object(kinds ...string) func(bill.Head) bool {
	return func(h bill.Head) bool {
		p := text.PeekJSON(h.Text, "data")
		for _, k := range kinds {
			if p.Element["object"] == k || p.Top["object"] == k {
				return true
			}
		}
		return false
	}
}
