package model

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// MatchMode says how the entries of one key are held against each other.
type MatchMode string

// The match modes.
const (
	ModeOne MatchMode = "one" // one entry a side; more is a duplicate
	ModeSum MatchMode = "sum" // counts are ignored, sums compared: split captures, partial refunds
)

// Rules say what it means for the two sides to agree.
type Rules struct {
	Key       []string // columns whose values make the match key
	Mode      MatchMode
	Tolerance map[string]decimal.Decimal // accepted |ledger - channel| per currency; "default" for the others
	Compare   []string                   // columns whose values must agree in mode one
	StatusMap map[Side]map[string]string // what a side's status text means in common words
}

// Status translates a status text of a side into the common word; a text that is not listed stands for itself.
func (r Rules) Status(side Side, text string) string {
	if v, ok := r.StatusMap[side][text]; ok {
		return v
	}
	return text
}

// ReadingDigest identifies the rules that are applied while entries are read: what makes the match key, which columns
// are compared, what status words mean. Entries read under different ones must not be held against each other. Mode and
// tolerance are not among them, as they are applied to entries of any reading.
func (r Rules) ReadingDigest() string {
	parts := append([]string{"key"}, r.Key...)
	parts = append(append(parts, "compare"), r.Compare...)
	for _, side := range Sides {
		parts = append(parts, string(side))
		for _, text := range slices.Sorted(maps.Keys(r.StatusMap[side])) {
			parts = append(parts, text, r.StatusMap[side][text])
		}
	}
	return digest(parts...)[:32]
}

// Group is every entry of one match key: those of the day's snapshots and those carried in.
type Group struct {
	Key     string
	Ledger  []Entry
	Channel []Entry
}

// Verdict is what a group turned out to be.
type Verdict string

// The verdicts on a group.
const (
	Matched   Verdict = "matched" // settled; a carried entry among it is cleared
	Carried   Verdict = "carried" // one side only, still inside the window: waits, is not a diff
	Different Verdict = "different"
)

// Outcome is the judgement on one group. Figures holds the figures for every verdict; only a Different one becomes a [Diff].
type Outcome struct {
	Verdict Verdict
	Figures Figures
}

// Judge decides what a group is. The first rule that applies names the kind and every other reason is listed with it.
// closed reports whether the carry window of an entry that first appeared on origin has been used up by the day being
// compared; it decides between waiting and a missing entry.
func (r Rules) Judge(g Group, closed func(origin Day) bool) Outcome {
	f := figure(g)
	if r.Mode == ModeOne && (len(g.Ledger) > 1 || len(g.Channel) > 1) {
		f.Reasons = append(f.Reasons, KindDuplicate)
	}
	switch {
	case len(g.Channel) == 0:
		f.Reasons = append(f.Reasons, KindMissingInChannel)
	case len(g.Ledger) == 0:
		f.Reasons = append(f.Reasons, KindMissingInLedger)
	default:
		f.Reasons = append(f.Reasons, r.disagreements(g, &f)...)
	}
	if len(f.Reasons) == 0 {
		return Outcome{Verdict: Matched, Figures: f}
	}
	if f.Reasons[0] != KindDuplicate && (len(g.Ledger) == 0 || len(g.Channel) == 0) && !closed(f.Origin) {
		return Outcome{Verdict: Carried, Figures: f}
	}
	f.Kind = f.Reasons[0]
	return Outcome{Verdict: Different, Figures: f}
}

// disagreements lists why two sides that both have the key do not agree.
func (r Rules) disagreements(g Group, f *Figures) []Kind {
	var why []Kind
	if !slices.Equal(currencySet(g.Ledger), currencySet(g.Channel)) {
		why = append(why, KindCurrency)
	} else if slices.ContainsFunc(f.Amounts, r.beyondTolerance) {
		why = append(why, KindAmount)
	}
	if r.Mode == ModeOne && len(g.Ledger) == 1 && len(g.Channel) == 1 {
		if detail := r.compared(g.Ledger[0], g.Channel[0]); detail != "" {
			f.Detail = detail
			why = append(why, KindStatus)
		}
	}
	return why
}

func (r Rules) beyondTolerance(a CurrencyAmounts) bool {
	return a.Ledger.Sub(a.Channel).Abs().GreaterThan(perCurrency(r.Tolerance, a.Currency))
}

// compared names the compared columns that differ, "" when none does. An empty side is not compared.
func (r Rules) compared(l, c Entry) string {
	var out []string
	for i, column := range r.Compare {
		a, b := at(l.Compared, i), at(c.Compared, i)
		if a != "" && b != "" && a != b {
			out = append(out, column+": "+strconv.Quote(a)+" in ledger, "+strconv.Quote(b)+" in channel")
		}
	}
	return strings.Join(out, "; ")
}

func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return ""
}

func currencySet(entries []Entry) []string {
	set := map[string]bool{}
	for _, e := range entries {
		set[e.Currency] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// figure sums a group up, side by side and currency by currency.
func figure(g Group) Figures {
	sums := map[string]*CurrencyAmounts{}
	f := Figures{Key: g.Key, LedgerCount: uint64(len(g.Ledger)), ChannelCount: uint64(len(g.Channel))}
	first := true
	for _, e := range slices.Concat(g.Ledger, g.Channel) {
		s := sums[e.Currency]
		if s == nil {
			s = &CurrencyAmounts{Currency: e.Currency}
			sums[e.Currency] = s
		}
		s.add(e)
		if first || e.Origin < f.Origin {
			f.Origin, first = e.Origin, false
		}
	}
	for _, c := range slices.Sorted(maps.Keys(sums)) {
		f.Amounts = append(f.Amounts, *sums[c])
	}
	f.LedgerStatus, f.LedgerRef = describe(g.Ledger)
	f.ChannelStatus, f.ChannelRef = describe(g.Channel)
	f.headline(currencySet(g.Ledger), currencySet(g.Channel))
	return f
}

// describe gives the statuses of one side and where its first entry stands: first by file and line, so that the order
// in which entries come makes no difference.
func describe(entries []Entry) (status, ref string) {
	if len(entries) == 0 {
		return "", ""
	}
	set := map[string]bool{}
	first := entries[0]
	for _, e := range entries {
		if e.Status != "" {
			set[e.Status] = true
		}
		if cmp.Or(strings.Compare(e.File, first.File), cmp.Compare(e.Line, first.Line)) < 0 {
			first = e
		}
	}
	ref = first.File + ":" + strconv.FormatUint(first.Line, 10)
	return strings.Join(slices.Sorted(maps.Keys(set)), ","), ref
}
