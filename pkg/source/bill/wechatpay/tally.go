package wechatpay

import (
	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
)

// tally adds the lines of a trade bill up.
type tally struct {
	lines int64
	sums  [figures]sum
}

func (t *tally) add(values *[figures]value) {
	t.lines++
	for i := range values {
		if values[i].present {
			t.sums[i].add(values[i])
		}
	}
}

// less is the tally without another.
func (t *tally) less(o *tally) (lines decimal.Decimal, sums [figures]decimal.Decimal) {
	for i := range sums {
		sums[i] = t.sums[i].total().Sub(o.sums[i].total())
	}
	return decimal.NewFromInt(t.lines - o.lines), sums
}

// finish holds the figures of the bill against its lines. Whether WeChat Pay counts refunds that failed is not known: the
// figures must all agree with them or all without.
func (t *trade) finish() error {
	declared, err := t.totals()
	if err != nil {
		return err
	}
	if t.failed.lines > 0 {
		t.out.Remark("%d refunds failed (退款状态 FAIL) and moved no money: left out", t.failed.lines)
	}
	lines, sums := t.all.less(&tally{})
	if t.failed.lines > 0 && !agree(declared, lines, sums) {
		if l, s := t.all.less(&t.failed); agree(declared, l, s) {
			lines, sums = l, s
		}
	}
	seen := map[int]bool{}
	for i, name := range declared.names {
		fig := figureOf(name)
		if fig < 0 && name != tradeMark {
			t.out.Problem(declared.line, 0, "the total %q is not known; tell us which column it sums", name)
			continue
		}
		if seen[fig] {
			t.out.Problem(declared.line, 0, "there are two totals of the same column, %q is the second", name)
		}
		seen[fig] = true
		t.out.Declare(name, declared.line, declared.values[i])
		t.out.Count(name, counted(fig, lines, sums))
	}
	for fig, names := range figureNames {
		if !seen[fig] && t.figure[fig] >= 0 && fig != figCouponRefund && fig != figSettle {
			return bill.Cut("the totals do not give " + names.totals[0])
		}
	}
	return nil
}

// figureOf is the column that a total sums, -1 for the number of lines and for names that are not known.
func figureOf(name string) int {
	for fig, names := range figureNames {
		for _, n := range names.totals {
			if bill.Fold(name) == bill.Fold(n) {
				return fig
			}
		}
	}
	return -1
}

func counted(fig int, lines decimal.Decimal, sums [figures]decimal.Decimal) decimal.Decimal {
	if fig < 0 {
		return lines
	}
	return sums[fig]
}

func agree(declared totals, lines decimal.Decimal, sums [figures]decimal.Decimal) bool {
	for i, name := range declared.names {
		if !declared.values[i].Equal(counted(figureOf(name), lines, sums)) {
			return false
		}
	}
	return true
}
