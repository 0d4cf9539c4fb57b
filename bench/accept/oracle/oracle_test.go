package oracle

import (
	"math/big"
	"testing"
	"time"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"

	"github.com/stretchr/testify/require"
)

func entry(key, amount string, more ...string) Entry {
	e := Entry{Key: key, Currency: "CNY", Status: "success", Means: "success", Amount: new(big.Rat)}
	e.Amount.SetString(amount)
	if len(more) > 0 {
		e.Currency = more[0]
	}
	if len(more) > 1 {
		e.Status, e.Means = more[1], more[1]
	}
	if len(more) > 2 {
		e.Means = more[2]
	}
	return e
}

func side(es ...Entry) []Entry { return es }

var (
	plain   = Rules{Status: true, Tolerance: map[string]string{"CNY": "0.01"}}
	carries = Rules{Carry: 2, Status: true}
	sums    = Rules{Sum: true, Tolerance: map[string]string{"CNY": "0.01"}}
)

// One row of the table after the other, each with the figures that a person works out by hand.
func TestTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules Rules
		days  []Day
		want  []Diff
	}{
		"matched":              {plain, []Day{{side(entry("a", "10")), side(entry("a", "10.00"))}}, nil},
		"within the tolerance": {plain, []Day{{side(entry("a", "10")), side(entry("a", "10.01"))}}, nil},
		"beyond the tolerance": {plain, []Day{{side(entry("a", "10")), side(entry("a", "10.02"))}}, []Diff{
			{Key: "a", Kind: "amount", Currency: "CNY", LedgerCount: 1, ChannelCount: 1, Ledger: "10", Channel: "10.02", Delta: "-0.02", LedgerStatus: "success", ChannelStatus: "success"},
		}},
		"no tolerance for another currency": {plain, []Day{{side(entry("a", "10", "USD")), side(entry("a", "10.01", "USD"))}}, []Diff{
			{Key: "a", Kind: "amount", Currency: "USD", LedgerCount: 1, ChannelCount: 1, Ledger: "10", Channel: "10.01", Delta: "-0.01", LedgerStatus: "success", ChannelStatus: "success"},
		}},
		"duplicate before everything else": {plain, []Day{{side(entry("a", "1"), entry("a", "2", "USD")), side(entry("a", "3"))}}, []Diff{
			{Key: "a", Kind: "duplicate", Currency: "CNY,USD/CNY", LedgerCount: 2, ChannelCount: 1, Channel: "3", LedgerStatus: "success", ChannelStatus: "success"},
		}},
		"duplicate on one side only is not carried": {carries, []Day{{nil, side(entry("a", "1"), entry("a", "1"))}, {}}, []Diff{
			{Key: "a", Kind: "duplicate", Currency: "CNY", ChannelCount: 2, Ledger: "0", Channel: "2", Delta: "-2", ChannelStatus: "success"},
		}},
		"missing at once without carry": {plain, []Day{{side(entry("a", "5")), side(entry("b", "6"))}}, []Diff{
			{Key: "a", Kind: "missing_in_channel", Currency: "CNY", LedgerCount: 1, Ledger: "5", Channel: "0", Delta: "5", LedgerStatus: "success"},
			{Key: "b", Kind: "missing_in_ledger", Currency: "CNY", ChannelCount: 1, Ledger: "0", Channel: "6", Delta: "-6", ChannelStatus: "success"},
		}},
		"missing opens on the day that closes the window": {carries, []Day{{side(entry("a", "5")), nil}, {}, {}, {}}, []Diff{
			{Day: 2, Origin: 0, Key: "a", Kind: "missing_in_channel", Currency: "CNY", LedgerCount: 1, Ledger: "5", Channel: "0", Delta: "5", LedgerStatus: "success"},
		}},
		"counterpart on the last day of the window": {carries, []Day{{side(entry("a", "5")), nil}, {}, {nil, side(entry("a", "5"))}}, nil},
		"counterpart with another amount": {carries, []Day{{side(entry("a", "5")), nil}, {nil, side(entry("a", "4"))}}, []Diff{
			{Day: 1, Origin: 0, Key: "a", Kind: "amount", Currency: "CNY", LedgerCount: 1, ChannelCount: 1, Ledger: "5", Channel: "4", Delta: "1", LedgerStatus: "success", ChannelStatus: "success"},
		}},
		"the same key again while the first waits": {carries, []Day{{side(entry("a", "5")), nil}, {side(entry("a", "5")), nil}}, []Diff{
			{Day: 1, Origin: 0, Key: "a", Kind: "duplicate", Currency: "CNY", LedgerCount: 2, Ledger: "10", Channel: "0", Delta: "10", LedgerStatus: "success"},
		}},
		"currency before amount": {plain, []Day{{side(entry("a", "5")), side(entry("a", "7", "EUR"))}}, []Diff{
			{Key: "a", Kind: "currency", Currency: "CNY/EUR", LedgerCount: 1, ChannelCount: 1, Ledger: "5", Channel: "7", LedgerStatus: "success", ChannelStatus: "success"},
		}},
		"status last": {plain, []Day{{side(entry("a", "5", "CNY", "closed")), side(entry("a", "5"))}}, []Diff{
			{Key: "a", Kind: "status", Currency: "CNY", LedgerCount: 1, ChannelCount: 1, Ledger: "5", Channel: "5", Delta: "0", LedgerStatus: "closed", ChannelStatus: "success"},
		}},
		"other words that mean the same": {plain, []Day{{side(entry("a", "5", "CNY", "PAID", "success")), side(entry("a", "5", "CNY", "SUCCESS", "success"))}}, nil},
		"a diff shows the words of the files": {plain, []Day{{side(entry("a", "5", "CNY", "SHUT", "closed")), side(entry("a", "5", "CNY", "SUCCESS", "success"))}}, []Diff{
			{Key: "a", Kind: "status", Currency: "CNY", LedgerCount: 1, ChannelCount: 1, Ledger: "5", Channel: "5", Delta: "0", LedgerStatus: "SHUT", ChannelStatus: "SUCCESS"},
		}},
		"an empty status is not compared": {plain, []Day{{side(entry("a", "5", "CNY", "")), side(entry("a", "5"))}}, nil},
		"sums ignore counts":              {sums, []Day{{side(entry("a", "5")), side(entry("a", "2.5"), entry("a", "2.49"))}}, nil},
		"sums differ": {sums, []Day{{side(entry("a", "5")), side(entry("a", "5"), entry("a", "-0.5"))}}, []Diff{
			{Key: "a", Kind: "amount", Currency: "CNY", LedgerCount: 1, ChannelCount: 2, Ledger: "5", Channel: "4.5", Delta: "0.5", LedgerStatus: "success", ChannelStatus: "success"},
		}},
		"sums of two currencies each by itself": {sums, []Day{{side(entry("a", "5"), entry("a", "5", "USD")), side(entry("a", "6"), entry("a", "4", "USD"))}}, []Diff{
			{Key: "a", Kind: "amount", Currency: "CNY,USD", LedgerCount: 2, ChannelCount: 2, LedgerStatus: "success", ChannelStatus: "success"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []Diff
			for _, o := range c.rules.Compare(c.days) {
				got = append(got, o.Diffs...)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// What waits is the pool of each day, with its own day.
func TestPool(t *testing.T) {
	t.Parallel()
	out := carries.Compare([]Day{{side(entry("a", "5.10")), nil}, {nil, side(entry("b", "1"))}, {nil, side(entry("a", "5.1"))}})
	a, b := Waiting{"ledger", "a", "CNY", "5.1", 0}, Waiting{"channel", "b", "CNY", "1", 1}
	require.Equal(t, []Waiting{a}, out[0].Pool)
	require.Equal(t, []Waiting{a, b}, out[1].Pool)
	require.Equal(t, []Waiting{b}, out[2].Pool)
}

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"0": "0", "-0.00": "0", "100": "100", "1.50": "1.5", "-0.01": "-0.01", "123456789012345678.12345678": "123456789012345678.12345678"} {
		r, ok := new(big.Rat).SetString(in)
		require.True(t, ok)
		require.Equal(t, want, Text(r))
	}
}

// The files of a book, in all their encodings, give the faults that were planted in them.
func TestBook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, days := model.NewDay(2026, 10, 1), 6
	book, err := scenario.Write(dir, scenario.Options{Seed: 3, First: first, Days: days, Entries: 20})
	require.NoError(t, err)
	var got []scenario.Fault
	waiting := 0
	for _, job := range Jobs() {
		out, err := job.Reconcile(dir, time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), days)
		require.NoError(t, err)
		for _, o := range out {
			for _, d := range o.Diffs {
				got = append(got, scenario.Fault{
					Job: job.Name, Day: first.Add(d.Day), Key: d.Key, Kind: model.Kind(d.Kind), Ledger: d.Ledger, Channel: d.Channel,
					Origin: first.Add(d.Origin),
				})
			}
		}
		waiting += len(out[days-1].Pool)
	}
	require.ElementsMatch(t, book.Faults, got)
	require.Equal(t, book.Waiting, waiting)
}
