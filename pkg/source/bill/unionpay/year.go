package unionpay

import (
	"fmt"
	"time"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// beijing is the zone of the files.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// daysApartMax is how far a line may be from the business day asked for. Transactions of a settlement day are of that day
// and the evening before; some are settled days later.
const daysApartMax = 60

// years finds the year that a time does not say.
type years struct {
	zone    *time.Location
	day     model.Day // 0 when none is asked for
	without int       // lines whose year is not known
}

func newYears(zone *time.Location, day model.Day) *years {
	if zone == nil {
		zone = beijing
	}
	return &years{zone: zone, day: day}
}

// instant reads MMDDhhmmss. The query number may give the year when no day is asked for. Without any year the time is zero.
func (y *years) instant(b []byte, query string) (time.Time, error) {
	if !digits(b) {
		return time.Time{}, fmt.Errorf("time %q: want MMDDhhmmss", b)
	}
	if _, err := time.Parse("20060102150405", "2000"+string(b)); err != nil { // a leap year
		return time.Time{}, fmt.Errorf("time %q: no such date or time of day", b)
	}
	near, known := y.near(query)
	if !known {
		y.without++
		return time.Time{}, nil
	}
	best, found := time.Time{}, false
	for year := near.Year() - 1; year <= near.Year()+1; year++ {
		wall, err := time.Parse("20060102150405", fmt.Sprintf("%04d%s", year, b))
		if err == nil && (!found || apart(wall, near) < apart(best, near)) {
			best, found = wall, true
		}
	}
	if !found {
		return time.Time{}, fmt.Errorf("time %q: no such date within a year of %s: the file is of another day", b, near.Format(time.DateOnly))
	}
	if apart(best, near) > daysApartMax*24*time.Hour {
		return time.Time{}, fmt.Errorf("time %q is more than %d days away from %s: the file is of another day", b, daysApartMax, near.Format(time.DateOnly))
	}
	if q, ok := ofQuery(query); ok && apart(q, best) > daysApartMax*24*time.Hour {
		return time.Time{}, fmt.Errorf("time %q is of %s by the day asked for, but of %d by the query number %s: the file is of another year", b, best.Format(time.DateOnly), q.Year(), query)
	}
	at, err := text.ResolveWall(best, y.zone)
	if err != nil {
		return at, err
	}
	return text.Believable(string(b), at)
}

// near is a day close to the time, as a wall clock.
func (y *years) near(query string) (time.Time, bool) {
	if y.day != 0 {
		return y.day.UTC(), true
	}
	return ofQuery(query)
}

// ofQuery is the time with which a query number begins.
func ofQuery(query string) (time.Time, bool) {
	if len(query) < 14 || !digits([]byte(query)) {
		return time.Time{}, false
	}
	t, err := time.Parse("20060102150405", query[:14])
	return t, err == nil && t.Year() >= foundedYear
}

const foundedYear = 2002 // of UnionPay: no number of its begins with an earlier one

func apart(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

func (y *years) remark(out *bill.Out) {
	if y.without > 0 {
		out.Remark("%d lines say no year: their times are known when the file is read for a business day", y.without)
	}
}
