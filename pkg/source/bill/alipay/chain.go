package alipay

import (
	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
)

// link is one row of a chain of balances.
type link struct {
	line            int
	amount, balance decimal.Decimal // balance after amount had moved
}

// chain follows the running balance of an account list. Lists run forwards or backwards in time; the direction with fewer
// breaks is the one that a list runs in.
type chain struct {
	last   link
	rows   int
	breaks [2]int // forwards, backwards
	first  [2]struct {
		line      int
		want, got decimal.Decimal
	}
}

func (c *chain) follow(now link) {
	c.rows++
	before := c.last
	c.last = now
	if c.rows == 1 {
		return
	}
	for way, want := range []decimal.Decimal{before.balance.Add(now.amount), before.balance.Sub(before.amount)} {
		if want.Equal(now.balance) {
			continue
		}
		if c.breaks[way]++; c.breaks[way] == 1 {
			f := &c.first[way]
			f.line, f.want, f.got = now.line, want, now.balance
		}
	}
}

// remark tells where the chain breaks.
func (c *chain) remark(out *bill.Out) {
	way, order := 0, "oldest first"
	if c.breaks[1] < c.breaks[0] {
		way, order = 1, "newest first"
	}
	if n, f := c.breaks[way], c.first[way]; n > 0 {
		out.Remark("the running balance (%s) does not follow from row to row in %d of %d places, first in line %d: %s is expected, the bill says %s; "+
			"its totals agree with its rows, but money may have moved that it does not list, such as fees", order, n, c.rows-1, f.line, f.want, f.got)
	}
}
