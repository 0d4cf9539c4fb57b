package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// entryFields are the columns that entries and carried have in common, in the order of scanEntry.
const entryFields = `side, match_key, entry_id, amount, currency, status, compared, occurred_at, fee, attrs, origin_date, file, line`

// scanEntry reads one row of entryFields; more scans the columns that come after them.
func scanEntry(rows driver.Rows, more ...any) (model.Entry, error) {
	var (
		e        model.Entry
		side     string
		occurred *time.Time
		fee      *decimal.Decimal
		origin   time.Time
	)
	dest := append([]any{
		&side, &e.Key, &e.ID, &e.Amount, &e.Currency, &e.Status, &e.Compared, &occurred, &fee, &e.Attrs, &origin, &e.File, &e.Line,
	}, more...)
	if err := rows.Scan(dest...); err != nil {
		return model.Entry{}, err
	}
	e.Side, e.OccurredAt, e.Fee, e.Origin = model.Side(side), instantOf(occurred), nullDecimalOf(fee), dayOf(origin)
	// An absent list and an empty one are the same to the tables; one form keeps digests of entries stable.
	if len(e.Compared) == 0 {
		e.Compared = nil
	}
	if len(e.Attrs) == 0 {
		e.Attrs = nil
	}
	return e, nil
}

// entryColumns makes the columns of entryFields from rows.
func entryColumns(rows []model.Entry) []column {
	return []column{
		{"side", collect(rows, func(e *model.Entry) string { return string(e.Side) })},
		{"match_key", collect(rows, func(e *model.Entry) string { return e.Key })},
		{"entry_id", collect(rows, func(e *model.Entry) string { return e.ID })},
		{"amount", collect(rows, func(e *model.Entry) decimal.Decimal { return e.Amount })},
		{"currency", collect(rows, func(e *model.Entry) string { return e.Currency })},
		{"status", collect(rows, func(e *model.Entry) string { return e.Status })},
		{"compared", collect(rows, func(e *model.Entry) []string { return e.Compared })},
		{"occurred_at", collect(rows, func(e *model.Entry) *time.Time { return instantOrNull(e.OccurredAt) })},
		{"fee", collect(rows, func(e *model.Entry) *decimal.Decimal { return decimalOrNull(e.Fee) })},
		{"attrs", collect(rows, func(e *model.Entry) map[string]string { return e.Attrs })},
		{"origin_date", collect(rows, func(e *model.Entry) time.Time { return e.Origin.UTC() })},
		{"file", collect(rows, func(e *model.Entry) string { return e.File })},
		{"line", collect(rows, func(e *model.Entry) uint64 { return e.Line })},
	}
}

// checkEntry proves that the tables hold the entry exactly. The error names the line it came from.
func checkEntry(e *model.Entry) error {
	err := errors.Join(
		checkDecimal("amount", e.Amount, entryDigitsMax),
		checkNullDecimal("fee", e.Fee, entryDigitsMax),
		checkInstant("occurred_at", e.OccurredAt),
		checkDay("origin_date", e.Origin),
	)
	switch {
	case e.Key == "":
		err = errors.Join(err, fmt.Errorf("the key is empty: %w", ErrValue))
	case e.Currency == "":
		err = errors.Join(err, fmt.Errorf("the currency is empty: %w", ErrValue))
	case e.Side != model.Ledger && e.Side != model.Channel:
		err = errors.Join(err, fmt.Errorf("the side %q is neither ledger nor channel: %w", e.Side, ErrValue))
	}
	if err != nil {
		return fmt.Errorf("%s:%d: %w", e.File, e.Line, err)
	}
	return nil
}

// entryBytes estimates what an entry takes in a buffer.
func entryBytes(e *model.Entry) int {
	n := 320 + len(e.Key) + len(e.ID) + len(e.Status)
	for _, c := range e.Compared {
		n += 16 + len(c)
	}
	for k, v := range e.Attrs {
		n += 64 + len(k) + len(v)
	}
	return n
}
