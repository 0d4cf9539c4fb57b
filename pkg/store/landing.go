package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// LandingID names one side of one snapshot.
type LandingID struct {
	Job   string
	Day   model.Day
	RunID string
	Side  model.Side
}

// A block is a part of the table at first, and few big parts are what makes comparing quick. One block is also what the
// server takes as a whole or not at all.
const (
	blockRowsMax  = 200_000
	blockBytesMax = 256 << 20
)

// Landing streams one side of a snapshot into the tables. It is not safe for concurrent use. What was landed counts only
// when Close returns nil.
type Landing struct {
	store  *Store
	ctx    context.Context
	id     LandingID
	rows   []model.Entry
	bytes  int
	blocks int
	totals model.Totals
	err    error // of the first failure; sticks
}

// Land begins a side of a snapshot. It fails with [ErrRunExists] when the run already has rows of that side.
// ctx governs every write until Close.
func (s *Store) Land(ctx context.Context, id LandingID) (*Landing, error) {
	n, err := s.count(ctx, `SELECT count() FROM entries WHERE `+ofRun+` AND side = {side:String} AND carried = 0`,
		id.params())
	if err != nil {
		return nil, fmt.Errorf("land %s of %s: %w", id.Side, model.BatchID(id.Job, id.Day), err)
	}
	if n > 0 {
		return nil, fmt.Errorf("land %s of %s: run %s: %w", id.Side, model.BatchID(id.Job, id.Day), id.RunID, ErrRunExists)
	}
	return &Landing{store: s, ctx: ctx, id: id, totals: model.Totals{}}, nil
}

func (id LandingID) params() params {
	p := runParams(id.Job, id.Day, id.RunID)
	p["side"] = string(id.Side)
	return p
}

// Add takes one entry. It fails with [ErrValue], naming file and line, for what the tables can not hold exactly. After
// an error every further call fails the same way.
func (l *Landing) Add(e model.Entry) error {
	if l.err != nil {
		return l.err
	}
	if l.err = checkEntry(&e); l.err != nil {
		return l.err
	}
	if e.Side != l.id.Side {
		l.err = fmt.Errorf("%s:%d: an entry of the %s among those of the %s: %w", e.File, e.Line, e.Side, l.id.Side, ErrValue)
		return l.err
	}
	l.totals.Add(e.Currency, 1, e.Amount)
	l.rows = appendDoubling(l.rows, e)
	l.bytes += entryBytes(&e)
	if len(l.rows) >= blockRowsMax || l.bytes >= blockBytesMax {
		return l.flush(l.ctx)
	}
	return nil
}

// appendDoubling grows by doubling to the end: an entry is large, and append alone would copy a full block many times.
func appendDoubling[R any](rows []R, r R) []R {
	if len(rows) == cap(rows) {
		rows = slices.Grow(rows, max(256, len(rows)))
	}
	return append(rows, r)
}

func (l *Landing) flush(ctx context.Context) error {
	if len(l.rows) == 0 || l.err != nil {
		return l.err
	}
	l.blocks++
	token := fmt.Sprintf("entries/%s/%s/%d", l.id.RunID, l.id.Side, l.blocks)
	l.err = l.store.insertEntries(ctx, token, l.id, l.rows)
	clear(l.rows) // lets go of the texts
	l.rows, l.bytes = l.rows[:0], 0
	return l.err
}

func (s *Store) insertEntries(ctx context.Context, token string, id LandingID, rows []model.Entry) error {
	n := len(rows)
	return s.insert(ctx, "entries", token, append([]column{
		{"job", constant(n, id.Job)},
		{"biz_date", constant(n, id.Day.UTC())},
		{"run_id", constant(n, id.RunID)},
		{"carried", constant(n, uint8(0))},
	}, entryColumns(rows)...))
}

// Close sends what is buffered and proves that the table now holds exactly what was added: count and sum per currency,
// as the server sees them. It fails with [ErrIncomplete] otherwise.
func (l *Landing) Close(ctx context.Context) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	l.err = ErrClosed
	l.rows = nil
	held, err := l.store.SnapshotTotals(ctx, l.id.Job, l.id.Day, l.id.RunID, l.id.Side)
	if err != nil {
		return err
	}
	if !held.Equal(l.totals) {
		return fmt.Errorf("%s of %s, run %s: %s sent, %s held: %w",
			l.id.Side, model.BatchID(l.id.Job, l.id.Day), l.id.RunID, l.totals, held, ErrIncomplete)
	}
	return nil
}

// Abort drops what is buffered. What was sent stays invisible and is swept later.
func (l *Landing) Abort() {
	l.err, l.rows = ErrClosed, nil
}

// SnapshotTotals counts and totals one side of a snapshot on the server, exactly.
func (s *Store) SnapshotTotals(ctx context.Context, job string, day model.Day, snapshotID string, side model.Side) (model.Totals, error) {
	p := LandingID{Job: job, Day: day, RunID: snapshotID, Side: side}.params()
	out, err := s.totals(ctx, `SELECT side, currency, count(), sum(toDecimal256(amount, 8)) FROM entries
		WHERE `+ofRun+` AND side = {side:String} AND carried = 0 GROUP BY side, currency`, p)
	if err != nil {
		return nil, fmt.Errorf("totals of the %s of %s: %w", side, model.BatchID(job, day), err)
	}
	return out[side], nil
}

// totals reads rows of side, currency, count and sum.
func (s *Store) totals(ctx context.Context, query string, p params) (map[model.Side]model.Totals, error) {
	out := map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}
	err := s.each(ctx, query, p, func(rows driver.Rows) error {
		var (
			side, currency string
			n              uint64
			sum            decimal.Decimal
		)
		if err := rows.Scan(&side, &currency, &n, &sum); err != nil {
			return err
		}
		t := out[model.Side(side)]
		if t == nil {
			return fmt.Errorf("side %q: %w", side, ErrValue)
		}
		t.Add(currency, n, sum)
		return nil
	})
	return out, err
}

func (s *Store) count(ctx context.Context, query string, p params) (uint64, error) {
	var n uint64
	err := s.one(ctx, query, p, &n)
	return n, err
}
