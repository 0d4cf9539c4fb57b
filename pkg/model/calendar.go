package model

// Calendar yields business days: a weekday pattern less holidays.
type Calendar struct {
	Weekdays [7]bool // indexed by time.Weekday
	Holidays map[Day]bool
}
