package source

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// row is one record of an input. Slots count the wanted headers of the plan.
type row interface {
	text(slot int) (string, error)                // "" for null
	amount(slot int) (decimal.NullDecimal, error) // not valid for null and for empty text
	instant(slot int) (time.Time, error)          // zero for null
	place(slot int) string                        // file:line:column, for errors
}

// ref is where a value comes from: a slot, or fixed text when slot is fixedSlot, or nothing.
type ref struct {
	slot   int
	header string
	fixed  string
}

const (
	noSlot    = -1
	fixedSlot = -2
)

type attribute struct {
	name string
	ref
	inKey bool
}

// plan says how the columns of one input make an entry. It belongs to one Read.
type plan struct {
	req      Request
	columns  Columns
	headers  []string // distinct, in slot order
	key, id  ref
	amount   ref
	fee      ref
	currency ref
	status   ref
	occurred ref
	attrs    []attribute
	keyParts []string
	known    map[string]string // currencies as written to as stored
	parts    []string          // scratch
}

// newPlan fails with [ErrSpec] when the columns cannot make the entries that the rules want.
func newPlan(columns Columns, req Request) (*plan, error) {
	if found := columns.CheckRules(req.Rules); len(found) > 0 {
		return nil, specError(found)
	}
	p := &plan{req: req, columns: columns, keyParts: keyColumns(req.Rules), known: map[string]string{}}
	p.key, p.id = p.want(columns.Key), p.want(columns.ID)
	p.amount, p.fee = p.want(columns.Amount), p.want(columns.Fee)
	p.currency, p.status, p.occurred = p.want(columns.Currency), p.want(columns.Status), p.want(columns.OccurredAt)
	for _, name := range slices.Sorted(maps.Keys(columns.Attrs)) {
		p.attrs = append(p.attrs, attribute{name, p.want(columns.Attrs[name]), slices.Contains(p.keyParts, name)})
	}
	return p, nil
}

func keyColumns(rules model.Rules) []string {
	if len(rules.Key) == 0 {
		return []string{ColKey}
	}
	return rules.Key
}

func (p *plan) want(c Column) ref {
	if c.IsFixed {
		return ref{slot: fixedSlot, fixed: c.Fixed}
	}
	if c.Header == "" {
		return ref{slot: noSlot}
	}
	slot := slices.Index(p.headers, c.Header)
	if slot < 0 {
		slot = len(p.headers)
		p.headers = append(p.headers, c.Header)
	}
	return ref{slot: slot, header: c.Header}
}

// bind finds every wanted header in the names of an input. The error lists all that are missing or there twice.
func (p *plan) bind(names []string) ([]int, error) {
	at := make([]int, len(p.headers))
	var missing, twice []string
	for slot, want := range p.headers {
		at[slot] = slices.Index(names, want)
		if at[slot] < 0 {
			missing = append(missing, want)
		} else if slices.Contains(names[at[slot]+1:], want) {
			twice = append(twice, want)
		}
	}
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, "missing "+text.QuoteList(missing))
	}
	if len(twice) > 0 {
		parts = append(parts, "there more than once "+text.QuoteList(twice))
	}
	if len(parts) > 0 {
		return nil, fmt.Errorf("columns %s; found: %s", strings.Join(parts, "; "), text.QuoteList(names))
	}
	return at, nil
}

// reading is one input on its way through a plan.
type reading struct {
	*plan
	row   row
	wrong *problems
}

// entry makes an entry of the current row; ok is false when something about it is wrong, which is then noted.
func (r *reading) entry(file string, line uint64) (e model.Entry, ok bool) {
	before := r.wrong.count()
	e = model.Entry{Side: r.req.Side, Origin: r.req.Day, File: file, Line: line}
	key := r.ident(r.key)
	e.ID = r.ident(r.id)
	e.Status = r.text(r.status)
	e.Currency = r.currencyCode()
	e.Amount = r.money()
	e.Fee = r.feeAmount()
	e.OccurredAt = r.instant()
	for _, a := range r.attrs {
		if e.Attrs == nil {
			e.Attrs = make(map[string]string, len(r.attrs))
		}
		if a.inKey {
			e.Attrs[a.name] = r.ident(a.ref)
		} else {
			e.Attrs[a.name] = r.text(a.ref)
		}
	}
	if r.wrong.count() == before {
		r.join(&e, key)
		e.Compared = r.compared(&e, key)
	}
	return e, r.wrong.count() == before
}

func (r *reading) fault(ref ref, err error) {
	r.wrong.add(func() string { return fmt.Sprintf("%s: column %q", r.row.place(ref.slot), ref.header) }, err)
}

// placeOf names a column in the current row; of a fixed one there is only the row.
func (r *reading) placeOf(c Column) string {
	if c.IsFixed {
		return fmt.Sprintf("%s: the fixed value %q", r.row.place(fixedSlot), c.Fixed)
	}
	return fmt.Sprintf("%s: column %q", r.row.place(r.want(c).slot), c.Header)
}

var (
	errReplaced = errors.New("text was damaged before it came here: it holds the replacement character U+FFFD")
	errNotText  = errors.New("not text: the bytes are not UTF-8, or hold NUL")
)

func (r *reading) text(ref ref) string {
	switch ref.slot {
	case noSlot:
		return ""
	case fixedSlot:
		return ref.fixed
	}
	s, err := r.row.text(ref.slot)
	if err == nil && strings.Contains(s, string(utf8.RuneError)) {
		err = errReplaced
	}
	if err != nil {
		r.fault(ref, err)
	}
	return s
}

// ident is text that identifies: digits that a spreadsheet rounded away make two orders one.
func (r *reading) ident(ref ref) string {
	s := r.text(ref)
	if ref.slot >= 0 && text.IsSpreadsheetNumber(s) {
		r.fault(ref, fmt.Errorf("%q is a number as a spreadsheet rounds it: its digits are lost; export the column as text", s))
	}
	return s
}

func (r *reading) currencyCode() string {
	raw := r.text(r.currency)
	code, ok := r.known[raw]
	if ok {
		return code
	}
	code, err := currencyCode(raw)
	if err != nil {
		r.fault(r.currency, err)
		return ""
	}
	if len(r.known) < 1000 {
		r.known[strings.Clone(raw)] = code
	}
	return code
}

// currencyCode trims, upper-cases and checks a currency.
func currencyCode(raw string) (string, error) {
	code := strings.ToUpper(strings.TrimSpace(raw))
	if len(code) < 3 || len(code) > 8 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return "", fmt.Errorf("currency %q: want 3 to 8 letters or digits, such as CNY", text.Clip(raw, 20))
	}
	return code, nil
}

func (r *reading) money() decimal.Decimal {
	a, err := r.row.amount(r.amount.slot)
	if err == nil && !a.Valid {
		err = fmt.Errorf("the amount is empty: %w", model.ErrAmount)
	}
	if err != nil {
		r.fault(r.amount, err)
	}
	return a.Decimal
}

func (r *reading) feeAmount() decimal.NullDecimal {
	if r.fee.slot < 0 {
		return decimal.NullDecimal{}
	}
	a, err := r.row.amount(r.fee.slot)
	if err != nil {
		r.fault(r.fee, err)
	}
	return a
}

func (r *reading) instant() time.Time {
	if r.occurred.slot < 0 {
		return time.Time{}
	}
	t, err := r.row.instant(r.occurred.slot)
	if err != nil {
		r.fault(r.occurred, err)
	}
	return t
}

// join makes the match key. A part that is empty would make strangers meet, so it is refused.
func (r *reading) join(e *model.Entry, key string) {
	r.parts = r.parts[:0]
	for _, name := range r.keyParts {
		v := r.value(name, e, key)
		if strings.TrimSpace(v) == "" {
			column, _ := r.columns.Get(name)
			r.wrong.add(func() string { return r.placeOf(column) }, fmt.Errorf("%s is empty, but the match key needs it", name))
		}
		r.parts = append(r.parts, v)
	}
	e.Key = model.JoinKey(r.parts...)
}

func (r *reading) compared(e *model.Entry, key string) []string {
	if len(r.req.Rules.Compare) == 0 {
		return nil
	}
	out := make([]string, len(r.req.Rules.Compare))
	for i, name := range r.req.Rules.Compare {
		out[i] = r.value(name, e, key)
	}
	return out
}

// value is a column by name as matching sees it: the status in common words, everything else as it stands.
func (r *reading) value(name string, e *model.Entry, key string) string {
	if _, set := r.columns.Get(name); !set {
		return ""
	}
	switch name {
	case ColKey:
		return key
	case ColID:
		return e.ID
	case ColCurrency:
		return e.Currency
	case ColStatus:
		return r.req.Rules.Status(e.Side, e.Status)
	case ColAmount:
		return e.Amount.String()
	case ColFee:
		if !e.Fee.Valid {
			return ""
		}
		return e.Fee.Decimal.String()
	case ColOccurredAt:
		if e.OccurredAt.IsZero() {
			return ""
		}
		return e.OccurredAt.Format(time.RFC3339Nano)
	}
	return e.Attrs[name]
}
