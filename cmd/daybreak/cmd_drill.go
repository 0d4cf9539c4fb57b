package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

func (c *cli) drillCommand() *cobra.Command {
	var days int
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "drill JOB", Short: "Lose the last days' watermarks and prove that they come back the same",
		Long: "Remember the diffs and totals of the last due days of a job, delete their watermarks, wait until the pipeline has found\n" +
			"and repaired the holes by itself, and compare row by row. Committed results stay readable all the time.\n\n" +
			"It waits for the running ticker, recon and auditor, or runs them itself when it had to start the embedded engines. The\n" +
			"holes are found by the next audit: without --timeout it waits 10 minutes, or two audit intervals if that is longer.\n" +
			"Exits 0 only when every day is DONE again with the same rows.",
		Example: "  daybreak drill wechat --days 3",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.completeJobs(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.setup()
			if err != nil {
				return err
			}
			job, err := s.job(args[0])
			if err != nil {
				return err
			}
			if days < 1 || timeout < 0 {
				return usage(fmt.Errorf("--days %d --timeout %s: want one day or more, and no negative time", days, timeout))
			}
			if timeout == 0 {
				timeout = max(waitMax, 2*job.Audit.Every)
			}
			return c.open(cmd.Context(), s, func(a *app) error { return c.drill(cmd.Context(), a, job, days, timeout) })
		},
	}
	cmd.Flags().IntVar(&days, "days", 3, "how many due days, counted back from the newest")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait")
	c.nowFlag(cmd)
	return cmd
}

// memory is what a day's current version says. Of each diff it keeps a hash, so that a million of them fit.
type memory struct {
	mark  model.Watermark
	batch model.Batch
	diffs map[string][sha256.Size]byte
}

func (c *cli) drill(ctx context.Context, a *app, job model.Job, n int, timeout time.Duration) error {
	days, before, err := a.rememberLast(ctx, job, n)
	if err != nil {
		return err
	}
	for _, d := range days {
		if err := a.control.Forget(ctx, job.Name, d); err != nil {
			return fmt.Errorf("%s: its watermark could not be deleted; those deleted before it are being repaired: %w", d, err)
		}
	}
	fmt.Fprintf(c.stderr, "the watermarks of %d days of %s are deleted, waiting for their repair\n", len(days), job.Name)
	begun := time.Now()
	marks, err := c.awaitRepair(ctx, a, job, before, timeout)
	if err != nil {
		return err
	}
	return c.drillVerdict(ctx, a, drilled{job: job, days: days, before: before, marks: marks, took: time.Since(begun)})
}

// rememberLast remembers the last n due days. A day that is not DONE ends the drill before anything is touched.
func (a *app) rememberLast(ctx context.Context, job model.Job, n int) ([]model.Day, map[model.Day]memory, error) {
	all, err := a.statusOf(ctx, job, span{-1, model.MaxDay})
	if err != nil {
		return nil, nil, err
	}
	now := a.clock.Now()
	all = slices.DeleteFunc(all, func(r statusRow) bool { return job.DueAt(r.day).After(now) })
	all = all[max(0, len(all)-n):]
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("job %s has no due day to drill with", job.Name)
	}
	var days []model.Day
	before := map[model.Day]memory{}
	for _, r := range all {
		if r.mark.Status != model.Done {
			return nil, nil, fmt.Errorf("%s %s is %s: a drill begins with days that are DONE; nothing was touched", job.Name, r.day, r.text)
		}
		m, err := a.remember(ctx, job.Name, r.day)
		if err != nil {
			return nil, nil, err
		}
		m.mark = r.mark
		before[r.day] = m
		days = append(days, r.day)
	}
	return days, before, nil
}

func (a *app) remember(ctx context.Context, job string, day model.Day) (memory, error) {
	m := memory{diffs: map[string][sha256.Size]byte{}}
	var ok bool
	var err error
	if m.batch, ok, err = a.store.Current(ctx, job, day); err != nil {
		return m, err
	}
	if !ok {
		return m, fmt.Errorf("%s is DONE but has no committed version; daybreak audit %s says more", model.BatchID(job, day), job)
	}
	for row, err := range a.store.Diffs(ctx, store.DiffQuery{Job: job, From: day, To: day}) {
		if err != nil {
			return m, err
		}
		d := row.Diff
		d.Version = 0 // the one thing that a recompute changes
		data, err := json.Marshal(d.DataOf())
		if err != nil {
			return m, err
		}
		m.diffs[row.ID] = sha256.Sum256(data)
	}
	return m, nil
}

// awaitRepair waits until every day is DONE by a new run. That time ran out is said of the days, not returned.
func (c *cli) awaitRepair(ctx context.Context, a *app, job model.Job, before map[model.Day]memory, timeout time.Duration) (map[model.Day]model.Watermark, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p := c.progress()
	defer p.end()
	w := wait{
		job: job.Name, days: slices.Sorted(maps.Keys(before)),
		ready: func(d model.Day, m model.Watermark) bool {
			return m.Status == model.Done && m.RunID != before[d].mark.RunID
		},
	}
	err := a.awaitRepaired(limited, w, p)
	if err != nil && (ctx.Err() != nil || limited.Err() == nil) {
		return nil, err
	}
	return a.control.Watermarks(ctx, job.Name)
}

// awaitRepaired waits, and is the whole pipeline meanwhile when no other process can be.
func (a *app) awaitRepaired(ctx context.Context, w wait, p *progress) error {
	if !a.owner {
		_, err := a.await(ctx, w, p)
		return err
	}
	s, err := a.build(allServices...)
	if err != nil {
		return err
	}
	return a.beside(ctx, s, func(ctx context.Context) error {
		if _, err := a.workOff(ctx, s, p); err != nil {
			return err
		}
		_, err := a.await(ctx, w, p)
		return err
	})
}

// drilled is everything that a drill is judged by.
type drilled struct {
	job    model.Job
	days   []model.Day
	before map[model.Day]memory
	marks  map[model.Day]model.Watermark
	took   time.Duration
}

func (c *cli) drillVerdict(ctx context.Context, a *app, d drilled) error {
	out := c.rows(column{name: "job"}, column{name: "biz_date"}, column{name: "result"}, column{name: "status"},
		column{name: "version_before", kind: number}, column{name: "version", kind: number}, column{name: "diffs_before", kind: number},
		column{name: "diffs", kind: number}, column{name: "detail", kind: outside, optional: true})
	bad := 0
	for _, day := range d.days {
		before := d.before[day]
		after, err := a.remember(ctx, d.job.Name, day)
		if err != nil {
			return err
		}
		result, detail := d.judge(day, after)
		if result != sameResult {
			bad++
		}
		status := cmp.Or(string(d.marks[day].Status), missingDay)
		if err := out.add(d.job.Name, day, result, status, before.batch.Version, after.batch.Version, len(before.diffs),
			len(after.diffs), orNull(detail)); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "%d of %d days came back the same within %s\n", len(d.days)-bad, len(d.days), d.took.Round(100*time.Millisecond))
	if bad > 0 {
		return failed()
	}
	return nil
}

// What a drill says of a day.
const (
	sameResult      = "same"
	differentResult = "different"
	notRepaired     = "not repaired"
)

// judge says whether a day came back and was the same, and in detail why not.
func (d drilled) judge(day model.Day, after memory) (result, detail string) {
	if mark := d.marks[day]; mark.Status != model.Done {
		return notRepaired, mark.Error
	}
	if detail = d.before[day].compare(after); detail != "" {
		return differentResult, detail
	}
	return sameResult, ""
}

// differencesShown bounds how many differing diffs are named.
const differencesShown = 10

// compare says in words what differs, and nothing when nothing does.
func (m memory) compare(after memory) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(m.diffs)) {
		if sum, ok := after.diffs[id]; !ok {
			out = append(out, "diff "+id+" is gone")
		} else if sum != m.diffs[id] {
			out = append(out, "diff "+id+" has changed")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(after.diffs)) {
		if _, ok := m.diffs[id]; !ok {
			out = append(out, "diff "+id+" is new")
		}
	}
	if n := len(out); n > differencesShown {
		out = append(out[:differencesShown], fmt.Sprintf("and %d more", n-differencesShown))
	}
	if err := sameTotals(m.batch, after.batch); err != nil {
		out = append(out, err.Error())
	}
	return strings.Join(out, "; ")
}

func sameTotals(before, after model.Batch) error {
	var errs []error
	old, err := json.Marshal(before.Balance)
	errs = append(errs, err)
	now, err := json.Marshal(after.Balance)
	errs = append(errs, err)
	if string(old) != string(now) {
		errs = append(errs, fmt.Errorf("the balance was %s and is %s", old, now))
	}
	if before.CarryOut != after.CarryOut {
		errs = append(errs, errors.New("the pool that is handed on has changed"))
	}
	if !maps.Equal(before.Diffs, after.Diffs) {
		errs = append(errs, fmt.Errorf("the counts by kind were %v and are %v", before.Diffs, after.Diffs))
	}
	return errors.Join(errs...)
}
