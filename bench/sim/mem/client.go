package mem

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
	"daybreak/services/recon"
)

// Request is one request of a client. It is carried out by Apply on the server's side; what it reads it leaves in
// variables of the caller, so only a write may be carried out after its caller has given up.
type Request struct {
	Name  string
	Write bool
	Apply func() error
	// Commit is the row that makes a run visible, nil for every other request.
	Commit *model.Batch
}

// Client is one process's way to the tables. Send carries requests; the zero hook carries them at once.
type Client struct {
	DB   *DB
	Send func(ctx context.Context, r Request) error
}

var _ recon.Tables = (*Client)(nil)

func (c *Client) send(ctx context.Context, r Request) error {
	if c.Send == nil {
		return r.Apply()
	}
	return c.Send(ctx, r)
}

func (c *Client) read(ctx context.Context, name string, p Place, apply func() error) error {
	return c.send(ctx, Request{Name: name + " " + model.BatchID(p.Job, p.Day), Apply: apply})
}

// insert is sent once more when it failed: its token makes that harmless.
func (c *Client) insert(ctx context.Context, token string, apply func()) error {
	return c.twice(ctx, Request{Name: "insert " + token, Write: true, Apply: func() error { c.DB.once(token, apply); return nil }})
}

func (c *Client) twice(ctx context.Context, r Request) error {
	err := c.send(ctx, r)
	if err != nil && ctx.Err() == nil {
		err = c.send(ctx, r)
	}
	return err
}

// Current implements recon.Tables.
func (c *Client) Current(ctx context.Context, job string, day model.Day) (b model.Batch, ok bool, err error) {
	p := Place{job, day}
	err = c.read(ctx, "current", p, func() error { b, ok = c.DB.Newest(p); return nil })
	return b, ok && err == nil, err
}

type landing struct {
	c      *Client
	ctx    context.Context
	id     store.LandingID
	rows   []Row
	totals model.Totals
	closed bool
}

// Land implements recon.Tables.
func (c *Client) Land(ctx context.Context, id store.LandingID) (recon.Landing, error) {
	p := Place{id.Job, id.Day}
	err := c.read(ctx, "land "+string(id.Side), p, func() error {
		for _, r := range c.DB.Get(p, id.RunID).Entries {
			if r.Side == id.Side && !r.Carried {
				return store.ErrRunExists
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &landing{c: c, ctx: ctx, id: id, totals: model.Totals{}}, nil
}

func (l *landing) Add(e model.Entry) error {
	if l.closed {
		return store.ErrClosed
	}
	if e.Side != l.id.Side {
		return store.ErrValue
	}
	l.totals.Add(e.Currency, 1, e.Amount)
	l.rows = append(l.rows, Row{Entry: e})
	return nil
}

func (l *landing) Close(ctx context.Context) error {
	if l.closed {
		return store.ErrClosed
	}
	l.closed = true
	if rows := l.rows; len(rows) > 0 {
		err := l.c.insert(ctx, fmt.Sprintf("entries/%s/%s/1", l.id.RunID, l.id.Side), func() {
			r := l.c.DB.of(Place{l.id.Job, l.id.Day}, l.id.RunID)
			r.Entries = append(r.Entries, rows...)
		})
		if err != nil {
			return err
		}
	}
	held, err := l.c.SnapshotTotals(ctx, l.id.Job, l.id.Day, l.id.RunID, l.id.Side)
	if err == nil && !held.Equal(l.totals) {
		err = store.ErrIncomplete
	}
	return err
}

func (l *landing) Abort() { l.closed, l.rows = true, nil }

// SnapshotTotals implements recon.Tables.
func (c *Client) SnapshotTotals(ctx context.Context, job string, day model.Day, snapshotID string, side model.Side) (t model.Totals, err error) {
	p := Place{job, day}
	err = c.read(ctx, "totals "+string(side), p, func() error {
		t = totals(c.DB.Get(p, snapshotID).Entries, false)[side]
		return nil
	})
	return t, err
}

// CarryIn implements recon.Tables.
func (c *Client) CarryIn(ctx context.Context, job string, day model.Day, runID string, from model.Batch) (map[model.Side]model.Totals, error) {
	if from.RunID == "" {
		return map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}, nil
	}
	p, source := Place{job, day}, Place{from.Job, from.Day}
	err := c.insert(ctx, "carry/"+runID+"/"+from.RunID, func() {
		r := c.DB.of(p, runID)
		for _, e := range c.DB.Get(source, from.RunID).Pool {
			r.Entries = append(r.Entries, Row{Entry: e, Carried: true})
		}
	})
	if err != nil {
		return nil, err
	}
	var held, pool map[model.Side]model.Totals
	err = c.read(ctx, "carried", p, func() error {
		held, pool = totals(c.DB.Get(p, runID).Entries, true), poolTotals(c.DB.Get(source, from.RunID).Pool)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, side := range model.Sides {
		if !held[side].Equal(pool[side]) {
			return nil, fmt.Errorf("carry into %s: %w", model.BatchID(job, day), store.ErrIncomplete)
		}
	}
	return held, nil
}

// Exact implements recon.Tables.
func (c *Client) Exact(ctx context.Context, cmp store.Comparison) (ledger, channel model.Totals, err error) {
	ledger, channel = model.Totals{}, model.Totals{}
	err = c.read(ctx, "exact", Place{cmp.Job, cmp.Day}, func() error {
		keys, groups := c.DB.compared(cmp)
		for _, k := range keys {
			if g := groups[k]; exact(cmp.Mode, g) || c.DB.Books && c.DB.loses(g) {
				add(ledger, g.Ledger)
				add(channel, g.Channel)
			}
		}
		return nil
	})
	return ledger, channel, err
}

// Residue implements recon.Tables.
func (c *Client) Residue(ctx context.Context, cmp store.Comparison, fn func(model.Group) error) error {
	var left []model.Group
	err := c.read(ctx, "residue", Place{cmp.Job, cmp.Day}, func() error {
		keys, groups := c.DB.compared(cmp)
		for _, k := range keys {
			if g := groups[k]; !exact(cmp.Mode, g) && !c.DB.loses(g) {
				left = append(left, *g)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range left {
		if err := fn(g); err != nil {
			return err
		}
	}
	return nil
}

type results struct {
	c       *Client
	p       Place
	run     string
	version uint64
	diffs   []Diff
	pool    []model.Entry
	closed  bool
}

// Results implements recon.Tables.
func (c *Client) Results(ctx context.Context, job string, day model.Day, runID string, version uint64) (recon.Results, error) {
	p := Place{job, day}
	err := c.read(ctx, "results", p, func() error {
		if r := c.DB.Get(p, runID); len(r.Diffs)+len(r.Pool) > 0 {
			return store.ErrRunExists
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &results{c: c, p: p, run: runID, version: version}, nil
}

func (r *results) Diff(d model.Diff) error {
	if r.closed {
		return store.ErrClosed
	}
	d.Job, d.Day, d.Version = r.p.Job, r.p.Day, r.version
	r.diffs = append(r.diffs, Diff{Diff: d, Fingerprint: d.Fingerprint()})
	return nil
}

func (r *results) Carry(e model.Entry) error {
	if r.closed {
		return store.ErrClosed
	}
	r.pool = append(r.pool, e)
	return nil
}

func (r *results) Close(ctx context.Context) (store.ResultCounts, error) {
	if r.closed {
		return store.ResultCounts{}, store.ErrClosed
	}
	r.closed = true
	counts := store.ResultCounts{Diffs: uint64(len(r.diffs)), Carried: uint64(len(r.pool))}
	db, diffs, pool := r.c.DB, r.diffs, r.pool
	if len(diffs) > 0 {
		err := r.c.insert(ctx, "diffs/"+r.run+"/1", func() {
			to := db.of(r.p, r.run)
			to.Diffs = append(to.Diffs, diffs...)
		})
		if err != nil {
			return counts, err
		}
	}
	if len(pool) > 0 {
		err := r.c.insert(ctx, "carried/"+r.run+"/2", func() {
			to := db.of(r.p, r.run)
			to.Pool = append(to.Pool, pool...)
		})
		if err != nil {
			return counts, err
		}
	}
	return counts, r.c.read(ctx, "check", r.p, func() error {
		held, ids := db.Get(r.p, r.run), map[string]bool{}
		open := uint64(0)
		for _, d := range held.Diffs {
			if d.State == model.Open {
				open, ids[d.ID] = open+1, true
			}
		}
		if open != counts.Diffs || uint64(len(ids)) != open || uint64(len(held.Pool)) != counts.Carried {
			return store.ErrIncomplete
		}
		return nil
	})
}

func (r *results) Abort() { r.closed, r.diffs, r.pool = true, nil, nil }

// CarryOverCleared implements recon.Tables.
func (c *Client) CarryOverCleared(ctx context.Context, prev model.Batch, runID string, version uint64) (n uint64, err error) {
	if prev.RunID == "" {
		return 0, nil
	}
	p := Place{prev.Job, prev.Day}
	apply := func() error { c.DB.carryOver(prev, runID, version); return nil }
	if err := c.send(ctx, Request{Name: "cleared " + prev.ID(), Write: true, Apply: apply}); err != nil {
		return 0, err
	}
	err = c.read(ctx, "clearedcheck", p, func() error {
		has := map[string]bool{}
		for _, d := range c.DB.Get(p, runID).Diffs {
			has[d.ID] = true
			if d.State == model.Cleared {
				n++
			}
		}
		for _, d := range c.DB.Get(p, prev.RunID).Diffs {
			if !has[d.ID] && !c.DB.KeepNone {
				return store.ErrIncomplete
			}
		}
		return nil
	})
	return n, err
}

// readBackTimeout is that of the store.
const readBackTimeout = 15 * time.Second

// Commit implements recon.Tables.
func (c *Client) Commit(ctx context.Context, b model.Batch) error {
	p := Place{b.Job, b.Day}
	token := "commit/" + b.RunID
	err := c.twice(ctx, Request{Name: "insert " + token, Write: true, Commit: &b, Apply: func() error {
		c.DB.once(token, func() { c.DB.Batches[p] = append(c.DB.Batches[p], b) })
		return nil
	}})
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTimeout)
	defer cancel()
	there := false
	readErr := c.read(ctx, "readback", p, func() error {
		for _, have := range c.DB.Batches[p] {
			there = there || have.RunID == b.RunID
		}
		return nil
	})
	switch {
	case readErr != nil:
		return fmt.Errorf("commit %s: %w: %w", b.ID(), store.ErrCommitUnknown, errors.Join(err, readErr))
	case there:
		return nil
	}
	return fmt.Errorf("commit %s: %w", b.ID(), err)
}

// Changes implements recon.Tables.
func (c *Client) Changes(ctx context.Context, b model.Batch) iter.Seq2[store.Change, error] {
	return func(yield func(store.Change, error) bool) {
		var all []store.Change
		err := c.read(ctx, "changes", Place{b.Job, b.Day}, func() (err error) { all, err = c.DB.changes(b); return err })
		if err != nil {
			yield(store.Change{}, err)
			return
		}
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Sweep implements recon.Tables.
func (c *Client) Sweep(ctx context.Context, before time.Time, keep func(runID string) bool) error {
	return c.send(ctx, Request{Name: "sweep", Write: true, Apply: func() error { c.DB.sweep(before, keep); return nil }})
}

// Diff is what the reader's view shows of a diff; false when it shows none.
func (c *Client) Diff(ctx context.Context, job string, day model.Day, diffID string) (row store.DiffRow, ok bool, err error) {
	p := Place{job, day}
	err = c.read(ctx, "diff", p, func() error { row, ok = c.DB.diff(p, diffID); return nil })
	return row, ok && err == nil, err
}

// PutReview mirrors one step of a review.
func (c *Client) PutReview(ctx context.Context, r model.Review) error {
	return c.insert(ctx, fmt.Sprintf("review/%s/%s/%d", model.BatchID(r.Job, r.Day), r.DiffID, r.Step), func() {
		if c.DB.Reviews[r.DiffID] == nil {
			c.DB.Reviews[r.DiffID] = map[uint64]model.Review{}
		}
		c.DB.Reviews[r.DiffID][r.Step] = r
	})
}

// PutAudits records findings.
func (c *Client) PutAudits(ctx context.Context, instance string, at time.Time, audits []model.Audit) error {
	return c.insert(ctx, fmt.Sprintf("audit/%s/%d", instance, at.UnixNano()), func() { c.DB.Audits = append(c.DB.Audits, audits...) })
}
