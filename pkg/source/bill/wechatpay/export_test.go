package wechatpay

import "github.com/shopspring/decimal"

// SplitRow cuts a row of the dialect.
func SplitRow(line []byte) ([][]byte, []int) { return splitRow(line, nil, nil) }

// ParseValue reads an amount on the fast road or the slow one.
func ParseValue(b []byte) (d decimal.Decimal, present bool, err error) {
	v, err := parseValue(b)
	return v.decimal(), v.present, err
}

// Sum adds amounts up as tallies do.
func Sum(amounts ...string) decimal.Decimal {
	var s sum
	for _, a := range amounts {
		v, err := parseValue([]byte(a))
		if err != nil {
			panic(err)
		}
		s.add(v)
	}
	return s.total()
}
