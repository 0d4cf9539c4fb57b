package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"daybreak/pkg/bus"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
)

func (c *cli) rebuildCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use: "rebuild [JOB...]", Short: "After a loss or a restore: make control bucket, tables and events agree again",
		Long: "Hold what the control bucket, the tables and the stream of events say of every day against each other, and give each what it\n" +
			"lost and another still has: floors, watermarks of committed versions and steps of reviews. What only the sources have, a\n" +
			"version that watermark or events tell of and the tables do not, is asked for by a replay; what only the stream lacks, recon\n" +
			"publishes again. Days that somebody works on are left alone. Where nothing was lost, nothing is done.\n\n" +
			"Run it after NATS or ClickHouse lost its data or was restored from a backup, best before the services start, and then\n" +
			"daybreak audit --deep. It can be run again, and beside running services.\n\n" +
			"Exits 0 when all was done or asked for, 1 when something could not be (it is listed). With --dry-run nothing is changed and\n" +
			"the exit code is 3 if there is anything to do.",
		Example: "  daybreak rebuild --dry-run\n  daybreak rebuild && daybreak up -f daybreak.yaml",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: c.completeJobs(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.setup()
			if err != nil {
				return err
			}
			jobs, err := s.jobs(args)
			if err != nil {
				return err
			}
			return c.open(cmd.Context(), s, func(a *app) error { return c.rebuild(cmd.Context(), a, jobs, dryRun) })
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "change nothing, list what would be done")
	c.nowFlag(cmd)
	return cmd
}

func (c *cli) rebuild(ctx context.Context, a *app, jobs []model.Job, dryRun bool) error {
	r := &rebuilder{a: a, dryRun: dryRun, call: ulid.Make().String(), out: c.rows(column{name: "job"}, column{name: "biz_date"}, column{name: "lacks"},
		column{name: "action"}, column{name: "detail", kind: outside}, column{name: "diff_id", optional: true})}
	for _, j := range jobs {
		if err := r.job(ctx, j); err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
	}
	if err := r.out.end(); err != nil {
		return err
	}
	switch {
	case r.failures > 0:
		return failed()
	case dryRun && r.n > 0:
		return found()
	case r.asked > 0 && a.owner:
		fmt.Fprintf(c.stderr, "%d days are asked for; no daybreak runs here, so they wait for the next up\n", r.asked)
	}
	return nil
}

// rebuilder goes through the jobs and counts.
type rebuilder struct {
	a      *app
	out    *rows
	dryRun bool
	call   string // names this run of the command, so that what it asks for is heard again by the next

	n, failures, asked int
}

// What became of something that was lacking.
const (
	wouldDo  = "to do"
	restored = "restored"
	asked    = "asked for"
	inWork   = "in work" // somebody has the day: what that comes to counts
	notDone  = "failed"
)

func (r *rebuilder) say(job string, day model.Day, what lack, action, detail, diffID string) error {
	r.n++
	if action == notDone {
		r.failures++
	}
	return r.out.add(job, day, string(what), action, detail, orNull(diffID))
}

// do does one thing, unless it is only to be listed, and says what became of it. What one day fails with holds up no other.
func (r *rebuilder) do(job string, day model.Day, what lack, detail string, act func() (string, error)) error {
	if r.dryRun {
		return r.say(job, day, what, wouldDo, detail, "")
	}
	action, err := act()
	if errors.Is(err, kv.ErrHeld) {
		action, err = inWork, nil
	}
	if err != nil {
		action, detail = notDone, detail+": "+err.Error()
	}
	if action == asked {
		r.asked++
	}
	if action == "" { // no longer lacking
		return nil
	}
	return r.say(job, day, what, action, detail, "")
}

// job goes through a job: the floor first, for without it a day that was never done is forgotten, then the days from the
// oldest to the newest, then the reviews.
func (r *rebuilder) job(ctx context.Context, job model.Job) error {
	v, err := r.a.survey(ctx, job)
	if err != nil {
		return err
	}
	if day, why := v.lostFloor(); why != "" {
		err := r.do(job.Name, day, lackFloor, why, func() (string, error) {
			_, err := r.a.control.LowerFloor(ctx, job.Name, day)
			return restored, err
		})
		if err != nil {
			return err
		}
	}
	for _, day := range v.days {
		if err := r.day(ctx, job, day, v.open[day]); err != nil {
			return err
		}
	}
	if err := r.requests(ctx, job); err != nil {
		return err
	}
	if err := r.events(ctx, job, v); err != nil {
		return err
	}
	return r.reviews(ctx, job)
}

// requests makes DONE days forget messages that the stream of requests lost: it gives their numbers to others, and a replay
// that got one would count as answered already.
func (r *rebuilder) requests(ctx context.Context, job model.Job) error {
	last, err := r.a.lastSeq(ctx)
	if err != nil {
		return err
	}
	marks, err := r.a.control.Watermarks(ctx, job.Name)
	if err != nil {
		return err
	}
	lost := func(w *model.Watermark) bool { return w != nil && w.Status == model.Done && w.Trigger > last }
	for _, day := range slices.Sorted(maps.Keys(marks)) {
		w := marks[day]
		if !lost(&w) {
			continue
		}
		why := fmt.Sprintf("the day was computed for message %d of stream %s, whose newest is %d", w.Trigger, bus.StreamDays, last)
		err := r.do(job.Name, day, lackAsking, why, func() (string, error) {
			forgotten := w
			forgotten.Trigger = 0
			did, err := r.a.control.Restore(ctx, job.Name, day, r.a.instance, forgotten, func(now *model.Watermark) bool {
				return lost(now) && now.RunID == w.RunID && now.Trigger == w.Trigger
			})
			if err != nil || !did {
				return "", err
			}
			return restored, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// day gives bucket and tables what they lack of a day.
func (r *rebuilder) day(ctx context.Context, job model.Job, day model.Day, open []model.Audit) error {
	t, err := r.a.tracesOf(ctx, job.Name, day, open)
	if err != nil {
		return err
	}
	what, why := t.lacks()
	switch what {
	case lackMark:
		return r.do(job.Name, day, what, why, func() (string, error) {
			did, err := r.a.control.Restore(ctx, job.Name, day, r.a.instance, t.restored(r.a.instance, r.a.clock.Now()), func(w *model.Watermark) bool {
				t.mark = w
				still, _ := t.lacks()
				return still == lackMark
			})
			if err != nil || !did {
				return "", err
			}
			return restored, nil
		})
	case lackResult:
		return r.do(job.Name, day, what, why, func() (string, error) { return r.askReplay(ctx, job, day, open, why) })
	}
	return nil
}

// askReplay asks for a day to be computed again, unless somebody does already. A replay and not a nudge: it recomputes
// whatever the watermark says.
func (r *rebuilder) askReplay(ctx context.Context, job model.Job, day model.Day, open []model.Audit, why string) (string, error) {
	if _, held, err := r.a.control.Held(ctx, job.Name, day); err != nil || held {
		return inWork, err
	}
	t, err := r.a.tracesOf(ctx, job.Name, day, open) // the three were not read at one instant
	if err != nil {
		return "", err
	}
	if still, _ := t.lacks(); still != lackResult {
		return "", nil
	}
	if err := job.CheckDay(day, r.a.clock.Now()); err != nil {
		return "", err
	}
	subject, err := bus.DayReplayDay(job.Name, day.String())
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]string{"reason": "daybreak rebuild: " + why, "by": r.a.instance})
	if err != nil {
		return "", err
	}
	_, err = r.a.bus.Publish(ctx, bus.Message{Subject: subject, ID: "replay/rebuild/" + r.call + "/" + model.BatchID(job.Name, day), Body: body})
	return asked, err
}

// events lets recon publish again what the stream does not have. It looks anew, as watermarks may be back by now. A day
// of a strict job after one that is not DONE is left to the auditor, since a message would only mark it BLOCKED.
func (r *rebuilder) events(ctx context.Context, job model.Job, v survey) error {
	marks, err := r.a.control.Watermarks(ctx, job.Name)
	if err != nil {
		return err
	}
	floor, ok, err := r.a.control.KeptFloor(ctx, job.Name)
	if err != nil {
		return err
	}
	if !ok {
		floor, _ = job.FirstFloor(r.a.clock.Now())
	}
	for _, day := range v.days {
		t, err := r.a.tracesOf(ctx, job.Name, day, v.open[day])
		if err != nil {
			return err
		}
		if what, _ := t.lacks(); what == lackMark && r.dryRun && t.told.RunID != t.batch.RunID {
			m := t.restored("", r.a.clock.Now())
			t.mark = &m
		}
		what, why := t.lacks()
		if what != lackEvents || r.a.expired(*t.batch) || job.Blocker(day, floor, r.a.clock.Now(), marks) != nil && !r.dryRun {
			continue
		}
		if err := r.do(job.Name, day, what, why, func() (string, error) { return r.askEvents(ctx, job.Name, day, t.batch.RunID) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *rebuilder) askEvents(ctx context.Context, job string, day model.Day, runID string) (string, error) {
	if _, held, err := r.a.control.Held(ctx, job, day); err != nil || held {
		return inWork, err
	}
	subject, err := bus.DayNudge(job, day.String())
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]string{"cause": string(model.CauseNudge), "seen": runID, "finding": string(model.AuditUnpublished)})
	if err != nil {
		return "", err
	}
	id := fmt.Sprintf("nudge/%s/%s/%s/rebuild-%s", job, day, model.CauseNudge, r.call)
	_, err = r.a.bus.Publish(ctx, bus.Message{Subject: subject, ID: id, Body: body})
	return asked, err
}

// expired reports whether events of a version's age are not kept any longer.
func (a *app) expired(b model.Batch) bool {
	for _, s := range bus.Streams() {
		if s.Name == bus.StreamDiffs {
			return a.clock.Since(b.CommittedAt) > s.MaxAge*9/10
		}
	}
	return false
}

// reviews gives bucket and tables the steps that the other one has. The same step with different words is said and left
// to people: two of them were told that theirs counts.
func (r *rebuilder) reviews(ctx context.Context, job model.Job) error {
	kept, stored, err := r.a.allReviews(ctx, job.Name)
	if err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(kept))
	for id := range stored {
		if _, ok := kept[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		k, s := kept[id], stored[id]
		if k.Step == s.Step && sameStep(k, s) {
			continue
		}
		if err := r.review(ctx, k, s); err != nil {
			return err
		}
	}
	return nil
}

func sameStep(a, b model.Review) bool {
	return a.State == b.State && a.By == b.By && a.Note == b.Note && a.At.Equal(b.At)
}

func (r *rebuilder) review(ctx context.Context, kept, stored model.Review) (err error) {
	newer := kept
	detail := fmt.Sprintf("the tables have step %d, the control bucket has step %d: %s by %s", stored.Step, kept.Step, kept.State, kept.By)
	if stored.Step > kept.Step {
		newer = stored
		detail = fmt.Sprintf("the control bucket has step %d, the tables have step %d: %s by %s", kept.Step, stored.Step, stored.State, stored.By)
	}
	switch {
	case kept.Step == stored.Step:
		return r.say(kept.Job, kept.Day, lackReview, notDone, fmt.Sprintf("step %d is %s by %s (%s) in the control bucket and %s by %s (%s) in the tables; "+
			"make the next step with daybreak review", kept.Step, kept.State, kept.By, kept.Note, stored.State, stored.By, stored.Note), kept.DiffID)
	case r.dryRun:
		return r.say(newer.Job, newer.Day, lackReview, wouldDo, detail, newer.DiffID)
	case kept.Step > stored.Step:
		err = r.a.store.PutReview(ctx, kept)
	default:
		err = r.a.restoreReview(ctx, stored)
	}
	if err != nil {
		return r.say(newer.Job, newer.Day, lackReview, notDone, detail+": "+err.Error(), newer.DiffID)
	}
	return r.say(newer.Job, newer.Day, lackReview, restored, detail, newer.DiffID)
}
