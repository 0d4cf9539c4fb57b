package wechatpay

import (
	"fmt"
	"time"
	"unicode/utf8"

	"golang.org/x/text/width"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

const clockLayout = "2006-01-02 15:04:05"

// clock reads the wall clocks of a bill, nearly all of which are of one day.
type clock struct {
	zone     *time.Location
	day      string // as written
	midnight time.Time
	asked    string // the day of the bill: the one asked for, else that of the first line
}

// onDay holds the day of the clock read last against that of the bill.
func (c *clock) onDay() error {
	switch {
	case c.asked == "":
		c.asked = c.day
	case c.asked != c.day:
		return fmt.Errorf("%s in the bill of %s: it is of another day, or bills of two days were put together; deliver the bill of the day", c.day, c.asked)
	}
	return nil
}

// newClock takes zone and day of the document; a nil zone stands for that of the bills.
func newClock(d *bill.Doc) *clock {
	c := &clock{zone: d.Zone}
	if c.zone == nil {
		c.zone = beijing
	}
	if d.Day != 0 {
		c.asked = d.Day.String()
	}
	return c
}

// parse reads 2006-01-02 15:04:05, also in full-width characters. Empty text is the zero time.
func (c *clock) parse(b []byte) (time.Time, error) {
	const date = len(time.DateOnly)
	if c.zone == beijing && len(b) == len(clockLayout) && string(b[:date]) == c.day {
		if n := secondOfDay(b[date:]); n >= 0 {
			return c.midnight.Add(time.Duration(n) * time.Second), nil
		}
	}
	written := string(b)
	for i := range len(b) {
		if b[i] >= utf8.RuneSelf {
			written = width.Narrow.String(written)
			break
		}
	}
	t, err := text.Instants{Format: clockLayout, Zone: c.zone}.Parse(written)
	if err == nil && !t.IsZero() && len(written) == len(clockLayout) {
		c.day = written[:date]
		c.midnight = t.Add(-time.Duration(secondOfDay([]byte(written[date:]))) * time.Second)
	}
	return t, err
}

// secondOfDay reads " 15:04:05", -1 when it is not that.
func secondOfDay(b []byte) int {
	if b[0] != ' ' || b[3] != ':' || b[6] != ':' {
		return -1
	}
	h, m, s := two(b[1:]), two(b[4:]), two(b[7:])
	if h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 {
		return -1
	}
	return (h*60+m)*60 + s
}

func two(b []byte) int {
	if b[0] < '0' || b[0] > '9' || b[1] < '0' || b[1] > '9' {
		return -1
	}
	return int(b[0]-'0')*10 + int(b[1]-'0')
}
