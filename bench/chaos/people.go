package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"daybreak/pkg/model"
)

// peopleWork lets everybody work until ctx ends.
func (w *world) peopleWork(ctx context.Context, wg *sync.WaitGroup) {
	for _, p := range []struct {
		every time.Duration
		do    func(context.Context, *rand.Rand)
	}{
		{3 * time.Second, w.replay},
		{5 * time.Second, w.review},
		{5 * time.Second, w.review},
		{7 * time.Second, w.changeFile},
		{15 * time.Second, w.rubbish},
	} {
		wg.Go(func() { often(ctx, w.rng.own(), p.every, p.do) })
	}
	for n := range 2 {
		wg.Go(func() { w.read(ctx, fmt.Sprint("reader-", n+1), w.rng.own()) })
	}
}

// often does something about every so often.
func often(ctx context.Context, rng *rand.Rand, every time.Duration, do func(context.Context, *rand.Rand)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every/2 + rand.N(every)):
		}
		do(ctx, rng)
	}
}

func (w *world) job(rng *rand.Rand) string { return w.book.Jobs[rng.IntN(len(w.book.Jobs))] }

func (w *world) day(rng *rand.Rand) model.Day { return first.Add(rng.IntN(int(w.last()-first) + 1)) }

// replay asks for a day or for a range, as anybody with a NATS client can.
func (w *world) replay(ctx context.Context, rng *rand.Rand) {
	day := w.day(rng)
	to := day
	if rng.IntN(4) == 0 {
		to = min(w.last(), day.Add(1+rng.IntN(2)))
	}
	w.ask(ctx, w.job(rng), day, to)
}

func (w *world) ask(ctx context.Context, job string, day, to model.Day) {
	subject, body, detail := fmt.Sprintf("day.replay.%s.%s", job, day), "", object{}
	if to > day {
		subject, body = "day.replay."+job, fmt.Sprintf(`{"from":%q,"to":%q,"by":"ana","reason":"chaos"}`, day, to)
		detail["to"] = to.String()
	}
	detail["subject"] = subject
	w.asked.Store(&sheetID{Job: job, Day: day})
	w.rec.add("actions", object{"kind": "replay", "job": job, "day": day.String(), "by": "ana", "answer": w.publish(ctx, subject, body), "detail": detail})
}

// publish sends a message and tells whether a stream has it: "unknown" when nobody answered.
func (w *world) publish(ctx context.Context, subject, body string) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if _, err := w.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: []byte(body)}); err != nil {
		return "unknown"
	}
	return "ok"
}

// rubbish is what must land among the dead letters and hinder nobody.
func (w *world) rubbish(ctx context.Context, rng *rand.Rand) {
	pieces := [][2]string{
		{"day.replay.nobody.2026-09-01", ""},
		{"day.replay.cards.2026-02-30", ""},
		{"day.replay.wallet." + first.String(), "{"},
		{"day.replay.split", ""},
		{"day.x", "hello"},
	}
	p := pieces[rng.IntN(len(pieces))]
	w.rec.add("actions", object{"kind": "rubbish", "job": "", "day": "", "by": "mallory", "answer": w.publish(ctx, p[0], p[1]), "detail": object{"subject": p[0]}})
}

// changeFile corrects, cuts, mends or delivers a file.
func (w *world) changeFile(_ context.Context, rng *rand.Rand) {
	last := w.last()
	do := func(state string, f func(string) error) bool {
		path, ok := w.books.any(rng, last, state)
		if !ok {
			return false
		}
		if err := f(path); err != nil {
			w.tally.broken(fmt.Errorf("changing %s: %w", path, err))
		}
		return true
	}
	switch n := rng.IntN(10); {
	case n < 3 && do("cut", w.books.mend), n < 6 && do("late", w.books.mend):
	case n == 9:
		do("", w.books.cut)
	default:
		do("", func(path string) error { return w.books.correct(rng, path) })
	}
}

var nextReview = map[string][]string{
	"none": {"investigating"}, "investigating": {"resolved", "written_off", "accepted"},
	"resolved": {"investigating"}, "written_off": {"investigating"}, "accepted": {"investigating"},
}

// review takes a step on a diff that the books show.
func (w *world) review(ctx context.Context, rng *rand.Rand) { w.reviewOne(ctx, rng, w.job(rng)) }

func (w *world) reviewOne(ctx context.Context, rng *rand.Rand, job string) {
	rows, err := w.sql(ctx, fmt.Sprintf("SELECT biz_date, diff_id, review FROM daybreak.diffs_current WHERE job = '%s' ORDER BY biz_date, diff_id", job))
	if err != nil || len(rows) == 0 {
		return // there is nothing to be seen now
	}
	r := rows[rng.IntN(len(rows))]
	if rng.IntN(2) == 0 { // work is done on what is being worked on, too
		for _, o := range rows {
			if o["review"] != "none" && rng.IntN(3) == 0 {
				r = o
			}
		}
	}
	next := nextReview[fmt.Sprint(r["review"])]
	if len(next) == 0 {
		w.tally.broken(fmt.Errorf("diff %v of %s is in review state %v, which is none", r["diff_id"], job, r["review"]))
		return
	}
	to, day, by := next[rng.IntN(len(next))], fmt.Sprint(r["biz_date"]), []string{"ana", "bo"}[rng.IntN(2)]
	note := fmt.Sprint("note ", rng.Uint64())
	begun := time.Now().UTC().Format(time.RFC3339Nano)
	out, code, err := w.command(context.WithoutCancel(ctx), true, "review", job, day, fmt.Sprint(r["diff_id"]), "--to", to, "--by", by, "--note", note, "--format", "json")
	answer := "ok"
	switch {
	case err != nil:
		answer = "unknown"
	case code != 0:
		answer = "refused"
		if strings.Contains(out, "deadline") || strings.Contains(out, "timeout") || strings.Contains(out, "connection") || strings.Contains(out, "EOF") {
			answer = "unknown"
		}
	}
	w.rec.add("actions", object{"kind": "review", "job": job, "day": day, "by": by, "answer": answer, "detail": object{
		"diff_id": r["diff_id"], "from": r["review"], "to": to, "note": note, "begun": begun, "code": code, "out": out,
	}})
}

// read reads the books again and again, one statement at a time, as a dashboard does.
func (w *world) read(ctx context.Context, name string, rng *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		job, day := w.job(rng), w.day(rng)
		if a := w.asked.Load(); a != nil && rng.IntN(2) == 0 { // most often where something is about to change
			job, day = a.Job, a.Day
		}
		_ = w.look(ctx, name, n, job, day) // it is in the records
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// look is one reading of one batch.
func (w *world) look(ctx context.Context, reader string, n int, job string, day model.Day) error {
	o := object{"reader": reader, "n": n, "job": job, "day": day.String()}
	rows, err := w.sql(ctx, fmt.Sprintf("SELECT * FROM daybreak.diffs_current WHERE job = '%s' AND biz_date = '%s' ORDER BY diff_id", job, day))
	if err == nil {
		o["diffs"] = rows
		if len(rows) > 0 {
			o["version"], o["run_id"] = rows[0]["version"], rows[0]["run_id"]
		}
	} else {
		o["error"] = err.Error()
	}
	w.rec.add("reads", o)
	return err
}

// encore is what people do once more when all is calm, so that every checker has something to look at however short the run
// was: each job is read, a diff of it reviewed, the day replayed, and read again after that.
func (w *world) encore(ctx context.Context) error {
	rng, day := w.rng.own(), first
	look := func(n int) error {
		for _, job := range w.book.Jobs {
			if err := w.look(ctx, "closing", n, job, day); err != nil {
				return err
			}
		}
		return nil
	}
	if err := look(1); err != nil {
		return err
	}
	w.rubbish(ctx, rng)
	for _, job := range w.book.Jobs {
		w.reviewOne(ctx, rng, job)
		w.ask(ctx, job, day, day)
	}
	if err := w.rest(ctx); err != nil {
		return err
	}
	return look(2)
}
