package wechatpay

import (
	"errors"
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
)

// A bill has up to nine amounts in each of ten million rows, most of which only go into sums. So they are read as whole
// hundred-thousandths of a yuan as long as they fit, and as decimals where they do not: both are exact.

const (
	unitDecimals   = 5  // of what an int64 counts
	fastDigitsMax  = 12 // of an amount that is read without a decimal
	unitsOverflow  = math.MaxInt64 / 4
	amountBytesMax = 64
)

var pow10 = [...]int64{1, 10, 100, 1000, 10000, 100000}

// value is an amount as it stands in a cell.
type value struct {
	digits  int64 // without the point
	frac    int32 // digits after the point
	slow    decimal.Decimal
	isSlow  bool
	present bool // the cell was not empty
}

// parseValue reads an amount exactly. An empty cell is no error and not present.
func parseValue(b []byte) (value, error) {
	v, ok := parseFast(b)
	if ok || len(b) == 0 {
		return v, nil
	}
	if len(b) > amountBytesMax {
		return value{}, fmt.Errorf("an amount of %d characters: %w", len(b), model.ErrAmount)
	}
	d, err := bill.ParseMoney(string(b))
	return value{slow: d, isSlow: true, present: true}, err
}

// parseFast reads what nearly all amounts look like: -12345.67 with at most twelve digits, five of them after the point.
func parseFast(b []byte) (value, bool) {
	i, negative := 0, false
	if len(b) > 0 && b[0] == '-' {
		i, negative = 1, true
	}
	var v value
	point, first := -1, i
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9' && i-first <= fastDigitsMax:
			v.digits = v.digits*10 + int64(c-'0')
		case c == '.' && point < 0 && i > first:
			point = i
		default:
			return value{}, false
		}
	}
	if point >= 0 {
		v.frac = int32(len(b) - point - 1) //nolint:gosec // at most thirteen
	}
	if len(b) == first || point == len(b)-1 || v.frac > unitDecimals {
		return value{}, false
	}
	if negative {
		v.digits = -v.digits
	}
	v.present = true
	return v, true
}

func (v value) decimal() decimal.Decimal {
	if v.isSlow {
		return v.slow
	}
	return decimal.New(v.digits, -v.frac)
}

func (v value) sign() int {
	switch {
	case v.isSlow:
		return v.slow.Sign()
	case v.digits < 0:
		return -1
	case v.digits > 0:
		return 1
	}
	return 0
}

// sum adds values exactly.
type sum struct {
	units int64 // hundred-thousandths
	more  decimal.Decimal
}

func (s *sum) add(v value) {
	if v.isSlow {
		s.more = s.more.Add(v.slow)
		return
	}
	s.units += v.digits * pow10[unitDecimals-v.frac]
	if s.units > unitsOverflow || s.units < -unitsOverflow {
		s.more, s.units = s.total(), 0
	}
}

func (s *sum) total() decimal.Decimal { return s.more.Add(decimal.New(s.units, -unitDecimals)) }

var errNegative = errors.New("a negative amount: amounts of this column stand without a sign, so this one could mean two things")
