package mercadopago

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// style is how a file writes numbers: its decimal mark, 0 while that is not known.
type style byte

var errEitherWay = errors.New("it could be grouped thousands or a decimal fraction, and no number before it tells which: " +
	"set the decimal separator of the report to a point, or write amounts with two decimals")

// styleOf says by which mark a number must be written; 0 when it fits both, and an error when it fits none.
func styleOf(written string) (style, error) {
	digits := strings.TrimLeft(written, "+-")
	point, comma := fits(digits, '.'), fits(digits, ',')
	switch {
	case point && comma:
		return 0, nil
	case point:
		return '.', nil
	case comma:
		return ',', nil
	}
	return 0, fmt.Errorf("amount %q is not a number: deliver the file as Mercado Pago made it", text.Clip(written, 40))
}

// fits reports whether digits are a number with that decimal mark, and the other one at most where thousands are grouped.
func fits(digits string, mark byte) bool {
	group := byte(',' + '.' - mark)
	whole, frac, fraction := strings.Cut(digits, string(mark))
	if fraction && !isDigits(frac) {
		return false
	}
	parts := strings.Split(whole, string(group))
	for i, p := range parts {
		if !isDigits(p) || i > 0 && len(p) != 3 || i == 0 && len(parts) > 1 && (len(p) > 3 || p[0] == '0') {
			return false
		}
	}
	return true
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// parse reads a number. It settles the style of the file when the number does, and refuses one of the other style.
func (s *style) parse(written string) (decimal.Decimal, error) {
	of, err := styleOf(written)
	if err != nil {
		return decimal.Zero, err
	}
	marked := strings.ContainsAny(written, ".,")
	switch {
	case of != 0 && *s == 0:
		*s = of
	case of != 0 && *s != of:
		return decimal.Zero, fmt.Errorf("amount %q, but the file writes numbers with a decimal %q: it was put together from two exports, or re-saved; "+
			"deliver the file as Mercado Pago made it", text.Clip(written, 40), string(rune(*s)))
	case of == 0 && *s == 0 && marked:
		return decimal.Zero, fmt.Errorf("amount %q: %w", text.Clip(written, 40), errEitherWay)
	}
	plain := written
	if marked {
		plain = strings.ReplaceAll(plain, string(rune(','+'.'-byte(*s))), "")
		plain = strings.ReplaceAll(plain, ",", ".")
	}
	return bill.ParseMoney(plain)
}
