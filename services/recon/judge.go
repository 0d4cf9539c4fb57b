package recon

import "daybreak/pkg/model"

// judge turns groups into diffs and carried entries and keeps the books of where every entry went.
type judge struct {
	batch   *model.Batch
	rules   model.Rules
	closed  func(origin model.Day) bool
	results Results
	digest  model.PoolDigest
}

func (j *judge) group(g model.Group) error {
	o := j.rules.Judge(g, j.closed)
	switch o.Verdict {
	case model.Matched:
		j.book(o.Figures, func(s *model.SideBalance) model.Totals { return s.Matched })
		for _, a := range o.Figures.Amounts {
			d := j.batch.Balance.MatchedDelta
			d[a.Currency] = d[a.Currency].Add(a.Ledger.Sub(a.Channel))
		}
		return nil
	case model.Carried:
		j.book(o.Figures, func(s *model.SideBalance) model.Totals { return s.CarriedOut })
		return j.carry(g)
	}
	j.book(o.Figures, func(s *model.SideBalance) model.Totals { return s.Different })
	j.batch.Diffs[o.Figures.Kind]++
	return j.results.Diff(model.Diff{
		Figures: o.Figures, Job: j.batch.Job, Day: j.batch.Day, Version: j.batch.Version, State: model.Open,
		ID: model.DiffID(j.batch.Job, j.batch.Day, g.Key),
	})
}

// book adds the figures of a group to one column of the balance, on both sides.
func (j *judge) book(f model.Figures, column func(*model.SideBalance) model.Totals) {
	for _, a := range f.Amounts {
		if a.LedgerCount > 0 {
			column(&j.batch.Balance.Ledger).Add(a.Currency, a.LedgerCount, a.Ledger)
		}
		if a.ChannelCount > 0 {
			column(&j.batch.Balance.Channel).Add(a.Currency, a.ChannelCount, a.Channel)
		}
	}
}

// carry hands every entry of a group on to the next business day.
func (j *judge) carry(g model.Group) error {
	entries := g.Ledger
	if len(entries) == 0 {
		entries = g.Channel
	}
	j.digest.Add(entries)
	for _, e := range entries {
		if err := j.results.Carry(e); err != nil {
			return err
		}
	}
	return nil
}
