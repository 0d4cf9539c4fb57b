package bill

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// JSON reads the document as the elements of an array, see [text.JSON]; the names are those of the member that holds it.
func (d *Doc) JSON(arrays ...string) (*text.JSON, error) {
	in, check, err := d.Text()
	if err != nil {
		return nil, err
	}
	return text.NewJSON(in, check, arrays...), nil
}

// IsEmptyArray reports whether the document is a JSON array of nothing: an empty day of every format whose documents may be
// an array. It fits all of them, so that only a configuration that names one can read it.
func (h Head) IsEmptyArray() bool {
	return len(h.Text) < 64 && strings.Join(strings.Fields(h.Text), "") == "[]"
}

// Members reads members of JSON objects by their paths, and notes what is wrong with them at their place. It is to JSON
// what [Cells] is to delimited records.
type Members struct{ Out *Out }

// Problem notes what is wrong with the member of an object: at the member, else at the object.
func (m Members) Problem(of *text.JSONValue, err error, path ...string) {
	at, name := of.Get(path...), ""
	if at == nil {
		at = of
	}
	if len(path) > 0 {
		name = fmt.Sprintf("member %q: ", path[len(path)-1])
	}
	m.Out.Problem(at.Line, at.Column, "%s%w", name, err)
}

var errMissing = errors.New("is missing")

// Text is a string; "" when there is none. Any other kind of value is a problem.
func (m Members) Text(of *text.JSONValue, path ...string) string {
	v := of.Get(path...)
	if v.None() {
		return ""
	}
	if v.Kind != text.JSONString {
		m.Problem(of, fmt.Errorf("want text, this is %s", v.Kind), path...)
		return ""
	}
	return v.Text
}

// Word is a string that must be there.
func (m Members) Word(of *text.JSONValue, path ...string) string {
	s := m.Text(of, path...)
	if v := of.Get(path...); s == "" && (v.None() || v.Kind == text.JSONString) {
		m.Problem(of, errMissing, path...)
	}
	return s
}

// Ident is text that identifies, "" when there is none. A number as a spreadsheet rounds it is a problem.
func (m Members) Ident(of *text.JSONValue, path ...string) string {
	s := m.Text(of, path...)
	if text.IsSpreadsheetNumber(s) {
		m.Problem(of, fmt.Errorf("%q is a number as a spreadsheet rounds it: its digits are lost; deliver the document as the provider made it", text.Clip(s, 40)), path...)
	}
	if r := text.Damage(s); r >= 0 {
		m.Problem(of, damaged(s, r), path...)
	}
	return s
}

// Integer is the text of a whole number that must be there, "" when it is not.
func (m Members) Integer(of *text.JSONValue, path ...string) string {
	v := of.Get(path...)
	switch {
	case v == nil || v.Kind == text.JSONNull:
		m.Problem(of, errMissing, path...)
		return ""
	case v.Kind != text.JSONNumber:
		m.Problem(of, fmt.Errorf("want a whole number, this is %s", v.Kind), path...)
		return ""
	}
	for i := range len(v.Text) {
		if c := v.Text[i]; c != '-' && (c < '0' || c > '9') {
			m.Problem(of, fmt.Errorf("%q: want a whole number: %w", text.Clip(v.Text, 40), model.ErrAmount), path...)
			return ""
		}
	}
	return v.Text
}

// Minor is an amount in minor units that must be there, exact and in major units.
func (m Members) Minor(of *text.JSONValue, by Exponents, currency string, path ...string) decimal.Decimal {
	written := m.Integer(of, path...)
	if written == "" || currency == "" {
		return decimal.Decimal{}
	}
	d, err := by.Minor(written, currency)
	if err != nil {
		m.Problem(of, err, path...)
	}
	return d
}

// Major is an amount in major units, written as text, that must be there.
func (m Members) Major(of *text.JSONValue, path ...string) decimal.Decimal {
	written := m.Word(of, path...)
	if written == "" {
		return decimal.Decimal{}
	}
	d, err := ParseMoney(written)
	if err != nil {
		m.Problem(of, err, path...)
	}
	return d
}

// Currency is a checked code that must be there, see [CheckCurrency]; "" when it is wrong.
func (m Members) Currency(of *text.JSONValue, path ...string) string {
	written := m.Word(of, path...)
	if written == "" {
		return ""
	}
	code, err := CheckCurrency(written)
	if err != nil {
		m.Problem(of, err, path...)
	}
	return code
}

// Unix is an instant in whole seconds that must be there.
func (m Members) Unix(of *text.JSONValue, path ...string) time.Time {
	return m.instant(of, m.Integer(of, path...), text.Instants{Format: text.TimeUnix}, path)
}

// Instant is an instant with its offset, zero when there is none.
func (m Members) Instant(of *text.JSONValue, path ...string) time.Time {
	return m.instant(of, m.Text(of, path...), text.Instants{Zone: time.UTC}, path)
}

func (m Members) instant(of *text.JSONValue, written string, as text.Instants, path []string) time.Time {
	t, err := as.Parse(written)
	if err != nil {
		m.Problem(of, err, path...)
	}
	return t
}
