package model

import (
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

func TestContentsDigest(t *testing.T) {
	t.Parallel()
	entry := func(key, amount, status string) Entry {
		return Entry{Key: key, Amount: decimal.RequireFromString(amount), Currency: "CNY", Status: status, Compared: []string{status}}
	}
	digest := func(rules Rules, entries ...Entry) string {
		var d ContentsDigest
		for _, e := range entries {
			d.Add(e)
		}
		return d.Under(rules)
	}
	rules := Rules{Key: []string{"key"}}
	a, b, c := entry("A", "1.00", "PAID"), entry("B", "2", "PAID"), entry("C", "2", "PAID")
	same := [][2]string{
		{digest(rules, a, b, c), digest(rules, c, a, b)},             // another order
		{digest(rules, a), digest(rules, entry("A", "1", "PAID"))},   // the same amount
		{digest(rules, a), digest(Rules{Key: []string{"order"}}, b)}, // other rules: nothing is known
		{"", digest(rules, a)}, {digest(rules, a), ""}, {digest(rules), digest(rules)},
	}
	for i, pair := range same {
		require.False(t, OtherContents(pair[0], pair[1]), i)
	}
	other := [][2]string{
		{digest(rules, a, b), digest(rules, a, c)}, // another key, same count and sum
		{digest(rules, entry("A", "1", "x"), entry("B", "2", "x")), digest(rules, entry("A", "2", "x"), entry("B", "1", "x"))}, // amounts exchanged
		{digest(rules, a), digest(rules, entry("A", "1", "REFUND"))},
		{digest(rules, a, a), digest(rules, a)},
		{digest(rules, a, a), digest(rules)},
		{digest(rules, Entry{Key: "AB", Currency: "C"}), digest(rules, Entry{Key: "A", Currency: "BC"})},
	}
	for i, pair := range other {
		require.True(t, OtherContents(pair[0], pair[1]), i)
	}
}
