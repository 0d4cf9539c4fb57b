package store

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"daybreak/pkg/model"
)

// ResultCounts is how many rows a result has put into the tables.
type ResultCounts struct {
	Diffs   uint64
	Carried uint64
}

// Results streams what a run found into the tables, where it stays invisible until the run is committed. It is not safe
// for concurrent use. What was written counts only when Close returns nil.
type Results struct {
	store   *Store
	ctx     context.Context
	id      LandingID // without a side
	version uint64
	diffs   []model.Diff
	carried []model.Entry
	bytes   int
	blocks  int
	counts  ResultCounts
	totals  map[model.Side]model.Totals // of carried
	err     error                       // of the first failure; sticks
}

const diffBlockRowsMax = 100_000

// Results begins the result of a run. It fails with [ErrRunExists] when the run already has diffs or carried entries.
// ctx governs every write until Close.
func (s *Store) Results(ctx context.Context, job string, day model.Day, runID string, version uint64) (*Results, error) {
	for _, table := range []string{"diffs", "carried"} {
		n, err := s.count(ctx, `SELECT count() FROM `+table+` WHERE `+ofRun, runParams(job, day, runID))
		if err != nil {
			return nil, fmt.Errorf("results of %s: %w", model.BatchID(job, day), err)
		}
		if n > 0 {
			return nil, fmt.Errorf("results of %s: run %s: %w", model.BatchID(job, day), runID, ErrRunExists)
		}
	}
	return &Results{
		store: s, ctx: ctx, id: LandingID{Job: job, Day: day, RunID: runID}, version: version,
		totals: map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}},
	}, nil
}

// Diff takes one open diff; job, day and version are those of the result. It fails with [ErrValue] for figures that the
// tables can not hold exactly. After an error every further call fails the same way.
func (r *Results) Diff(d model.Diff) error {
	if r.err != nil {
		return r.err
	}
	d.Job, d.Day, d.Version = r.id.Job, r.id.Day, r.version
	if r.err = checkDiff(&d); r.err != nil {
		return r.err
	}
	r.diffs = appendDoubling(r.diffs, d)
	r.counts.Diffs++
	if len(r.diffs) >= diffBlockRowsMax {
		r.flushDiffs(r.ctx)
	}
	return r.err
}

// Carry takes one entry that goes on to the next business day.
func (r *Results) Carry(e model.Entry) error {
	if r.err != nil {
		return r.err
	}
	if r.err = checkEntry(&e); r.err != nil {
		return r.err
	}
	r.carried = appendDoubling(r.carried, e)
	r.bytes += entryBytes(&e)
	r.counts.Carried++
	r.totals[e.Side].Add(e.Currency, 1, e.Amount)
	if len(r.carried) >= blockRowsMax || r.bytes >= blockBytesMax {
		r.flushCarried(r.ctx)
	}
	return r.err
}

func (r *Results) flushDiffs(ctx context.Context) {
	if n := len(r.diffs); n > 0 && r.err == nil {
		r.blocks++
		r.err = r.store.insert(ctx, "diffs", r.token("diffs"), append(diffColumns(r.diffs),
			column{"run_id", constant(n, r.id.RunID)}, column{"cleared_version", constant(n, uint64(0))}))
		clear(r.diffs)
		r.diffs = r.diffs[:0]
	}
}

func (r *Results) flushCarried(ctx context.Context) {
	if n := len(r.carried); n > 0 && r.err == nil {
		r.blocks++
		r.err = r.store.insert(ctx, "carried", r.token("carried"), append(entryColumns(r.carried),
			column{"job", constant(n, r.id.Job)}, column{"biz_date", constant(n, r.id.Day.UTC())},
			column{"run_id", constant(n, r.id.RunID)}, column{"version", constant(n, r.version)}))
		clear(r.carried)
		r.carried, r.bytes = r.carried[:0], 0
	}
}

func (r *Results) token(table string) string {
	return fmt.Sprintf("%s/%s/%d", table, r.id.RunID, r.blocks)
}

// Close sends what is buffered and proves that the tables hold every diff once and the whole pool. It fails with
// [ErrIncomplete] otherwise.
func (r *Results) Close(ctx context.Context) (ResultCounts, error) {
	r.flushDiffs(ctx)
	r.flushCarried(ctx)
	if r.err != nil {
		return ResultCounts{}, r.err
	}
	r.err = ErrClosed
	if err := r.check(ctx); err != nil {
		return ResultCounts{}, fmt.Errorf("results of %s, run %s: %w", model.BatchID(r.id.Job, r.id.Day), r.id.RunID, err)
	}
	return r.counts, nil
}

func (r *Results) check(ctx context.Context) error {
	p := runParams(r.id.Job, r.id.Day, r.id.RunID)
	var rows, ids uint64
	if err := r.store.one(ctx, `SELECT count(), uniqExact(diff_id) FROM diffs WHERE `+ofRun+` AND state = 'open'`, p, &rows, &ids); err != nil {
		return err
	}
	if rows != r.counts.Diffs || ids != r.counts.Diffs {
		return fmt.Errorf("%d diffs sent, %d held with %d ids: %w", r.counts.Diffs, rows, ids, ErrIncomplete)
	}
	held, err := r.store.totals(ctx, `SELECT side, currency, count(), sum(toDecimal256(amount, 8)) FROM carried
		WHERE `+ofRun+` GROUP BY side, currency`, p)
	if err != nil {
		return err
	}
	for _, side := range model.Sides {
		if !held[side].Equal(r.totals[side]) {
			return fmt.Errorf("carried of the %s: %s sent, %s held: %w", side, r.totals[side], held[side], ErrIncomplete)
		}
	}
	return nil
}

// Abort drops what is buffered. What was sent stays invisible and is swept later.
func (r *Results) Abort() {
	r.err, r.diffs, r.carried = ErrClosed, nil, nil
}

// CarryOverCleared writes every diff of the version before that runID does not have as cleared, with the figures it had,
// and returns how many cleared ones the run now has. It is called after the run's own diffs are written; repeating it
// does no harm. The zero Batch has no diffs.
func (s *Store) CarryOverCleared(ctx context.Context, prev model.Batch, runID string, version uint64) (uint64, error) {
	if prev.RunID == "" {
		return 0, nil
	}
	fail := func(err error) (uint64, error) {
		return 0, fmt.Errorf("cleared diffs of %s: %w", prev.ID(), err)
	}
	p := runParams(prev.Job, prev.Day, prev.RunID)
	p["new_run"], p["version"] = runID, version
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"insert_deduplicate": 0, // what is there is left out by the statement itself
		"max_insert_threads": 1,
	}))
	err := s.conn.Exec(ctx, `INSERT INTO diffs (`+clearedFields+`, state, version, run_id, cleared_version)
		SELECT `+clearedFields+`, 'cleared', {version:UInt64}, {new_run:String}, if(state = 'cleared', cleared_version, {version:UInt64})
		FROM diffs WHERE `+ofRun+` AND diff_id NOT IN (
			SELECT diff_id FROM diffs WHERE `+ofBatch+` AND run_id = {new_run:String}
		)
		ORDER BY diff_id`, p.args()...)
	if err != nil {
		return fail(err)
	}
	var cleared, missing uint64
	err = s.one(ctx, `SELECT uniqExactIf(diff_id, state = 'cleared' AND run_id = {new_run:String}),
			toUInt64(uniqExact(diff_id) - uniqExactIf(diff_id, run_id = {new_run:String}))
		FROM diffs WHERE `+ofBatch+` AND run_id IN ({run:String}, {new_run:String})`, p, &cleared, &missing)
	if err != nil {
		return fail(err)
	}
	if missing > 0 {
		return fail(fmt.Errorf("%d of run %s did not arrive in run %s: %w", missing, prev.RunID, runID, ErrIncomplete))
	}
	return cleared, nil
}

// clearedFields are the columns of diffs that a cleared diff keeps.
const clearedFields = `batch_id, biz_date, diff_id, kind, key, currency, ledger_count, channel_count, ledger_amount,
	channel_amount, delta, ledger_status, channel_status, origin_date, reasons, detail, ledger_ref, channel_ref, amounts,
	fingerprint, job`
