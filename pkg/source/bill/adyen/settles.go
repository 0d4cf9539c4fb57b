package adyen

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// settles is what one row says of its money: gross × rate − fees = net.
type settles struct {
	gross         decimal.Decimal
	grossCurrency string
	rate          string // as printed
	fees          decimal.Decimal
	net           decimal.Decimal
	netCurrency   string
	elsewhere     bool // the gross does not pass through Adyen, so the net may be the fees alone
}

func (s settles) oneCurrency() bool { return s.grossCurrency == s.netCurrency }

// check says which figures do not fit together, nil when all do.
func (s settles) check() error {
	if s.elsewhere && s.net.Equal(s.fees.Neg()) {
		return nil
	}
	rate, unit, err := parseRate(s.rate)
	if err != nil {
		return err
	}
	one := decimal.New(1, 0)
	tolerance := decimal.Zero
	switch {
	case s.oneCurrency():
		if s.rate != "" && !rate.Equal(one) {
			return fmt.Errorf("exchange rate %s, but gross and net are both %s", s.rate, s.netCurrency)
		}
		rate = one
	case s.rate == "":
		return fmt.Errorf("the exchange rate is empty, but gross is %s and net %s", s.grossCurrency, s.netCurrency)
	default:
		exponent, err := bill.Exponents("adyen-api").Exponent(s.netCurrency)
		if err != nil {
			return err
		}
		half := decimal.New(5, int32(-exponent-1)) //nolint:gosec // at most 4
		tolerance = s.gross.Abs().Mul(unit).Div(decimal.New(2, 0)).Add(half)
	}
	want := s.gross.Mul(rate).Sub(s.fees)
	if want.Sub(s.net).Abs().LessThanOrEqual(tolerance) {
		return nil
	}
	return fmt.Errorf("gross %s %s × rate %s − fees %s = %s, but the net is %s %s (allowed difference %s): a figure is damaged or a fee is missing; %s",
		s.gross, s.grossCurrency, rate, s.fees, want, s.net, s.netCurrency, tolerance, asMade)
}

// parseRate reads an exchange rate, and the unit of its last printed digit. It may have more digits than an amount.
func parseRate(written string) (rate, unit decimal.Decimal, err error) {
	if written == "" {
		return decimal.Zero, decimal.Zero, nil
	}
	whole, frac, point := strings.Cut(written, ".")
	if len(written) > 40 || whole == "" || strings.Trim(whole+frac, "0123456789") != "" || point && frac == "" {
		return rate, unit, fmt.Errorf("exchange rate %q is not a decimal number: %s", text.Clip(written, 40), asMade)
	}
	rate, err = decimal.NewFromString(written)
	return rate, decimal.New(1, int32(-len(frac))), err //nolint:gosec // at most 40
}
