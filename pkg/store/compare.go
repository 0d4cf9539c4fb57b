package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// Comparison names what is held against each other: the entries that SnapshotID pulled and those that were carried into
// RunID, of both sides.
type Comparison struct {
	Job        string
	Day        model.Day
	SnapshotID string
	RunID      string
	Mode       model.MatchMode
}

func (c Comparison) params() params {
	p := runParams(c.Job, c.Day, c.RunID)
	p["snapshot"] = c.SnapshotID
	return p
}

// compared selects the entries of a comparison.
const comparedEntries = ofBatch + ` AND ((run_id = {snapshot:String} AND carried = 0) OR (run_id = {run:String} AND carried = 1))`

// The sort key of entries makes a GROUP BY match_key read in order: no hash table, one key in memory at a time.
func inOrder(ctx context.Context) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"optimize_aggregation_in_order": 1,
		"optimize_read_in_order":        1,
	}))
}

// exact is the condition on a group of match_key under which nothing is left to judge. It is stricter than
// [model.Rules.Judge] with any tolerance, never laxer: a key that it takes is Matched with a delta of zero. Exact counts
// the groups that it takes, Residue hands out the others, so it must be one text and never NULL.
func (s *Store) exact(ctx context.Context, c Comparison) (string, error) {
	switch c.Mode {
	case model.ModeSum:
		return `(countIf(side = 'ledger') > 0 AND countIf(side = 'channel') > 0 AND min(currency) = max(currency)
			AND sumIf(toDecimal256(amount, 8), side = 'ledger') = sumIf(toDecimal256(amount, 8), side = 'channel'))`, nil
	case model.ModeOne:
	default:
		return "", fmt.Errorf("match mode %q: %w", c.Mode, ErrValue)
	}
	// The number of compared columns is what the entries have: both readers of a comparison see the same entries.
	var columns uint64
	if err := s.one(ctx, `SELECT max(length(compared)) FROM entries WHERE `+comparedEntries, c.params(), &columns); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`(count() = 2 AND countIf(side = 'ledger') = 1 AND min(currency) = max(currency) AND min(amount) = max(amount)`)
	for i := range columns {
		at := `compared[` + strconv.FormatUint(i+1, 10) + `]`
		b.WriteString(` AND minIf(` + at + `, ` + at + ` != '') = maxIf(` + at + `, ` + at + ` != '')`)
	}
	b.WriteString(`)`)
	return b.String(), nil
}

// Exact totals the entries whose keys match exactly, per side, without bringing them here.
func (s *Store) Exact(ctx context.Context, c Comparison) (ledger, channel model.Totals, err error) {
	exact, err := s.exact(ctx, c)
	if err != nil {
		return nil, nil, fmt.Errorf("compare %s: %w", model.BatchID(c.Job, c.Day), err)
	}
	ledger, channel = model.Totals{}, model.Totals{}
	err = s.each(inOrder(ctx), `SELECT group_currency, sum(ledger_count), sum(channel_count), sum(ledger_sum), sum(channel_sum)
		FROM (
			SELECT any(currency) AS group_currency,
				countIf(side = 'ledger') AS ledger_count, countIf(side = 'channel') AS channel_count,
				sumIf(toDecimal256(amount, 8), side = 'ledger') AS ledger_sum,
				sumIf(toDecimal256(amount, 8), side = 'channel') AS channel_sum
			FROM entries WHERE `+comparedEntries+`
			GROUP BY match_key HAVING `+exact+`
		)
		GROUP BY group_currency`, c.params(), func(rows driver.Rows) error {
		var (
			currency string
			nl, nc   uint64
			sl, sc   decimal.Decimal
		)
		if err := rows.Scan(&currency, &nl, &nc, &sl, &sc); err != nil {
			return err
		}
		ledger.Add(currency, nl, sl)
		channel.Add(currency, nc, sc)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("compare %s: %w", model.BatchID(c.Job, c.Day), err)
	}
	return ledger, channel, nil
}

// residueKeysMax bounds the keys whose verdict the server holds at a time.
const residueKeysMax = 2_000_000

// Residue hands every group that does not match exactly to fn, with all its entries, ascending by the bytes of the key
// and one group at a time. An error of fn ends it and is returned as it is.
func (s *Store) Residue(ctx context.Context, c Comparison, fn func(model.Group) error) error {
	var own error
	err := s.residue(inOrder(ctx), c, residueKeysMax, func(g model.Group) error {
		own = fn(g)
		return own
	})
	switch {
	case own != nil:
		return own
	case err != nil:
		return fmt.Errorf("compare %s: %w", model.BatchID(c.Job, c.Day), err)
	}
	return nil
}

// residue goes through the keys range by range, so that the set of keys that do not match stays small on the server even
// when nothing matches at all.
func (s *Store) residue(ctx context.Context, c Comparison, rowsPerRange int, fn func(model.Group) error) error {
	exact, err := s.exact(ctx, c)
	if err != nil {
		return err
	}
	bounds, err := s.bounds(ctx, c, rowsPerRange)
	if err != nil {
		return err
	}
	for i := range len(bounds) + 1 {
		where, p := comparedEntries, c.params()
		if i > 0 {
			where, p["low"] = where+` AND match_key >= {low:String}`, bounds[i-1]
		}
		if i < len(bounds) {
			where, p["high"] = where+` AND match_key < {high:String}`, bounds[i]
		}
		g := grouper{fn: fn}
		err := s.each(ctx, `SELECT `+entryFields+` FROM entries WHERE `+where+` AND match_key IN (
				SELECT match_key FROM entries WHERE `+where+` GROUP BY match_key HAVING NOT `+exact+`
			)
			ORDER BY match_key, side, file, line, entry_id`, p, g.add)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := g.flush(); err != nil {
			return err
		}
	}
	return nil
}

// bounds cuts the keys into ranges of about rows entries. Any keys would do: they decide what is read at a time, not
// what is found.
func (s *Store) bounds(ctx context.Context, c Comparison, rows int) ([]string, error) {
	n, err := s.count(ctx, `SELECT count() FROM entries WHERE `+comparedEntries, c.params())
	if err != nil || n <= uint64(rows) {
		return nil, err
	}
	p := c.params()
	p["rows"] = rows
	var out []string
	err = s.each(ctx, `SELECT match_key FROM (
			SELECT match_key, rowNumberInAllBlocks() AS row FROM (
				SELECT match_key FROM entries WHERE `+comparedEntries+` ORDER BY match_key
			)
		) WHERE row % {rows:UInt64} = {rows:UInt64} - 1`, p, func(rows driver.Rows) error {
		var key string
		err := rows.Scan(&key)
		out = append(out, key)
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

// grouper makes groups of entries that arrive ordered by key.
type grouper struct {
	fn    func(model.Group) error
	group model.Group
}

func (g *grouper) add(rows driver.Rows) error {
	e, err := scanEntry(rows)
	if err != nil {
		return err
	}
	if e.Key != g.group.Key {
		if err := g.flush(); err != nil {
			return err
		}
		g.group.Key = e.Key
	}
	if e.Side == model.Ledger {
		g.group.Ledger = append(g.group.Ledger, e)
	} else {
		g.group.Channel = append(g.group.Channel, e)
	}
	return nil
}

func (g *grouper) flush() error {
	full := g.group
	g.group = model.Group{}
	if len(full.Ledger)+len(full.Channel) == 0 {
		return nil
	}
	return g.fn(full)
}
