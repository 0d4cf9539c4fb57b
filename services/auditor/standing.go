package auditor

import (
	"fmt"
	"time"

	"daybreak/pkg/model"
)

// The statuses of a day as counted by the metric daybreak_batches.
const (
	statusDone    = "done"
	statusRunning = "running"
	statusWaiting = "waiting"
	statusBlocked = "blocked"
	statusFailed  = "failed"
	statusMissing = "missing"
	statusDue     = "due"     // not begun, and due for less than the settling time
	statusSkipped = "skipped" // before the floor
)

var statuses = []string{
	statusDone, statusRunning, statusWaiting, statusBlocked, statusFailed, statusMissing, statusDue, statusSkipped,
}

// standing is everything that the judgement on a day's watermark rests on.
type standing struct {
	day       model.Day
	mark      *model.Watermark // nil: nobody has begun
	reclaimed bool             // was RUNNING without a lease, and this auditor has just said so
	stuck     string           // run of the open stuck finding, "" when there is none
	late      bool             // FAILED or WAITING: the source is not there although patience is over
	live      string           // fingerprint of the sources now, for a FAILED day
	first     bool             // no earlier day inside the cap is unfinished
	blocker   *model.Day       // otherwise the earliest of them
	last      string           // run of the committed version, "" when there is none
	settled   bool             // due, and the day before finished, for longer than the settling time
}

// judgeStanding tells from the watermark what is wrong with a day.
func judgeStanding(job model.Job, v standing, now time.Time) *look {
	l := newLook(v.day)
	switch {
	case v.mark == nil && !v.settled:
		l.status = statusDue
		return l
	case v.mark == nil:
		l.status = statusMissing
		l.clean(dayKinds...)
		l.saw(sighting{
			kind: model.AuditMissing, seen: absent(v.last), remedy: byNudge, cause: model.CauseNudge,
			detail: fmt.Sprintf("due since %s and nobody has begun", job.DueAt(v.day).Format(time.RFC3339)),
		})
		return l
	case v.mark.Status == model.Running && !v.reclaimed:
		l.status = statusRunning // what was found before stays until the attempt is over
		return l
	}
	l.clean(dayKinds...)
	if v.mark.Status == model.Done {
		l.status = statusDone
		return l
	}
	var s sighting
	l.status, s = judgeUnfinished(job, v, now)
	l.saw(s)
	return l
}

// absent is the evidence that nobody has begun. A day that was done meanwhile and is absent again is another case.
func absent(run string) string {
	if run == "" {
		return "absent"
	}
	return "absent-since-" + run
}

func judgeUnfinished(job model.Job, v standing, now time.Time) (string, sighting) {
	switch {
	case v.reclaimed || v.mark.Status == model.Failed && v.stuck != "" && v.stuck == v.mark.RunID:
		return statusFailed, sighting{
			kind: model.AuditStuck, seen: v.mark.RunID, remedy: byNudge, cause: model.CauseNudge,
			detail: fmt.Sprintf("attempt %d of instance %s ended in phase %s without a word", v.mark.Attempt, v.mark.Instance, v.mark.Phase),
		}
	case v.mark.Status == model.Waiting:
		return statusWaiting, judgeWaiting(job, v, now)
	case v.mark.Status == model.Blocked:
		return statusBlocked, judgeBlocked(v)
	}
	return statusFailed, judgeFailed(v)
}

// judgeFailed nudges a failed day unless its sources are still those that it failed on. One that was done meanwhile and
// failed again is another case.
func judgeFailed(v standing) sighting {
	s := sighting{
		kind: model.AuditFailed, seen: shortHash(v.live, v.last), remedy: byNudge, cause: model.CauseNudge,
		detail: fmt.Sprintf("attempt %d: %s", v.mark.Attempt, v.mark.Error),
	}
	if v.live == v.mark.Sources && v.mark.Lasting {
		s.remedy = byPerson
		s.detail += "; the source is still the same; the day is computed again as soon as it changes"
	}
	return s
}

// judgeWaiting is an information as long as patience lasts. After that nobody can be looking for the source any more.
func judgeWaiting(job model.Job, v standing, now time.Time) sighting {
	deadline := job.DueAt(v.day).Add(job.Due.Patience)
	s := sighting{
		kind: model.AuditWaiting, seen: "patience", remedy: byWait,
		detail: fmt.Sprintf("%s; waited for until %s", v.mark.Error, deadline.Format(time.RFC3339)),
	}
	if now.Sub(deadline) > waitingGrace && v.first {
		s.seen, s.remedy, s.cause = "overdue", byNudge, model.CauseNudge
	}
	return s
}

// waitingGrace is how long after patience a worker may take to say that the day failed.
const waitingGrace = 2 * time.Minute

// judgeBlocked waits for the earlier day. When there is none, the message that was to free the day got lost.
func judgeBlocked(v standing) sighting {
	s := sighting{kind: model.AuditBlocked, seen: "blocked", remedy: byWait, detail: "an earlier day is not done"}
	if v.blocker != nil {
		s.detail = fmt.Sprintf("%s is not done", *v.blocker)
	}
	if v.first && v.settled {
		s.seen, s.remedy, s.cause = "free", byNudge, model.CauseNudge
		s.detail = "every earlier day is done, and yet this one was not taken up"
	}
	return s
}
