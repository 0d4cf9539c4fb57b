package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// waitMax is how long a command waits for the pipeline when nobody says otherwise.
const waitMax = 10 * time.Minute

// replayFlags say why and how days are recomputed.
type replayFlags struct {
	reason, by   string
	wait, dryRun bool
	timeout      time.Duration
}

func (c *cli) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use: "replay JOB FROM[..TO]", Short: "Recompute business days",
		Long: "Ask for business days to be recomputed from their sources. Every day of the range must be a due business day, else nothing\n" +
			"is asked for. A failed recompute leaves the committed version in place. Days after the last one whose carried pool\n" +
			"changes are recomputed by themselves.\n\n" +
			"With --wait it shows progress until every day is DONE or FAILED and exits 0 only if all are DONE; when no daybreak runs on\n" +
			"the embedded engines, the days are then worked off by this process.",
		Example: "  daybreak replay wechat 2026-10-30 --reason 'bill corrected' --by lin --wait\n" +
			"  daybreak replay wechat 2026-10-01..yesterday --dry-run",
		Args: cobra.ExactArgs(2), ValidArgsFunction: c.completeJobs(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.setup()
			if err != nil {
				return err
			}
			job, err := s.job(args[0])
			if err != nil {
				return err
			}
			asked, err := parseSpan(args[1], job, s.clock.Now())
			if err != nil {
				return err
			}
			days, err := replayable(job, asked, s.clock.Now())
			if err != nil {
				return err
			}
			if f.timeout <= 0 {
				return usage(fmt.Errorf("--timeout %s: want more than nothing", f.timeout))
			}
			return c.open(cmd.Context(), s, func(a *app) error { return c.replay(cmd.Context(), a, job, days, f) })
		},
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, kept with the day")
	cmd.Flags().StringVar(&f.by, "by", "", "who asks, kept with the day")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until every day is DONE or FAILED")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only list the days and what would happen to each")
	cmd.Flags().DurationVar(&f.timeout, "timeout", waitMax, "how long --wait waits")
	c.nowFlag(cmd)
	return cmd
}

// replayable lists the business days of a range. All of them may be recomputed, or the range is refused.
func replayable(job model.Job, asked span, now time.Time) ([]model.Day, error) {
	if asked.from == asked.to {
		if err := job.CheckDay(asked.from, now); err != nil {
			return nil, usage(err)
		}
		return []model.Day{asked.from}, nil
	}
	var days []model.Day
	for d := job.Calendar.Next(asked.from - 1); d <= asked.to; d = job.Calendar.Next(d) {
		if err := job.CheckDay(d, now); err != nil {
			return nil, usage(fmt.Errorf("replay of %s to %s, nothing was asked for: %w", asked.from, asked.to, err))
		}
		days = append(days, d)
	}
	if len(days) == 0 {
		return nil, usage(fmt.Errorf("job %s has no business day from %s to %s", job.Name, asked.from, asked.to))
	}
	return days, nil
}

// What became of the request for a day.
const (
	wouldReplay = "would replay"
	published   = "published"
	answered    = "answered"
	rejected    = "rejected"
	unanswered  = "no answer yet"
)

// replayDay is one day of a replay.
type replayDay struct {
	day    model.Day
	action string
	before statusRow
	seq    uint64
	after  *statusRow // with --wait
	note   string
}

func (c *cli) replay(ctx context.Context, a *app, job model.Job, days []model.Day, f replayFlags) error {
	plan, err := a.planReplay(ctx, job, days)
	if err != nil {
		return err
	}
	if !f.dryRun {
		if err := a.publishReplay(ctx, job, plan, f); err != nil {
			return err
		}
	}
	if f.wait && !f.dryRun {
		if err := c.awaitReplay(ctx, a, job, plan, f.timeout); err != nil {
			return err
		}
	} else if !f.dryRun && a.owner {
		fmt.Fprintf(c.stderr, "%d messages are published; no daybreak runs here, so they wait for the next up (or add --wait)\n", len(plan))
	}
	if err := c.printReplay(job, plan); err != nil {
		return err
	}
	for _, d := range plan {
		if d.action == rejected || d.action == unanswered || d.after != nil && d.after.mark.Status != model.Done {
			return failed()
		}
	}
	return nil
}

// planReplay says where each day stands and what will happen to it.
func (a *app) planReplay(ctx context.Context, job model.Job, days []model.Day) ([]*replayDay, error) {
	asked := map[model.Day]bool{}
	for _, d := range days {
		asked[d] = true
	}
	all, err := a.statusOf(ctx, job, span{-1, model.MaxDay})
	if err != nil {
		return nil, err
	}
	newest, _ := job.NewestDue(a.clock.Now())
	var blocker *statusRow // the earliest day that keeps later ones of a strict job waiting
	for i, r := range all {
		if r.mark.Status != model.Done && r.day >= job.CapStart(newest) && !asked[r.day] {
			blocker = &all[i]
			break
		}
	}
	shown, err := a.statusOf(ctx, job, span{days[0], days[len(days)-1]})
	if err != nil {
		return nil, err
	}
	standing := map[model.Day]statusRow{}
	for _, r := range shown {
		standing[r.day] = r
	}
	var plan []*replayDay
	for _, d := range days {
		p := &replayDay{day: d, action: wouldReplay, before: standing[d], note: "recomputes it from its sources"}
		if job.Order == model.Strict && blocker != nil && blocker.day < d {
			p.note = fmt.Sprintf("waits until %s, which is %s, is DONE", blocker.day, blocker.text)
		}
		plan = append(plan, p)
	}
	return plan, nil
}

// publishReplay publishes one message a day, oldest first.
func (a *app) publishReplay(ctx context.Context, job model.Job, plan []*replayDay, f replayFlags) error {
	body, err := json.Marshal(map[string]string{"reason": f.reason, "by": f.by})
	if err != nil {
		return err
	}
	for i, p := range plan {
		subject, err := bus.DayReplayDay(job.Name, p.day.String())
		if err != nil {
			return err
		}
		receipt, err := a.bus.Publish(ctx, bus.Message{Subject: subject, ID: "replay/" + ulid.Make().String(), Body: body})
		if err != nil {
			return fmt.Errorf("day %s (%d of %d days were published before it): %w", p.day, i, len(plan), err)
		}
		p.seq, p.action = receipt.Seq, published
	}
	return nil
}

// awaitReplay waits until every day was answered. That time ran out is not an error but said of the days.
func (c *cli) awaitReplay(ctx context.Context, a *app, job model.Job, plan []*replayDay, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	byDay := map[model.Day]*replayDay{}
	w := wait{job: job.Name}
	for _, p := range plan {
		byDay[p.day] = p
		w.days = append(w.days, p.day)
	}
	w.ready = func(d model.Day, m model.Watermark) bool {
		return m.Trigger >= byDay[d].seq && (m.Status == model.Done || m.Status == model.Failed)
	}
	w.look = func(ctx context.Context, open []model.Day) ([]model.Day, error) {
		return a.rejections(ctx, job.Name, open, byDay)
	}
	p := c.progress()
	defer p.end()
	marks, err := a.awaitWorked(limited, w, p)
	if err != nil && (ctx.Err() != nil || limited.Err() == nil) {
		return err
	}
	after, err := a.statusOf(ctx, job, span{w.days[0], w.days[len(w.days)-1]})
	if err != nil {
		return err
	}
	for _, r := range after {
		p, ok := byDay[r.day]
		switch {
		case !ok || p.action == rejected:
			continue
		case w.ready(r.day, marks[r.day]):
			p.action = answered
		default:
			p.action = unanswered
		}
		p.after = &r
	}
	return nil
}

// awaitWorked waits for days, and works them off meanwhile when no other process can.
func (a *app) awaitWorked(ctx context.Context, w wait, p *progress) (marks map[model.Day]model.Watermark, err error) {
	if !a.owner {
		return a.await(ctx, w, p)
	}
	s, err := a.build(serviceRecon)
	if err != nil {
		return nil, err
	}
	err = a.beside(ctx, s, func(ctx context.Context) error {
		if marks, err = a.await(ctx, w, p); err != nil {
			return err
		}
		if err := a.settle(ctx, s.recon, nil); err != nil && ctx.Err() == nil { // days that what was carried has changed
			return err
		}
		return nil
	})
	return marks, err
}

// rejectionsMax bounds how many days are asked for in one look.
const rejectionsMax = 20

// rejections finds the requests that recon has refused: those get no watermark.
func (a *app) rejections(ctx context.Context, job string, open []model.Day, byDay map[model.Day]*replayDay) ([]model.Day, error) {
	var out []model.Day
	for _, d := range open[:min(len(open), rejectionsMax)] {
		subject, err := bus.DayReplayDay(job, d.String())
		if err != nil {
			return nil, err
		}
		m, _, err := a.bus.Last(ctx, bus.StreamDead, bus.Dead(subject))
		if errors.Is(err, bus.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m.Header.Get(bus.HeaderSeq) == strconv.FormatUint(byDay[d].seq, 10) {
			byDay[d].action, byDay[d].note = rejected, m.Header.Get(bus.HeaderReason)
			out = append(out, d)
		}
	}
	return out, nil
}

func (c *cli) printReplay(job model.Job, plan []*replayDay) error {
	out := c.rows(column{name: "job"}, column{name: "biz_date"}, column{name: "action"}, column{name: "status_before"},
		column{name: "version_before", kind: number}, column{name: "status", optional: true},
		column{name: "version", kind: number, optional: true}, column{name: "open_diffs", kind: number, optional: true},
		column{name: "seq", kind: number, optional: true}, column{name: "note", kind: outside, optional: true})
	for _, p := range plan {
		var status, version, diffs any
		note := p.note
		if p.after != nil {
			_, _, diffs = p.after.figures()
			status, version, note = p.after.text, p.after.version(), p.after.mark.Error
		}
		before := p.before.text
		if before == "" {
			before = skippedDay
		}
		if err := out.add(job.Name, p.day, p.action, before, p.before.version(), status, version, diffs, orNull(p.seq),
			orNull(note)); err != nil {
			return err
		}
	}
	return out.end()
}
