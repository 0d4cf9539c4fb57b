package model

import (
	"fmt"
	"time"
)

// noonHour tells the two meanings of a cutoff apart, see [Job.Cutoff].
const noonHour = 12

// DueAt returns the instant from which business day d may be reconciled: AfterDays calendar days later at Due.At in the
// job's zone. A time inside a gap of the zone is the first valid instant after it, a time that occurs twice the first
// of both. DueAt grows with d, strictly, except that the days whose due times fall into one and the same gap share its
// end: in practice a whole date that a zone skipped, such as 2011-12-30 in Apia.
func (j Job) DueAt(d Day) time.Time {
	return firstInstant(d.Add(j.Due.AfterDays), j.Due.At, j.zone())
}

// Span returns the instants that business day d covers: from the end of the business day before (inclusive) to the end
// of d (exclusive), each at Cutoff in the job's zone. The spans of all business days follow each other without hole or
// overlap; the span of a date that the zone skipped is empty.
func (j Job) Span(d Day) (from, to time.Time) {
	return j.end(j.Calendar.Previous(d)), j.end(d)
}

// end is the end of business day d.
func (j Job) end(d Day) time.Time {
	if j.Cutoff.Hour < noonHour {
		d = d.Add(1)
	}
	return firstInstant(d, j.Cutoff, j.zone())
}

// zone is the job's zone; a job made without one is in UTC.
func (j Job) zone() *time.Location {
	if j.Location == nil {
		return time.UTC
	}
	return j.Location
}

// FirstDay returns the first business day that is not before Start.
func (j Job) FirstDay() Day { return j.Calendar.Next(j.Start.Add(-1)) }

// NewestDue returns the newest business day that is due at now and not before Start, false when none is.
func (j Job) NewestDue(now time.Time) (Day, bool) {
	// Where the clock is put back over midnight, the newest due day can lie past today's date: begin beyond it.
	d := j.Calendar.Previous(DayOf(now, j.zone()).Add(3 - j.Due.AfterDays))
	for d >= j.Start && d >= 0 {
		if !j.DueAt(d).After(now) {
			return d, true
		}
		d = j.Calendar.Previous(d)
	}
	return 0, false
}

// NextDue returns the next due instant strictly after now, the zero time when the calendar has no further day.
func (j Job) NextDue(now time.Time) time.Time {
	next := j.FirstDay()
	if newest, ok := j.NewestDue(now); ok {
		next = j.Calendar.Next(newest)
	}
	if next > MaxDay {
		return time.Time{}
	}
	return j.DueAt(next)
}

// DueDays returns, ascending, every business day that is due at now and neither before from nor before Start.
func (j Job) DueDays(from Day, now time.Time) []Day {
	newest, ok := j.NewestDue(now)
	if !ok {
		return nil
	}
	var days []Day
	for d := j.Calendar.Next(max(from, j.Start).Add(-1)); d <= newest; d = j.Calendar.Next(d) {
		days = append(days, d)
	}
	return days
}

// CapStart returns the first business day that is still repaired without being asked when newest is the newest due day:
// BackfillDays business days before it, but not before Start.
func (j Job) CapStart(newest Day) Day {
	return max(j.Calendar.Add(newest, -j.BackfillDays), j.FirstDay())
}

// FirstFloor returns the floor that a first scan at now fixes: every business day from it on must be DONE for ever. It
// is false while no day is due, and then nothing is to be fixed: a later first scan decides.
func (j Job) FirstFloor(now time.Time) (Day, bool) {
	newest, ok := j.NewestDue(now)
	if !ok {
		return 0, false
	}
	return j.CapStart(newest), true
}

// PreviousDay returns the business day before d, false when d is the job's first.
func (j Job) PreviousDay(d Day) (Day, bool) {
	p := j.Calendar.Previous(d)
	if p < j.Start || p < 0 {
		return 0, false
	}
	return p, true
}

// WindowClosed returns, for [Rules.Judge], whether the carry window of an entry that first appeared on origin has been
// used up by day: day − origin ≥ CarryDays in business days.
func (j Job) WindowClosed(day Day) func(origin Day) bool {
	if j.CarryDays <= 0 {
		return func(Day) bool { return true }
	}
	oldestOpen := j.Calendar.Add(j.Calendar.Previous(day.Add(1)), 1-j.CarryDays)
	return func(origin Day) bool { return origin < oldestOpen }
}

// CheckDay returns an error unless d may be reconciled at now. It wraps [ErrNotBusinessDay], [ErrBeforeStart] or
// [ErrNotDue] and says which day or instant would do.
func (j Job) CheckDay(d Day, now time.Time) error {
	switch {
	case !j.Calendar.Is(d):
		return fmt.Errorf("job %s, day %s: %w (the business days around it are %s and %s)", j.Name, d, ErrNotBusinessDay,
			j.Calendar.Previous(d), j.Calendar.Next(d))
	case d < j.Start:
		return fmt.Errorf("job %s, day %s: %w: it starts on %s; set an earlier start, or name a later day",
			j.Name, d, ErrBeforeStart, j.Start)
	case j.DueAt(d).After(now):
		return fmt.Errorf("job %s, day %s: %w: ask again from %s on", j.Name, d, ErrNotDue, j.DueAt(d).Format(time.RFC3339))
	}
	return nil
}

// Window returns, ascending, the due days that are repaired without being asked: those inside the cap and not before the
// floor.
func (j Job) Window(floor Day, now time.Time) []Day {
	newest, ok := j.NewestDue(now)
	if !ok {
		return nil
	}
	return j.DueDays(max(floor, j.CapStart(newest)), now)
}
