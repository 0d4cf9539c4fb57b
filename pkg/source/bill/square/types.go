package square

import (
	"fmt"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// rule says what a type of entry is when money comes and when it goes; "" means that it cannot.
type rule struct{ comes, goes bill.Type }

func either(t bill.Type) rule { return rule{t, t} }

var (
	feeRule     = rule{comes: bill.FeeRefund, goes: bill.Fee}
	holdRule    = rule{comes: bill.Release, goes: bill.Hold}
	disputeRule = rule{comes: bill.ChargebackReversal, goes: bill.Chargeback}
)

// kinds are all types of activity that Square's SDKs name.
var kinds = map[string]rule{
	"CHARGE":       {comes: bill.Payment},
	"REFUND":       {goes: bill.Refund},
	"DISPUTE":      disputeRule,
	"OPEN_DISPUTE": disputeRule,

	"FEE": feeRule, "PROCESSING_FEE": feeRule, "PROCESSING_FEE_REFUND": feeRule, "UNDO_PROCESSING_FEE_REFUND": feeRule,
	"FREE_PROCESSING": feeRule, "TAX_ON_FEE": feeRule, "DEPOSIT_FEE": feeRule, "DEPOSIT_FEE_REVERSED": feeRule,
	"PAID_SERVICE_FEE": feeRule, "PAID_SERVICE_FEE_REFUND": feeRule, "SUBSCRIPTION_FEE": feeRule, "SUBSCRIPTION_FEE_REFUND": feeRule,
	"SUBSCRIPTION_FEE_PAID_REFUND": feeRule, "THIRD_PARTY_FEE": feeRule, "THIRD_PARTY_FEE_REFUND": feeRule, "GIFT_CARD_LOAD_FEE": feeRule,
	"GIFT_CARD_LOAD_FEE_REFUND": feeRule, "UNDO_GIFT_CARD_LOAD_FEE_REFUND": feeRule, "LOCAL_OFFERS_FEE": feeRule,

	"HOLD_ADJUSTMENT": holdRule, "RELEASE_ADJUSTMENT": holdRule, "RESERVE_HOLD": holdRule, "RESERVE_RELEASE": holdRule,

	"PAYOUT": either(bill.Payout), "RETURNED_PAYOUT": either(bill.Payout),

	"APP_FEE_REVENUE": either(bill.Transfer), "APP_FEE_REFUND": either(bill.Transfer), "AUTOMATIC_SAVINGS": either(bill.Transfer),
	"AUTOMATIC_SAVINGS_REVERSED": either(bill.Transfer), "MONEY_TRANSFER": either(bill.Transfer), "MONEY_TRANSFER_REVERSAL": either(bill.Transfer),
	"BALANCE_FOLDERS_TRANSFER": either(bill.Transfer), "BALANCE_FOLDERS_TRANSFER_REVERSED": either(bill.Transfer),
	"GIFT_CARD_POOL_TRANSFER": either(bill.Transfer), "GIFT_CARD_POOL_TRANSFER_REVERSED": either(bill.Transfer),
	"SQUARE_PAYROLL_TRANSFER": either(bill.Transfer), "SQUARE_PAYROLL_TRANSFER_REVERSED": either(bill.Transfer),

	"AUTOMATIC_BITCOIN_CONVERSIONS": either(bill.Conversion), "AUTOMATIC_BITCOIN_CONVERSIONS_REVERSED": either(bill.Conversion),

	"ADJUSTMENT": either(bill.Adjustment), "OTHER": either(bill.Adjustment), "OTHER_ADJUSTMENT": either(bill.Adjustment),
	"ESCHEATMENT": either(bill.Adjustment), "INITIAL_BALANCE_CHANGE": either(bill.Adjustment), "REDEMPTION_CODE": either(bill.Adjustment),
	"SQUARE_CAPITAL_PAYMENT": either(bill.Adjustment), "SQUARE_CAPITAL_REVERSED_PAYMENT": either(bill.Adjustment),
	"CREDIT_CARD_REPAYMENT": either(bill.Adjustment), "CREDIT_CARD_REPAYMENT_REVERSED": either(bill.Adjustment),
	"LOCAL_OFFERS_CASHBACK": either(bill.Adjustment), "PERCENTAGE_PROCESSING_ENROLLMENT": either(bill.Adjustment),
	"PERCENTAGE_PROCESSING_DEACTIVATION": either(bill.Adjustment), "PERCENTAGE_PROCESSING_REPAYMENT": either(bill.Adjustment),
	"PERCENTAGE_PROCESSING_REPAYMENT_REVERSED": either(bill.Adjustment),
}

// figures puts type, amount and fee into a row.
func figures(row *bill.Row, kind string, gross, fee, net decimal.Decimal) error {
	r, known := kinds[kind]
	if !known {
		return fmt.Errorf("type %q is not known: what it means for the books must be settled before it is read; tell us", text.Clip(kind, 60))
	}
	row.Amount, row.Fee = gross, decimal.NewNullDecimal(fee)
	if r == feeRule {
		row.Amount, row.Fee = net, decimal.NullDecimal{}
	}
	way := "brings"
	row.Type = r.comes
	if row.Amount.IsNegative() || row.Amount.IsZero() && r.goes != "" {
		way, row.Type = "takes", r.goes
	}
	if row.Type == "" {
		return fmt.Errorf("a %s of %s: this type never %s money", kind, row.Amount, way)
	}
	return nil
}
