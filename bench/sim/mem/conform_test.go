package mem_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/model"
	"daybreak/pkg/review"
	"daybreak/pkg/store"
	"daybreak/services/auditor"
	"daybreak/services/recon"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// tables are one implementation of everything that is asked of result tables.
type tables struct {
	recon  recon.Tables
	audit  auditor.Tables
	review review.Table
}

// Random books, versions and reviews: both implementations answer every question alike.
func TestMemoryAnswersLikeTheEngine(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Conn: enginetest.ClickHouse(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	for seed := range uint64(4) {
		client := &mem.Client{DB: mem.New()}
		want := play(t, seed, tables{recon.Stored(st), auditor.Stored(st.Conn()), st})
		have := play(t, seed, tables{client, mem.Audit{Client: client}, client})
		require.Len(t, have, len(want), "seed %d", seed)
		for i := range want {
			require.Equal(t, want[i], have[i], "seed %d, answer %d", seed, i)
		}
	}
}

// story is one run through the tables and what they answered.
type story struct {
	t    *testing.T
	ctx  context.Context
	rng  *rand.Rand
	on   tables
	job  model.Job
	runs int
	told []string
}

func play(t *testing.T, seed uint64, on tables) []string {
	s := &story{t: t, ctx: t.Context(), rng: rand.New(rand.NewPCG(seed, 7)), on: on}
	s.job = model.Job{
		Name: fmt.Sprintf("job%d", seed), Start: 20000, Calendar: model.DailyCalendar(), CarryDays: 1 + int(seed%2),
		Rules: model.Rules{
			Key: []string{"key"}, Mode: []model.MatchMode{model.ModeOne, model.ModeSum}[seed%2], Compare: []string{"status"},
			Tolerance: map[string]decimal.Decimal{"default": {}, "CNY": decimal.RequireFromString("0.01")},
		},
	}
	last := map[model.Day]*model.Batch{}
	for range 6 {
		day := model.Day(20000 + s.rng.IntN(2))
		var pool *model.Batch
		if b := last[day-1]; b != nil {
			pool = b
		}
		b := s.version(day, last[day], pool)
		last[day] = &b
		s.look(b)
	}
	return s.told
}

func (s *story) say(what string, v any, err error) {
	text, jsonErr := json.Marshal(v)
	require.NoError(s.t, jsonErr)
	s.told = append(s.told, fmt.Sprintf("%s: %s %v", what, text, err))
}

// run is the same id in both stories.
func (s *story) run() string {
	s.runs++
	var id ulid.ULID
	copy(id[:], fmt.Sprintf("%16s", fmt.Sprintf("%s-%d", s.job.Name, s.runs)))
	id[0] = 0
	return id.String()
}

// version computes a day as recon does.
func (s *story) version(day model.Day, before, pool *model.Batch) model.Batch {
	b := model.Batch{
		Job: s.job.Name, Day: day, Version: 1, Fence: uint64(s.runs), RunID: s.run(), Cause: model.CauseDue, Balance: *model.NewBalance(),
		Diffs: map[model.Kind]uint64{}, Seals: map[model.Side]model.Seal{}, CommittedAt: time.Unix(1_800_000_000+int64(s.runs), 0).UTC(),
	}
	b.SnapshotID = b.RunID
	if before != nil {
		b.Version, b.Previous = before.Version+1, before.RunID
	}
	for _, side := range model.Sides {
		s.land(&b, side)
	}
	from := model.Batch{}
	if pool != nil {
		from, b.CarryIn = *pool, pool.CarryOut
	}
	carried, err := s.on.recon.CarryIn(s.ctx, b.Job, day, b.RunID, from)
	s.say("carried in", carried, err)
	for _, side := range model.Sides {
		b.Balance.Side(side).CarriedIn.Merge(carried[side])
	}
	s.compare(&b)
	cleared := uint64(0)
	if before != nil {
		cleared, err = s.on.recon.CarryOverCleared(s.ctx, *before, b.RunID, b.Version)
	}
	s.say("cleared", cleared, err)
	s.say("commit", b, s.on.recon.Commit(s.ctx, b))
	s.say("commit again", nil, s.on.recon.Commit(s.ctx, b))
	return b
}

func (s *story) land(b *model.Batch, side model.Side) {
	l, err := s.on.recon.Land(s.ctx, store.LandingID{Job: b.Job, Day: b.Day, RunID: b.RunID, Side: side})
	require.NoError(s.t, err)
	seal := model.Seal{Totals: model.Totals{}}
	for i := range s.rng.IntN(12) {
		e := model.Entry{
			Side: side, Key: fmt.Sprintf("k%d", s.rng.IntN(8)), Amount: decimal.New(int64(s.rng.IntN(3)), -2), Origin: b.Day,
			Currency: []string{"CNY", "CNY", "USD"}[s.rng.IntN(3)], Status: []string{"paid", "closed"}[s.rng.IntN(2)],
			Compared: []string{[]string{"a", "b", ""}[s.rng.IntN(3)]}, File: "f" + b.Day.String(), Line: uint64(i + 2),
		}
		require.NoError(s.t, l.Add(e))
		seal.Totals.Add(e.Currency, 1, e.Amount)
	}
	s.say("landed", nil, l.Close(s.ctx))
	got, err := s.on.recon.SnapshotTotals(s.ctx, b.Job, b.Day, b.RunID, side)
	s.say("totals", got, err)
	b.Seals[side] = seal
	b.Balance.Side(side).In.Merge(seal.Totals)
}

func (s *story) compare(b *model.Batch) {
	c := store.Comparison{Job: b.Job, Day: b.Day, SnapshotID: b.SnapshotID, RunID: b.RunID, Mode: s.job.Rules.Mode}
	ledger, channel, err := s.on.recon.Exact(s.ctx, c)
	s.say("exact", []model.Totals{ledger, channel}, err)
	b.Balance.Ledger.Matched.Merge(ledger)
	b.Balance.Channel.Matched.Merge(channel)
	res, err := s.on.recon.Results(s.ctx, b.Job, b.Day, b.RunID, b.Version)
	require.NoError(s.t, err)
	var digest model.PoolDigest
	err = s.on.recon.Residue(s.ctx, c, func(g model.Group) error {
		o := s.job.Rules.Judge(g, s.job.WindowClosed(b.Day))
		s.say("group", g, nil)
		for _, a := range o.Figures.Amounts {
			for _, side := range model.Sides {
				n, sum := a.LedgerCount, a.Ledger
				if side == model.Channel {
					n, sum = a.ChannelCount, a.Channel
				}
				books := b.Balance.Side(side)
				to := map[model.Verdict]model.Totals{model.Matched: books.Matched, model.Carried: books.CarriedOut, model.Different: books.Different}
				if n > 0 {
					to[o.Verdict].Add(a.Currency, n, sum)
				}
			}
			if o.Verdict == model.Matched {
				b.Balance.MatchedDelta[a.Currency] = b.Balance.MatchedDelta[a.Currency].Add(a.Ledger.Sub(a.Channel))
			}
		}
		switch o.Verdict {
		case model.Carried:
			digest.Add(append(g.Ledger, g.Channel...))
			for _, e := range append(g.Ledger, g.Channel...) {
				if err := res.Carry(e); err != nil {
					return err
				}
			}
		case model.Different:
			b.Diffs[o.Figures.Kind]++
			return res.Diff(model.Diff{Figures: o.Figures, State: model.Open, ID: model.DiffID(b.Job, b.Day, g.Key)})
		}
		return nil
	})
	s.say("residue", nil, err)
	counts, err := res.Close(s.ctx)
	s.say("results", counts, err)
	b.CarryOut = digest.String()
}

// look asks everything that readers and auditors ask.
func (s *story) look(b model.Batch) {
	now, ok, err := s.on.recon.Current(s.ctx, b.Job, b.Day)
	s.say(fmt.Sprint("current ", ok), now, err)
	var ids []string
	for c, err := range s.on.recon.Changes(s.ctx, b) {
		s.say("change", c, err)
		ids = append(ids, c.Diff.ID)
	}
	newest, err := s.on.audit.Newest(s.ctx, b.Job)
	s.say("newest", newest, err)
	claim, err := s.on.audit.Claim(s.ctx, b.Job, b.Day, b.RunID)
	s.say("claim", claim, err)
	derived, err := s.on.audit.Derive(s.ctx, s.job, b.Day, newest[b.Day])
	s.say("derived", derived, err)
	for i, id := range ids {
		if i%3 == 0 {
			r := model.Review{
				Job: b.Job, Day: b.Day, DiffID: id, Key: "k", State: model.ReviewInvestigating, By: "me", Note: "n", Step: b.Version,
				At: b.CommittedAt, Fingerprint: "f", SeenVersion: b.Version,
			}
			s.say("review", nil, s.on.review.PutReview(s.ctx, r))
		}
		row, ok, err := s.on.review.Diff(s.ctx, b.Job, b.Day, id)
		s.say(fmt.Sprint("diff ", ok), row, err)
	}
	reviews, err := s.on.audit.Reviews(s.ctx, b.Job)
	s.say("reviews", reviews, err)
	require.False(s.t, slices.Contains(s.told, ""))
}
