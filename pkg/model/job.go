package model

import (
	"fmt"
	"regexp"
	"time"

	"github.com/shopspring/decimal"
)

// Job is one named reconciliation without its sources: what is compared, when and how.
type Job struct {
	Name     string
	Location *time.Location
	Start    Day
	Calendar Calendar
	Due      Due
	// Cutoff is the wall-clock time in the job's zone at which a business day ends: before noon it is on the calendar day
	// after, from noon on it is on the day itself. So "00:00", the default, is the midnight that ends the day, "02:30" is
	// in the night that follows it, and "17:00" is in its own afternoon.
	Cutoff TimeOfDay
	Order  Order
	// BackfillDays bounds, in business days back from the newest due day, what is repaired without being asked.
	BackfillDays int
	// CarryDays is how many business days an unmatched entry waits for its counterpart; 0 opens its diff at once.
	CarryDays int
	Rules     Rules
	Audit     AuditRule
}

// Order says whether a day waits for the one before it.
type Order string

// The orders of a job.
const (
	Strict      Order = "strict"      // day D is computed only after every earlier day in the cap is DONE
	Independent Order = "independent" // days run in parallel
)

// Due says when a business day may be reconciled.
type Due struct {
	AfterDays int           // calendar days after the business day
	At        TimeOfDay     // in the job's zone
	Patience  time.Duration // how long after being due a missing source is WAITING before the day is FAILED
}

// TimeOfDay is a wall-clock time: minutes are exact, zones are the job's.
type TimeOfDay struct{ Hour, Minute, Second int }

// AuditRule says how often the auditor looks and what difference between source and result it accepts.
type AuditRule struct {
	Every  time.Duration
	Count  uint64                     // accepted difference in entries
	Amount map[string]decimal.Decimal // accepted difference per currency; "default" for the others
}

// Accepts reports whether a difference of amount in currency is within the rule.
func (a AuditRule) Accepts(currency string, diff decimal.Decimal) bool {
	return diff.Abs().LessThanOrEqual(perCurrency(a.Amount, currency))
}

func perCurrency(m map[string]decimal.Decimal, currency string) decimal.Decimal {
	if v, ok := m[currency]; ok {
		return v
	}
	return m[DefaultCurrency]
}

// DefaultCurrency is the entry of a per-currency table that serves every currency not listed.
const DefaultCurrency = "default"

var jobName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckJobName returns an error that wraps [ErrJobName] unless name can stand in subjects, keys and batch ids.
func CheckJobName(name string) error {
	if !jobName.MatchString(name) {
		return fmt.Errorf("job %q: %w", name, ErrJobName)
	}
	return nil
}

// BatchID names one job and business day: <job>.<YYYY-MM-DD>.
func BatchID(job string, day Day) string { return job + "." + day.String() }
