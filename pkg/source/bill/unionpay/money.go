package unionpay

import (
	"bytes"

	"github.com/shopspring/decimal"
)

// fen reads twelve digits of fen as yuan.
func (l *lines) fen(field int) (decimal.Decimal, bool) {
	b := l.cut(l.line, field)
	if !digits(b) {
		l.problem(field, "amount %q: want %d digits of fen", b, len(b))
		return decimal.Decimal{}, false
	}
	return decimal.New(number(b), -2), true
}

func number(digits []byte) int64 {
	var n int64
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	return n
}

// lettered reads C or D and digits of fen as yuan, from the merchant's view: C is money to it, D money from it. A blank
// field is not valid and no problem. Zero may have no letter.
func (l *lines) lettered(field int) (decimal.NullDecimal, bool) {
	b := l.cut(l.line, field)
	if len(bytes.Trim(b, " ")) == 0 {
		return decimal.NullDecimal{}, true
	}
	if digits(b) && number(b) == 0 {
		return decimal.NewNullDecimal(decimal.Zero), true
	}
	letter, amount := b[0], b[1:]
	zero := (letter == ' ' || letter == 'C' || letter == 'D') && digits(amount) && number(amount) == 0
	if (letter != 'C' && letter != 'D' || !digits(amount)) && !zero {
		l.problem(field, "amount %q: want C or D and %d digits of fen", b, len(amount))
		return decimal.NullDecimal{}, false
	}
	d := decimal.New(number(amount), -2)
	if letter == 'D' {
		d = d.Neg()
	}
	return decimal.NewNullDecimal(d), true
}

// settles reports whether the settlement amount is the amount, with or without the fee; all with their signs.
func settles(amount, settle decimal.Decimal, fee decimal.NullDecimal) bool {
	return settle.Equal(amount) || fee.Valid && settle.Equal(amount.Add(fee.Decimal))
}
