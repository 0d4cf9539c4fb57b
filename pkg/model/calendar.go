package model

import (
	"fmt"
	"time"
)

// Calendar yields business days: a weekday pattern less holidays. Days outside the range of [Day] are never business
// days. Every loop is bounded: on a calendar that [Calendar.Check] refuses, and at the ends of the range, Next gives the
// day after [MaxDay] and Previous the day before 1970-01-01, which no job uses.
type Calendar struct {
	Weekdays [7]bool // indexed by time.Weekday
	Holidays map[Day]bool
}

const (
	afterDays  = MaxDay + 1 // what Next gives when there is no further business day
	beforeDays = Day(-1)    // what Previous gives when there is no earlier one
)

// DailyCalendar has every day as a business day.
func DailyCalendar() Calendar {
	return Calendar{Weekdays: [7]bool{true, true, true, true, true, true, true}}
}

// WeekdayCalendar has Monday to Friday as business days.
func WeekdayCalendar() Calendar {
	return Calendar{Weekdays: [7]bool{false, true, true, true, true, true, false}}
}

// Check returns an error that wraps [ErrCalendar] when the calendar has no business day at all.
func (c Calendar) Check() error {
	if c.Next(beforeDays) > MaxDay {
		return fmt.Errorf("list at least one weekday that is not always a holiday: %w", ErrCalendar)
	}
	return nil
}

// Is reports whether d is a business day.
func (c Calendar) Is(d Day) bool {
	return d >= 0 && d <= MaxDay && c.Weekdays[d.Weekday()] && !c.Holidays[d]
}

// Next returns the first business day after d.
func (c Calendar) Next(d Day) Day {
	for d = max(d, beforeDays) + 1; d <= MaxDay; d++ {
		if c.Is(d) {
			return d
		}
	}
	return afterDays
}

// Previous returns the last business day before d.
func (c Calendar) Previous(d Day) Day {
	for d = min(d, afterDays) - 1; d >= 0; d-- {
		if c.Is(d) {
			return d
		}
	}
	return beforeDays
}

// Add returns the n-th business day after d, or before d when n is negative. Add(d, 0) is d, business day or not.
func (c Calendar) Add(d Day, n int) Day {
	for ; n > 0 && d <= MaxDay; n-- {
		d = c.Next(d)
	}
	for ; n < 0 && d >= 0; n++ {
		d = c.Previous(d)
	}
	return d
}

// Count returns how many business days d there are with after < d ≤ upTo.
func (c Calendar) Count(after, upTo Day) int {
	n := 0
	for d := max(after, beforeDays) + 1; d <= min(upTo, MaxDay); d++ {
		if c.Is(d) {
			n++
		}
	}
	return n
}

// ParseTimeOfDay reads HH:MM or HH:MM:SS strictly, from 00:00 to 23:59:59. 24:00 is refused, because whether it means
// the start or the end of a day is how a day is lost. Errors wrap [ErrTimeOfDay].
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil && len(text) == len(layout) {
			return TimeOfDay{Hour: t.Hour(), Minute: t.Minute(), Second: t.Second()}, nil
		}
	}
	return TimeOfDay{}, fmt.Errorf("%q: %w", text, ErrTimeOfDay)
}

// String prints HH:MM, and the seconds only where they are not zero.
func (t TimeOfDay) String() string {
	if t.Second != 0 {
		return fmt.Sprintf("%02d:%02d:%02d", t.Hour, t.Minute, t.Second)
	}
	return fmt.Sprintf("%02d:%02d", t.Hour, t.Minute)
}

// firstInstant is the earliest instant at which the wall clock of loc shows d at tod or later. So an ordinary time is
// itself; one inside a gap is the first valid instant after the gap, one that occurs twice is the first occurrence, and
// a date that a zone skipped as a whole gives the start of the date after it. It never decreases when d or tod grow.
//
// [time.Date] is not used: which side of a gap it falls to is not specified. Instead the stretches of constant offset
// are walked from a point that is surely earlier, as no offset, nor any step of one, exceeds 26 hours.
func firstInstant(d Day, tod TimeOfDay, loc *time.Location) time.Time {
	wall := d.UTC().Add(time.Duration(tod.Hour)*time.Hour + time.Duration(tod.Minute)*time.Minute +
		time.Duration(tod.Second)*time.Second)
	for from := wall.Add(-48 * time.Hour); ; {
		_, offset := from.In(loc).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second)
		if t.Before(from) { // the clock jumped over it
			return from.In(loc)
		}
		_, end := from.In(loc).ZoneBounds()
		if end.IsZero() || t.Before(end) {
			return t.In(loc)
		}
		from = end
	}
}
