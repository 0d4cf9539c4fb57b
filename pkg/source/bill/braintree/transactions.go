package braintree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var transactionAttrs = []string{
	"legacy_id", "parent_id", "parent_legacy_id", "merchant_account", "settled_at", "disbursed_on", "disbursed_amount", "disbursed_currency", "funds_held",
}

// statuses are those of a payment; true means that money has moved.
var statuses = map[string]bool{
	"SETTLED": true,

	"AUTHORIZATION_EXPIRED": false, "AUTHORIZED": false, "AUTHORIZING": false, "FAILED": false, "GATEWAY_REJECTED": false,
	"PROCESSOR_DECLINED": false, "SETTLEMENT_CONFIRMED": false, "SETTLEMENT_DECLINED": false, "SETTLEMENT_PENDING": false, "SETTLING": false,
	"SUBMITTED_FOR_SETTLEMENT": false, "VOIDED": false,
}

type transactions struct{ objects }

func readTransactions(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	t := &transactions{objects{Members: bill.Members{Out: out}}}
	t.object = t.transaction
	return t.read(ctx, d, "a transaction or refund")
}

func (t *transactions) transaction(v *text.JSONValue) error {
	if v.Get("amountDisputed") != nil {
		t.Problem(v, errors.New("a dispute among transactions: deliver disputes in a file of their own, as braintree-disputes"), "amountDisputed")
		return nil
	}
	row := &t.row
	row.Status = t.Word(v, "status")
	moved, known := statuses[row.Status]
	if !known {
		if row.Status != "" {
			t.Problem(v, fmt.Errorf("status %q is not known: whether it moved money must be settled before it is read; tell us", text.Clip(row.Status, 60)), "status")
		}
		return nil
	}
	if !moved && t.wasDisbursed(v) {
		t.Problem(v, fmt.Errorf("status %s says that no money moved, but disbursementDetails say when it was paid out", row.Status), "status")
		return nil
	}
	if !moved {
		t.left[row.Status]++
		return nil
	}
	parent := t.objectAt(v, "refundedTransaction")
	row.Type, row.Amount, row.Currency = bill.Payment, t.Major(v, "amount", "value"), t.Currency(v, "amount", "currencyCode")
	if row.Amount.IsNegative() {
		t.Problem(v, fmt.Errorf("%s: Braintree writes amounts without a sign", row.Amount), "amount", "value")
	}
	if parent != nil {
		row.Type, row.Amount = bill.Refund, row.Amount.Neg()
	}
	if name := t.Text(v, "__typename"); name != "" && (name == "Refund") != (parent != nil) {
		t.Problem(v, fmt.Errorf("%q, but refundedTransaction says the contrary", text.Clip(name, 40)), "__typename")
	}
	on, amount, currency, held := t.disbursement(v)
	row.ID, row.OccurredAt = t.Ident(v, "id"), t.Instant(v, "createdAt")
	if row.OccurredAt.IsZero() {
		t.Word(v, "createdAt")
	}
	t.Word(v, "id")
	t.Out.Once(row.ID, v.Line, v.Column)
	var settledAt string
	row.Batch, settledAt = t.batch(v)
	row.Key = cmp.Or(t.Ident(v, "orderId"), t.Ident(parent, "orderId"), row.ID)
	row.Order = cmp.Or(t.Ident(parent, "orderId"), row.Key)
	if row.Key == "" {
		t.Problem(v, errors.New("is missing"), "id")
		return nil
	}
	row.Attrs = append(row.Attrs, t.Ident(v, "legacyId"), t.Ident(parent, "id"), t.Ident(parent, "legacyId"), t.Ident(v, "merchantAccountId"),
		settledAt, on, amount, currency, held)
	return t.Out.Row(row)
}

// wasDisbursed reports whether an object names the day on which its money went to the bank.
func (t *transactions) wasDisbursed(v *text.JSONValue) bool {
	at := v.Get("disbursementDetails")
	return at != nil && at.Kind == text.JSONObject && !at.Get("date").None()
}

// disbursement is what went to the bank, which must have the sign of the row, and its figure where the currency is its.
func (t *transactions) disbursement(v *text.JSONValue) (on, amount, currency, held string) {
	at := t.objectAt(v, "disbursementDetails")
	if at == nil {
		return "", "", "", ""
	}
	on = t.Text(at, "date")
	if flag := at.Get("fundsHeld"); flag != nil && flag.Kind == text.JSONBool {
		held = flag.Text
	}
	money := t.objectAt(at, "amount")
	if money == nil {
		return on, "", "", held
	}
	row := &t.row
	var d decimal.Decimal
	d, currency = t.Major(money, "value"), t.Currency(money, "currencyCode")
	if currency == row.Currency && !d.Equal(row.Amount) || d.Sign()*row.Amount.Sign() < 0 {
		t.Problem(at, fmt.Errorf("%s %s were disbursed for a %s of %s %s", d, currency, row.Type, row.Amount, row.Currency), "amount")
	}
	return on, d.String(), currency, held
}

// batch is the settlement batch that the history names, and when it was.
func (t *transactions) batch(v *text.JSONValue) (id, at string) {
	for _, e := range t.history(v) {
		switch s := t.Ident(e, "settlementBatchId"); {
		case s == "" || s == id:
		case id == "":
			id = s
			if when := t.Instant(e, "timestamp"); !when.IsZero() {
				at = when.Format(time.RFC3339)
			}
		default:
			t.Problem(e, fmt.Errorf("%q here and %q in another event: in which batch it was settled cannot be told", text.Clip(s, 60), text.Clip(id, 60)), "settlementBatchId")
		}
	}
	return id, at
}
