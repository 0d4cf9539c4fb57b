package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// contract are the columns of a diff that are promised, notes those that come on top. What a note says of a place in a
// file is not part of a diff's figures: a file that is sorted anew is no change, so notes are compared only while no file
// was touched.
var (
	contract = []string{
		"batch_id", "biz_date", "diff_id", "kind", "state", "key", "currency", "ledger_count", "channel_count", "ledger_amount",
		"channel_amount", "delta", "ledger_status", "channel_status", "review", "version", "origin_date", "reasons", "detail",
	}
	notes = []string{"ledger_ref", "channel_ref"}
)

// table is what a consumer that has nothing but the stream knows.
type table struct {
	seen      map[string][]byte // by event id
	of        map[string]string // event id by the change that it tells
	diffs     map[string]row    // by batch and diff id
	reviews   map[string]string // newest state, likewise
	versions  map[string]uint64 // newest committed, by batch
	told      map[string]int    // diff events by batch and version
	announced map[string]int    // the number that the batch event says
	repeated  int
}

func newTable() *table {
	return &table{
		seen: map[string][]byte{}, of: map[string]string{}, diffs: map[string]row{}, reviews: map[string]string{},
		versions: map[string]uint64{}, told: map[string]int{}, announced: map[string]int{},
	}
}

// rebuild reads the stream DIFFS from its beginning and holds what it tells against the table of diffs.
func (t *trial) rebuild(ctx context.Context, columns []string) (string, error) {
	all, err := t.messages(ctx, "DIFFS")
	if err != nil {
		return "", err
	}
	tab := newTable()
	var errs []error
	for _, m := range all {
		if err := tab.take(m.Data()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Subject(), err))
		}
	}
	have, err := t.diffs(ctx, "")
	if err != nil {
		return "", err
	}
	got := tab.rows()
	errs = append(errs, tab.whole(), differences("from the events", "in the table", sortedText(got, columns...), sortedText(have, columns...)))
	return fmt.Sprintf("%d events (%d repeated) of %d versions rebuild %d rows in %d columns", len(tab.seen), tab.repeated,
		len(tab.announced), len(got), len(columns)), errors.Join(errs...)
}

// take is what a consumer does with a message.
func (b *table) take(data []byte) error {
	var e struct {
		ID, Type string
		Data     map[string]any
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&e); err != nil {
		return err
	}
	if was, again := b.seen[e.ID]; again {
		b.repeated++
		if !bytes.Equal(was, data) {
			return fmt.Errorf("event %s was told twice and differently:\n%s\n%s", e.ID, was, data)
		}
		return nil
	}
	b.seen[e.ID] = data
	r := flat(e.Data)
	key, version := r["batch_id"]+" "+r["diff_id"], r["batch_id"]+" v"+r["version"]
	change := version + " " + r["diff_id"] + " " + e.Type
	review, _ := e.Data["review"].(map[string]any)
	switch e.Type {
	case "daybreak.diff.reviewed":
		b.reviews[key] = flat(review)["state"]
		return nil
	case "daybreak.batch.failed":
		return nil
	case "daybreak.batch.committed":
		b.announced[version], _ = strconv.Atoi(r["events"])
		n, err := strconv.ParseUint(r["version"], 10, 64)
		b.versions[r["batch_id"]] = max(n, b.versions[r["batch_id"]])
		if err != nil {
			return err
		}
	case "daybreak.diff.opened", "daybreak.diff.changed", "daybreak.diff.cleared":
		b.diffs[key] = r
		b.told[version]++
	default:
		return fmt.Errorf("type %q is not known", e.Type)
	}
	if other, twice := b.of[change]; twice {
		return fmt.Errorf("%s has two events: %s and %s", change, other, e.ID)
	}
	b.of[change] = e.ID
	return nil
}

// rows are the diffs as the consumer knows them: the open ones, and the cleared ones that somebody has reviewed.
func (b *table) rows() []row {
	var out []row
	for key, r := range b.diffs {
		review := b.reviews[key]
		if r["state"] == "cleared" && review == "" {
			continue
		}
		if review == "" {
			review = "none"
		}
		r["review"], r["version"] = review, strconv.FormatUint(b.versions[r["batch_id"]], 10)
		out = append(out, r)
	}
	return out
}

// whole checks that every version from the first to the newest is announced, with as many events as there are.
func (b *table) whole() error {
	var errs []error
	for version, n := range b.announced {
		if b.told[version] != n {
			errs = append(errs, fmt.Errorf("%s announces %d diff events, %d are there", version, n, b.told[version]))
		}
	}
	for version := range b.told {
		if _, ok := b.announced[version]; !ok {
			errs = append(errs, fmt.Errorf("%s has diff events but was never announced", version))
		}
	}
	for batch, newest := range b.versions {
		for v := uint64(1); v <= newest; v++ {
			if name := batch + " v" + strconv.FormatUint(v, 10); !b.has(name) {
				errs = append(errs, fmt.Errorf("%s was never announced, but %d was", name, newest))
			}
		}
	}
	if len(b.versions) == 0 {
		errs = append(errs, errors.New("the stream holds no committed version"))
	}
	return errors.Join(errs...)
}

func (b *table) has(version string) bool {
	_, ok := b.announced[version]
	return ok
}
