package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"daybreak/pkg/kv"
	"daybreak/pkg/model"
)

// survey is what is known of a job's days in any place.
type survey struct {
	job     model.Job
	days    []model.Day // ascending
	tables  []model.Day // those that the tables know of, ascending
	marks   map[model.Day]model.Watermark
	open    map[model.Day][]model.Audit
	floor   model.Day
	floored bool // a floor is kept
}

func (a *app) survey(ctx context.Context, job model.Job) (v survey, err error) {
	v.job = job
	if v.floor, v.floored, err = a.control.KeptFloor(ctx, job.Name); err != nil {
		return v, err
	}
	if v.marks, err = a.control.Watermarks(ctx, job.Name); err != nil {
		return v, err
	}
	if v.tables, err = a.store.KnownDays(ctx, job.Name); err != nil {
		return v, err
	}
	if v.open, err = a.store.Unsettled(ctx, job.Name); err != nil {
		return v, err
	}
	v.tables = slices.DeleteFunc(v.tables, func(d model.Day) bool { return d < job.Start || !job.Calendar.Is(d) })
	all := map[model.Day]bool{}
	for _, d := range slices.Concat(v.tables, slices.Collect(maps.Keys(v.marks))) {
		all[d] = true
	}
	for _, d := range job.DueDays(v.floor, a.clock.Now()) { // the events may know of them
		all[d] = v.floored || all[d]
	}
	maps.DeleteFunc(all, func(_ model.Day, known bool) bool { return !known })
	v.days = slices.Sorted(maps.Keys(all))
	return v, nil
}

// lostFloor is the floor that a job had as far as the tables know, with the reason when the kept one is none or lies
// after it. A day that people had computed before the floor has a watermark; one that the tables know and the bucket does
// not was complete for ever once.
func (v survey) lostFloor() (model.Day, string) {
	for _, d := range v.tables {
		if _, begun := v.marks[d]; begun {
			continue
		}
		switch {
		case !v.floored:
			return d, "no floor is kept, and the tables know of the day"
		case d < v.floor:
			return d, fmt.Sprintf("the floor is %s, the tables know of an earlier day that has no watermark", v.floor)
		}
		return 0, ""
	}
	return 0, ""
}

// keepFloors gives jobs whose floor the control bucket lost the one that the tables know of, before a first scan fixes it
// anew, and later: a hole before that would be forgotten. Where it may not, or cannot, it says so and work goes on.
func (a *app) keepFloors(ctx context.Context) {
	for _, job := range a.cfg.ModelJobs() {
		if _, kept, err := a.control.KeptFloor(ctx, job.Name); err != nil || kept {
			continue
		}
		v, err := a.survey(ctx, job)
		if err != nil {
			a.log.Debug("whether a floor was lost is not known", "job", job.Name, "err", err)
			continue
		}
		day, lost := v.lostFloor()
		if lost == "" {
			continue
		}
		a.log.Warn("the control bucket does not know the job and the tables do: was NATS lost? run daybreak rebuild, else days are computed again",
			"job", job.Name, "days", len(v.tables), "floor", day.String())
		if _, err := a.control.LowerFloor(ctx, job.Name, day); err != nil {
			a.log.Warn("the floor of before the loss could not be kept; run daybreak rebuild", "job", job.Name, "floor", day.String(), "err", err)
		}
	}
}

// disagreements are the days of which control bucket and tables tell different versions and nobody works on, in the order
// of jobs and days. They are asked by two reads a job, whatever the cap.
func (a *app) disagreements(ctx context.Context) ([]error, error) {
	var out []error
	for _, job := range a.cfg.ModelJobs() {
		marks, err := a.control.Watermarks(ctx, job.Name) // first: what is committed meanwhile is then newer in the tables
		if err != nil {
			return nil, err
		}
		batches, err := a.currentBatches(ctx, job.Name, 0, model.MaxDay)
		if err != nil {
			return nil, err
		}
		for day := range batches {
			if _, begun := marks[day]; !begun {
				marks[day] = model.Watermark{}
			}
		}
		for _, day := range slices.Sorted(maps.Keys(marks)) {
			if day < job.Start || !job.Calendar.Is(day) {
				continue
			}
			why, err := a.disagree(ctx, job.Name, day, traces{mark: begunMark(marks[day]), batch: batches[day]})
			if err != nil {
				return nil, err
			}
			if why != "" {
				out = append(out, fmt.Errorf("%s %s: %s", job.Name, day, why))
			}
		}
	}
	return out, nil
}

func begunMark(w model.Watermark) *model.Watermark {
	if w.Status == "" {
		return nil
	}
	return &w
}

// disagree says what is wrong with a day, after a second look where the first found something.
func (a *app) disagree(ctx context.Context, job string, day model.Day, t traces) (string, error) {
	if what, _ := t.lacks(); what != lackMark && what != lackResult {
		return "", nil
	}
	if _, held, err := a.control.Held(ctx, job, day); err != nil || held {
		return "", err
	}
	t, err := a.tracesOf(ctx, job, day, nil)
	if err != nil {
		return "", err
	}
	what, why := t.lacks()
	if what != lackMark && what != lackResult {
		return "", nil
	}
	return why, nil
}

// warnOfLosses says at the start of services what only a loss or a restore can have brought about.
func (a *app) warnOfLosses(ctx context.Context) {
	all, err := a.disagreements(ctx)
	switch {
	case err != nil:
		a.log.Debug("whether control bucket and tables agree is not known", "err", err)
	case len(all) > 0:
		a.log.Error("control bucket and tables tell of different versions: was one of them lost or restored from an older backup? run daybreak rebuild",
			"days", len(all), "err", all[0])
	}
}

// allReviews are the newest steps in the control bucket and in the tables, by diff.
func (a *app) allReviews(ctx context.Context, job string) (kept, stored map[string]model.Review, err error) {
	all, err := a.control.Reviews(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	kept, stored = map[string]model.Review{}, map[string]model.Review{}
	for _, v := range all {
		kept[v.DiffID] = v
	}
	for v, err := range a.store.Reviews(ctx, job, 0, model.MaxDay) {
		if err != nil {
			return nil, nil, err
		}
		stored[v.DiffID] = v
	}
	return kept, stored, nil
}

// restoreReview gives the control bucket a step that it does not have. Whoever wrote a later one meanwhile wins.
func (a *app) restoreReview(ctx context.Context, v model.Review) error {
	now, revision, err := a.control.Review(ctx, v.Job, v.Day, v.DiffID)
	if err != nil || now.Step >= v.Step {
		return err
	}
	err = a.control.SaveReview(ctx, v, revision)
	if errors.Is(err, kv.ErrConflict) {
		return a.restoreReview(ctx, v)
	}
	return err
}
