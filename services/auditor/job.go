package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
	"daybreak/pkg/tracing"
)

// jobTimeout ends a look that hangs, so that it holds up the other jobs no longer.
const jobTimeout = time.Hour

// glanceTimeout ends a first reading that hangs; the look after it tries again.
const glanceTimeout = 30 * time.Second

// recordsKept is how far back the findings of earlier processes are written to the store again at start, in case one of
// them died between telling and writing.
const recordsKept = 48 * time.Hour

// round is one look at one job.
type round struct {
	a      *Auditor
	m      *memory
	job    source.Job
	now    time.Time
	floor  model.Day
	cap    model.Day
	days   []model.Day // due, ascending
	marks  map[model.Day]model.Watermark
	newest map[model.Day]newest // nil when the tables could not be read
	open   map[findingKey]entry
	first  *model.Day // earliest day inside the cap that is not DONE
	looks  []*look
	errs   []error

	glance bool // only read
	// eventsRead says that the review events were read from the beginning in this round.
	eventsRead bool
	counted    *figures // nil when the tables could not be read
	backlog    bool
	changed    []model.Audit
	resolved   []model.Audit
}

// job looks at one job and returns what it saw and what has gone.
func (a *Auditor) job(ctx context.Context, m *memory) (JobReport, []model.Audit) {
	m.busy.Lock()
	defer m.busy.Unlock()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return JobReport{Job: m.job.Name, Err: ctx.Err()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	ctx, span := a.Tracer.Start(ctx, "audit", trace.WithAttributes(tracing.Job(m.job.Name)))
	defer span.End()
	r := &round{a: a, m: m, job: m.job, now: a.Clock.Now()}
	r.look(ctx)
	rep := r.report()
	a.show(m, rep)
	a.metrics.passes.WithLabelValues(rep.Job, rep.outcome()).Inc()
	a.settle(m, rep, r.now)
	return rep, r.resolved
}

// glance fills the metrics from what the stores say, without looking at sources or results and without changing anything:
// a look can take long, and a process that was just started must not be silent for so long.
func (a *Auditor) glance(ctx context.Context, m *memory) {
	ctx, cancel := context.WithTimeout(ctx, glanceTimeout)
	defer cancel()
	r := &round{a: a, m: m, job: m.job, now: a.Clock.Now(), glance: true}
	err := r.read(ctx)
	for _, day := range r.days {
		if err == nil {
			r.day(ctx, day)
		}
	}
	if err = errors.Join(append(r.errs, err)...); err != nil {
		a.log.Warn("where the job stands could not be read yet, will be tried again", "job", m.job.Name, "err", err)
		return
	}
	r.count(ctx)
	r.tell()
	a.show(m, r.report())
}

// look reads, judges, and follows what was found. Each part goes on whatever became of the others.
func (r *round) look(ctx context.Context) {
	if err := r.read(ctx); err != nil {
		r.failed(err)
		return
	}
	for _, day := range r.days {
		r.day(ctx, day)
	}
	for _, l := range r.looks {
		r.followDay(ctx, l)
	}
	r.followGone(ctx)
	r.failed(r.reviews(ctx))
	r.failed(r.record(ctx))
	r.count(ctx)
	r.tell()
}

// tell shows the open findings.
func (r *round) tell() {
	kinds := append(slices.Clone(dayKinds), resultKinds...)
	r.a.metrics.open(r.job.Name, kinds, r.a.openFindings([]string{r.job.Name}))
}

// count takes the figures for the metrics.
func (r *round) count(ctx context.Context) {
	if r.newest == nil {
		return
	}
	f, err := r.figures(ctx)
	r.failed(err)
	r.counted = f
}

func (r *round) failed(err error) {
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

// read takes in where the job stands. Without watermarks or the findings so far nothing can be judged; without the
// tables the watermarks still can.
func (r *round) read(ctx context.Context) error {
	if err := r.a.book.refresh(ctx); err != nil {
		return err
	}
	r.open = r.a.book.open(r.job.Name)
	var ok bool
	var err error
	if r.floor, ok, err = r.a.Control.KeptFloor(ctx, r.job.Name); err != nil {
		return err
	}
	if !ok {
		r.floor, _ = r.job.FirstFloor(r.now)
	}
	r.days = r.job.DueDays(r.job.Start, r.now)
	if newestDay, ok := r.job.NewestDue(r.now); ok {
		r.cap = r.job.CapStart(newestDay)
	}
	if r.marks, err = r.a.Control.Watermarks(ctx, r.job.Name); err != nil {
		return err
	}
	if r.newest, err = r.a.tables.newest(ctx, r.job.Name); err != nil {
		r.failed(err)
	}
	r.failed(r.lostFloor(ctx))
	r.backlog = r.behind(ctx)
	r.failed(r.reread(ctx))
	return nil
}

// lostFloor finds a day before the floor that was to be DONE for ever: a version of it is committed, or a finding about it
// is open, and nobody has begun it, which only a control bucket that was lost and given another floor can say. The floor is
// put back, else the days that were not DONE before the loss would vanish with it.
func (r *round) lostFloor(ctx context.Context) error {
	for _, day := range r.days {
		if day >= r.floor {
			return nil
		}
		_, begun := r.marks[day]
		_, committed := r.newest[day]
		if begun || !committed && !slices.ContainsFunc(dayKinds, func(k model.AuditKind) bool { return r.has(day, k) }) {
			continue
		}
		if _, begun, err := r.a.Control.Watermark(ctx, r.job.Name, day); err != nil { // the list may lag behind
			return err
		} else if begun {
			continue
		}
		r.a.log.Warn("the kept floor lies after a day that was to be kept complete: was the control bucket lost?", "job", r.job.Name,
			"floor", r.floor.String(), "biz_date", day.String())
		r.floor = day
		if r.glance {
			return nil
		}
		_, err := r.a.Control.LowerFloor(ctx, r.job.Name, day)
		return err
	}
	return nil
}

// behind reports whether recon has messages that it has not seen yet.
func (r *round) behind(ctx context.Context) bool {
	pending, _, err := r.a.Bus.Pending(ctx, bus.StreamDays, r.a.Durable)
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		r.a.log.Debug("the backlog of recon is not known", "job", r.job.Name, "err", err)
	}
	return pending > 0
}

// reread asks the leader for every day that is not DONE by the list, which may lag behind, and finds the first of them.
func (r *round) reread(ctx context.Context) error {
	var errs []error
	for _, day := range r.days {
		if day < r.floor || r.marks[day].Status == model.Done {
			continue
		}
		w, ok, err := r.a.Control.Watermark(ctx, r.job.Name, day)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok:
			r.marks[day] = w.Watermark
		default:
			delete(r.marks, day)
		}
	}
	for _, day := range r.days {
		if day >= max(r.cap, r.floor) && r.marks[day].Status != model.Done {
			r.first = &day
			break
		}
	}
	return errors.Join(errs...)
}

// day looks at one day.
func (r *round) day(ctx context.Context, day model.Day) {
	mark, begun := r.marks[day]
	if day < r.floor && (!begun || mark.Status != model.Done) {
		l := newLook(day)
		l.status = statusSkipped
		l.clean(dayKinds...)
		r.looks = append(r.looks, l)
		return
	}
	v, err := r.standing(ctx, day)
	if err != nil {
		r.failed(err)
		r.looks = append(r.looks, &look{day: day, status: statusRunning})
		return
	}
	l := judgeStanding(r.job.Job, v, r.now)
	l.late = v.late
	if day < r.floor {
		l.status = statusSkipped
	}
	r.looks = append(r.looks, l)
	if r.glance || v.mark == nil || v.mark.Status != model.Done || !r.due(day) {
		return
	}
	r.results(ctx, day, *v.mark, l)
	r.confirm(ctx, *v.mark, l)
}

// standing gathers what the judgement on a day's watermark rests on. A RUNNING that nobody holds is reclaimed.
func (r *round) standing(ctx context.Context, day model.Day) (standing, error) {
	v := standing{day: day, first: r.first == nil || day <= *r.first, blocker: r.first, settled: r.settled(day)}
	if e, ok := r.open[keyOf(r.job.Name, day, model.AuditStuck)]; ok {
		v.stuck = e.Seen
	}
	v.last = r.newest[day].runID
	mark, begun := r.marks[day]
	if r.newest == nil && (!begun && r.has(day, model.AuditMissing) || mark.Status == model.Failed && r.has(day, model.AuditFailed)) {
		return v, errTablesUnread // whether it was done meanwhile is not known
	}
	if !begun {
		return v, nil
	}
	v.mark = &mark
	if (mark.Status == model.Failed || mark.Status == model.Waiting) && r.now.After(r.deadline(day)) {
		v.late = r.job.There(ctx, day) != nil
	}
	if mark.Status == model.Running && !r.glance {
		if _, held, err := r.a.Control.Held(ctx, r.job.Name, day); err != nil || held {
			return v, err
		}
		var err error
		v.reclaimed, err = r.a.Control.Reclaim(ctx, r.job.Name, day, r.a.Instance, r.now)
		return v, err
	}
	if mark.Status == model.Failed && !r.glance {
		v.live = r.job.Fingerprint(ctx, day)
	}
	return v, nil
}

// settled reports whether the day is due, and the day before it finished, for longer than the settling time.
func (r *round) settled(day model.Day) bool {
	return r.now.Sub(r.job.DueAt(day)) >= r.a.Settle && r.calm(r.job.Calendar.Previous(day))
}

// calm reports whether a day is neither in work nor finished just now, so that what it hands on has arrived.
func (r *round) calm(day model.Day) bool {
	w, begun := r.marks[day]
	switch {
	case !begun:
		return true
	case w.Status == model.Running:
		return false
	}
	return w.FinishedAt == nil || r.now.Sub(*w.FinishedAt) >= r.a.Settle
}

// due reports whether the results of a DONE day are looked at in this round.
func (r *round) due(day model.Day) bool {
	if r.a.Deep || day >= r.cap {
		return true
	}
	for _, k := range resultKinds {
		if _, ok := r.open[keyOf(r.job.Name, day, k)]; ok {
			return true
		}
	}
	n, there := r.newest[day]
	if !there {
		return r.newest != nil // DONE, and nothing is committed
	}
	if r.marks[day].Committed != n.runID {
		return true // watermark and tables tell of different versions, as after a restore: whatever the day's age
	}
	v, known := r.m.verified[day]
	if !known { // committed before this process began: the process before has looked at it
		r.m.verified[day] = verified{runID: n.runID, at: r.now}
		return false
	}
	return v.runID != n.runID
}

// confirm takes back what was found of a day that moved while it was looked at.
func (r *round) confirm(ctx context.Context, mark model.Watermark, l *look) {
	if len(l.found) == 0 {
		return
	}
	w, ok, err := r.a.Control.Watermark(ctx, r.job.Name, l.day)
	r.failed(err)
	if err != nil || !ok || w.RunID != mark.RunID || w.Status != mark.Status || w.Version != mark.Version {
		l.forget(resultKinds...)
	}
}

// followDay takes every finding of a day as far as it goes.
func (r *round) followDay(ctx context.Context, l *look) {
	p := policy{
		now: r.now, every: r.job.Audit.Every, inCap: l.day >= r.cap, backlog: r.backlog,
		mayNow: r.job.Order != model.Strict || r.first == nil || l.day <= *r.first,
	}
	for _, kind := range slices.Sorted(maps.Keys(l.known)) {
		var s *sighting
		if v, ok := l.found[kind]; ok {
			s = &v
		}
		r.follow(ctx, keyOf(r.job.Name, l.day, kind), s, p)
	}
}

func (r *round) follow(ctx context.Context, k findingKey, s *sighting, p policy) {
	e, changed, err := r.a.follow(ctx, k, s, p)
	if err != nil {
		r.failed(fmt.Errorf("telling that %s %s is %s: %w", k.job, k.day, k.kind, err))
		return
	}
	if !changed || e == nil {
		return
	}
	r.changed = append(r.changed, e.Audit)
	if e.Resolved {
		r.resolved = append(r.resolved, e.Audit)
	}
}

// followGone resolves the findings of days that are no due days of the job any more: start or calendar were changed.
func (r *round) followGone(ctx context.Context) {
	for _, k := range slices.SortedFunc(maps.Keys(r.open), findingKey.compare) {
		if e := r.open[k]; e.Day == nil || slices.Contains(r.days, *e.Day) {
			continue
		}
		r.follow(ctx, k, nil, policy{now: r.now})
	}
}

// record writes the changed findings to the store, and in the first round of a process those of earlier ones.
func (r *round) record(ctx context.Context) error {
	rows := slices.Concat(r.m.unsaved, r.changed)
	if !r.m.begun {
		rows = r.a.book.recent(r.job.Name, r.now.Add(-recordsKept))
	}
	if len(rows) == 0 {
		r.m.begun = true
		return nil
	}
	if err := r.a.save(ctx, rows); err != nil {
		if r.m.begun {
			r.m.unsaved = rows
		}
		return err
	}
	r.m.begun, r.m.unsaved = true, nil
	return nil
}

func (r *round) report() JobReport {
	rep := JobReport{Job: r.job.Name, Err: errors.Join(r.errs...), counted: r.newest != nil, figures: r.counted, horizon: r.horizon()}
	for _, n := range r.newest {
		rep.OpenDiffs += n.openDiffs
	}
	if len(r.looks) != len(r.days) || r.marks == nil {
		return rep
	}
	rep.Days = map[string]int{}
	for _, l := range r.looks {
		rep.Days[l.status]++
	}
	if len(r.days) == 0 {
		rep.Clean = rep.Err == nil
		return rep
	}
	last := r.looks[len(r.looks)-1]
	rep.Newest = &last.day
	rep.Lag = r.lag()
	rep.Clean = rep.Err == nil && last.status == statusDone && !slices.ContainsFunc(r.a.openFindings([]string{r.job.Name}),
		func(f model.Audit) bool { return f.Day != nil && *f.Day == last.day })
	return rep
}

// lag counts the business days after the newest one that is DONE.
func (r *round) lag() int {
	for i, v := range slices.Backward(r.looks) {
		if v.status == statusDone {
			return len(r.looks) - 1 - i
		}
	}
	return len(r.looks)
}
