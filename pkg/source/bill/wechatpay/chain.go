package wechatpay

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"
)

// chain checks running balances. Every line goes from the balance before it to the balance after it, so that the lines of
// an account form one chain, whichever way the file is sorted and also where lines of the same second have changed places:
// every balance is left as often as it is reached, but for the first and the last one. Only balances at which that is not
// so yet are kept, which are two in a sorted file.
type chain struct {
	open map[string]node // by balance: how often it was left minus how often it was reached, if not zero
	full bool
}

type node struct{ left, line int }

// openMax bounds what is kept, which grows only in a file whose lines hang together nowhere.
const openMax = 100_000

// link adds a line.
func (c *chain) link(before, after decimal.Decimal, line int) {
	if c.open == nil {
		c.open = map[string]node{}
	}
	if !c.full && !before.Equal(after) {
		c.add(before, 1, line)
		c.add(after, -1, line)
		c.full = len(c.open) > openMax
	}
}

func (c *chain) add(balance decimal.Decimal, n, line int) {
	key := balance.String()
	left := c.open[key].left + n
	if left == 0 {
		delete(c.open, key)
		return
	}
	c.open[key] = node{left, line}
}

// broken says what is wrong with the chain, "" when nothing is.
func (c *chain) broken() string {
	ends := 0
	for _, n := range c.open {
		ends += max(n.left, -n.left)
	}
	if ends <= 2 {
		return ""
	}
	lines := make([]int, 0, len(c.open))
	for _, n := range c.open {
		lines = append(lines, n.line)
	}
	slices.Sort(lines) // the very first is where the chain begins, or ends
	return fmt.Sprintf("the balances (账户结余) do not form one chain, first near line %d: a line is missing, was added or was changed; "+
		"deliver the whole bill of one account again", lines[1])
}
