package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// readBackTimeout bounds the question whether a commit of unknown outcome took place.
const readBackTimeout = 15 * time.Second

// Commit makes a run visible by one row. A higher (version, fence) wins over it, whatever the order of the inserts.
// Repeating it does no harm. When the insert fails, the row is looked for: nil means that the run is committed; another
// error than [ErrCommitUnknown] means that the row was not there, and should it still arrive, a later version wins.
func (s *Store) Commit(ctx context.Context, b model.Batch) error {
	columns, err := batchColumns(b)
	if err != nil {
		return fmt.Errorf("commit %s: %w", b.ID(), err)
	}
	err = s.insert(ctx, "batches", "commit/"+b.RunID, columns)
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTimeout)
	defer cancel()
	_, there, readErr := s.Batch(ctx, b.Job, b.Day, b.RunID)
	switch {
	case readErr != nil:
		return fmt.Errorf("commit %s, run %s: %w: %w", b.ID(), b.RunID, ErrCommitUnknown, errors.Join(err, readErr))
	case there:
		s.log.WarnContext(ctx, "the commit took place although its insert failed", "job", b.Job, "biz_date", b.Day.String(),
			"run_id", b.RunID, "fence", b.Fence, "err", err)
		return nil
	}
	return fmt.Errorf("commit %s, run %s: %w", b.ID(), b.RunID, err)
}

func batchColumns(b model.Batch) ([]column, error) {
	if err := checkBatch(b); err != nil {
		return nil, err
	}
	seals, err := json.Marshal(b.Seals)
	if err != nil {
		return nil, err
	}
	balance, err := json.Marshal(b.Balance)
	if err != nil {
		return nil, err
	}
	diffs := map[string]uint64{}
	for k, n := range b.Diffs {
		diffs[string(k)] = n
	}
	ledger, channel := b.Balance.Ledger, b.Balance.Channel
	return []column{
		{"batch_id", []string{b.ID()}},
		{"job", []string{b.Job}},
		{"biz_date", []time.Time{b.Day.UTC()}},
		{"version", []uint64{b.Version}},
		{"fence", []uint64{b.Fence}},
		{"run_id", []string{b.RunID}},
		{"snapshot_id", []string{b.SnapshotID}},
		{"previous", []string{b.Previous}},
		{"cause", []string{string(b.Cause)}},
		{"committed_at", []time.Time{b.CommittedAt.UTC()}},
		{"seals", []string{string(seals)}},
		{"balance", []string{string(balance)}},
		{"reading", []string{b.Reading}},
		{"carry_in", []string{b.CarryIn}},
		{"carry_out", []string{b.CarryOut}},
		{"diffs", []map[string]uint64{diffs}},
		{"open_diffs", []uint64{b.OpenDiffs()}},
		{"ledger_count", []uint64{ledger.In.Count()}},
		{"channel_count", []uint64{channel.In.Count()}},
		{"ledger_totals", []map[string]decimal.Decimal{amounts(ledger.In)}},
		{"channel_totals", []map[string]decimal.Decimal{amounts(channel.In)}},
		{"carried_in", []uint64{ledger.CarriedIn.Count() + channel.CarriedIn.Count()}},
		{"carried_out", []uint64{ledger.CarriedOut.Count() + channel.CarriedOut.Count()}},
	}, nil
}

func checkBatch(b model.Batch) error {
	if b.Job == "" || b.RunID == "" || b.SnapshotID == "" || b.Version == 0 {
		return fmt.Errorf("job %q, run %q, snapshot %q and version %d are all needed: %w", b.Job, b.RunID, b.SnapshotID, b.Version, ErrValue)
	}
	err := errors.Join(checkDay("biz_date", b.Day), checkInstant("committed_at", b.CommittedAt))
	if b.CommittedAt.IsZero() {
		err = errors.Join(err, fmt.Errorf("committed_at is not set: %w", ErrValue))
	}
	for _, side := range model.Sides {
		for c, t := range b.Balance.Side(side).In {
			err = errors.Join(err, checkDecimal("total of the "+string(side)+" in "+c, t.Amount, totalDigitsMax))
		}
	}
	return err
}

func amounts(t model.Totals) map[string]decimal.Decimal {
	out := map[string]decimal.Decimal{}
	for c, v := range t {
		out[c] = v.Amount
	}
	return out
}

const batchFields = `job, biz_date, version, fence, run_id, snapshot_id, previous, cause, committed_at, seals, balance, reading, carry_in, carry_out, diffs`

func scanBatch(row interface{ Scan(dest ...any) error }) (model.Batch, error) {
	var (
		b              model.Batch
		day, at        time.Time
		cause          string
		seals, balance string
		diffs          map[string]uint64
	)
	err := row.Scan(&b.Job, &day, &b.Version, &b.Fence, &b.RunID, &b.SnapshotID, &b.Previous, &cause, &at, &seals, &balance,
		&b.Reading, &b.CarryIn, &b.CarryOut, &diffs)
	if err != nil {
		return model.Batch{}, err
	}
	b.Day, b.Cause, b.CommittedAt = dayOf(day), model.Cause(cause), at.UTC()
	if err := json.Unmarshal([]byte(seals), &b.Seals); err != nil {
		return model.Batch{}, fmt.Errorf("seals of run %s: %w", b.RunID, err)
	}
	if err := json.Unmarshal([]byte(balance), &b.Balance); err != nil {
		return model.Batch{}, fmt.Errorf("balance of run %s: %w", b.RunID, err)
	}
	b.Diffs = map[model.Kind]uint64{}
	for k, n := range diffs {
		b.Diffs[model.Kind(k)] = n
	}
	return b, nil
}

// Current is the newest committed version of a batch; false when none is committed.
func (s *Store) Current(ctx context.Context, job string, day model.Day) (model.Batch, bool, error) {
	return s.batch(ctx, `SELECT `+batchFields+` FROM batches_current WHERE `+ofBatch, batchParams(job, day))
}

// Batch is the committed version that a run made, also when a newer one exists; false when the run is not committed.
func (s *Store) Batch(ctx context.Context, job string, day model.Day, runID string) (model.Batch, bool, error) {
	return s.batch(ctx, `SELECT `+batchFields+` FROM batches WHERE `+ofRun+` ORDER BY version DESC, fence DESC LIMIT 1`, runParams(job, day, runID))
}

func (s *Store) batch(ctx context.Context, query string, p params) (model.Batch, bool, error) {
	b, err := scanBatch(s.conn.QueryRow(ctx, query, p.args()...))
	if errors.Is(err, sql.ErrNoRows) {
		return model.Batch{}, false, nil
	}
	if err != nil {
		return model.Batch{}, false, fmt.Errorf("read the batch of %v %v: %w", p["job"], p["day"], err)
	}
	return b, true, nil
}

// Batches are the newest versions of the days from and to and between, by day.
func (s *Store) Batches(ctx context.Context, job string, from, to model.Day) ([]model.Batch, error) {
	var out []model.Batch
	p := params{"job": job, "from": from.String(), "to": to.String()}
	err := s.each(ctx, `SELECT `+batchFields+` FROM batches_current
		WHERE job = {job:String} AND biz_date BETWEEN {from:Date} AND {to:Date} ORDER BY biz_date`, p, func(rows driver.Rows) error {
		b, err := scanBatch(rows)
		out = append(out, b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the batches of %s: %w", job, err)
	}
	return out, nil
}
