package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// Limits of an amount as text and in the tables (Decimal(38, 8) holds both with room for sums of one key).
const (
	AmountIntegerDigitsMax = 18
	AmountScale            = 8
)

// ParseAmount reads an exact amount: an optional sign, digits, at most one decimal point, at most 18 integer and 8
// fractional digits. Group separators, exponents, blanks, currency signs, a bare point and the empty text are errors that
// wrap [ErrAmount]: guessing what was meant is how money is lost.
func ParseAmount(text string) (decimal.Decimal, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	if len(text)-len(digits) > 1 {
		return decimal.Decimal{}, amountError(text, "more than one sign")
	}
	whole, frac, point := strings.Cut(digits, ".")
	switch {
	case whole == "" || (point && frac == ""):
		return decimal.Decimal{}, amountError(text, "digits are missing")
	case !allDigits(whole) || !allDigits(frac):
		return decimal.Decimal{}, amountError(text, "only digits and one decimal point are allowed")
	case len(strings.TrimLeft(whole, "0")) > AmountIntegerDigitsMax:
		return decimal.Decimal{}, amountError(text, "more than 18 integer digits")
	case len(strings.TrimRight(frac, "0")) > AmountScale:
		return decimal.Decimal{}, amountError(text, "more than 8 fractional digits")
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return decimal.Decimal{}, amountError(text, err.Error())
	}
	return d, nil
}

func amountError(text, why string) error {
	return fmt.Errorf("amount %q: %s: %w", text, why, ErrAmount)
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Total is a count of entries and their exact sum in one currency.
type Total struct {
	Count  uint64          `json:"count"`
	Amount decimal.Decimal `json:"amount"`
}

// Totals maps a currency to its [Total]. The zero value is ready to read; use [Totals.Add] on a made map. A currency
// whose count is zero is the same as an absent one.
type Totals map[string]Total

// Add counts n entries that sum to amount.
func (t Totals) Add(currency string, n uint64, amount decimal.Decimal) {
	v := t[currency]
	t[currency] = Total{Count: v.Count + n, Amount: v.Amount.Add(amount)}
}

// MarshalJSON prints an object, also for the zero value, with every amount as decimal text.
func (t Totals) MarshalJSON() ([]byte, error) {
	if t == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]Total(t))
}

// Merge adds every total of other.
func (t Totals) Merge(other Totals) {
	for c, v := range other {
		t.Add(c, v.Count, v.Amount)
	}
}

// Count is the number of entries over all currencies.
func (t Totals) Count() uint64 {
	var n uint64
	for _, v := range t {
		n += v.Count
	}
	return n
}

// Equal reports whether both hold the same counts and amounts; absent and all-zero totals are equal.
func (t Totals) Equal(other Totals) bool {
	for _, c := range currencies(t, other) {
		a, b := t[c], other[c]
		if a.Count != b.Count || !a.Amount.Equal(b.Amount) {
			return false
		}
	}
	return true
}

// String prints the totals in a fixed order, such as "CNY 3 entries 12.5, USD 1 entry 7".
func (t Totals) String() string {
	var parts []string
	for _, c := range currencies(t) {
		v := t[c]
		noun := "entries"
		if v.Count == 1 {
			noun = "entry"
		}
		parts = append(parts, fmt.Sprintf("%s %d %s %s", c, v.Count, noun, v.Amount))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// currencies lists every currency of the given totals, sorted, so that no result depends on map order.
func currencies(all ...Totals) []string {
	seen := map[string]bool{}
	for _, t := range all {
		for c := range t {
			seen[c] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
