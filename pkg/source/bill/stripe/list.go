package stripe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var listAttrs = []string{
	"order_no", "payment_intent_id", "charge_id", "source_id", "provider_type", "reporting_category", "net", "description",
}

const exponents bill.Exponents = "stripe-api"

// fitsList knows balance transactions by what the API calls them, and an empty list of them by its address.
func fitsList(h bill.Head) bool {
	if !h.Begins("{") && !h.Begins("[") {
		return false
	}
	p := text.PeekJSON(h.Text, "data")
	_, category := p.Element["reporting_category"]
	_, net := p.Element["net"]
	return h.IsEmptyArray() || p.Element["object"] == "balance_transaction" || category && net ||
		p.Top["data"] == "[]" && strings.HasPrefix(p.Top["url"], "/v1/balance_transactions")
}

type list struct {
	bill.Members
	counts counts
	row    bill.Row
}

func readList(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	j, err := d.JSON("data")
	if err != nil {
		return err
	}
	l := &list{Members: bill.Members{Out: out}, counts: counts{}}
	for {
		v, err := j.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		l.row = bill.Row{Line: v.Line, Column: v.Column, Attrs: l.row.Attrs[:0]}
		if err := l.element(v); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	l.counts.tell(out)
	if j.Enveloped() {
		l.wholeness(j.Envelope())
	}
	return nil
}

// wholeness asks the list whether it is all.
func (l *list) wholeness(envelope *text.JSONValue) {
	switch more := envelope.Get("has_more"); {
	case more == nil || more.Kind != text.JSONBool:
		l.Problem(envelope, errors.New("is missing: whether this is the whole list cannot be told"), "has_more")
	case more.Text == "true":
		l.Problem(envelope, errors.New("this is one page of several: fetch the rest, and put the elements of all pages into one array"), "has_more")
	}
}

func (l *list) element(v *text.JSONValue) error {
	if v.Kind != text.JSONObject {
		l.Problem(v, fmt.Errorf("want a balance transaction, this is %s", v.Kind))
		return nil
	}
	if kind := l.Word(v, "object"); kind != "balance_transaction" {
		l.notOne(v, kind)
		return nil
	}
	row := &l.row
	row.Currency = l.Currency(v, "currency")
	m := money{l.minor(v, "amount"), l.minor(v, "fee"), l.minor(v, "net")}
	if err := m.check(); err != nil {
		l.Problem(v, err, "net")
	}
	l.feeDetails(v, m.fee)
	category := l.Word(v, "reporting_category")
	if err := m.fill(row, category); err != nil {
		l.Problem(v, err, "reporting_category")
		return nil
	}
	kind := l.Word(v, "type")
	s := l.source(v)
	row.ID, row.Status, row.OccurredAt = l.Ident(v, "id"), l.Word(v, "status"), l.Unix(v, "created")
	l.Word(v, "id")
	l.Out.Once(row.ID, v.Line, v.Column)
	if row.Type == bill.Payout {
		row.Batch = s.id
	}
	if row.Key = cmp.Or(s.order, s.intent, s.charge, s.id, row.ID); row.Key == "" {
		l.Problem(v, errors.New("is missing"), "id")
		return nil
	}
	row.Order = row.Key
	l.counts.add(row.Currency, m.net)
	row.Attrs = append(row.Attrs, s.order, s.intent, s.charge, s.id, kind, category, m.net.String(), l.Text(v, "description"))
	return l.Out.Row(row)
}

// notOne says what an element is instead of a balance transaction.
func (l *list) notOne(v *text.JSONValue, kind string) {
	if kind == "" {
		return
	}
	if transaction := v.Get("balance_transaction"); kind == "charge" && transaction.None() {
		l.Problem(v, errors.New("a charge without its balance transaction: what Stripe takes for it is not known yet, and is never 0; "+
			"deliver the list /v1/balance_transactions"), "balance_transaction")
		return
	}
	l.Problem(v, fmt.Errorf("a %s, not a balance transaction: deliver the list /v1/balance_transactions", text.Clip(kind, 40)), "object")
}

func (l *list) minor(v *text.JSONValue, name string) decimal.Decimal {
	return l.Minor(v, exponents, l.row.Currency, name)
}

// feeDetails must sum to the fee where they are there.
func (l *list) feeDetails(v *text.JSONValue, fee decimal.Decimal) {
	details := v.Get("fee_details")
	if details.None() {
		return
	}
	sum := decimal.Decimal{}
	for i := range details.Items {
		currency := l.Currency(&details.Items[i], "currency")
		if currency != l.row.Currency {
			return
		}
		sum = sum.Add(l.Minor(&details.Items[i], exponents, currency, "amount"))
	}
	if !sum.Equal(fee) {
		l.Problem(v, fmt.Errorf("the details of the fee sum to %s, but the fee is %s", sum, fee), "fee_details")
	}
}

// source is the object that moved the money, as far as the list tells.
type source struct{ id, charge, intent, order string }

// source reads the id of the source, or the source itself when it was expanded.
func (l *list) source(v *text.JSONValue) source {
	at := v.Get("source")
	if at == nil || at.Kind != text.JSONObject {
		id := l.Ident(v, "source")
		s := source{id: id}
		if strings.HasPrefix(id, "ch_") || strings.HasPrefix(id, "py_") {
			s.charge = id
		}
		return s
	}
	s := source{id: l.Ident(at, "id"), charge: l.idOf(at, "charge"), intent: l.idOf(at, "payment_intent")}
	if l.Text(at, "object") == "charge" {
		s.charge = s.id
	}
	for _, of := range []*text.JSONValue{at.Get("metadata"), at.Get("charge", "metadata"), at.Get("payment_intent", "metadata")} {
		if of.None() || of.Kind != text.JSONObject {
			continue
		}
		for _, name := range of.Names {
			if !bill.NamesOrder(name) {
				continue
			}
			switch number := l.Ident(of, name); {
			case number == "" || number == s.order:
			case s.order == "":
				s.order = number
			default:
				l.Problem(of, fmt.Errorf("the number of the order is %q here and %q elsewhere in metadata", text.Clip(number, 40), text.Clip(s.order, 40)), name)
			}
		}
	}
	return s
}

// idOf is the id of an object that may stand for itself.
func (l *list) idOf(v *text.JSONValue, name string) string {
	if at := v.Get(name); at != nil && at.Kind == text.JSONObject {
		return l.Ident(at, "id")
	}
	return l.Ident(v, name)
}
