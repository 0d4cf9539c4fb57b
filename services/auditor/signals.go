package auditor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// mixed stands for the currency of a diff that has several.
const mixed = "mixed"

// The states of a diff in the review backlog, besides those of the review.
const backlogChanged = "changed" // was closed, and its figures are others now

var backlogStates = []string{string(model.ReviewNone), string(model.ReviewInvestigating), backlogChanged}

// ages are the upper bounds of the classes of the review backlog, in days since the business day.
var ages = []struct {
	label string
	days  int
}{{"0-1d", 1}, {"2-3d", 3}, {"4-7d", 7}, {"8-30d", 30}, {"over-30d", math.MaxInt}}

type (
	kindCurrency struct{ kind, currency string }
	sideCurrency struct{ side, currency string }
	stateAge     struct{ state, age string }
)

// figures are what the result tables show of a job, for the metrics.
type figures struct {
	diffs   map[kindCurrency]uint64
	amounts map[kindCurrency]decimal.Decimal // by how much the sides of the open diffs differ
	backlog map[stateAge]uint64
	lastDay *model.Day // newest day that is DONE and committed
	entries map[sideCurrency]model.Total
	carried map[sideCurrency]model.Total
}

// figures reads them.
func (r *round) figures(ctx context.Context) (*figures, error) {
	f := &figures{
		diffs: map[kindCurrency]uint64{}, amounts: map[kindCurrency]decimal.Decimal{}, backlog: map[stateAge]uint64{},
		entries: map[sideCurrency]model.Total{}, carried: map[sideCurrency]model.Total{},
	}
	if err := r.lastDay(ctx, f); err != nil {
		return nil, err
	}
	t, job := r.a.tables, r.job.Name
	if err := errors.Join(t.openDiffs(ctx, job, f), t.backlog(ctx, job, r.age, f)); err != nil {
		return nil, err
	}
	f.complete()
	return f, nil
}

// lastDay takes what the newest DONE day took in and hands on out of its commit row.
func (r *round) lastDay(ctx context.Context, f *figures) error {
	for _, day := range r.days {
		if _, there := r.newest[day]; there && r.marks[day].Status == model.Done {
			f.lastDay = &day
		}
	}
	if f.lastDay == nil {
		return nil
	}
	c, err := r.a.tables.claim(ctx, r.job.Name, *f.lastDay, r.newest[*f.lastDay].runID)
	if err != nil {
		return err
	}
	for _, side := range model.Sides {
		b := c.Balance.Side(side)
		for currency := range b.In {
			f.entries[sideCurrency{string(side), currency}] = b.In[currency]
			f.carried[sideCurrency{string(side), currency}] = model.Total{}
		}
		for currency, t := range b.CarriedOut {
			f.carried[sideCurrency{string(side), currency}] = t
		}
	}
	return nil
}

// age is the class of a business day.
func (r *round) age(day model.Day) string {
	old := int(r.today() - day)
	for _, a := range ages {
		if old <= a.days {
			return a.label
		}
	}
	return ""
}

func (r *round) today() model.Day {
	zone := r.job.Location
	if zone == nil {
		zone = time.UTC
	}
	return model.DayOf(r.now, zone)
}

// complete adds the zeros, so that "no diff of this kind" can be told from "not known".
func (f *figures) complete() {
	currencies := map[string]bool{}
	for k := range f.entries {
		currencies[k.currency] = true
	}
	for k := range f.diffs {
		currencies[k.currency] = true
	}
	for c := range currencies {
		for _, kind := range model.Kinds {
			k := kindCurrency{string(kind), c}
			f.diffs[k] += 0
			if c != mixed {
				f.amounts[k] = f.amounts[k].Add(decimal.Decimal{})
			}
		}
	}
	for _, s := range backlogStates {
		for _, a := range ages {
			f.backlog[stateAge{s, a.label}] += 0
		}
	}
}

// openDiffs counts and adds up the open diffs of the newest versions.
func (t tables) openDiffs(ctx context.Context, job string, f *figures) error {
	err := t.each(ctx, openDiffsSQL, params{"job": job}, func(rows driver.Rows) error {
		var k kindCurrency
		var n uint64
		err := rows.Scan(&k.kind, &k.currency, &n)
		f.diffs[k] = n
		return err
	})
	if err == nil {
		err = t.each(ctx, openAmountsSQL, params{"job": job}, func(rows driver.Rows) error {
			var k kindCurrency
			var sum decimal.Decimal
			err := rows.Scan(&k.kind, &k.currency, &sum)
			f.amounts[k] = sum
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("counting the open diffs of job %s: %w", job, err)
	}
	return nil
}

// backlog counts the diffs that wait for a person.
func (t tables) backlog(ctx context.Context, job string, age func(model.Day) string, f *figures) error {
	err := t.each(ctx, backlogSQL, params{"job": job}, func(rows driver.Rows) error {
		var day time.Time
		var state string
		var n uint64
		err := rows.Scan(&day, &state, &n)
		f.backlog[stateAge{state, age(dateOf(day))}] += n
		return err
	})
	if err != nil {
		return fmt.Errorf("counting the reviews that job %s waits for: %w", job, err)
	}
	return nil
}

// horizon is how far a job is in time.
type horizon struct {
	clean    *model.Day // last of the unbroken row of clean days
	deadline time.Time  // of the first day that is not DONE; zero when there will be none
	failures int        // most in a row of any day that is not DONE, and not for want of its source
	overdue  int        // days whose source is not there although patience is over
}

// horizon judges the looks of all due days.
func (r *round) horizon() horizon {
	h := horizon{deadline: r.job.NextDue(r.now)}
	if !h.deadline.IsZero() {
		h.deadline = h.deadline.Add(r.job.Due.Patience)
	}
	clean, done, found := true, true, map[string]bool{}
	for k := range r.a.book.open(r.job.Name) {
		found[k.day] = true
	}
	for _, l := range r.looks {
		if l.status == statusSkipped {
			continue
		}
		if l.status != statusDone {
			if !l.late {
				h.failures = max(h.failures, r.marks[l.day].Failures)
			}
			if done {
				done, h.deadline = false, r.deadline(l.day)
			}
		}
		if l.late {
			h.overdue++
		}
		clean = clean && l.status == statusDone && !found[l.day.String()]
		if clean {
			h.clean = &l.day
		}
	}
	return h
}

func (r *round) deadline(day model.Day) time.Time { return r.job.DueAt(day).Add(r.job.Due.Patience) }
