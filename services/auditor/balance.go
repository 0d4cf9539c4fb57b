package auditor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// derived is what the tables hold of one run, added up anew.
type derived struct {
	in, carriedIn map[model.Side]model.Totals // entries: of the snapshot, and carried in
	matched       map[model.Side]model.Totals // entries whose key is in no diff and in no pool
	inDiffs       map[model.Side]model.Totals // entries whose key is in an open diff
	inPool        map[model.Side]model.Totals // entries whose key is in the pool handed on
	diffs         map[model.Side]model.Totals // what the open diffs themselves show
	poolOut       map[model.Side]model.Totals // what the pool itself holds
	kinds         map[string]uint64
	twice         uint64 // open diffs with an id that another has
	headlines     uint64 // open diffs whose headline contradicts their amounts
	wrong         uint64 // matched keys that do not match by the rules
	wrongKey      string
	digestIn      string
	digestOut     string
}

func bothSides() map[model.Side]model.Totals {
	return map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}
}

func newDerived() derived {
	return derived{
		in: bothSides(), carriedIn: bothSides(), matched: bothSides(), inDiffs: bothSides(), inPool: bothSides(),
		diffs: bothSides(), poolOut: bothSides(), kinds: map[string]uint64{},
	}
}

// place books entries that came one way in and went one way out.
func (d derived) place(side model.Side, currency string, carried bool, where string, t model.Total) error {
	in := d.in
	if carried {
		in = d.carriedIn
	}
	out := map[string]map[model.Side]model.Totals{"matched": d.matched, "different": d.inDiffs, "carried": d.inPool}[where]
	if in[side] == nil || out == nil {
		return fmt.Errorf("entries of side %q", side)
	}
	in[side].Add(currency, t.Count, t.Amount)
	out[side].Add(currency, t.Count, t.Amount)
	return nil
}

// problems lists everything that does not add up: the identity over the stored rows, and every figure that the commit
// row claims against the rows themselves. No problem means that the result accounts for every entry and every unit.
func problems(job model.Job, n newest, c claim, d derived) []string {
	var out []string
	for _, side := range model.Sides {
		out = append(out, identity(side, d)...)
		out = append(out, claimed(side, c, d)...)
	}
	out = append(out, across(job, c, d)...)
	return append(out, claimedNumbers(n, c, d)...)
}

// identity: entries in + carried in = matched + in diffs + carried out. What went into diffs and pool is taken from
// their own rows, so that an entry which is lost on either way shows.
func identity(side model.Side, d derived) []string {
	in, out := model.Totals{}, model.Totals{}
	in.Merge(d.in[side])
	in.Merge(d.carriedIn[side])
	out.Merge(d.matched[side])
	out.Merge(d.diffs[side])
	out.Merge(d.poolOut[side])
	if in.Equal(out) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s came in, %s accounted for (matched %s; in diffs %s; carried out %s)",
		side, in, out, d.matched[side], d.diffs[side], d.poolOut[side])}
}

// claimed holds every figure of the commit row's balance against the rows.
func claimed(side model.Side, c claim, d derived) []string {
	b := c.Balance.Side(side)
	seal := c.Seals[side].Totals
	var out []string
	for _, v := range []struct {
		what          string
		claims, holds model.Totals
	}{
		{"entries in", b.In, d.in[side]},
		{"entries in, by the seal of the snapshot", seal, d.in[side]},
		{"carried in", b.CarriedIn, d.carriedIn[side]},
		{"matched", b.Matched, d.matched[side]},
		{"in diffs", b.Different, d.diffs[side]},
		{"entries of diffs", b.Different, d.inDiffs[side]},
		{"carried out", b.CarriedOut, d.poolOut[side]},
		{"entries of the pool handed on", b.CarriedOut, d.inPool[side]},
	} {
		if !v.claims.Equal(v.holds) {
			out = append(out, fmt.Sprintf("%s, %s: the commit row claims %s, the tables hold %s", side, v.what, v.claims, v.holds))
		}
	}
	return append(out, claimedColumns(side, c)...)
}

// claimedColumns holds the plain columns of the commit row against its balance.
func claimedColumns(side model.Side, c claim) []string {
	in := c.Balance.Side(side).In
	same := c.Count[side] == in.Count()
	for _, currency := range currencies(in, c.Totals[side]) {
		same = same && c.Totals[side][currency].Equal(in[currency].Amount)
	}
	if same {
		return nil
	}
	return []string{fmt.Sprintf("%s: the commit row shows %d entries %v beside a balance of %s", side, c.Count[side], c.Totals[side], in)}
}

func currencies(t model.Totals, m map[string]decimal.Decimal) []string {
	names := append(slices.Collect(maps.Keys(t)), slices.Collect(maps.Keys(m))...)
	slices.Sort(names)
	return slices.Compact(names)
}

// across: what the matched entries differ by between the sides is claimed as such and lies within the tolerance.
func across(job model.Job, c claim, d derived) []string {
	var out []string
	l, r := d.matched[model.Ledger], d.matched[model.Channel]
	both := model.Totals{}
	both.Merge(l)
	both.Merge(r)
	for _, currency := range currencies(both, c.Balance.MatchedDelta) {
		delta := l[currency].Amount.Sub(r[currency].Amount)
		if want := c.Balance.MatchedDelta[currency]; !delta.Equal(want) {
			out = append(out, fmt.Sprintf("%s: matched entries differ by %s between the sides, the commit row explains %s", currency, delta, want))
		}
		n := max(l[currency].Count, r[currency].Count)
		if most := tolerance(job, currency).Mul(decimal.NewFromUint64(n)); delta.Abs().GreaterThan(most) {
			out = append(out, fmt.Sprintf("%s: matched entries differ by %s between the sides, the tolerance allows %s", currency, delta, most))
		}
	}
	if d.wrong > 0 {
		out = append(out, fmt.Sprintf("%d keys count as matched and do not match by the rules, such as %q (when the rules were changed, replay the day)", d.wrong, d.wrongKey))
	}
	return out
}

func tolerance(job model.Job, currency string) decimal.Decimal {
	if v, ok := job.Rules.Tolerance[currency]; ok {
		return v
	}
	return job.Rules.Tolerance[model.DefaultCurrency]
}

// claimedNumbers holds numbers and digests of the commit row against the rows.
func claimedNumbers(n newest, c claim, d derived) []string {
	var out []string
	var claims, holds uint64
	for _, v := range c.Diffs {
		claims += v
	}
	for _, v := range d.kinds {
		holds += v
	}
	if !sameCounts(c.Diffs, d.kinds) || c.OpenDiffs != holds {
		out = append(out, fmt.Sprintf("open diffs: the commit row claims %d by kind and %d in all, the tables hold %d", claims, c.OpenDiffs, holds))
	}
	if d.twice > 0 {
		out = append(out, fmt.Sprintf("%d open diffs are there twice", d.twice))
	}
	if d.headlines > 0 {
		out = append(out, fmt.Sprintf("%d open diffs show figures that are not the sums of their amounts", d.headlines))
	}
	carriedIn := d.carriedIn[model.Ledger].Count() + d.carriedIn[model.Channel].Count()
	carriedOut := d.poolOut[model.Ledger].Count() + d.poolOut[model.Channel].Count()
	if c.In != carriedIn || c.Out != carriedOut {
		out = append(out, fmt.Sprintf("the commit row shows %d entries carried in and %d out, the tables hold %d and %d", c.In, c.Out, carriedIn, carriedOut))
	}
	if n.carryOut != d.digestOut {
		out = append(out, "the pool handed on is not the one that the commit row has the digest of")
	}
	if n.carryIn != d.digestIn {
		out = append(out, "the pool taken in is not the one that the commit row has the digest of")
	}
	return out
}

// sameCounts compares counts by kind; zero is absent.
func sameCounts(a, b map[string]uint64) bool {
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	for k := range b {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

// differences names, per currency, where the live source and the committed snapshot differ by more than the rule accepts.
func differences(rule model.AuditRule, side model.Side, committed, live model.Totals) []string {
	both := model.Totals{}
	both.Merge(committed)
	both.Merge(live)
	var out []string
	for _, currency := range currencies(both, nil) {
		c, l := committed[currency], live[currency]
		n := max(c.Count, l.Count) - min(c.Count, l.Count)
		if n > rule.Count || !rule.Accepts(currency, l.Amount.Sub(c.Amount)) {
			out = append(out, fmt.Sprintf("%s %s: committed %d entries %s, the source now has %d entries %s",
				side, currency, c.Count, c.Amount, l.Count, l.Amount))
		}
	}
	return out
}
