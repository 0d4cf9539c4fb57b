package model

import (
	"fmt"
	"strconv"
	"time"
)

// Day is a calendar date without zone: the number of days since 1970-01-01 in the proleptic Gregorian calendar. Its
// range is that of ClickHouse's Date, so that a day which can be named can also be stored. The zero value is
// 1970-01-01, which no job uses; code that needs "no day" says so with a second value.
type Day int32

// MaxDay is the last day that ClickHouse's Date can hold, 2149-06-06.
const MaxDay Day = 65535

const dayLayout = "2006-01-02"

// NewDay returns the day of a calendar date. Out-of-range months and days roll over as in [time.Date].
func NewDay(year int, month time.Month, day int) Day {
	return Day(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// DayOf returns the calendar date that t shows in loc.
func DayOf(t time.Time, loc *time.Location) Day {
	y, m, d := t.In(loc).Date()
	return NewDay(y, m, d)
}

// ParseDay reads YYYY-MM-DD strictly: impossible dates, other widths and surrounding space give [ErrDay].
func ParseDay(text string) (Day, error) {
	t, err := time.Parse(dayLayout, text)
	if err != nil || len(text) != len(dayLayout) {
		return 0, fmt.Errorf("%q: %w", text, ErrDay)
	}
	d := NewDay(t.Date())
	if d < 0 || d > MaxDay {
		return 0, fmt.Errorf("%q: %w", text, ErrDay)
	}
	return d, nil
}

// String prints YYYY-MM-DD.
func (d Day) String() string { return d.UTC().Format(dayLayout) }

// UTC returns midnight UTC of the day: the form in which drivers take a Date. It is not an instant of the business day.
func (d Day) UTC() time.Time { return time.Unix(int64(d)*86400, 0).UTC() }

// Date returns year, month and day of month.
func (d Day) Date() (year int, month time.Month, day int) { return d.UTC().Date() }

// Weekday returns the day of the week.
func (d Day) Weekday() time.Weekday { return d.UTC().Weekday() }

// Add returns the day n calendar days later.
func (d Day) Add(n int) Day { return d + Day(n) }

// MarshalText prints YYYY-MM-DD, so that JSON and YAML carry days as text.
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is [ParseDay].
func (d *Day) UnmarshalText(text []byte) error {
	v, err := ParseDay(string(text))
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// GoString makes failed tests readable.
func (d Day) GoString() string { return strconv.Quote(d.String()) }
