package xlsx

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

const (
	serialDigitsMax = 40
	serialMax       = 2958465 // 9999-12-31 in the 1900 system
)

var secondsPerDay = decimal.NewFromInt(86400)

// Wall is the wall clock that a [Date] cell shows, in UTC for want of a zone, rounded to the second: a serial number
// counts days, and its digits end about there. dayOnly reports that it is a date without a time of day.
func (b *Book) Wall(c Cell) (at time.Time, dayOnly bool, err error) {
	at, err = wall(string(c.text), b.Date1904)
	clock := at.Hour() != 0 || at.Minute() != 0 || at.Second() != 0
	return at, !c.format.clock && !clock, err
}

func wall(serial string, since1904 bool) (time.Time, error) {
	if len(serial) > serialDigitsMax || strings.Trim(serial, "0123456789.") != "" {
		return time.Time{}, fmt.Errorf("serial number %.40q is no date", serial)
	}
	n, err := decimal.NewFromString(serial)
	if err != nil {
		return time.Time{}, fmt.Errorf("serial number %.40q is no date", serial)
	}
	days := n.Truncate(0)
	seconds := n.Sub(days).Mul(secondsPerDay).Round(0).IntPart()
	if days.GreaterThan(decimal.NewFromInt(serialMax)) {
		return time.Time{}, fmt.Errorf("serial number %.40q is no date: it lies after the year 9999", serial)
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch whole := days.IntPart(); {
	case since1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case whole == 60:
		return time.Time{}, errors.New("serial number 60 is 29 February 1900, which never was")
	case whole < 60:
		first = first.AddDate(0, 0, 1)
	}
	return first.AddDate(0, 0, int(days.IntPart())).Add(time.Duration(seconds) * time.Second), nil
}
