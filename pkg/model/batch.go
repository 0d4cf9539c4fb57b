package model

import (
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// SideBalance is where the entries of one side went, per currency.
type SideBalance struct {
	In         Totals `json:"in"`         // the day's snapshot
	CarriedIn  Totals `json:"carried_in"` // the pool of the day before
	Matched    Totals `json:"matched"`
	Different  Totals `json:"different"` // in diffs
	CarriedOut Totals `json:"carried_out"`
}

// Balance is the identity that every committed batch satisfies, per side and currency and across the sides. Its figures
// come by separate ways (counted while pulling, counted by the engine, counted while judging), so that a row lost
// anywhere between them shows.
type Balance struct {
	Ledger  SideBalance `json:"ledger"`
	Channel SideBalance `json:"channel"`
	// MatchedDelta is the sum of ledger - channel over matched groups, which is not zero where a tolerance was used.
	MatchedDelta map[string]decimal.Decimal `json:"matched_delta,omitempty"`
}

// Side returns the part of one side for reading and writing.
func (b *Balance) Side(s Side) *SideBalance {
	if s == Ledger {
		return &b.Ledger
	}
	return &b.Channel
}

// NewBalance returns a balance whose totals can be added to.
func NewBalance() *Balance {
	empty := func() SideBalance {
		return SideBalance{In: Totals{}, CarriedIn: Totals{}, Matched: Totals{}, Different: Totals{}, CarriedOut: Totals{}}
	}
	return &Balance{Ledger: empty(), Channel: empty(), MatchedDelta: map[string]decimal.Decimal{}}
}

// ErrUnbalanced is returned when a result does not account for every entry and every unit of money. It is never committed.
var ErrUnbalanced = errors.New("the result does not balance with its sources")

// Check returns nil when the identity holds, else an error that wraps [ErrUnbalanced] and names every side and currency
// with both figures.
func (b *Balance) Check() error {
	var errs []error
	for _, side := range Sides {
		s := b.Side(side)
		in, out := sum(s.In, s.CarriedIn), sum(s.Matched, s.Different, s.CarriedOut)
		for _, c := range currencies(in, out) {
			if in[c].Count != out[c].Count || !in[c].Amount.Equal(out[c].Amount) {
				errs = append(errs, fmt.Errorf("%s %s: %d entries %s in, %d entries %s accounted for: %w",
					side, c, in[c].Count, in[c].Amount, out[c].Count, out[c].Amount, ErrUnbalanced))
			}
		}
	}
	return errors.Join(append(errs, b.checkAcross())...)
}

// checkAcross proves that the difference between the sides is explained by matched deltas, diffs and carries.
func (b *Balance) checkAcross() error {
	matched := Totals{}
	for c, d := range b.MatchedDelta {
		matched.Add(c, 0, d)
	}
	var errs []error
	for _, c := range currencies(b.Ledger.Matched, b.Channel.Matched, matched) {
		got := b.Ledger.Matched[c].Amount.Sub(b.Channel.Matched[c].Amount)
		if !got.Equal(matched[c].Amount) {
			errs = append(errs, fmt.Errorf("%s: matched entries differ by %s between the sides, %s is explained by tolerances: %w",
				c, got, matched[c].Amount, ErrUnbalanced))
		}
	}
	return errors.Join(errs...)
}

func sum(all ...Totals) Totals {
	out := Totals{}
	for _, t := range all {
		out.Merge(t)
	}
	return out
}

// Batch is one committed run: the single row whose insert makes the rows of the run visible.
type Batch struct {
	Job         string
	Day         Day
	Version     uint64 // committed version seen at start + 1
	Fence       uint64 // of the holding that committed; the highest (version, fence) wins
	RunID       string // ULID of the run; its diffs and carried rows bear it
	SnapshotID  string // run that pulled the entries; differs from RunID when sealed snapshots were compared again
	Previous    string // RunID of the version before, "" for the first
	Cause       Cause
	CommittedAt time.Time
	Seals       map[Side]Seal
	Balance     Balance
	Reading     string // see [Rules.ReadingDigest]: of the snapshot and of the pool handed on
	CarryIn     string // digest of the pool that came in, "" when there was none
	CarryOut    string // digest of the pool that goes out, "" when it is empty
	Diffs       map[Kind]uint64
}

// ID is the batch id.
func (b Batch) ID() string { return BatchID(b.Job, b.Day) }

// OpenDiffs is the number of open diffs over all kinds.
func (b Batch) OpenDiffs() uint64 {
	var n uint64
	for _, v := range b.Diffs {
		n += v
	}
	return n
}
