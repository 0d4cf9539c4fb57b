package model

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// Side names one of the two sets of books.
type Side string

// The sides of a job.
const (
	Ledger  Side = "ledger"  // what we recorded
	Channel Side = "channel" // what the payment provider billed
)

// Sides lists both in the order in which they are pulled and printed.
var Sides = [2]Side{Ledger, Channel}

// Other returns the counterpart.
func (s Side) Other() Side {
	if s == Ledger {
		return Channel
	}
	return Ledger
}

// Entry is one line of one side as the source gave it: text stays text, money is exact.
type Entry struct {
	Side       Side
	Key        string              // the match key, see [JoinKey]; never empty
	ID         string              // the provider's row id, "" when the source has none
	Amount     decimal.Decimal     // signed, in major units of Currency
	Currency   string              // upper case, never empty
	Status     string              // as the source prints it
	Compared   []string            // values of match.compare after the status map, "" where this side has none
	OccurredAt time.Time           // UTC; zero when the source has none
	Fee        decimal.NullDecimal // signed, in major units of Currency
	Attrs      map[string]string   // every other listed column
	Origin     Day                 // the business day whose snapshot first held the entry
	File       string              // where it came from: file name, or "query"
	Line       uint64              // physical line in File, or row number of a query; from 1
}

// JoinKey builds a match key from its parts. One part is the key itself; several are joined by "|", with "|" and "\" in
// a part escaped by "\", so that different parts never make the same key.
func JoinKey(parts ...string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString(keyEscaper.Replace(p))
	}
	return b.String()
}

var keyEscaper = strings.NewReplacer(`\`, `\\`, `|`, `\|`)

// Seal is what a finished pull says of one side: counts and totals taken while the entries streamed in, and a
// fingerprint of every file or answer read. A snapshot without its seal is not used.
type Seal struct {
	Totals  Totals     `json:"totals"`
	Sources []FileSeal `json:"sources,omitempty"`

	// Digest is the [ContentsDigest] of the entries under the rules they were read by, "" in seals of old.
	Digest string `json:"digest,omitempty"`

	// NoBill is the provider's answer, in its words, that there is no bill for the day: the side is empty because its
	// source says so. "" otherwise.
	NoBill string `json:"no_bill,omitempty"`
}

// FileSeal identifies one input that a snapshot was read from.
type FileSeal struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Rows   uint64 `json:"rows"`

	// Left counts rows that the configuration leaves out, by their type.
	Left map[string]uint64 `json:"left,omitempty"`
}
