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

var disputeAttrs = []string{"legacy_id", "case_number", "provider_type", "transaction_id", "transaction_legacy_id", "received_on", "disbursed_on"}

// outcome says how a case stands.
type outcome uint8

const (
	undecided outcome = iota
	gone
	won
)

var outcomes = map[string]outcome{
	"OPEN": undecided, "UNDER_REVIEW": undecided, "DISPUTED": undecided,
	"LOST": gone, "ACCEPTED": gone, "AUTO_ACCEPTED": gone, "EXPIRED": gone,
	"WON": won,
}

type disputes struct {
	objects
	kind string // of the case that is read
	how  outcome
}

func readDisputes(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	c := &disputes{objects: objects{Members: bill.Members{Out: out}}}
	c.object = c.dispute
	return c.read(ctx, d, "a dispute")
}

func (c *disputes) dispute(v *text.JSONValue) error {
	row := &c.row
	kind := c.Word(v, "type")
	row.Status = c.Word(v, "status")
	how, known := outcomes[row.Status]
	switch {
	case kind == "" || row.Status == "":
		return nil
	case !known:
		c.Problem(v, fmt.Errorf("status %q is not known: whether it moved money must be settled before it is read; tell us", text.Clip(row.Status, 60)), "status")
		return nil
	case kind != "CHARGEBACK" && kind != "PRE_ARBITRATION" && kind != "RETRIEVAL":
		c.Problem(v, fmt.Errorf("type %q is not known: whether it moves money must be settled before it is read; tell us", text.Clip(kind, 60)), "type")
		return nil
	}
	took, gave := c.movements(v)
	if how == gone && took == nil && kind != "RETRIEVAL" {
		took = c.decided(v, row.Status)
	}
	if took == nil && gave == nil {
		c.left[row.Status+" "+kind]++
		return nil
	}
	c.kind, c.how = kind, how
	return c.rows(v, took, gave)
}

// movements are the events that took the money and that returned it, the first of each; nil where none is said to have.
func (c *disputes) movements(v *text.JSONValue) (took, gave *text.JSONValue) {
	for _, e := range c.history(v) {
		status := c.Word(e, "status")
		how, known := outcomes[status]
		switch {
		case !known && status != "":
			c.Problem(e, fmt.Errorf("status %q is not known", text.Clip(status, 60)), "status")
		case e.Get("disbursementDate").None() || status == "":
		case how == won && gave == nil:
			gave = e
		case how != won && took == nil:
			took = e
		}
	}
	return took, gave
}

// decided is the event at which a case was lost; the case itself when the history does not have it.
func (c *disputes) decided(v *text.JSONValue, status string) *text.JSONValue {
	for _, e := range c.history(v) {
		if c.Text(e, "status") == status {
			return e
		}
	}
	return v
}

// rows hands on the chargeback and, for a case that was won, its reversal. The events that moved the money may be nil where
// the case alone says that it moved.
func (c *disputes) rows(v, took, gave *text.JSONValue) error {
	row, how := &c.row, c.how
	c.Word(v, "id")
	c.Out.Once(c.Ident(v, "id"), v.Line, v.Column)
	disputed, wonAmount := c.Major(v, "amountDisputed", "value"), decimal.Decimal{}
	row.Currency = c.Currency(v, "amountDisputed", "currencyCode")
	if at := c.objectAt(v, "amountWon"); at != nil {
		wonAmount = c.Major(at, "value")
		if currency := c.Currency(at, "currencyCode"); currency != row.Currency && row.Currency != "" && currency != "" {
			c.Problem(at, fmt.Errorf("%s, but the disputed amount is in %s", currency, row.Currency), "currencyCode")
		}
	}
	switch {
	case disputed.IsNegative() || wonAmount.IsNegative():
		c.Problem(v, errors.New("an amount below zero: Braintree writes amounts without a sign"), "amountDisputed")
	case how == won && !wonAmount.IsPositive():
		c.Problem(v, fmt.Errorf("the case is won, but the amount won is %s", wonAmount), "amountWon")
	case how == gone && wonAmount.IsPositive():
		c.Problem(v, fmt.Errorf("the case is %s, but %s of %s were won: it contradicts itself; fetch it again", row.Status, wonAmount, disputed), "amountWon")
	case wonAmount.GreaterThan(disputed):
		c.Problem(v, fmt.Errorf("%s were won of %s", wonAmount, disputed), "amountWon")
	case how != won && gave != nil:
		c.Problem(v, fmt.Errorf("the case is %s, but its history returned the money", row.Status), "status")
	}
	if err := c.hand(v, took, bill.Chargeback, disputed.Neg()); err != nil || how != won {
		return err
	}
	return c.hand(v, gave, bill.ChargebackReversal, wonAmount)
}

func (c *disputes) hand(v, e *text.JSONValue, what bill.Type, amount decimal.Decimal) error {
	row := &c.row
	row.Type, row.Amount, row.ID = what, amount, c.Ident(v, "id")
	row.Key = cmp.Or(c.Ident(v, "transaction", "orderId"), row.ID)
	row.Order = row.Key
	if row.Key == "" {
		c.Problem(v, errors.New("is missing"), "id")
		return nil
	}
	row.OccurredAt = c.when(v, e)
	row.Attrs = append(row.Attrs[:0], c.Ident(v, "legacyId"), c.Ident(v, "caseNumber"), c.kind, c.Ident(v, "transaction", "id"),
		c.Ident(v, "transaction", "legacyId"), c.Text(v, "receivedDate"), c.Text(e, "disbursementDate"))
	return c.Out.Row(row)
}

// when is the time of the event, else that of the case.
func (c *disputes) when(v, e *text.JSONValue) time.Time {
	if e != nil && e != v {
		if t := c.Instant(e, "timestamp"); !t.IsZero() {
			return t
		}
	}
	return c.Instant(v, "createdAt")
}
