package store

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

const (
	entryDigitsMax = model.AmountIntegerDigitsMax // of an amount of one entry
	sumDigitsMax   = 38 - model.AmountScale       // of a sum in a Decimal(38, 8) column
	totalDigitsMax = 76 - model.AmountScale       // of a total in a Decimal(76, 8) column
)

// checkDecimal proves that a Decimal column with 8 fractional and the given number of integer digits holds d exactly.
// The driver would cut the fraction without a word.
func checkDecimal(name string, d decimal.Decimal, integerDigits int) error {
	if d.IsZero() {
		return nil
	}
	digits := d.NumDigits() + int(d.Exponent()) // integer digits; may be negative
	if digits > integerDigits {
		return fmt.Errorf("%s has more than %d integer digits: %w", name, integerDigits, ErrValue)
	}
	if d.Exponent() < -model.AmountScale && !d.Equal(d.Truncate(model.AmountScale)) {
		return fmt.Errorf("%s %s has more than %d fractional digits: %w", name, d, model.AmountScale, ErrValue)
	}
	return nil
}

func checkNullDecimal(name string, d decimal.NullDecimal, integerDigits int) error {
	if !d.Valid {
		return nil
	}
	return checkDecimal(name, d.Decimal, integerDigits)
}

var (
	oldestInstant = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	newestInstant = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// checkInstant proves that a DateTime64(9) column holds t. The zero instant is NULL.
func checkInstant(name string, t time.Time) error {
	if !t.IsZero() && (t.Before(oldestInstant) || !t.Before(newestInstant)) {
		return fmt.Errorf("%s %s is not between 1900 and 2261: %w", name, t.UTC().Format(time.RFC3339Nano), ErrValue)
	}
	return nil
}

func checkDay(name string, d model.Day) error {
	if d < 0 || d > model.MaxDay {
		return fmt.Errorf("%s is not a date between 1970-01-01 and %s: %w", name, model.MaxDay, ErrValue)
	}
	return nil
}

func instantOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC()
	return &u
}

func instantOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func decimalOrNull(d decimal.NullDecimal) *decimal.Decimal {
	if !d.Valid {
		return nil
	}
	return &d.Decimal
}

func nullDecimalOf(d *decimal.Decimal) decimal.NullDecimal {
	if d == nil {
		return decimal.NullDecimal{}
	}
	return decimal.NewNullDecimal(*d)
}

// dayOf is the date as the server gave it, whatever zone the driver put it in.
func dayOf(t time.Time) model.Day { return model.DayOf(t, t.Location()) }
