package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/model"
)

// CarryIn copies the pool that from hands on into the entries of runID, marked as carried, and returns its totals per
// side as the entries now hold them. The zero Batch is an empty pool. Repeating it does no harm. It fails with
// [ErrIncomplete] when the copy is not the pool, entry for entry in count and amount.
func (s *Store) CarryIn(ctx context.Context, job string, day model.Day, runID string, from model.Batch) (map[model.Side]model.Totals, error) {
	fail := func(err error) (map[model.Side]model.Totals, error) {
		return nil, fmt.Errorf("carry into %s: %w", model.BatchID(job, day), err)
	}
	if from.RunID == "" {
		return map[model.Side]model.Totals{model.Ledger: {}, model.Channel: {}}, nil
	}
	held, err := s.carriedIn(ctx, job, day, runID)
	if err != nil {
		return fail(err)
	}
	if held[model.Ledger].Count()+held[model.Channel].Count() == 0 {
		if err := s.copyPool(ctx, job, day, runID, from); err != nil {
			return fail(err)
		}
		if held, err = s.carriedIn(ctx, job, day, runID); err != nil {
			return fail(err)
		}
	}
	pool, err := s.totals(ctx, `SELECT side, currency, count(), sum(toDecimal256(amount, 8)) FROM carried
		WHERE `+ofRun+` GROUP BY side, currency`, runParams(from.Job, from.Day, from.RunID))
	if err != nil {
		return fail(err)
	}
	for _, side := range model.Sides {
		if !pool[side].Equal(held[side]) {
			return fail(fmt.Errorf("%s: the pool of run %s has %s, %s arrived: %w", side, from.RunID, pool[side], held[side], ErrIncomplete))
		}
	}
	return held, nil
}

func (s *Store) carriedIn(ctx context.Context, job string, day model.Day, runID string) (map[model.Side]model.Totals, error) {
	return s.totals(ctx, `SELECT side, currency, count(), sum(toDecimal256(amount, 8)) FROM entries
		WHERE `+ofRun+` AND carried = 1 GROUP BY side, currency`, runParams(job, day, runID))
}

func (s *Store) copyPool(ctx context.Context, job string, day model.Day, runID string, from model.Batch) error {
	p := runParams(job, day, runID)
	p["from_job"], p["from_day"], p["from_run"] = from.Job, from.Day.String(), from.RunID
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"insert_deduplication_token": "carry/" + runID + "/" + from.RunID,
		"max_insert_threads":         1,
	}))
	return s.conn.Exec(ctx, `INSERT INTO entries (job, biz_date, run_id, carried, `+entryFields+`)
		SELECT {job:String}, {day:Date}, {run:String}, 1, `+entryFields+` FROM carried
		WHERE job = {from_job:String} AND biz_date = {from_day:Date} AND run_id = {from_run:String}
		ORDER BY match_key, side`, p.args()...)
}

// CarriedRow is one entry of a pool and the batch whose newest version hands it on.
type CarriedRow struct {
	Entry model.Entry
	Job   string
	Day   model.Day
	RunID string
}

// Carried yields the entries that the newest version of a day hands on, by key and side.
func (s *Store) Carried(ctx context.Context, job string, day model.Day) iter.Seq2[CarriedRow, error] {
	return sequence(func(yield func(CarriedRow) error) error {
		return s.each(ctx, `SELECT `+entryFields+`, run_id FROM carried_current WHERE `+ofBatch+`
			ORDER BY match_key, side, file, line`, batchParams(job, day), func(rows driver.Rows) error {
			row := CarriedRow{Job: job, Day: day}
			var err error
			if row.Entry, err = scanEntry(rows, &row.RunID); err != nil {
				return err
			}
			return yield(row)
		})
	})
}

// NewestDay is the newest day of a job that has a committed version; false when none has.
func (s *Store) NewestDay(ctx context.Context, job string) (model.Day, bool, error) {
	var n uint64
	var day uint16
	err := s.one(ctx, `SELECT count(), toUInt16(max(biz_date)) FROM batches WHERE job = {job:String}`, params{"job": job}, &n, &day)
	return model.Day(day), n > 0, err
}
