package model

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Kind names why a group does not settle, in the order in which the rules apply.
type Kind string

// The kinds of diff.
const (
	KindDuplicate        Kind = "duplicate"          // more than one entry on a side in mode one
	KindMissingInChannel Kind = "missing_in_channel" // in the ledger only, window used up
	KindMissingInLedger  Kind = "missing_in_ledger"  // in the channel only, window used up
	KindCurrency         Kind = "currency"           // the sets of currencies differ
	KindAmount           Kind = "amount"             // |ledger - channel| beyond the tolerance
	KindStatus           Kind = "status"             // a compared column differs
)

// Kinds lists every kind in the order of the rules.
var Kinds = []Kind{KindDuplicate, KindMissingInChannel, KindMissingInLedger, KindCurrency, KindAmount, KindStatus}

// DiffState says whether the newest committed version still finds a diff.
type DiffState string

// The states of a diff.
const (
	Open    DiffState = "open"
	Cleared DiffState = "cleared" // a later version no longer found it; kept because somebody may be reviewing it
)

// CurrencyAmounts are the exact figures of one currency within a group.
type CurrencyAmounts struct {
	Currency     string          `json:"currency"`
	LedgerCount  uint64          `json:"ledger_count"`
	ChannelCount uint64          `json:"channel_count"`
	Ledger       decimal.Decimal `json:"ledger"`
	Channel      decimal.Decimal `json:"channel"`
}

func (c *CurrencyAmounts) add(e Entry) {
	if e.Side == Ledger {
		c.LedgerCount, c.Ledger = c.LedgerCount+1, c.Ledger.Add(e.Amount)
	} else {
		c.ChannelCount, c.Channel = c.ChannelCount+1, c.Channel.Add(e.Amount)
	}
}

// Figures are what was found for one group: everything of a diff that does not depend on job, day and version.
//
// The headline amounts are set where one figure says it: LedgerAmount and ChannelAmount are null when their side has
// several currencies, Delta is null unless both sides are in one and the same currency (or one side is absent, which
// counts as zero). Amounts always holds every figure.
type Figures struct {
	Key           string
	Kind          Kind
	Reasons       []Kind
	Detail        string // which compared columns differ, for a reader
	Currency      string // "CNY"; "CNY,USD" for several; "CNY/USD" when ledger and channel differ
	LedgerCount   uint64
	ChannelCount  uint64
	LedgerAmount  decimal.NullDecimal
	ChannelAmount decimal.NullDecimal
	Delta         decimal.NullDecimal // ledger - channel
	LedgerStatus  string
	ChannelStatus string
	LedgerRef     string // file:line of the first entry
	ChannelRef    string
	Amounts       []CurrencyAmounts // sorted by currency
	Origin        Day               // the oldest entry's own day
}

// headline fills the single-figure columns from Amounts.
func (f *Figures) headline(ledger, channel []string) {
	f.LedgerAmount, f.ChannelAmount = f.single(Ledger, ledger), f.single(Channel, channel)
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(ledger, channel))))
	f.Currency = strings.Join(names, ",")
	if len(ledger) > 0 && len(channel) > 0 && !slices.Equal(ledger, channel) {
		f.Currency = strings.Join(ledger, ",") + "/" + strings.Join(channel, ",")
	}
	if len(names) == 1 {
		f.Delta = decimal.NewNullDecimal(f.LedgerAmount.Decimal.Sub(f.ChannelAmount.Decimal))
	}
}

// single returns a side's sum when one figure can say it: an absent side is zero, several currencies are null.
func (f *Figures) single(side Side, set []string) decimal.NullDecimal {
	if len(set) > 1 {
		return decimal.NullDecimal{}
	}
	sum := decimal.Decimal{}
	for _, a := range f.Amounts {
		if side == Ledger {
			sum = sum.Add(a.Ledger)
		} else {
			sum = sum.Add(a.Channel)
		}
	}
	return decimal.NewNullDecimal(sum)
}

// Diff is what does not settle between the sides: one per batch and match key.
type Diff struct {
	Figures
	Job     string
	Day     Day
	ID      string // see [DiffID]
	State   DiffState
	Version uint64 // of the batch
}

// DiffID is the identity of a diff: a hash of job, business day and key, stable over recomputes. 32 hex digits.
func DiffID(job string, day Day, key string) string {
	return digest("diff", job, day.String(), key)[:32]
}

// Fingerprint hashes the figures of a diff: everything a person looked at when reviewing it, and nothing that changes
// when the same figures are found again or no longer found (version, state, file and line).
func (d Diff) Fingerprint() string {
	reasons := make([]string, len(d.Reasons))
	for i, r := range d.Reasons {
		reasons[i] = string(r)
	}
	parts := []string{
		string(d.Kind), strings.Join(reasons, ","), d.Detail, d.Currency,
		d.LedgerStatus, d.ChannelStatus, d.Origin.String(),
	}
	for _, a := range d.Amounts {
		parts = append(parts, a.Currency, strconv.FormatUint(a.LedgerCount, 10), strconv.FormatUint(a.ChannelCount, 10),
			a.Ledger.String(), a.Channel.String())
	}
	return digest(parts...)[:32]
}

// digest is a SHA-256 over the framed parts, so that no two lists of parts are the same bytes.
func digest(parts ...string) string {
	sum := sha256.Sum256(frame(nil, parts...))
	return hex.EncodeToString(sum[:])
}

// frame appends every part with its length before it. Unlike JSON it keeps text apart that is not UTF-8.
func frame(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = append(strconv.AppendInt(b, int64(len(p)), 10), ':')
		b = append(b, p...)
	}
	return b
}
