package auditor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// querier is what the auditor needs of a ClickHouse connection.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (driver.Rows, error)
}

// tables reads the result tables.
type tables struct{ conn querier }

type params map[string]any

// each hands every row to scan.
func (t tables) each(ctx context.Context, query string, p params, scan func(driver.Rows) error) error {
	args := make([]any, 0, len(p))
	for name, v := range p {
		args = append(args, clickhouse.Named(name, v))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := t.conn.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			cancel() // else Close reads the answer to its end
			_ = rows.Close()
			return err
		}
	}
	return errors.Join(ctx.Err(), rows.Close(), rows.Err())
}

// newest is the newest version of a batch in short.
type newest struct {
	version, fence    uint64
	runID, snapshotID string
	committedAt       time.Time
	carryIn, carryOut string
	openDiffs         uint64
}

func (t tables) newest(ctx context.Context, job string) (map[model.Day]newest, error) {
	out := map[model.Day]newest{}
	err := t.each(ctx, newestSQL, params{"job": job}, func(rows driver.Rows) error {
		var n newest
		var day time.Time
		err := rows.Scan(&day, &n.version, &n.fence, &n.runID, &n.snapshotID, &n.committedAt, &n.carryIn, &n.carryOut, &n.openDiffs)
		out[dateOf(day)] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the batches of job %s: %w", job, err)
	}
	return out, nil
}

// claim is what a commit row says of its run.
type claim struct {
	Seals     map[model.Side]model.Seal
	Balance   model.Balance
	Diffs     map[string]uint64
	OpenDiffs uint64
	Count     map[model.Side]uint64
	Totals    map[model.Side]map[string]decimal.Decimal
	In, Out   uint64
}

func (t tables) claim(ctx context.Context, job string, day model.Day, runID string) (claim, error) {
	var c claim
	found := false
	p := params{"job": job, "day": day.String(), "run": runID}
	err := t.each(ctx, claimSQL, p, func(rows driver.Rows) error {
		var seals, balance string
		var lc, cc uint64
		var lt, ct map[string]decimal.Decimal
		if err := rows.Scan(&seals, &balance, &c.Diffs, &c.OpenDiffs, &lc, &cc, &lt, &ct, &c.In, &c.Out); err != nil {
			return err
		}
		found = true
		c.Count = map[model.Side]uint64{model.Ledger: lc, model.Channel: cc}
		c.Totals = map[model.Side]map[string]decimal.Decimal{model.Ledger: lt, model.Channel: ct}
		if err := json.Unmarshal([]byte(seals), &c.Seals); err != nil {
			return fmt.Errorf("seals of run %s: %w", runID, err)
		}
		if err := json.Unmarshal([]byte(balance), &c.Balance); err != nil {
			return fmt.Errorf("balance of run %s: %w", runID, err)
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("run %s has no row in batches any more", runID)
	}
	if err != nil {
		return claim{}, fmt.Errorf("reading the commit row of %s: %w", model.BatchID(job, day), err)
	}
	return c, nil
}

// derive adds up what the tables hold of one run.
func (t tables) derive(ctx context.Context, job model.Job, day model.Day, n newest) (derived, error) {
	d := newDerived()
	p := params{"job": job.Name, "day": day.String(), "run": n.runID, "snapshot": n.snapshotID}
	err := t.each(ctx, placesSQL, p, func(rows driver.Rows) error {
		var side, currency, place string
		var carried uint8
		var count uint64
		var amount decimal.Decimal
		if err := rows.Scan(&side, &currency, &carried, &place, &count, &amount); err != nil {
			return err
		}
		return d.place(model.Side(side), currency, carried == 1, place, model.Total{Count: count, Amount: amount})
	})
	p = params{"job": job.Name, "day": day.String(), "run": n.runID}
	err = errors.Join(err, t.deriveDiffs(ctx, p, &d), t.derivePools(ctx, p, &d))
	if err == nil {
		err = t.deriveMatches(ctx, job, p, n.snapshotID, &d)
	}
	if err == nil {
		err = t.each(ctx, readableSQL, p, func(rows driver.Rows) error {
			var sum uint64
			return rows.Scan(&sum)
		})
	}
	if err != nil {
		return derived{}, fmt.Errorf("adding up %s: %w", model.BatchID(job.Name, day), err)
	}
	return d, nil
}

// Codes of the server for stored rows that it can not read back.
var damageCodes = []int32{
	33,  // CANNOT_READ_ALL_DATA
	40,  // CHECKSUM_DOESNT_MATCH
	246, // CORRUPTED_DATA
	271, // CANNOT_DECOMPRESS
	432, // UNKNOWN_CODEC
}

// damaged says that the server answered, and that what it stores is broken: asking again brings nothing else.
func damaged(err error) bool {
	ex, ok := errors.AsType[*clickhouse.Exception](err)
	return ok && slices.Contains(damageCodes, ex.Code)
}

func (t tables) deriveDiffs(ctx context.Context, p params, d *derived) error {
	err := t.each(ctx, diffsSQL, p, func(rows driver.Rows) error {
		var currency string
		var lc, cc uint64
		var la, ca decimal.Decimal
		if err := rows.Scan(&currency, &lc, &cc, &la, &ca); err != nil {
			return err
		}
		d.diffs[model.Ledger].Add(currency, lc, la)
		d.diffs[model.Channel].Add(currency, cc, ca)
		return nil
	})
	if err != nil {
		return err
	}
	return t.each(ctx, kindsSQL, p, func(rows driver.Rows) error {
		var kind string
		var n, twice, wrong uint64
		err := rows.Scan(&kind, &n, &twice, &wrong)
		d.kinds[kind] = n
		d.twice += twice
		d.headlines += wrong
		return err
	})
}

func (t tables) deriveMatches(ctx context.Context, job model.Job, p params, snapshotID string, d *derived) error {
	currencies, tolerances := []string{}, []string{}
	for c, v := range job.Rules.Tolerance {
		currencies, tolerances = append(currencies, c), append(tolerances, v.String())
	}
	columns := len(job.Rules.Compare)
	p = params{
		"job": p["job"], "day": p["day"], "run": p["run"], "snapshot": snapshotID, "currencies": arrayText(currencies),
		"tolerances": arrayText(tolerances), "tolerance": job.Rules.Tolerance[model.DefaultCurrency].String(), "columns": fmt.Sprint(columns),
	}
	queries := []string{wrongPairsSQL}
	switch {
	case job.Rules.Mode == model.ModeSum:
		queries = []string{wrongSumsSQL}
	case columns > 0:
		queries = append(queries, wrongColumnsSQL)
	}
	for _, query := range queries {
		err := t.each(ctx, query, p, func(rows driver.Rows) error {
			var n uint64
			var key string
			err := rows.Scan(&n, &key)
			d.wrong, d.wrongKey = d.wrong+n, cmp.Or(d.wrongKey, key)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// arrayText writes an array parameter.
func arrayText(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

func (t tables) derivePools(ctx context.Context, p params, d *derived) error {
	var err error
	if d.poolOut, d.digestOut, err = t.pool(ctx, poolOutSQL, p); err != nil {
		return err
	}
	_, d.digestIn, err = t.pool(ctx, poolInSQL, p)
	return err
}

// pool totals and digests the entries of a pool.
func (t tables) pool(ctx context.Context, query string, p params) (map[model.Side]model.Totals, string, error) {
	totals := bothSides()
	var digest model.PoolDigest
	var group []model.Entry
	err := t.each(ctx, query, p, func(rows driver.Rows) error {
		e, err := scanEntry(rows)
		if err != nil {
			return err
		}
		if len(group) > 0 && group[0].Key != e.Key {
			digest.Add(group)
			group = nil
		}
		group = append(group, e)
		if totals[e.Side] == nil {
			return fmt.Errorf("side %q", e.Side)
		}
		totals[e.Side].Add(e.Currency, 1, e.Amount)
		return nil
	})
	digest.Add(group)
	return totals, digest.String(), err
}

func scanEntry(rows driver.Rows) (model.Entry, error) {
	var (
		e        model.Entry
		side     string
		occurred *time.Time
		fee      *decimal.Decimal
		origin   time.Time
	)
	err := rows.Scan(&side, &e.Key, &e.ID, &e.Amount, &e.Currency, &e.Status, &e.Compared, &occurred, &fee, &e.Attrs, &origin)
	e.Side, e.Origin = model.Side(side), dateOf(origin)
	if occurred != nil {
		e.OccurredAt = occurred.UTC()
	}
	e.Fee = nullDecimal(fee)
	return e, err
}

func nullDecimal(d *decimal.Decimal) decimal.NullDecimal {
	if d == nil {
		return decimal.NullDecimal{}
	}
	return decimal.NewNullDecimal(*d)
}

// dateOf is the date as the server gave it, whatever zone the driver put it in.
func dateOf(t time.Time) model.Day { return model.DayOf(t, t.Location()) }
