package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

// entries makes entries from "amount currency [status]", each on its own line, all of day 100.
func entries(side model.Side, lines ...string) []model.Entry {
	var out []model.Entry
	for i, line := range lines {
		f := append(strings.Fields(line), "", "")
		out = append(out, model.Entry{
			Side: side, Key: "k", Amount: decimal.RequireFromString(f[0]), Currency: f[1], Status: f[2], Compared: []string{f[2]},
			Origin: 100, File: string(side) + ".csv", Line: uint64(i + 2),
		})
	}
	return out
}

var ruled = model.Rules{
	Mode: model.ModeOne, Compare: []string{"status"},
	Tolerance: map[string]decimal.Decimal{"default": decimal.Zero, "CNY": decimal.RequireFromString("0.01")},
}

// waits is a window that is open for entries of day 100 until the day is 103.
func waits(d model.Day) func(model.Day) bool { return func(o model.Day) bool { return d-o >= 3 } }

// TestJudgeTable is the table of what a group is, row by row.
func TestJudgeTable(t *testing.T) {
	t.Parallel()
	kinds := func(k ...model.Kind) []model.Kind { return k }
	for _, c := range []struct {
		what            string
		mode            model.MatchMode
		ledger, channel []string
		day             model.Day
		verdict         model.Verdict
		reasons         []model.Kind
		currency, delta string // "-" for null
	}{
		{"equal", model.ModeOne, []string{"1.50 CNY ok"}, []string{"1.5 CNY ok"}, 100, model.Matched, nil, "CNY", "0"},
		{"a carried side finds its counterpart", model.ModeOne, []string{"1 CNY ok"}, []string{"1 CNY ok"}, 102, model.Matched, nil, "CNY", "0"},
		{"twice in the ledger", model.ModeOne, []string{"1 CNY ok", "1 CNY ok"}, []string{"1 CNY ok"}, 100, model.Different, kinds(model.KindDuplicate, model.KindAmount), "CNY", "1"},
		{"twice on one side only, at once", model.ModeOne, nil, []string{"1 CNY", "2 CNY"}, 100, model.Different, kinds(model.KindDuplicate, model.KindMissingInLedger), "CNY", "-3"},
		{"twice on both sides, sums agree", model.ModeOne, []string{"1 CNY", "2 CNY"}, []string{"2 CNY", "1 CNY"}, 100, model.Different, kinds(model.KindDuplicate), "CNY", "0"},
		{"only in the ledger, today", model.ModeOne, []string{"1 CNY"}, nil, 100, model.Carried, kinds(model.KindMissingInChannel), "CNY", "1"},
		{"only in the ledger, still inside", model.ModeOne, []string{"1 CNY"}, nil, 102, model.Carried, kinds(model.KindMissingInChannel), "CNY", "1"},
		{"only in the ledger, used up", model.ModeOne, []string{"1 CNY"}, nil, 103, model.Different, kinds(model.KindMissingInChannel), "CNY", "1"},
		{"only in the channel, used up", model.ModeOne, nil, []string{"1 CNY"}, 103, model.Different, kinds(model.KindMissingInLedger), "CNY", "-1"},
		{"several currencies on one side", model.ModeSum, []string{"1 CNY", "2 USD"}, nil, 103, model.Different, kinds(model.KindMissingInChannel), "CNY,USD", "-"},
		{"sum: counts do not matter", model.ModeSum, []string{"3 CNY a"}, []string{"1 CNY b", "2 CNY c"}, 100, model.Matched, nil, "CNY", "0"},
		{"sum: sums do", model.ModeSum, []string{"3 CNY"}, []string{"1 CNY", "1 CNY"}, 100, model.Different, kinds(model.KindAmount), "CNY", "1"},
		{"sum: in every currency", model.ModeSum, []string{"3 CNY", "1 USD"}, []string{"3 CNY", "2 USD"}, 100, model.Different, kinds(model.KindAmount), "CNY,USD", "-"},
		{"currencies differ", model.ModeOne, []string{"1 CNY ok"}, []string{"1 USD ok"}, 100, model.Different, kinds(model.KindCurrency), "CNY/USD", "-"},
		{"currencies differ as sets", model.ModeSum, []string{"1 CNY", "1 USD"}, []string{"1 CNY"}, 100, model.Different, kinds(model.KindCurrency), "CNY,USD/CNY", "-"},
		{"currency and status", model.ModeOne, []string{"1 CNY ok"}, []string{"1 USD bad"}, 100, model.Different, kinds(model.KindCurrency, model.KindStatus), "CNY/USD", "-"},
		{"within tolerance", model.ModeOne, []string{"1.00 CNY ok"}, []string{"1.01 CNY ok"}, 100, model.Matched, nil, "CNY", "-0.01"},
		{"beyond tolerance", model.ModeOne, []string{"1.00 CNY ok"}, []string{"1.02 CNY ok"}, 100, model.Different, kinds(model.KindAmount), "CNY", "-0.02"},
		{"just beyond tolerance", model.ModeOne, []string{"1.00 CNY ok"}, []string{"1.01000001 CNY ok"}, 100, model.Different, kinds(model.KindAmount), "CNY", "-0.01000001"},
		{"default tolerance", model.ModeOne, []string{"1.00 USD ok"}, []string{"1.01 USD ok"}, 100, model.Different, kinds(model.KindAmount), "USD", "-0.01"},
		{"amount and status", model.ModeOne, []string{"1 CNY ok"}, []string{"2 CNY bad"}, 100, model.Different, kinds(model.KindAmount, model.KindStatus), "CNY", "-1"},
		{"status", model.ModeOne, []string{"1 CNY ok"}, []string{"1 CNY bad"}, 100, model.Different, kinds(model.KindStatus), "CNY", "0"},
		{"an empty side is not compared", model.ModeOne, []string{"1 CNY ok"}, []string{"1 CNY"}, 100, model.Matched, nil, "CNY", "0"},
	} {
		rules := ruled
		rules.Mode = c.mode
		got := rules.Judge(model.Group{Key: "k", Ledger: entries(model.Ledger, c.ledger...), Channel: entries(model.Channel, c.channel...)}, waits(c.day))
		require.Equal(t, c.verdict, got.Verdict, c.what)
		require.Equal(t, c.reasons, got.Figures.Reasons, c.what)
		require.Equal(t, c.currency, got.Figures.Currency, c.what)
		require.Equal(t, c.delta, nullText(got.Figures.Delta), c.what)
		require.Equal(t, []uint64{uint64(len(c.ledger)), uint64(len(c.channel))}, []uint64{got.Figures.LedgerCount, got.Figures.ChannelCount}, c.what)
		require.Equal(t, model.Day(100), got.Figures.Origin, c.what)
		checkKind(t, got)
	}
}

func nullText(d decimal.NullDecimal) string {
	if !d.Valid {
		return "-"
	}
	return d.Decimal.String()
}

func checkKind(t *testing.T, o model.Outcome) {
	t.Helper()
	if o.Verdict == model.Different {
		require.Equal(t, o.Figures.Reasons[0], o.Figures.Kind, "the first reason is the kind")
	} else {
		require.Empty(t, o.Figures.Kind, "no diff has no kind")
	}
}

func TestJudgeNamesWhatDiffersAndWhere(t *testing.T) {
	t.Parallel()
	f := ruled.Judge(model.Group{Key: "k", Ledger: entries(model.Ledger, "1 CNY ok"), Channel: entries(model.Channel, "1 CNY bad")}, waits(100)).Figures
	require.Equal(t, `status: "ok" in ledger, "bad" in channel`, f.Detail)
	require.Equal(t, []string{"ok", "bad", "ledger.csv:2", "channel.csv:2"}, []string{f.LedgerStatus, f.ChannelStatus, f.LedgerRef, f.ChannelRef})
	require.Equal(t, "1", nullText(f.LedgerAmount))
	require.Equal(t, "1", nullText(f.ChannelAmount))
	rules := model.Rules{StatusMap: map[model.Side]map[string]string{model.Ledger: {"PAID": "success"}}}
	require.Equal(t, "success", rules.Status(model.Ledger, "PAID"))
	require.Equal(t, "PAID", rules.Status(model.Channel, "PAID"))
}

// randomGroup has up to three entries a side, in few currencies, amounts and statuses, so that most rules come to bear.
func randomGroup(r *rand.Rand) model.Group {
	side := func(s model.Side) []model.Entry {
		var lines []string
		for range r.IntN(4) {
			lines = append(lines, fmt.Sprintf("%d.%02d %s %s", r.IntN(2), r.IntN(3), []string{"CNY", "USD", "JPY"}[min(r.IntN(6)/2, 2)], []string{"", "ok", "bad"}[r.IntN(3)]))
		}
		out := entries(s, lines...)
		for i := range out {
			out[i].Origin = model.Day(97 + r.IntN(4))
			out[i].File = fmt.Sprintf("f%d", r.IntN(2))
		}
		return out
	}
	for {
		if g := (model.Group{Key: "k", Ledger: side(model.Ledger), Channel: side(model.Channel)}); len(g.Ledger)+len(g.Channel) > 0 {
			return g
		}
	}
}

var mirrored = map[model.Kind]model.Kind{
	model.KindMissingInChannel: model.KindMissingInLedger, model.KindMissingInLedger: model.KindMissingInChannel,
}

func mirror(k model.Kind) model.Kind {
	if m, ok := mirrored[k]; ok {
		return m
	}
	return k
}

func swapped(entries []model.Entry) []model.Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].Side = out[i].Side.Other()
	}
	return out
}

func TestJudgeIsTheSameFromTheOtherSide(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		g, rules := randomGroup(r), ruled
		rules.Mode = []model.MatchMode{model.ModeOne, model.ModeSum}[r.IntN(2)]
		a := rules.Judge(g, waits(100))
		b := rules.Judge(model.Group{Key: "k", Ledger: swapped(g.Channel), Channel: swapped(g.Ledger)}, waits(100))
		checkKind(t, a)
		require.Equal(t, a.Verdict, b.Verdict)
		require.Equal(t, mirror(a.Figures.Kind), b.Figures.Kind)
		for i, k := range a.Figures.Reasons {
			require.Equal(t, mirror(k), b.Figures.Reasons[i])
		}
		require.Equal(t, a.Figures.Delta.Valid, b.Figures.Delta.Valid)
		require.True(t, a.Figures.Delta.Decimal.Equal(b.Figures.Delta.Decimal.Neg()))
		require.Equal(t, nullText(a.Figures.LedgerAmount), nullText(b.Figures.ChannelAmount))
		require.Equal(t, a.Figures.LedgerRef, b.Figures.ChannelRef)
		require.Equal(t, a.Figures.LedgerStatus, b.Figures.ChannelStatus)
		require.Equal(t, a.Figures.Origin, b.Figures.Origin)
	}
}

func TestJudgeDoesNotDependOnTheOrderOfEntries(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		g, rules := randomGroup(r), ruled
		rules.Mode = []model.MatchMode{model.ModeOne, model.ModeSum}[r.IntN(2)]
		h := model.Group{Key: g.Key, Ledger: slices.Clone(g.Ledger), Channel: slices.Clone(g.Channel)}
		r.Shuffle(len(h.Ledger), func(i, j int) { h.Ledger[i], h.Ledger[j] = h.Ledger[j], h.Ledger[i] })
		r.Shuffle(len(h.Channel), func(i, j int) { h.Channel[i], h.Channel[j] = h.Channel[j], h.Channel[i] })
		a, b := rules.Judge(g, waits(100)), rules.Judge(h, waits(100))
		require.Equal(t, a.Verdict, b.Verdict)
		da, db := model.Diff{Figures: a.Figures, Job: "j"}, model.Diff{Figures: b.Figures, Job: "j"}
		require.Equal(t, da.Fingerprint(), db.Fingerprint())
		require.Equal(t, mustJSON(t, da.DataOf()), mustJSON(t, db.DataOf()))
	}
}

// TestJudgeLosesNoMoney adds up what the figures say of random groups and compares with the entries that went in.
func TestJudgeLosesNoMoney(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	for range 2000 {
		g := randomGroup(r)
		f := ruled.Judge(g, waits(100)).Figures
		for _, e := range slices.Concat(g.Ledger, g.Channel) {
			require.LessOrEqual(t, f.Origin, e.Origin, "the oldest entry opens the window")
		}
		for _, side := range []struct {
			in  []model.Entry
			out func(model.CurrencyAmounts) (uint64, decimal.Decimal)
		}{
			{g.Ledger, func(a model.CurrencyAmounts) (uint64, decimal.Decimal) { return a.LedgerCount, a.Ledger }},
			{g.Channel, func(a model.CurrencyAmounts) (uint64, decimal.Decimal) { return a.ChannelCount, a.Channel }},
		} {
			in, out := model.Totals{}, model.Totals{}
			for _, e := range side.in {
				in.Add(e.Currency, 1, e.Amount)
			}
			for _, a := range f.Amounts {
				n, amount := side.out(a)
				out.Add(a.Currency, n, amount)
			}
			require.True(t, in.Equal(out), "%s in, %s out", in, out)
		}
	}
}
