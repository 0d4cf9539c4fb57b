package recon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// request is what one message asks for.
type request struct {
	kind     string // bus.KindDue, bus.KindReplay, …
	job      string
	day      model.Day
	from, to model.Day // of a range
	cause    model.Cause
	finding  model.AuditKind // of a nudge: what the auditor saw
	reason   string
	by       string
	seq      uint64 // names the message
}

// body is everything a message on DAYS may say; the subject alone suffices for a single day.
type body struct {
	Job     string     `json:"job"`
	Day     *model.Day `json:"biz_date"`
	DueAt   *time.Time `json:"due_at"`
	Cause   string     `json:"cause"`
	Seen    string     `json:"seen"`
	Reason  string     `json:"reason"`
	By      string     `json:"by"`
	From    *model.Day `json:"from"`
	To      *model.Day `json:"to"`
	Finding string     `json:"finding"`
}

// parseRequest reads subject and body. Its errors are for the person who published the message.
func parseRequest(d bus.Delivery) (request, error) {
	kind, job, date, err := bus.ParseDay(d.Subject)
	if err != nil {
		return request{}, err
	}
	if err := model.CheckJobName(job); err != nil {
		return request{}, err
	}
	b, err := parseBody(d.Data)
	if err != nil {
		return request{}, fmt.Errorf("job %s: %w", job, err)
	}
	req := request{kind: kind, job: job, reason: b.Reason, by: b.By, seq: d.Seq, cause: causeOf(kind, b.Cause), finding: model.AuditKind(b.Finding)}
	if kind == bus.KindReplayRange {
		return req.withRange(b)
	}
	if req.day, err = model.ParseDay(date); err != nil {
		return request{}, fmt.Errorf("job %s: day %w", job, err)
	}
	if b.From != nil || b.To != nil {
		return request{}, fmt.Errorf("job %s day %s: from and to belong to the subject day.replay.%s, without a date", job, req.day, job)
	}
	if b.Job != "" && b.Job != job || b.Day != nil && *b.Day != req.day {
		return request{}, fmt.Errorf("job %s day %s: the body names another job or day than the subject", job, req.day)
	}
	return req, nil
}

func parseBody(data []byte) (body, error) {
	var b body
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return b, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return body{}, fmt.Errorf("the body must be empty or a JSON object with reason, by, and for a range from and to: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return body{}, errors.New("the body holds more than one JSON value")
	}
	return b, nil
}

func (q request) withRange(b body) (request, error) {
	if b.From == nil || b.To == nil {
		return request{}, fmt.Errorf(`job %s: a replay of a range needs a body {"from":"YYYY-MM-DD","to":"YYYY-MM-DD"}`, q.job)
	}
	if *b.From > *b.To {
		return request{}, fmt.Errorf("job %s: from %s is after to %s", q.job, *b.From, *b.To)
	}
	q.from, q.to = *b.From, *b.To
	return q, nil
}

// causeOf trusts the body only to say why a nudge was made.
func causeOf(kind, said string) model.Cause {
	switch kind {
	case bus.KindDue:
		return model.CauseDue
	case bus.KindReplay, bus.KindReplayRange:
		return model.CauseReplay
	}
	switch c := model.Cause(said); c {
	case model.CauseChain, model.CauseCarry, model.CauseChanged:
		return c
	}
	return model.CauseNudge
}

// admit checks the day itself. A person's replay of an impossible day is rejected; a day that is not yet due by this
// replica's clock is only early when it comes from a ticker whose clock is ahead.
func admit(job model.Job, req request, now time.Time) (bus.Verdict, bool) {
	err := job.CheckDay(req.day, now)
	switch {
	case err == nil:
		return bus.Verdict{}, true
	case errors.Is(err, model.ErrNotDue) && req.cause != model.CauseReplay:
		return bus.Retry(min(max(job.DueAt(req.day).Sub(now), time.Second), time.Minute)).Because("not_due_yet"), false
	}
	return bus.Reject(err.Error()), false
}

// expand turns the replay of a range into one message a day. Every business day of the range must be replayable, or
// none is: half a range is not what was asked for.
func (r *Recon) expand(ctx context.Context, job source.Job, req request) bus.Verdict {
	days, err := daysOf(job.Job, req, r.Clock.Now())
	if err != nil {
		return bus.Reject(err.Error())
	}
	data, err := json.Marshal(map[string]string{"reason": req.reason, "by": req.by})
	if err != nil {
		return bus.Reject(err.Error())
	}
	for _, day := range days {
		subject, err := bus.DayReplayDay(job.Name, day.String())
		if err != nil {
			return bus.Reject(err.Error())
		}
		id := fmt.Sprintf("replay/%s/%d/%s", job.Name, req.seq, day)
		if _, err := r.Bus.Publish(ctx, bus.Message{Subject: subject, ID: id, Body: data}); err != nil {
			return bus.Retry(5 * time.Second).Because("publish_failed")
		}
	}
	return bus.Ack().Because("range_expanded")
}

func daysOf(job model.Job, req request, now time.Time) ([]model.Day, error) {
	var days []model.Day
	if err := job.CheckDay(job.Calendar.Previous(req.to+1), now); err != nil {
		return nil, fmt.Errorf("replay of %s to %s: %w", req.from, req.to, err)
	}
	for d := job.Calendar.Next(req.from - 1); d <= req.to; d = job.Calendar.Next(d) {
		if err := job.CheckDay(d, now); err != nil {
			return nil, fmt.Errorf("replay of %s to %s: %w", req.from, req.to, err)
		}
		days = append(days, d)
	}
	if len(days) == 0 {
		return nil, fmt.Errorf("replay of %s to %s: job %s has no business day in that range", req.from, req.to, job.Name)
	}
	return days, nil
}
