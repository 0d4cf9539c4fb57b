package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"daybreak/pkg/model"
)

// What a day without a watermark is called.
const (
	missingDay = "MISSING" // due, and nobody has begun
	skippedDay = "SKIPPED" // before the floor: not asked for
)

func (c *cli) statusCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "status [JOB]", Short: "Show where every due day stands",
		Long: "Show where every due day of a job, or of all, stands: DONE, FAILED, WAITING (a source is not there yet), BLOCKED (an\n" +
			"earlier day is not DONE), RUNNING or MISSING (nobody has begun). Without --from it begins at the first day that the job\n" +
			"is kept complete from; days before that are SKIPPED. Counts and diffs are those of the current version.",
		Example: "  daybreak status\n  daybreak status wechat --from 2026-10-01 --to yesterday\n  daybreak status --format csv > status.csv",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: c.completeJobs(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.setup()
			if err != nil {
				return err
			}
			jobs, err := s.jobs(args)
			if err != nil {
				return err
			}
			asked, err := parseBounds(from, to, jobs, s.clock.Now())
			if err != nil {
				return err
			}
			return c.open(cmd.Context(), s, func(a *app) error { return c.status(cmd.Context(), a, jobs, asked) })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first day to show")
	cmd.Flags().StringVar(&to, "to", "", "last day to show")
	c.nowFlag(cmd)
	return cmd
}

// parseBounds reads --from and --to, which may be absent, per job: yesterday depends on the zone.
func parseBounds(from, to string, jobs []model.Job, now time.Time) (map[string]span, error) {
	out := map[string]span{}
	for _, j := range jobs {
		s := span{-1, model.MaxDay}
		var err error
		if from != "" {
			if s.from, err = parseDay(from, j, now); err != nil {
				return nil, usage(fmt.Errorf("--from: %w", err))
			}
		}
		if to != "" {
			if s.to, err = parseDay(to, j, now); err != nil {
				return nil, usage(fmt.Errorf("--to: %w", err))
			}
		}
		if s.from > s.to {
			return nil, usage(fmt.Errorf("--from %s is after --to %s", from, to))
		}
		out[j.Name] = s
	}
	return out, nil
}

// statusRow is where one day of one job stands and what its current version says.
type statusRow struct {
	job   string
	day   model.Day
	text  string // status, or what an absent one is called
	mark  model.Watermark
	batch *model.Batch // nil: no committed version
	// blocker is the day that has to come first, nil unless the day is BLOCKED.
	blocker *model.Day
}

func (c *cli) status(ctx context.Context, a *app, jobs []model.Job, asked map[string]span) error {
	var all []statusRow
	for _, j := range jobs {
		found, err := a.statusOf(ctx, j, asked[j.Name])
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		fmt.Fprintln(c.stderr, "no business day is due yet")
	}
	if terminal(c.stdout) && c.formatOf() == formatTable {
		if _, err := fmt.Fprintln(c.stdout, drawGrid(all)); err != nil {
			return err
		}
	}
	return c.printStatus(all)
}

func (c *cli) printStatus(all []statusRow) error {
	out := c.rows(column{name: "job"}, column{name: "biz_date"}, column{name: "status"}, column{name: "version", kind: number},
		column{name: "attempt", kind: number}, column{name: "ledger_count", kind: number}, column{name: "channel_count", kind: number},
		column{name: "open_diffs", kind: number}, column{name: "finished_at"}, column{name: "error", kind: outside, optional: true},
		column{name: "blocked_by", optional: true}, column{name: "cause", optional: true}, column{name: "phase", optional: true},
		column{name: "instance", optional: true})
	for _, r := range all {
		ledger, channel, diffs := r.figures()
		var phase any
		if r.mark.Status == model.Running {
			phase = string(r.mark.Phase)
		}
		if err := out.add(r.job, r.day, r.text, r.version(), orNull(r.mark.Attempt), ledger, channel, diffs, r.mark.FinishedAt,
			orNull(r.mark.Error), r.blocker, orNull(string(r.mark.Cause)), phase, orNull(r.mark.Instance)); err != nil {
			return err
		}
	}
	return out.end()
}

// figures are null when there is no committed version: that is not the same as a day without entries.
func (r statusRow) figures() (ledger, channel, diffs any) {
	if r.batch == nil {
		return nil, nil, nil
	}
	return r.batch.Seals[model.Ledger].Totals.Count(), r.batch.Seals[model.Channel].Totals.Count(), r.batch.OpenDiffs()
}

func (r statusRow) version() any {
	if r.batch == nil {
		return nil
	}
	return r.batch.Version
}

// statusOf lists the due days of a job and every other day that somebody has begun.
func (a *app) statusOf(ctx context.Context, job model.Job, asked span) ([]statusRow, error) {
	now := a.clock.Now()
	floor, fixed, err := a.control.KeptFloor(ctx, job.Name)
	if err != nil {
		return nil, err
	}
	if !fixed {
		if floor, fixed = job.FirstFloor(now); !fixed {
			floor = job.FirstDay()
		}
	}
	marks, err := a.control.Watermarks(ctx, job.Name)
	if err != nil {
		return nil, err
	}
	first := asked.from
	if first < 0 {
		first = floor
	}
	days := map[model.Day]bool{}
	for _, d := range job.DueDays(first, now) {
		days[d] = true
	}
	for d := range marks {
		days[d] = true
	}
	batches, err := a.currentBatches(ctx, job.Name, first, asked.to)
	if err != nil {
		return nil, err
	}
	var out []statusRow
	for _, d := range slices.Sorted(maps.Keys(days)) {
		if d < first || d > asked.to {
			continue
		}
		r := statusRow{job: job.Name, day: d, mark: marks[d], text: string(marks[d].Status), batch: batches[d]}
		if r.mark.Status == model.Blocked {
			r.blocker = job.Blocker(d, floor, now, marks)
		}
		switch {
		case r.text == "" && d < floor:
			r.text = skippedDay
		case r.text == "":
			r.text = missingDay
		}
		out = append(out, r)
	}
	return out, nil
}

func (a *app) currentBatches(ctx context.Context, job string, from, to model.Day) (map[model.Day]*model.Batch, error) {
	all, err := a.store.Batches(ctx, job, max(from, 0), to)
	if err != nil {
		return nil, err
	}
	out := map[model.Day]*model.Batch{}
	for i := range all {
		out[all[i].Day] = &all[i]
	}
	return out, nil
}
