package square

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

const exponents bill.Exponents = "square"

const member = "payout_entries"

var attrs = []string{"payment_id", "refund_id", "dispute_id", "provider_type", "net"}

func fits(h bill.Head) bool {
	if !h.Begins("{") && !h.Begins("[") {
		return false
	}
	p := text.PeekJSON(h.Text, member)
	_, named := p.Top[member]
	_, payout := p.Element["payout_id"]
	_, gross := p.Element["gross_amount_money"]
	return h.IsEmptyArray() || named || payout && gross
}

// holds knows a list of Square by the name of its array and the words of the money in it.
func holds(array string) func(bill.Head) bool {
	return func(h bill.Head) bool {
		if !h.Begins("{") {
			return false
		}
		p := text.PeekJSON(h.Text, array)
		_, there := p.Top[array]
		_, money := p.Element["amount_money"]
		return there && money
	}
}

type entries struct {
	bill.Members
	row bill.Row
	net map[string]decimal.Decimal // by currency
}

func read(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	j, err := d.JSON(member)
	if err != nil {
		return err
	}
	e := &entries{Members: bill.Members{Out: out}, net: map[string]decimal.Decimal{}}
	for {
		v, err := j.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		e.row = bill.Row{Line: v.Line, Column: v.Column, Attrs: e.row.Attrs[:0]}
		if err := e.entry(v); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, currency := range slices.Sorted(maps.Keys(e.net)) {
		out.Count("net "+currency, e.net[currency])
	}
	if envelope := j.Envelope(); !envelope.Get("cursor").None() {
		e.Problem(envelope, errors.New("this is one page of several: fetch the rest with the cursor, and put the entries of all pages into one array"), "cursor")
	} else if !envelope.Get("errors").None() {
		e.Problem(envelope, errors.New("the answer has errors of Square: fetch the entries again"), "errors")
	}
	return nil
}

func (e *entries) entry(v *text.JSONValue) error {
	if v.Kind != text.JSONObject {
		e.Problem(v, fmt.Errorf("want a payout entry, this is %s", v.Kind))
		return nil
	}
	row := &e.row
	row.Currency = e.Currency(v, "gross_amount_money", "currency")
	gross, fee, net := e.money(v, "gross_amount_money"), e.money(v, "fee_amount_money"), e.money(v, "net_amount_money")
	if !gross.Sub(fee).Equal(net) {
		e.Problem(v, fmt.Errorf("gross %s − fee %s = %s, but net is %s: fetch the entries again and do not edit them", gross, fee, gross.Sub(fee), net), "net_amount_money")
	}
	kind := e.Word(v, "type")
	if kind == "" {
		return nil
	}
	if err := figures(row, kind, gross, fee, net); err != nil {
		e.Problem(v, err, "type")
		return nil
	}
	row.ID, row.Batch, row.OccurredAt = e.Ident(v, "id"), e.Ident(v, "payout_id"), e.Instant(v, "effective_at")
	e.Word(v, "id")
	e.Word(v, "payout_id")
	e.Word(v, "effective_at")
	e.Out.Once(row.ID, v.Line, v.Column)
	payment, refund, dispute := e.detail(v, "payment_id"), e.detail(v, "refund_id"), e.detail(v, "dispute_id")
	if (row.Type == bill.Payment || row.Type == bill.Refund) && payment == "" && refund == "" && detailed(v) {
		e.Problem(v, fmt.Errorf("a %s whose details name no payment: it cannot be matched; deliver the answer as Square gave it", text.Clip(kind, 40)), "type")
	}
	row.Order = cmp.Or(payment, refund, dispute, row.ID)
	if row.Type == bill.Refund {
		row.Key = refund
	}
	if row.Key = cmp.Or(row.Key, row.Order); row.Key == "" {
		e.Problem(v, errors.New("is missing"), "id")
		return nil
	}
	e.net[row.Currency] = e.net[row.Currency].Add(net)
	row.Attrs = append(row.Attrs, payment, refund, dispute, kind, net.String())
	return e.Out.Row(row)
}

// money is one of the figures, which must be in the currency of the row.
func (e *entries) money(v *text.JSONValue, name string) decimal.Decimal {
	if currency := e.Currency(v, name, "currency"); currency != e.row.Currency && currency != "" && e.row.Currency != "" {
		e.Problem(v, fmt.Errorf("%s, but the gross amount is in %s", currency, e.row.Currency), name, "currency")
	}
	return e.Minor(v, exponents, e.row.Currency, name, "amount")
}

// detailed reports whether the entry has details that say something.
func detailed(v *text.JSONValue) bool {
	for i := range v.Items {
		if v.Items[i].Kind == text.JSONObject && len(v.Items[i].Items) > 0 && strings.HasPrefix(v.Names[i], "type_") {
			return true
		}
	}
	return false
}

// detail finds an id in the details of the entry's type, of which there is one object: type_charge_details and the like.
func (e *entries) detail(v *text.JSONValue, id string) string {
	found := ""
	for i := range v.Items {
		if v.Items[i].Kind != text.JSONObject || !strings.HasPrefix(v.Names[i], "type_") {
			continue
		}
		switch s := e.Ident(&v.Items[i], id); {
		case s == "" || s == found:
		case found == "":
			found = s
		default:
			e.Problem(&v.Items[i], fmt.Errorf("%q here and %q in other details of the entry", text.Clip(s, 40), text.Clip(found, 40)), id)
		}
	}
	return found
}
