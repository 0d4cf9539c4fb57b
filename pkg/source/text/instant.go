package text

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const dayLayout = "2006-01-02"

// The formats of Instants that are not Go layouts.
const (
	TimeUnix   = "unix"    // whole seconds since 1970-01-01T00:00:00Z
	TimeUnixMS = "unix_ms" // whole milliseconds since then
)

// Instants outside are zero dates that passed through an epoch, spreadsheet origins and wrong units, never payments.
var (
	instantMin = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	instantMax = time.Date(2149, 6, 7, 0, 0, 0, 0, time.UTC)
)

// Instants reads points in time as one source writes them.
type Instants struct {
	Format string         // "" for the ISO forms, [TimeUnix], [TimeUnixMS], else a Go layout
	Zone   *time.Location // of instants without offset
}

// Parse returns the instant in UTC; the zero time for text that says there is none.
func (p Instants) Parse(text string) (time.Time, error) {
	if text == "" || IsZeroDate(text) {
		return time.Time{}, nil
	}
	var t time.Time
	var err error
	switch p.Format {
	case "":
		t, err = p.parseISO(text)
	case TimeUnix, TimeUnixMS:
		var n int64
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			return time.Time{}, fmt.Errorf("instant %q: time_format is %s, so only digits are allowed", Clip(text, 40), p.Format)
		}
		return p.Epoch(n)
	default:
		t, err = p.parseLayout(text)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("instant %q: %w", Clip(text, 40), err)
	}
	return Believable(text, t)
}

// Epoch reads a count since 1970 as the format says.
func (p Instants) Epoch(n int64) (time.Time, error) {
	switch p.Format {
	case TimeUnix:
		return Believable(strconv.FormatInt(n, 10), time.Unix(n, 0))
	case TimeUnixMS:
		return Believable(strconv.FormatInt(n, 10), time.UnixMilli(n))
	}
	return time.Time{}, fmt.Errorf("instant %d: a bare number; say with time_format whether it is unix or unix_ms", n)
}

// Believable returns the instant in UTC, or an error when it lies where no payment can: outside 1990 to 2149.
func Believable(text string, t time.Time) (time.Time, error) {
	if t.Before(instantMin) || !t.Before(instantMax) {
		return time.Time{}, fmt.Errorf("instant %q is in the year %d: a zero date or a wrong unit (unix or unix_ms?)", Clip(text, 40), t.UTC().Year())
	}
	return t.UTC(), nil
}

// IsZeroDate knows MySQL's way to write that there is no date, with any fraction.
func IsZeroDate(text string) bool {
	date, clock, timed := strings.Cut(text, " ")
	if !timed {
		date, clock, timed = strings.Cut(text, "T")
	}
	if date != "0000-00-00" {
		return false
	}
	return !timed || strings.Trim(strings.TrimSuffix(clock, "Z"), "0:.") == "" && clock != ""
}

var errInstantForm = errors.New("not of the forms 2006-01-02, 2006-01-02 15:04:05[.fff] or 2006-01-02T15:04:05[.fff], with or without an offset; name any other with time_format")

// parseISO reads RFC 3339 and its relatives: T or a blank, any fraction, an offset as Z, +08, +0800 or +08:00, or none.
func (p Instants) parseISO(text string) (time.Time, error) {
	const date, clock = len("2006-01-02"), len("2006-01-02T15:04:05")
	if len(text) == date {
		t, err := time.Parse(dayLayout, text)
		if err != nil {
			return t, isoError(err)
		}
		return StartOfDay(t, p.Zone)
	}
	if len(text) < clock || text[date] != 'T' && text[date] != ' ' {
		return time.Time{}, errInstantForm
	}
	wall, err := time.Parse("2006-01-02T15:04:05", text[:date]+"T"+text[date+1:clock])
	if err != nil {
		return time.Time{}, isoError(err)
	}
	frac, rest := fraction(text[clock:])
	if frac < 0 {
		return time.Time{}, errInstantForm
	}
	wall = wall.Add(frac)
	if rest == "" {
		return ResolveWall(wall, p.Zone)
	}
	offset, err := parseOffset(rest)
	return wall.Add(-offset), err
}

func isoError(err error) error {
	var p *time.ParseError
	if errors.As(err, &p) && strings.Contains(p.Message, "out of range") {
		return errors.New("no such date or time of day")
	}
	return errInstantForm
}

// fraction reads a leading ".123" of one to nine digits; it is negative when that is broken.
func fraction(text string) (time.Duration, string) {
	if !strings.HasPrefix(text, ".") {
		return 0, text
	}
	n, value := 1, time.Duration(0)
	for ; n < len(text) && text[n] >= '0' && text[n] <= '9'; n++ {
		value = value*10 + time.Duration(text[n]-'0')
		if n > 9 {
			return -1, ""
		}
	}
	if n == 1 {
		return -1, ""
	}
	for i := n; i < 10; i++ {
		value *= 10
	}
	return value, text[n:]
}

// parseOffset reads Z, +08, +0800 and +08:00.
func parseOffset(text string) (time.Duration, error) {
	if text == "Z" || text == "z" {
		return 0, nil
	}
	digits := strings.Replace(text[1:], ":", "", 1)
	colon := len(digits) != len(text)-1
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || (text[0] != '+' && text[0] != '-') || (len(digits) != 2 && len(digits) != 4) || (colon && (len(digits) != 4 || text[3] != ':')) {
		return 0, errInstantForm
	}
	if len(digits) == 2 {
		n *= 100
	}
	if n/100 > 15 || n%100 > 59 {
		return 0, errors.New("no such offset")
	}
	d := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute //nolint:gosec // at most 15:59
	if text[0] == '-' {
		d = -d
	}
	return d, nil
}

func (p Instants) parseLayout(text string) (time.Time, error) {
	t, err := time.Parse(p.Format, text)
	if err != nil {
		return t, fmt.Errorf("not of the form %q, or no such date", p.Format)
	}
	if layoutHasOffset(p.Format) {
		return t, nil
	}
	if !layoutHasClock(p.Format) {
		return StartOfDay(t, p.Zone)
	}
	return ResolveWall(t, p.Zone)
}

func layoutHasOffset(layout string) bool {
	return strings.Contains(layout, "Z07") || strings.Contains(layout, "-07")
}

func layoutHasClock(layout string) bool {
	day := time.Date(2014, 11, 25, 0, 0, 0, 0, time.UTC)
	return day.Format(layout) != day.Add(13*time.Hour+14*time.Minute).Format(layout)
}

// CheckTimeFormat says what is wrong with an [Instants].Format, "" when nothing is.
func CheckTimeFormat(layout string) string {
	if layout == "" || layout == TimeUnix || layout == TimeUnixMS {
		return ""
	}
	if strings.Contains(layout, "MST") {
		return "zone names such as MST say no offset that can be relied on; leave the instant without one and set zone"
	}
	want := time.Date(2014, 11, 25, 0, 0, 0, 0, time.UTC)
	got, err := time.Parse(layout, want.Format(layout))
	y, m, d := got.Date()
	if err != nil || y != 2014 || m != 11 || d != 25 {
		return "want unix, unix_ms or a Go layout that holds year, month and day, such as 2006-01-02 15:04:05"
	}
	return ""
}

// ResolveWall finds the instant at which a clock in zone shows what wall shows in UTC. A time that a clock change skips
// is an error; of two Instants the first is taken.
func ResolveWall(wall time.Time, zone *time.Location) (time.Time, error) {
	y, m, d := wall.Date()
	t := time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	if ty, tm, td := t.Date(); ty != y || tm != m || td != d || t.Hour() != wall.Hour() || t.Minute() != wall.Minute() || t.Second() != wall.Second() {
		return time.Time{}, fmt.Errorf("clocks in %s skip this time: write the offset with it, or name the right zone", zone)
	}
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t, nil
	}
	_, before := start.Add(-1).Zone()
	_, now := t.Zone()
	if first := t.Add(-time.Duration(before-now) * time.Second); before > now && first.Before(start) {
		return first, nil
	}
	return t, nil
}

// StartOfDay is the first instant of a calendar date in zone, which a clock change may move away from midnight.
func StartOfDay(date time.Time, zone *time.Location) (time.Time, error) {
	t, err := ResolveWall(date, zone)
	if err == nil {
		return t, nil
	}
	y, m, d := date.Date()
	noon := time.Date(y, m, d, 12, 0, 0, 0, zone)
	start, _ := noon.ZoneBounds()
	if ny, nm, nd := start.In(zone).Date(); ny == y && nm == m && nd == d {
		return start, nil
	}
	return time.Time{}, fmt.Errorf("%s has no such day", zone)
}
