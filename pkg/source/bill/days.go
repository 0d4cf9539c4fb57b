package bill

import (
	"fmt"
	"time"

	"daybreak/pkg/model"
)

// Days are the calendar days that a bill says it is of. The bill of another day than the one asked for, under a name of
// that day, would make a quiet day look right.
type Days struct {
	asked       model.Day // 0 when the bill is only looked at
	first, last model.Day
	any, on     bool
}

// NewDays is for a bill that is read for the day of the document.
func (d *Doc) NewDays() *Days { return &Days{asked: d.Day} }

// Add takes a day, as the calendar of t has it. The zero time is none.
func (d *Days) Add(t time.Time) {
	if t.IsZero() {
		return
	}
	day := model.NewDay(t.Date())
	if !d.any || day < d.first {
		d.first = day
	}
	if !d.any || day > d.last {
		d.last = day
	}
	d.any, d.on = true, d.on || day == d.asked
}

// Check returns what is wrong when none of the days is the one asked for. A bill without any day is of any.
func (d *Days) Check() error {
	if d.asked == 0 || d.on || !d.any {
		return nil
	}
	of := d.first.String()
	if d.last != d.first {
		of += " to " + d.last.String()
	}
	return fmt.Errorf("the file is of %s, but business day %s was asked for: deliver the bill of that day", of, d.asked)
}
