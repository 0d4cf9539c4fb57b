package razorpay

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

const exponents bill.Exponents = "razorpay"

const (
	member = "items"

	pageMax     = 1000 // items that one answer holds at most
	pageDefault = 10   // and when the request does not say how many
)

var attrs = []string{"order_no", "order_id", "payment_id", "dispute_id", "provider_type", "net", "tax", "method", "settlement_utr", "settled_at"}

func fits(h bill.Head) bool {
	if !h.Begins("{") && !h.Begins("[") {
		return false
	}
	p := text.PeekJSON(h.Text, member)
	_, id := p.Element["entity_id"]
	_, credit := p.Element["credit"]
	_, settlement := p.Element["settlement_id"]
	return h.IsEmptyArray() || id && (credit || settlement) || p.Top["entity"] == "collection" && p.Top[member] == "[]"
}

func isEntity(names ...string) func(bill.Head) bool {
	return func(h bill.Head) bool {
		p := text.PeekJSON(h.Text, member)
		_, created := p.Element["created_at"]
		return created && slices.Contains(names, p.Element["entity"])
	}
}

type recon struct {
	bill.Members
	row bill.Row
	net map[string]decimal.Decimal // by currency
}

func read(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	j, err := d.JSON(member)
	if err != nil {
		return err
	}
	r := &recon{Members: bill.Members{Out: out}, net: map[string]decimal.Decimal{}}
	items := int64(0)
	for ; ; items++ {
		v, err := j.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		r.row = bill.Row{Line: v.Line, Column: v.Column, Attrs: r.row.Attrs[:0]}
		if err := r.item(v); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, currency := range slices.Sorted(maps.Keys(r.net)) {
		out.Count("net "+currency, r.net[currency])
	}
	if j.Enveloped() {
		r.wholeness(j.Envelope(), items)
	}
	return nil
}

// wholeness holds count against the items, and tells pages that may be one of several.
func (r *recon) wholeness(envelope *text.JSONValue, items int64) {
	if written := r.Integer(envelope, "count"); written != "" {
		if count, err := bill.ParseMoney(written); err != nil {
			r.Problem(envelope, err, "count")
		} else {
			r.Out.Declare("items", envelope.Get("count").Line, count)
			r.Out.Count("items", decimal.NewFromInt(items))
		}
	}
	switch items {
	case pageMax:
		r.Problem(envelope, fmt.Errorf("%d items are the most that one answer holds: fetch the next with skip, and put the items of all pages into one array", pageMax), member)
	case pageDefault:
		r.Out.Remark("exactly %d items: that is what one answer holds when the request names no count; ask with count=%d", pageDefault, pageMax)
	}
}

func (r *recon) item(v *text.JSONValue) error {
	if v.Kind != text.JSONObject {
		r.Problem(v, fmt.Errorf("want an item of a settlement, this is %s", v.Kind))
		return nil
	}
	row := &r.row
	row.Currency = r.Currency(v, "currency")
	f := figures{amount: r.minor(v, "amount"), fee: r.minor(v, "fee"), tax: r.minor(v, "tax"), credit: r.minor(v, "credit"), debit: r.minor(v, "debit")}
	kind, dispute := r.Word(v, "type"), r.Ident(v, "dispute_id")
	if kind == "" {
		return nil
	}
	if err := f.fill(row, kind, dispute != ""); err != nil {
		r.Problem(v, err, "type")
		return nil
	}
	row.ID, row.Batch, row.OccurredAt, row.Status = r.Ident(v, "entity_id"), r.Ident(v, "settlement_id"), r.Unix(v, "created_at"), r.status(v)
	r.Word(v, "entity_id")
	r.Out.Once(row.ID, v.Line, v.Column)
	if of := entityOf(row.ID); of != "" && of != kind {
		r.Problem(v, fmt.Errorf("%q is the id of a %s, but the type is %q", text.Clip(row.ID, 40), of, text.Clip(kind, 40)), "type")
	}
	order, payment := r.Ident(v, "order_id"), r.Ident(v, "payment_id")
	if kind == "payment" {
		payment = cmp.Or(payment, row.ID)
	}
	number := cmp.Or(r.Ident(v, "order_receipt"), r.noted(v))
	if row.Key = cmp.Or(number, order, payment, row.ID); row.Key == "" {
		r.Problem(v, errors.New("is missing"), "entity_id")
		return nil
	}
	row.Order = row.Key
	net := f.credit.Sub(f.debit)
	r.net[row.Currency] = r.net[row.Currency].Add(net)
	row.Attrs = append(row.Attrs, number, order, payment, dispute, kind, net.String(), f.tax.String(), r.Text(v, "method"), r.Ident(v, "settlement_utr"), r.settledAt(v))
	return r.Out.Row(row)
}

// entityOf is what an id says that it is of, "" when it does not.
func entityOf(id string) string {
	for _, e := range [][2]string{{"pay_", "payment"}, {"rfnd_", "refund"}, {"trf_", "transfer"}, {"adj_", "adjustment"}} {
		if strings.HasPrefix(id, e[0]) {
			return e[1]
		}
	}
	return ""
}

func (r *recon) minor(v *text.JSONValue, name string) decimal.Decimal {
	d := r.Minor(v, exponents, r.row.Currency, name)
	if d.IsNegative() {
		r.Problem(v, fmt.Errorf("%s: Razorpay writes no negative figures", d), name)
	}
	return d
}

// status is settled or on_hold, after the names of the flags that say so.
func (r *recon) status(v *text.JSONValue) string {
	switch settled, hold := v.Get("settled"), v.Get("on_hold"); {
	case settled != nil && settled.Text == "true":
		return "settled"
	case hold != nil && hold.Text == "true":
		return "on_hold"
	}
	return ""
}

func (r *recon) settledAt(v *text.JSONValue) string {
	if v.Get("settled_at").None() {
		return ""
	}
	return r.Unix(v, "settled_at").Format(time.RFC3339)
}

// noted is the order number in the notes, which are a string of JSON, an object or nothing.
func (r *recon) noted(v *text.JSONValue) string {
	notes := v.Get("notes")
	if notes.None() {
		return ""
	}
	if notes.Kind == text.JSONString {
		if strings.TrimSpace(notes.Text) == "" {
			return ""
		}
		inner, err := text.NewJSON(bufio.NewReader(strings.NewReader(notes.Text)), text.CheckUTF8).Next()
		if errors.Is(err, io.EOF) {
			return "" // [] is how an empty object is written
		}
		if err != nil {
			r.Problem(v, fmt.Errorf("not the JSON that notes are: %w", err), "notes")
			return ""
		}
		place(inner, notes)
		notes = inner
	}
	found := ""
	for _, name := range notes.Names {
		if !bill.NamesOrder(name) {
			continue
		}
		switch s := r.Ident(notes, name); {
		case s == "" || s == found:
		case found == "":
			found = s
		default:
			r.Problem(notes, fmt.Errorf("the number of the order is %q here and %q under another name", text.Clip(s, 40), text.Clip(found, 40)), name)
		}
	}
	return found
}

// place moves a value that was read out of a string to where the string is.
func place(v, at *text.JSONValue) {
	v.Line, v.Column = at.Line, at.Column
	for i := range v.Items {
		place(&v.Items[i], at)
	}
}
