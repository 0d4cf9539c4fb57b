package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"daybreak/bench/accept/oracle"
	"daybreak/bench/chaos/check"
)

// judge ends the faults, waits until all is calm, writes the records down and lets the checkers look at them.
func (w *world) judge(ctx context.Context) (*result, error) {
	r := &result{tally: w.tally, rec: w.rec, length: w.length, seed: w.seed}
	for _, f := range faults {
		if !slices.Contains(w.without, f.name) && w.tally.faults[f.name] == 0 {
			r.violate("no fault of the kind %q was injected: %v", f.name, w.tally.missing[f.name])
		}
	}
	if err := w.calm(); err != nil {
		return r, err
	}
	begun := time.Now()
	err := w.rest(ctx)
	if r.rest = time.Since(begun); err == nil {
		err = w.encore(ctx)
	}
	if err != nil {
		r.violate("the installation did not come to rest within %s: %v", w.settle, err)
	}
	for _, err := range w.tally.errs {
		r.violate("the world: %v", err)
	}
	for _, s := range append([]*unit{w.engines}, w.units()...) {
		starts, alone := s.counts()
		r.units = append(r.units, unitCount{s.name, starts, alone})
	}
	if err := w.dump(ctx); err != nil {
		return r, fmt.Errorf("writing the records: %w", err)
	}
	h, err := check.Load(w.rec.dir)
	if err != nil {
		return r, fmt.Errorf("reading the records: %w", err)
	}
	for _, v := range check.All(h) {
		r.violate("%v", v)
	}
	r.count(w.rec.dir)
	return r, nil
}

func (w *world) units() (out []*unit) {
	for _, s := range w.services {
		out = append(out, s.unit)
	}
	return append(out, w.servers...)
}

// calm takes every fault back, and makes every file whole.
func (w *world) calm() error {
	for _, s := range w.services {
		for _, wire := range s.wires {
			wire.gate.open()
		}
		s.door.gate.open()
		s.door.refuse.Store(false)
		s.door.lose.Store(false)
		s.skew.Store(0)
	}
	for _, u := range append(w.units(), w.engines) {
		_ = u.signal(syscall.SIGCONT)
	}
	if p, err := w.engineChild(); err == nil {
		_ = p.Signal(syscall.SIGCONT)
	}
	for _, s := range w.services { // with clocks that agree about the day
		if err := s.signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	return w.books.mendAll()
}

// rest waits until nothing is left to do and nothing is wrong, by what a person can ask for.
func (w *world) rest(ctx context.Context) error {
	return until(ctx, w.settle, func() error {
		if err := w.serversWell(); err != nil {
			return err
		}
		if err := w.allDone(ctx); err != nil {
			return err
		}
		if err := w.nothingPending(ctx); err != nil {
			return err
		}
		out, code, err := w.command(ctx, true, "audit", "--format", "csv")
		if err == nil && code != 0 {
			err = fmt.Errorf("daybreak audit ends with %d: %s", code, strings.TrimSpace(out))
		}
		if err == nil {
			err = w.allDone(ctx) // the audit itself nudges what it finds
		}
		return err
	})
}

func (w *world) allDone(ctx context.Context) error {
	marks, err := w.bucket(ctx, "day.>")
	if err != nil {
		return err
	}
	status := map[string]string{}
	for _, m := range marks {
		var mark struct{ Status, Error string }
		_ = json.Unmarshal(m.Value(), &mark)
		status[m.Key()] = strings.TrimSpace(mark.Status + " " + mark.Error)
	}
	var open []string
	for _, job := range w.book.Jobs {
		for _, day := range w.books.days(w.last()) {
			if s := status["day."+job+"."+day]; s != "DONE" {
				open = append(open, fmt.Sprintf("%s %s is %q", job, day, s))
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d days are not DONE: %s", len(open), strings.Join(open, "; "))
	}
	return nil
}

func (w *world) nothingPending(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := w.js.Stream(ctx, "DAYS")
	if err != nil {
		return err
	}
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		if open := c.NumPending + uint64(c.NumAckPending); open > 0 {
			return fmt.Errorf("%d messages of consumer %s are open", open, c.Name)
		}
	}
	return list.Err()
}

// bucket reads the present values of the control bucket.
func (w *world) bucket(ctx context.Context, keys string) (out []jetstream.KeyValueEntry, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	kv, err := w.js.KeyValue(ctx, bucketName)
	if err != nil {
		return nil, err
	}
	watch, err := kv.Watch(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e := <-watch.Updates():
			if e == nil {
				return out, nil
			}
			out = append(out, e)
		}
	}
}

// dump writes down what is there at the end.
func (w *world) dump(ctx context.Context) error {
	w.log.save(w.rec)
	for _, stream := range []string{"DAYS", "DIFFS", "AUDIT", "DEAD"} {
		if err := w.dumpStream(ctx, stream); err != nil {
			return fmt.Errorf("stream %s: %w", stream, err)
		}
	}
	for name, query := range map[string]string{
		"batches": "SELECT * FROM daybreak.batches ORDER BY job, biz_date, version, fence", "diffs": "SELECT * FROM daybreak.diffs_current ORDER BY job, biz_date, diff_id",
		"reviews": "SELECT * FROM daybreak.reviews ORDER BY job, biz_date, diff_id, step", "audits": "SELECT * FROM daybreak.audits ORDER BY at",
		"entries": "SELECT * FROM daybreak.entries_current ORDER BY job, biz_date, side, match_key, entry_id", "carried": "SELECT * FROM daybreak.carried_current ORDER BY job, biz_date, side, match_key",
	} {
		rows, err := w.sql(ctx, query)
		if err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		for _, o := range rows {
			w.rec.add("final/"+name, o)
		}
	}
	for name, keys := range map[string]string{"watermarks": "day.>", "reviews_kv": "review.>"} {
		all, err := w.bucket(ctx, keys)
		if err != nil {
			return fmt.Errorf("bucket: %w", err)
		}
		for _, e := range all {
			w.rec.add("final/"+name, object{"key": e.Key(), "seq": e.Revision(), "body": text(e.Value())})
		}
	}
	if err := w.dumpJobs(); err != nil {
		return err
	}
	for _, folder := range w.book.Jobs {
		if err := os.CopyFS(filepath.Join(w.rec.dir, "final", "sources", folder), os.DirFS(filepath.Join(filepath.Dir(w.book.Config), folder))); err != nil {
			return err
		}
	}
	return w.rec.close()
}

func (w *world) dumpStream(ctx context.Context, stream string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c, err := w.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	info, err := c.Info(ctx)
	if err != nil || info.NumPending == 0 {
		return err
	}
	next, err := c.Messages()
	if err != nil {
		return err
	}
	defer next.Stop()
	for left := info.NumPending; left > 0; left-- {
		m, err := next.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		w.rec.add("stream", object{
			"stream": stream, "seq": meta.Sequence.Stream, "subject": m.Subject(), "msg_id": m.Headers().Get("Nats-Msg-Id"),
			"headers": flat(m.Headers()), "body": text(m.Data()), "at": meta.Timestamp.UTC().Format(time.RFC3339Nano),
		})
	}
	return nil
}

// dumpJobs says what the jobs of the book are. It is the book's knowledge, written down once more in package oracle.
func (w *world) dumpJobs() error {
	orders := map[string]string{"cards": "strict", "split": "strict", "wallet": "independent"}
	zones := map[string]string{"cards": "Asia/Shanghai", "split": "Europe/London", "wallet": "America/New_York"}
	var out []object
	for _, j := range oracle.Jobs() {
		mode, compare := "one", []string{"status"}
		if j.Rules.Sum {
			mode, compare = "sum", []string{}
		}
		out = append(out, object{
			"job": j.Name, "order": orders[j.Name], "start": first.String(), "last": w.last().String(), "mode": mode, "carry_days": j.Rules.Carry,
			"match": []string{"key"}, "tolerance": j.Rules.Tolerance, "compare": compare, "timezone": zones[j.Name],
		})
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.rec.dir, "jobs.json"), text, 0o600)
}
