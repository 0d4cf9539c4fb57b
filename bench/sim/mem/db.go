// Package mem keeps the result tables in memory, with the meaning that package store gives them.
//
// A [DB] is the server: rows of runs, commit rows, reviews, and the tokens by which an insert that is sent again does
// nothing. A [Client] is one process's way to it and makes the same requests as a store, one by one, each through a hook
// that may lose, delay or fail it. The conformance test holds a client and the real tables to the same answers.
//
// Nothing here is shared with package store or with the rules of package model: what matches exactly, what changed and
// what balances is worked out anew from plain rows.
package mem

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

// Place is a batch.
type Place struct {
	Job string
	Day model.Day
}

// Row is an entry of a run.
type Row struct {
	model.Entry
	Carried bool
}

// Diff is a diff of a run.
type Diff struct {
	model.Diff
	Fingerprint    string
	ClearedVersion uint64
}

// Run is everything a run has written into a batch but its commit row.
type Run struct {
	Entries []Row
	Diffs   []Diff
	Pool    []model.Entry
}

// DB is the tables. It is not safe for concurrent use.
type DB struct {
	Runs    map[Place]map[string]*Run
	Batches map[Place][]model.Batch
	Reviews map[string]map[uint64]model.Review // by diff id, then step
	Audits  []model.Audit

	// KeepNone leaves cleared diffs out, and Uncommitted shows rows before their commit row: faults to be caught.
	KeepNone, Uncommitted bool
	// Loses chooses groups that a comparison loses; Books counts these as matched, and Blind keeps the auditor from seeing
	// that they do not match.
	Loses        func(*model.Group) bool
	Books, Blind bool

	tokens map[string]bool
}

// New returns empty tables.
func New() *DB {
	db := &DB{}
	db.Lose()
	return db
}

// Lose leaves empty tables.
func (db *DB) Lose() {
	db.Runs, db.Batches, db.Reviews = map[Place]map[string]*Run{}, map[Place][]model.Batch{}, map[string]map[uint64]model.Review{}
	db.Audits, db.tokens = nil, map[string]bool{}
}

// once does an insert unless its token was seen.
func (db *DB) once(token string, insert func()) {
	if !db.tokens[token] {
		db.tokens[token] = true
		insert()
	}
}

// of is a run for writing.
func (db *DB) of(p Place, run string) *Run {
	if db.Runs[p] == nil {
		db.Runs[p] = map[string]*Run{}
	}
	if db.Runs[p][run] == nil {
		db.Runs[p][run] = &Run{}
	}
	return db.Runs[p][run]
}

// Get is a run for reading, empty when it has written nothing.
func (db *DB) Get(p Place, run string) *Run {
	if r := db.Runs[p][run]; r != nil {
		return r
	}
	return &Run{}
}

// Newest is the commit row that wins, false when there is none.
func (db *DB) Newest(p Place) (model.Batch, bool) {
	all := db.Batches[p]
	if len(all) == 0 {
		return model.Batch{}, false
	}
	return slices.MaxFunc(all, func(a, b model.Batch) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Fence, b.Fence), strings.Compare(a.RunID, b.RunID))
	}), true
}

// Visible is what a reader sees of a batch: the run that is shown and its rows.
func (db *DB) Visible(p Place) (version uint64, run string, rows *Run, ok bool) {
	b, ok := db.Newest(p)
	version, run = b.Version, b.RunID
	if db.Uncommitted {
		for id, r := range db.Runs[p] {
			for _, d := range r.Diffs {
				if d.Version > version || d.Version == version && id > run {
					version, run, ok = d.Version, id, true
				}
			}
		}
	}
	return version, run, db.Get(p, run), ok
}

// compared are the entries that a comparison holds against each other, by match key, ascending, the keys with them.
func (db *DB) compared(c store.Comparison) (keys []string, groups map[string]*model.Group) {
	groups = map[string]*model.Group{}
	p := Place{c.Job, c.Day}
	var rows []model.Entry
	for _, r := range db.Get(p, c.SnapshotID).Entries {
		if !r.Carried {
			rows = append(rows, r.Entry)
		}
	}
	for _, r := range db.Get(p, c.RunID).Entries {
		if r.Carried {
			rows = append(rows, r.Entry)
		}
	}
	slices.SortStableFunc(rows, func(a, b model.Entry) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(string(a.Side), string(b.Side)), strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), strings.Compare(a.ID, b.ID))
	})
	for _, e := range rows {
		g := groups[e.Key]
		if g == nil {
			g = &model.Group{Key: e.Key}
			groups[e.Key] = g
			keys = append(keys, e.Key)
		}
		if e.Side == model.Ledger {
			g.Ledger = append(g.Ledger, e)
		} else {
			g.Channel = append(g.Channel, e)
		}
	}
	return keys, groups
}

func (db *DB) loses(g *model.Group) bool { return db.Loses != nil && db.Loses(g) }

// exact reports whether nothing is left to judge about a group.
func exact(mode model.MatchMode, g *model.Group) bool {
	all := slices.Concat(g.Ledger, g.Channel)
	for _, e := range all {
		if e.Currency != all[0].Currency {
			return false
		}
	}
	if mode == model.ModeSum {
		l, c := model.Totals{}, model.Totals{}
		add(l, g.Ledger)
		add(c, g.Channel)
		cur := all[0].Currency
		return len(g.Ledger) > 0 && len(g.Channel) > 0 && l[cur].Amount.Equal(c[cur].Amount)
	}
	return len(g.Ledger) == 1 && len(g.Channel) == 1 && g.Ledger[0].Amount.Equal(g.Channel[0].Amount) &&
		agree(g.Ledger[0].Compared, g.Channel[0].Compared)
}

func agree(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != "" && b[i] != "" && a[i] != b[i] {
			return false
		}
	}
	return true
}

func add(t model.Totals, entries []model.Entry) {
	for _, e := range entries {
		t.Add(e.Currency, 1, e.Amount)
	}
}

// totals adds up entries of a run by side.
func totals(rows []Row, carried bool) map[model.Side]model.Totals {
	out := map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}
	for _, r := range rows {
		if r.Carried == carried {
			out[r.Side].Add(r.Currency, 1, r.Amount)
		}
	}
	return out
}

func poolTotals(pool []model.Entry) map[model.Side]model.Totals {
	out := map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}
	for _, e := range pool {
		out[e.Side].Add(e.Currency, 1, e.Amount)
	}
	return out
}

// carryOver writes the diffs of the version before that the new run does not have as cleared.
func (db *DB) carryOver(prev model.Batch, run string, version uint64) {
	if db.KeepNone {
		return
	}
	p := Place{prev.Job, prev.Day}
	to := db.of(p, run)
	has := map[string]bool{}
	for _, d := range to.Diffs {
		has[d.ID] = true
	}
	for _, d := range db.Get(p, prev.RunID).Diffs {
		if has[d.ID] {
			continue
		}
		if d.State != model.Cleared {
			d.ClearedVersion = version
		}
		d.State, d.Version = model.Cleared, version
		to.Diffs = append(to.Diffs, d)
	}
}

// changes is the difference between a version and the one before it, by diff id.
func (db *DB) changes(b model.Batch) ([]store.Change, error) {
	p := Place{b.Job, b.Day}
	before := map[string]Diff{}
	if b.Previous != "" {
		for _, d := range db.Get(p, b.Previous).Diffs {
			before[d.ID] = d
		}
	}
	now := slices.Clone(db.Get(p, b.RunID).Diffs)
	slices.SortFunc(now, func(x, y Diff) int { return strings.Compare(x.ID, y.ID) })
	var out []store.Change
	for _, d := range now {
		was, had := before[d.ID]
		delete(before, d.ID)
		wasOpen := had && was.State == model.Open
		kind := model.EventKind("")
		switch {
		case d.State == model.Open && !wasOpen:
			kind = model.DiffOpened
		case d.State == model.Open && was.Fingerprint != d.Fingerprint:
			kind = model.DiffChanged
		case d.State == model.Cleared && wasOpen:
			kind = model.DiffCleared
		}
		if kind != "" {
			out = append(out, store.Change{Kind: kind, Diff: d.Diff})
		}
	}
	if len(before) > 0 && !db.KeepNone {
		return nil, store.ErrIncomplete
	}
	return out, nil
}

// Review is the newest step of a diff's review.
func (db *DB) Review(id string) (model.Review, bool) {
	var last model.Review
	for step, r := range db.Reviews[id] {
		if step > last.Step {
			last = r
		}
	}
	return last, last.Step > 0
}

// diff is what the reader's view shows of a diff.
func (db *DB) diff(p Place, id string) (store.DiffRow, bool) {
	b, ok := db.Newest(p)
	if !ok {
		return store.DiffRow{}, false
	}
	r, reviewed := db.Review(id)
	for _, d := range db.Get(p, b.RunID).Diffs {
		if d.ID != id || d.State == model.Cleared && !reviewed {
			continue
		}
		row := store.DiffRow{
			Diff: d.Diff, BatchID: b.ID(), RunID: b.RunID, FingerprintHeld: d.Fingerprint, Review: model.ReviewNone,
		}
		if reviewed {
			row.Review, row.ReviewBy, row.ReviewAt, row.ReviewNote, row.ReviewStep = r.State, r.By, r.At, r.Note, r.Step
			row.ChangedAfterReview = r.Fingerprint != d.Fingerprint || d.State == model.Cleared && d.ClearedVersion > r.SeenVersion
		}
		return row, true
	}
	return store.DiffRow{}, false
}

// sweep drops rows of old runs that no newest version needs.
func (db *DB) sweep(before time.Time, keep func(string) bool) {
	for p, runs := range db.Runs {
		b, _ := db.Newest(p)
		for id, r := range runs {
			u, err := ulid.ParseStrict(id)
			if err != nil || !ulid.Time(u.Time()).Before(before) || keep != nil && keep(id) {
				continue
			}
			if id != b.RunID && id != b.SnapshotID {
				r.Entries = nil
			}
			if id != b.RunID && id != b.Previous {
				r.Diffs = nil
			}
			if id != b.RunID {
				r.Pool = nil
			}
		}
	}
}
