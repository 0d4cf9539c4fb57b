package stripe

import (
	"fmt"
	"strings"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// numbers are the columns of metadata that hold the merchant's numbers, whose names the merchant chose.
type numbers struct{ order, refund []int }

// findNumbers chooses columns: those whose name means an order or a refund, else the only one that there is.
func findNumbers(h *bill.Header) numbers {
	var n numbers
	var payment, refund []int // columns of metadata of either kind
	for i, name := range h.Names() {
		if inner, ok := metadata(name, "payment_metadata["); ok {
			payment = append(payment, i)
			if bill.NamesOrder(inner) {
				n.order = append(n.order, i)
			}
		}
		if inner, ok := metadata(name, "refund_metadata["); ok {
			refund = append(refund, i)
			if bill.NamesRefund(inner) {
				n.refund = append(n.refund, i)
			}
			if bill.NamesOrder(inner) {
				refund = refund[:len(refund)-1] // the order that was refunded
				n.order = append(n.order, i)
			}
		}
	}
	if len(n.order) == 0 && len(payment) == 1 {
		n.order = payment
	}
	if len(n.refund) == 0 && len(refund) == 1 {
		n.refund = refund
	}
	return n
}

func metadata(name, prefix string) (inner string, ok bool) {
	name = bill.Fold(name)
	if !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, "]") {
		return "", false
	}
	return name[len(prefix) : len(name)-1], true
}

// of returns the numbers of a line, "" where it has none. Two different ones are a problem.
func (n numbers) of(c *bill.Cells) (order, refund string) {
	return one(c, n.order, "order"), one(c, n.refund, "refund")
}

func one(c *bill.Cells, cols []int, what string) string {
	found := ""
	for _, col := range cols {
		switch s := c.Ident(col); {
		case s == "" || s == found:
		case found == "":
			found = s
		default:
			c.Problem(col, fmt.Errorf("the number of the %s is %q here and %q in another column of metadata: run the report with one of them only",
				what, text.Clip(s, 40), text.Clip(found, 40)))
		}
	}
	return found
}
