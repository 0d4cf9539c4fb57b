package mem

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/services/auditor"
)

// Audit is what an auditor reads of the tables.
type Audit struct{ *Client }

var (
	_ auditor.Tables   = Audit{}
	_ auditor.Recorder = Audit{}
)

// Newest implements auditor.Tables.
func (a Audit) Newest(ctx context.Context, job string) (out map[model.Day]auditor.Newest, err error) {
	err = a.send(ctx, Request{Name: "audit.newest " + job, Apply: func() error {
		out = map[model.Day]auditor.Newest{}
		for p := range a.DB.Batches {
			if p.Job != job {
				continue
			}
			b, _ := a.DB.Newest(p)
			out[p.Day] = auditor.Newest{
				Version: b.Version, Fence: b.Fence, RunID: b.RunID, SnapshotID: b.SnapshotID, CommittedAt: b.CommittedAt,
				CarryIn: b.CarryIn, CarryOut: b.CarryOut, OpenDiffs: b.OpenDiffs(),
			}
		}
		return nil
	}})
	return out, err
}

// Claim implements auditor.Tables.
func (a Audit) Claim(ctx context.Context, job string, day model.Day, runID string) (c auditor.Claim, err error) {
	p := Place{job, day}
	err = a.read(ctx, "audit.claim", p, func() error {
		for _, b := range a.DB.Batches[p] {
			if b.RunID == runID {
				c = claimOf(b)
				return nil
			}
		}
		return fmt.Errorf("run %s has no row in batches", runID)
	})
	return c, err
}

func claimOf(b model.Batch) auditor.Claim {
	c := auditor.Claim{
		Seals: b.Seals, Balance: b.Balance, Diffs: map[string]uint64{}, OpenDiffs: b.OpenDiffs(), Count: map[model.Side]uint64{},
		Totals: map[model.Side]map[string]decimal.Decimal{},
	}
	for k, n := range b.Diffs {
		c.Diffs[string(k)] = n
	}
	for _, side := range model.Sides {
		s := b.Balance.Side(side)
		c.Count[side] = s.In.Count()
		c.Totals[side] = map[string]decimal.Decimal{}
		for cur, t := range s.In {
			c.Totals[side][cur] = t.Amount
		}
		c.In += s.CarriedIn.Count()
		c.Out += s.CarriedOut.Count()
	}
	return c
}

func sides() map[model.Side]model.Totals {
	return map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}
}

// Derive implements auditor.Tables.
func (a Audit) Derive(ctx context.Context, job model.Job, day model.Day, n auditor.Newest) (d auditor.Derived, err error) {
	p := Place{job.Name, day}
	err = a.read(ctx, "audit.derive", p, func() error { d = a.DB.derive(job, p, n); return nil })
	return d, err
}

func (db *DB) derive(job model.Job, p Place, n auditor.Newest) auditor.Derived {
	run := db.Get(p, n.RunID)
	d := auditor.Derived{
		In: sides(), CarriedIn: sides(), Matched: sides(), InDiffs: sides(), InPool: sides(), Diffs: sides(),
		PoolOut: poolTotals(run.Pool), Kinds: map[string]uint64{}, DigestOut: digest(run.Pool),
	}
	open, ids, pooled := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, v := range run.Diffs {
		if v.State != model.Open {
			continue
		}
		if ids[v.ID] {
			d.Twice++
		}
		open[v.Key], ids[v.ID] = true, true
		d.Kinds[string(v.Kind)]++
		var lc, cc uint64
		for _, m := range v.Amounts {
			d.Diffs[model.Ledger].Add(m.Currency, m.LedgerCount, m.Ledger)
			d.Diffs[model.Channel].Add(m.Currency, m.ChannelCount, m.Channel)
			lc, cc = lc+m.LedgerCount, cc+m.ChannelCount
		}
		if lc != v.LedgerCount || cc != v.ChannelCount {
			d.Headlines++
		}
	}
	for _, e := range run.Pool {
		pooled[e.Key] = true
	}
	var carriedIn []model.Entry
	matched := map[string]*model.Group{}
	place := func(e model.Entry, in map[model.Side]model.Totals) {
		in[e.Side].Add(e.Currency, 1, e.Amount)
		switch {
		case open[e.Key]:
			d.InDiffs[e.Side].Add(e.Currency, 1, e.Amount)
		case pooled[e.Key]:
			d.InPool[e.Side].Add(e.Currency, 1, e.Amount)
		default:
			d.Matched[e.Side].Add(e.Currency, 1, e.Amount)
			g := matched[e.Key]
			if g == nil {
				g = &model.Group{}
				matched[e.Key] = g
			}
			if e.Side == model.Ledger {
				g.Ledger = append(g.Ledger, e)
			} else {
				g.Channel = append(g.Channel, e)
			}
		}
	}
	for _, r := range db.Get(p, n.SnapshotID).Entries {
		if !r.Carried {
			place(r.Entry, d.In)
		}
	}
	for _, r := range run.Entries {
		if r.Carried {
			carriedIn = append(carriedIn, r.Entry)
			place(r.Entry, d.CarriedIn)
		}
	}
	d.DigestIn = digest(carriedIn)
	for key, g := range matched {
		if !db.Blind && !pair(job.Rules, g) {
			d.Wrong++
			if d.WrongKey == "" || key < d.WrongKey {
				d.WrongKey = key
			}
		}
	}
	return d
}

// pair reports whether a group that counts as matched agrees by the rules.
func pair(rules model.Rules, g *model.Group) bool {
	if len(g.Ledger) == 0 || len(g.Channel) == 0 || rules.Mode == model.ModeOne && len(g.Ledger)+len(g.Channel) != 2 {
		return false
	}
	l, c := model.Totals{}, model.Totals{}
	add(l, g.Ledger)
	add(c, g.Channel)
	for cur := range l {
		most, ok := rules.Tolerance[cur]
		if !ok {
			most = rules.Tolerance[model.DefaultCurrency]
		}
		if c[cur].Count == 0 || l[cur].Amount.Sub(c[cur].Amount).Abs().GreaterThan(most) {
			return false
		}
	}
	return len(l) == len(c) && (rules.Mode != model.ModeOne || agree(g.Ledger[0].Compared, g.Channel[0].Compared))
}

// digest is that of a pool. Its form is a word of package model, like that of an event id.
func digest(pool []model.Entry) string {
	rows := slices.Clone(pool)
	slices.SortStableFunc(rows, func(a, b model.Entry) int { return strings.Compare(a.Key, b.Key) })
	var sum model.PoolDigest
	for i := 0; i < len(rows); {
		j := i
		for j < len(rows) && rows[j].Key == rows[i].Key {
			j++
		}
		sum.Add(rows[i:j])
		i = j
	}
	return sum.String()
}

// Reviews implements auditor.Tables.
func (a Audit) Reviews(ctx context.Context, job string) (out map[string]model.Review, err error) {
	err = a.send(ctx, Request{Name: "audit.reviews " + job, Apply: func() error {
		out = map[string]model.Review{}
		for id := range a.DB.Reviews {
			if r, ok := a.DB.Review(id); ok && r.Job == job {
				out[id] = r
			}
		}
		return nil
	}})
	return out, err
}
