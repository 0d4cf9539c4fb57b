// Package oracle reconciles the made-up books a second time, by a road that shares nothing with the product: the files are
// read with encoding/csv, amounts are big.Rat, and days are compared in plain maps, by the table of the design, section 8:
//
//	more than one entry of a key on a side (not in sum mode)   duplicate, at once
//	only on one side, window open                              carried on
//	only on one side, window used up                           missing_in_channel, missing_in_ledger
//	sets of currencies differ                                  currency
//	|ledger - channel| beyond the tolerance of a currency      amount
//	compared status differs (one-to-one only, empty: not)      status
//	else                                                       matched
//
// The first row that applies names the kind. It imports nothing of the product, so that a fault of the product cannot be
// repeated here by being shared; the jobs of the books are written down once more for the same reason.
package oracle

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Rules say how one job is compared.
type Rules struct {
	Sum       bool              // sums of a key are compared and counts ignored
	Carry     int               // business days that an entry waits for its counterpart
	Tolerance map[string]string // accepted difference by currency; none means none
	Status    bool              // statuses are compared
}

// Entry is one line of one side. Status is the file's word, Means what it is compared as.
type Entry struct {
	Key, Currency, Status, Means string
	Amount                       *big.Rat
	Origin                       int // index of its own day
}

// Day holds the entries of both sides of one day.
type Day struct{ Ledger, Channel []Entry }

// Diff is what does not settle, every figure as text: amounts exact without trailing zeros, "" where none can be given.
type Diff struct {
	Day, Origin                 int
	Key, Kind, Currency         string
	LedgerCount, ChannelCount   int
	Ledger, Channel, Delta      string
	LedgerStatus, ChannelStatus string
}

// Outcome is what one day leaves: its diffs and the entries that still wait, both by key.
type Outcome struct {
	Diffs []Diff
	Pool  []Waiting
}

// Waiting is an entry that is handed on to the next day.
type Waiting struct {
	Side, Key, Currency, Amount string
	Origin                      int
}

// Compare reconciles days in their order; index 0 is the first.
func (r Rules) Compare(days []Day) []Outcome {
	var out []Outcome
	ledgerPool, channelPool := []Entry{}, []Entry{}
	for d, day := range days {
		ledger := byKey(d, day.Ledger, ledgerPool)
		channel := byKey(d, day.Channel, channelPool)
		ledgerPool, channelPool = nil, nil
		var o Outcome
		for _, key := range keys(ledger, channel) {
			l, c := ledger[key], channel[key]
			if r.waits(d, l, c) {
				ledgerPool, channelPool = append(ledgerPool, l...), append(channelPool, c...)
				continue
			}
			if kind := r.kind(l, c); kind != "" {
				o.Diffs = append(o.Diffs, describe(d, key, kind, l, c))
			}
		}
		o.Pool = append(waiting("ledger", ledgerPool), waiting("channel", channelPool)...)
		out = append(out, o)
	}
	return out
}

// byKey groups today's entries and the carried ones.
func byKey(d int, today, carried []Entry) map[string][]Entry {
	out := map[string][]Entry{}
	for _, e := range carried {
		out[e.Key] = append(out[e.Key], e)
	}
	for _, e := range today {
		e.Origin = d
		out[e.Key] = append(out[e.Key], e)
	}
	return out
}

func keys(a, b map[string][]Entry) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// waits reports whether a key is only on one side and its window is still open.
func (r Rules) waits(d int, l, c []Entry) bool {
	if len(l) > 0 && len(c) > 0 || r.doubled(l, c) {
		return false
	}
	return d-oldest(l, c) < r.Carry
}

func (r Rules) doubled(l, c []Entry) bool { return !r.Sum && (len(l) > 1 || len(c) > 1) }

// kind is the first row of the table that applies, empty for a match.
func (r Rules) kind(l, c []Entry) string {
	switch {
	case r.doubled(l, c):
		return "duplicate"
	case len(c) == 0:
		return "missing_in_channel"
	case len(l) == 0:
		return "missing_in_ledger"
	case currencies(l) != currencies(c):
		return "currency"
	case r.apart(l, c):
		return "amount"
	case !r.Sum && r.Status && l[0].Means != "" && c[0].Means != "" && l[0].Means != c[0].Means:
		return "status"
	}
	return ""
}

// apart reports whether the sums of any currency differ by more than its tolerance.
func (r Rules) apart(l, c []Entry) bool {
	for currency := range strings.SplitSeq(currencies(l), ",") {
		gap := new(big.Rat).Sub(sum(l, currency), sum(c, currency))
		if gap.Abs(gap).Cmp(r.tolerance(currency)) > 0 {
			return true
		}
	}
	return false
}

func (r Rules) tolerance(currency string) *big.Rat {
	t := new(big.Rat)
	if text, ok := r.Tolerance[currency]; ok {
		t.SetString(text)
	}
	return t
}

// sum adds the amounts of one currency, of all when it is empty.
func sum(es []Entry, currency string) *big.Rat {
	total := new(big.Rat)
	for _, e := range es {
		if currency == "" || e.Currency == currency {
			total.Add(total, e.Amount)
		}
	}
	return total
}

// currencies is the set of currencies as sorted text.
func currencies(es []Entry) string { return set(es, func(e Entry) string { return e.Currency }) }

func set(es []Entry, of func(Entry) string) string {
	var out []string
	for _, e := range es {
		out = append(out, of(e))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

func oldest(l, c []Entry) int {
	first := -1
	for _, e := range append(slices.Clone(l), c...) {
		if first < 0 || e.Origin < first {
			first = e.Origin
		}
	}
	return first
}

// describe gives a diff its figures.
func describe(d int, key, kind string, l, c []Entry) Diff {
	lc, cc := currencies(l), currencies(c)
	out := Diff{
		Day: d, Origin: oldest(l, c), Key: key, Kind: kind, LedgerCount: len(l), ChannelCount: len(c),
		Ledger: single(l, lc), Channel: single(c, cc),
		LedgerStatus: set(l, func(e Entry) string { return e.Status }), ChannelStatus: set(c, func(e Entry) string { return e.Status }),
	}
	switch {
	case lc == "" || cc == "" || lc == cc:
		out.Currency = lc
		if lc == "" {
			out.Currency = cc
		}
		if !strings.Contains(out.Currency, ",") {
			out.Delta = Text(new(big.Rat).Sub(sum(l, ""), sum(c, "")))
		}
	default:
		out.Currency = lc + "/" + cc
	}
	return out
}

// single is the sum of a side when one figure can say it.
func single(es []Entry, set string) string {
	if strings.Contains(set, ",") {
		return ""
	}
	return Text(sum(es, ""))
}

func waiting(side string, es []Entry) []Waiting {
	var out []Waiting
	for _, e := range es {
		out = append(out, Waiting{Side: side, Key: e.Key, Currency: e.Currency, Amount: Text(e.Amount), Origin: e.Origin})
	}
	slices.SortFunc(out, func(a, b Waiting) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}

// Text is an amount as exact decimal text without trailing zeros.
func Text(r *big.Rat) string {
	text := r.FloatString(8)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "" || text == "-0" || text == "-" {
		return "0"
	}
	return text
}
