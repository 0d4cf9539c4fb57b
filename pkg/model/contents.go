package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// ContentsDigest identifies what entries say, whatever their order: two sides with the same count and the same totals may
// still hold other entries, as a bill that was issued again with two order numbers exchanged does. It covers what results
// rest on (match key, amount, currency, status, compared values) and nothing that may change without changing them.
// The zero value is that of no entries.
type ContentsDigest struct{ hi, lo uint64 }

// Add counts an entry in. Sums are taken modulo 2^64 each, so the order of entries does not matter and twins count twice.
func (d *ContentsDigest) Add(e Entry) {
	h := sha256.New()
	for _, part := range append([]string{e.Key, e.Currency, e.Amount.String(), e.Status}, e.Compared...) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	sum := h.Sum(nil)
	d.hi += binary.BigEndian.Uint64(sum)
	d.lo += binary.BigEndian.Uint64(sum[8:])
}

// Under prints the digest together with the rules under which the entries were read: match key, compared values and
// status words are made by them, so digests of other rules say nothing about each other.
func (d ContentsDigest) Under(rules Rules) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], d.hi)
	binary.BigEndian.PutUint64(b[8:], d.lo)
	return rules.ReadingDigest()[:16] + ":" + hex.EncodeToString(b[:])
}

// OtherContents reports whether two printed digests of the same rules differ. Where one is missing or of other rules,
// nothing is known and nothing is reported.
func OtherContents(a, b string) bool {
	rulesA, contentsA, okA := strings.Cut(a, ":")
	rulesB, contentsB, okB := strings.Cut(b, ":")
	return okA && okB && rulesA == rulesB && contentsA != contentsB
}
