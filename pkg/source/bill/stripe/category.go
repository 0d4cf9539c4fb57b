package stripe

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// rule says what a reporting category is when money comes and when it goes; "" means that it cannot.
type rule struct{ comes, goes bill.Type }

func either(t bill.Type) rule { return rule{t, t} }

var (
	feeRule  = rule{comes: bill.FeeRefund, goes: bill.Fee}
	holdRule = rule{comes: bill.Release, goes: bill.Hold}
)

// categories are all reporting categories that are public, of payments, the balance, Connect and Issuing.
var categories = map[string]rule{
	"charge":                   {comes: bill.Payment},
	"charge_failure":           {goes: bill.Reversal}, // a pending payment that was credited before
	"partial_capture_reversal": {goes: bill.Reversal},
	"refund":                   {goes: bill.Refund},
	"refund_failure":           {comes: bill.Reversal},
	"dispute":                  {goes: bill.Chargeback},
	"dispute_reversal":         {comes: bill.ChargebackReversal},

	"fee":          feeRule,
	"network_cost": feeRule,
	"tax":          feeRule,

	"payout":          {goes: bill.Payout},
	"payout_reversal": {comes: bill.Payout},
	"topup":           {comes: bill.Topup},
	"topup_reversal":  {goes: bill.Topup},

	"payout_minimum_balance_hold":     {goes: bill.Hold},
	"payout_minimum_balance_release":  {comes: bill.Release},
	"payment_network_reserve_hold":    {goes: bill.Hold},
	"payment_network_reserve_release": {comes: bill.Release},
	"risk_reserved_funds":             holdRule, // one word for both ways
	"connect_reserved_funds":          holdRule,
	"issuing_authorization_hold":      {goes: bill.Hold},
	"issuing_authorization_release":   {comes: bill.Release},

	"transfer":                    either(bill.Transfer),
	"transfer_reversal":           either(bill.Transfer),
	"connect_collection_transfer": either(bill.Transfer),
	"platform_earning":            either(bill.Transfer),
	"platform_earning_refund":     either(bill.Transfer),
	"platform_fee_transfer":       either(bill.Transfer),
	"tax_fund":                    either(bill.Transfer),
	"currency_conversion":         either(bill.Conversion),

	"other_adjustment":                            either(bill.Adjustment),
	"advance":                                     either(bill.Adjustment),
	"advance_funding":                             either(bill.Adjustment),
	"anticipation_repayment":                      either(bill.Adjustment),
	"climate_order_purchase":                      either(bill.Adjustment),
	"climate_order_refund":                        either(bill.Adjustment),
	"contribution":                                either(bill.Adjustment),
	"fee_credit_funding":                          either(bill.Adjustment),
	"financing_paydown":                           either(bill.Adjustment),
	"financing_paydown_reversal":                  either(bill.Adjustment),
	"financing_payout":                            either(bill.Adjustment),
	"financing_payout_reversal":                   either(bill.Adjustment),
	"issuing_disbursement":                        either(bill.Adjustment),
	"issuing_dispute":                             either(bill.Adjustment),
	"issuing_dispute_fraud_liability_debit":       either(bill.Adjustment),
	"issuing_dispute_provisional_credit":          either(bill.Adjustment),
	"issuing_dispute_provisional_credit_reversal": either(bill.Adjustment),
	"issuing_transaction":                         either(bill.Adjustment),
	"revenue_share":                               either(bill.Adjustment),
	"reward":                                      either(bill.Adjustment),
	"stripe_balance_payment_debit":                either(bill.Adjustment),
	"stripe_balance_payment_debit_reversal":       either(bill.Adjustment),
	"tax_withholding":                             either(bill.Adjustment),
	"unreconciled_customer_funds":                 either(bill.Adjustment),
}

// money is the figures of a line in major units.
type money struct{ gross, fee, net decimal.Decimal }

// check holds the figures against each other.
func (m money) check() error {
	if m.gross.Sub(m.fee).Equal(m.net) {
		return nil
	}
	return fmt.Errorf("gross %s − fee %s = %s, but net is %s: fetch the report again and do not edit it", m.gross, m.fee, m.gross.Sub(m.fee), m.net)
}

// fill puts type, amount and fee of a line into a row.
func (m money) fill(row *bill.Row, category string) error {
	r, known := categories[category]
	if !known {
		return fmt.Errorf("reporting category %q is not known: what it means for the books must be settled before it is read; tell us", text.Clip(category, 60))
	}
	row.Amount, row.Fee = m.gross, decimal.NewNullDecimal(m.fee)
	if r == feeRule {
		row.Amount, row.Fee = m.net, decimal.NullDecimal{}
	}
	way := "brings"
	row.Type = r.comes
	if row.Amount.IsNegative() || row.Amount.IsZero() && r.goes != "" {
		way, row.Type = "takes", r.goes
	}
	if row.Type == "" {
		return fmt.Errorf("a %s of %s: this category never %s money", category, row.Amount, way)
	}
	return nil
}

// counts sums the net of all lines by currency.
type counts map[string]decimal.Decimal

func (c counts) add(currency string, net decimal.Decimal) { c[currency] = c[currency].Add(net) }

func (c counts) tell(out *bill.Out) {
	for _, currency := range slices.Sorted(maps.Keys(c)) {
		out.Count("net "+currency, c[currency])
	}
}
