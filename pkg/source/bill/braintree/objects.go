package braintree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var braintreeWords = regexp.MustCompile(`"(?:disbursementDetails|amountDisputed|legacyId|merchantAccountId|settlementBatchId)"`)

// element are the members of the first object.
func element(h bill.Head) map[string]string {
	if !h.Begins("{") && !h.Begins("[") {
		return nil
	}
	return text.PeekJSON(h.Text).Element
}

func fitsTransactions(h bill.Head) bool {
	e := element(h)
	_, disbursement := e["disbursementDetails"]
	_, account := e["merchantAccountId"]
	_, history := e["statusHistory"]
	_, amount := e["amount"]
	return h.IsEmptyArray() || !isDispute(e) && (disbursement || account && history || history && amount)
}

func fitsDisputes(h bill.Head) bool { return h.IsEmptyArray() || isDispute(element(h)) }

func isDispute(e map[string]string) bool {
	_, disputed := e["amountDisputed"]
	_, won := e["amountWon"]
	_, number := e["caseNumber"]
	return disputed || won || number
}

// objects reads a document object by object.
type objects struct {
	bill.Members
	row    bill.Row
	left   map[string]int // objects that moved no money, by why
	object func(*text.JSONValue) error
}

func (o *objects) read(ctx context.Context, d *bill.Doc, what string) error {
	j, err := d.JSON()
	if err != nil {
		return err
	}
	o.left = map[string]int{}
	for {
		v, err := j.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if v.Kind != text.JSONObject {
			o.Problem(v, fmt.Errorf("want %s, this is %s", what, v.Kind))
			continue
		}
		if v.Get("data") != nil || v.Get("edges") != nil || v.Get("node") != nil {
			o.Problem(v, errors.New("an answer of the API with its envelope: put the objects (each node of edges) into one array, from all pages"))
			continue
		}
		o.row = bill.Row{Line: v.Line, Column: v.Column, Attrs: o.row.Attrs[:0]}
		if err := o.object(v); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	o.tellLeft()
	return nil
}

// tellLeft says in one remark what was left out.
func (o *objects) tellLeft() {
	if len(o.left) == 0 {
		return
	}
	var parts []string
	for why, n := range o.left {
		parts = append(parts, fmt.Sprintf("%d %s", n, why))
	}
	slices.Sort(parts)
	o.Out.Remark("left out, as they moved no money: %s", strings.Join(parts, ", "))
}

// objectAt is a member that is an object; nil when there is none, which may be written [].
func (o *objects) objectAt(v *text.JSONValue, name string) *text.JSONValue {
	at := v.Get(name)
	if at.None() {
		return nil
	}
	if at.Kind != text.JSONObject {
		o.Problem(v, fmt.Errorf("want an object, this is %s", at.Kind), name)
		return nil
	}
	return at
}

// history are the events of an object, without the empty ones.
func (o *objects) history(v *text.JSONValue) (events []*text.JSONValue) {
	at := v.Get("statusHistory")
	if at.None() {
		return nil
	}
	if at.Kind != text.JSONArray {
		o.Problem(v, fmt.Errorf("want an array, this is %s", at.Kind), "statusHistory")
		return nil
	}
	for i := range at.Items {
		switch e := &at.Items[i]; {
		case e.None() || e.Kind == text.JSONObject && len(e.Items) == 0:
		case e.Kind != text.JSONObject:
			o.Problem(e, fmt.Errorf("want an event, this is %s", e.Kind))
		default:
			events = append(events, e)
		}
	}
	return events
}
