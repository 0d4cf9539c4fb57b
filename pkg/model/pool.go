package model

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PoolDigest identifies the pool of entries that a day carries on to the next, so that the next day is recomputed when,
// and only when, its input changed. Groups are added in ascending byte order of their keys; the order of entries within
// a group, and the file and line they came from, do not matter. The zero value is an empty pool.
type PoolDigest struct {
	sum hash.Hash
}

// Add takes the carried entries of one key.
func (p *PoolDigest) Add(entries []Entry) {
	if len(entries) == 0 {
		return
	}
	if p.sum == nil {
		p.sum = sha256.New()
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = canonical(e)
	}
	slices.Sort(lines)
	p.sum.Write([]byte(strings.Join(lines, "\n") + "\n"))
}

// String is the digest as 64 hex digits, "" for an empty pool.
func (p *PoolDigest) String() string {
	if p.sum == nil {
		return ""
	}
	return hex.EncodeToString(p.sum.Sum(nil))
}

// canonical is an entry's content as one piece of text that no other content makes: variable parts have their number
// before them, attributes are sorted.
func canonical(e Entry) string {
	fee := ""
	if e.Fee.Valid {
		fee = e.Fee.Decimal.String()
	}
	b := frame(nil, string(e.Side), e.Key, e.ID, e.Amount.String(), e.Currency, e.Status,
		e.OccurredAt.UTC().Format(time.RFC3339Nano), fee, e.Origin.String(), strconv.Itoa(len(e.Compared)))
	b = frame(b, e.Compared...)
	for _, name := range slices.Sorted(maps.Keys(e.Attrs)) {
		b = frame(b, name, e.Attrs[name])
	}
	return string(b)
}
