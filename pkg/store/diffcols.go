package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// diffFields are the columns of diffs that make a [model.Diff], in the order of scanDiff.
const diffFields = `diff_id, biz_date, kind, state, key, currency, ledger_count, channel_count, ledger_amount, channel_amount,
	delta, ledger_status, channel_status, version, origin_date, reasons, detail, ledger_ref, channel_ref, amounts, job`

// amountRow is one element of the column amounts.
type amountRow struct {
	Currency     string          `ch:"currency"`
	LedgerCount  uint64          `ch:"ledger_count"`
	ChannelCount uint64          `ch:"channel_count"`
	Ledger       decimal.Decimal `ch:"ledger"`
	Channel      decimal.Decimal `ch:"channel"`
}

// scanDiff reads one row of diffFields; more scans the columns that come after them.
func scanDiff(rows driver.Rows, more ...any) (model.Diff, error) {
	var (
		d                      model.Diff
		kind, state            string
		day, origin            time.Time
		ledger, channel, delta *decimal.Decimal
		reasons                []string
		amounts                []amountRow
	)
	dest := append([]any{
		&d.ID, &day, &kind, &state, &d.Key, &d.Currency, &d.LedgerCount, &d.ChannelCount, &ledger, &channel,
		&delta, &d.LedgerStatus, &d.ChannelStatus, &d.Version, &origin, &reasons, &d.Detail, &d.LedgerRef, &d.ChannelRef,
		&amounts, &d.Job,
	}, more...)
	if err := rows.Scan(dest...); err != nil {
		return model.Diff{}, err
	}
	d.Day, d.Origin, d.Kind, d.State = dayOf(day), dayOf(origin), model.Kind(kind), model.DiffState(state)
	d.LedgerAmount, d.ChannelAmount, d.Delta = nullDecimalOf(ledger), nullDecimalOf(channel), nullDecimalOf(delta)
	for _, r := range reasons {
		d.Reasons = append(d.Reasons, model.Kind(r))
	}
	for _, a := range amounts {
		d.Amounts = append(d.Amounts, model.CurrencyAmounts(a))
	}
	return d, nil
}

// diffColumns makes the columns of diffs, except the run's, from open diffs.
func diffColumns(rows []model.Diff) []column {
	return []column{
		{"batch_id", collect(rows, func(d *model.Diff) string { return model.BatchID(d.Job, d.Day) })},
		{"biz_date", collect(rows, func(d *model.Diff) time.Time { return d.Day.UTC() })},
		{"diff_id", collect(rows, func(d *model.Diff) string { return d.ID })},
		{"kind", collect(rows, func(d *model.Diff) string { return string(d.Kind) })},
		{"state", collect(rows, func(d *model.Diff) string { return string(d.State) })},
		{"key", collect(rows, func(d *model.Diff) string { return d.Key })},
		{"currency", collect(rows, func(d *model.Diff) string { return d.Currency })},
		{"ledger_count", collect(rows, func(d *model.Diff) uint64 { return d.LedgerCount })},
		{"channel_count", collect(rows, func(d *model.Diff) uint64 { return d.ChannelCount })},
		{"ledger_amount", collect(rows, func(d *model.Diff) *decimal.Decimal { return decimalOrNull(d.LedgerAmount) })},
		{"channel_amount", collect(rows, func(d *model.Diff) *decimal.Decimal { return decimalOrNull(d.ChannelAmount) })},
		{"delta", collect(rows, func(d *model.Diff) *decimal.Decimal { return decimalOrNull(d.Delta) })},
		{"ledger_status", collect(rows, func(d *model.Diff) string { return d.LedgerStatus })},
		{"channel_status", collect(rows, func(d *model.Diff) string { return d.ChannelStatus })},
		{"version", collect(rows, func(d *model.Diff) uint64 { return d.Version })},
		{"origin_date", collect(rows, func(d *model.Diff) time.Time { return d.Origin.UTC() })},
		{"reasons", collect(rows, reasonTexts)},
		{"detail", collect(rows, func(d *model.Diff) string { return d.Detail })},
		{"ledger_ref", collect(rows, func(d *model.Diff) string { return d.LedgerRef })},
		{"channel_ref", collect(rows, func(d *model.Diff) string { return d.ChannelRef })},
		{"amounts", collect(rows, amountRows)},
		{"fingerprint", collect(rows, func(d *model.Diff) string { return d.Fingerprint() })},
		{"job", collect(rows, func(d *model.Diff) string { return d.Job })},
	}
}

func reasonTexts(d *model.Diff) []string {
	out := make([]string, len(d.Reasons))
	for i, r := range d.Reasons {
		out[i] = string(r)
	}
	return out
}

func amountRows(d *model.Diff) []amountRow {
	out := make([]amountRow, len(d.Amounts))
	for i, a := range d.Amounts {
		out[i] = amountRow(a)
	}
	return out
}

// checkDiff proves that the tables hold the diff exactly.
func checkDiff(d *model.Diff) error {
	err := errors.Join(
		checkNullDecimal("ledger_amount", d.LedgerAmount, sumDigitsMax),
		checkNullDecimal("channel_amount", d.ChannelAmount, sumDigitsMax),
		checkNullDecimal("delta", d.Delta, sumDigitsMax),
		checkDay("origin_date", d.Origin),
	)
	for _, a := range d.Amounts {
		err = errors.Join(err, checkDecimal("ledger", a.Ledger, sumDigitsMax), checkDecimal("channel", a.Channel, sumDigitsMax))
	}
	if d.ID == "" || d.Kind == "" || d.State != model.Open {
		err = errors.Join(err, fmt.Errorf("an id, a kind and the state open are needed, not %q, %q, %q: %w", d.ID, d.Kind, d.State, ErrValue))
	}
	if err != nil {
		return fmt.Errorf("diff of key %q in %s (%s, %s): %w", d.Key, model.BatchID(d.Job, d.Day), d.LedgerRef, d.ChannelRef, err)
	}
	return nil
}
