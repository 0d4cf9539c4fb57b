package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

// trial is one way from an old program to a new one.
type trial struct {
	*install
	old, new program
	before   picture // as the old program left it
	failed   bool
}

func tryUpgrade(ctx context.Context, o options) error {
	top, err := root(ctx)
	if err != nil {
		return err
	}
	commit, err := fromRef(ctx, top, o.from)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "daybreak-upgrade-")
	if err != nil {
		return err
	}
	t := &trial{}
	defer func() {
		if t.failed || o.keep {
			fmt.Fprintln(os.Stderr, "left behind:", dir)
			return
		}
		_ = os.RemoveAll(dir)
	}()
	if t.old, err = buildRef(ctx, top, commit[:12], commit, dir); err != nil {
		return err
	}
	if t.new, err = buildTree(ctx, top, dir); err != nil {
		return err
	}
	t.install, err = newInstall(dir, scenario.Options{Seed: o.seed, First: model.NewDay(2026, time.October, 1), Days: o.days, Entries: o.entries, Lease: 6 * time.Second})
	if err != nil {
		return err
	}
	fmt.Printf("from %s to the working tree: %d jobs × %d days, %d faults planted\n", t.old.ref, len(t.book.Jobs), o.days, len(t.book.Faults))
	return t.steps(ctx)
}

// steps makes the trial step by step; a failed one ends it.
func (t *trial) steps(ctx context.Context) error {
	for _, s := range []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{"written by the old", t.write},
		{"same", t.same},
		{"works off", t.worksOff},
		{"mixed, engines old", t.mixed(true)},
		{"mixed, engines new", t.mixed(false)},
		{"events", t.events},
		{"back", t.back},
	} {
		begun := time.Now()
		said, err := s.do(ctx)
		err = errors.Join(err, t.stopAll())
		if err != nil {
			t.failed = true
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("%-20s ok   %s (%s)\n", s.name, said, time.Since(begun).Round(100*time.Millisecond))
	}
	return nil
}

func (t *trial) day(n int) string { return t.book.First.Add(n).String() }

// write is the life of the data under the old program: worked off, reviewed, computed again, and asked for once more.
func (t *trial) write(ctx context.Context) (string, error) {
	if r, err := t.run(ctx, t.old, "up", "--once", "--log-level", "error"); err != nil || r.code != 0 {
		return "", errors.Join(err, fmt.Errorf("up --once: exit code %d: %s", r.code, r.err))
	}
	for _, s := range []string{"engines", "recon", "auditor"} {
		if _, err := t.start(ctx, t.old, s); err != nil {
			return "", err
		}
	}
	if err := t.review(ctx, t.old, 0, "investigating", "accepted"); err != nil {
		return "", err
	}
	if err := t.review(ctx, t.old, 1, "investigating"); err != nil {
		return "", err
	}
	if _, err := t.rows(ctx, t.old, "replay", t.book.Jobs[1], t.day(0), "--wait", "--timeout", "60s"); err != nil {
		return "", err
	}
	if err := t.stopAll(); err != nil {
		return "", err
	}
	if _, err := t.rows(ctx, t.old, "replay", t.book.Jobs[0], t.day(1), "--reason", "open when the program ends", "--by", "wu"); err != nil {
		return "", err
	}
	var err error
	if t.before, err = t.takePicture(ctx, t.old); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d days, %d events, 3 review steps, 1 replay open", len(t.before["status"]), len(t.before["events"])), t.before.notDone()
}

// review takes the n-th diff of the first day of the second job through steps.
func (t *trial) review(ctx context.Context, p program, n int, states ...string) error {
	rows, err := t.rows(ctx, p, "diffs", t.book.Jobs[1], t.day(0))
	if err != nil {
		return err
	}
	if len(rows) <= n {
		return fmt.Errorf("the book has no diff %d to review; choose another -seed", n)
	}
	for _, s := range states {
		if _, err := t.rows(ctx, p, "review", t.book.Jobs[1], t.day(0), rows[n].text("diff_id"), "--to", s, "--by", "lin", "--note", "by the "+p.name+" program"); err != nil {
			return err
		}
	}
	return nil
}

// same opens the data with the new program, which must show what the old one showed.
func (t *trial) same(ctx context.Context) (string, error) {
	now, err := t.takePicture(ctx, t.new)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d days, %d events, every version, diff, pool and review as it was", len(now["status"]), len(now["events"])), t.before.differences(now)
}

// worksOff lets the new program work: the open replay is answered, no other day moves, and a replay of all finds the same.
func (t *trial) worksOff(ctx context.Context) (string, error) {
	if r, err := t.run(ctx, t.new, "up", "--once", "--log-level", "error"); err != nil || r.code != 0 {
		return "", errors.Join(err, fmt.Errorf("up --once: exit code %d: %s", r.code, r.err))
	}
	now, err := t.takePicture(ctx, t.new)
	if err != nil {
		return "", err
	}
	open := t.book.Jobs[0] + " " + t.day(1)
	was, is := t.before.versions(), now.versions()
	for day, v := range was {
		if (is[day] == v) == (day == open) {
			return "", fmt.Errorf("%s: version %s before, %s now; only %s was asked for", day, v, is[day], open)
		}
	}
	for _, job := range t.book.Jobs {
		if _, err := t.rows(ctx, t.new, "replay", job, t.day(0)+".."+t.book.Last.String(), "--wait", "--timeout", "120s"); err != nil {
			return "", err
		}
	}
	if now, err = t.takePicture(ctx, t.new); err != nil {
		return "", err
	}
	audit, err := t.run(ctx, t.new, "audit", "--deep")
	if err == nil && audit.code != 0 {
		err = fmt.Errorf("audit: exit code %d: %s%s", audit.code, audit.out, audit.err)
	}
	return "1 day answered, then every day replayed to the same; the audit is clean",
		errors.Join(err, now.notDone(), t.before.without("events").differences(now, columnsOfRuns...))
}

// mixed is a fleet of both programs on engines that one of them runs, in which every service is exchanged in turn.
func (t *trial) mixed(enginesOld bool) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		first, second := t.new, t.old
		if enginesOld {
			first, second = t.old, t.new
		}
		if _, err := t.start(ctx, first, "engines"); err != nil {
			return "", err
		}
		asked := 0
		var running []*process
		for round, p := range []program{first, second, first} {
			for _, s := range []string{"recon", "ticker", "auditor"} {
				proc, err := t.start(ctx, p, s)
				if err != nil {
					return "", err
				}
				n, err := t.ask(ctx, round+len(running), first, second)
				asked += n
				if err != nil {
					return "", err
				}
				if running = append(running, proc); len(running) > 3 { // the one that was there longest goes
					if err := t.stop(running[0]); err != nil {
						return "", err
					}
					running = running[1:]
				}
			}
		}
		return fmt.Sprintf("9 starts, 6 of them exchanges; %d replays, asked for by either program, all answered to the same", asked), t.settled(ctx, first)
	}
}

// ask has one day of every job computed again, and says how many were.
func (t *trial) ask(ctx context.Context, n int, programs ...program) (int, error) {
	days := int(t.book.Last-t.book.First) + 1
	for k, job := range t.book.Jobs {
		if _, err := t.rows(ctx, programs[(n+k)%len(programs)], "replay", job, t.day((n+k)%days), "--wait", "--timeout", "90s"); err != nil {
			return k, err
		}
	}
	return len(t.book.Jobs), nil
}

// settled holds everything against the beginning once both programs have found nothing wrong.
func (t *trial) settled(ctx context.Context, p program) error {
	now, err := t.takePicture(ctx, p)
	if err != nil {
		return err
	}
	errs := []error{now.notDone(), t.before.without("events").differences(now, columnsOfRuns...), t.stopAll()}
	for _, p := range []program{t.old, t.new} {
		audit, err := t.run(ctx, p, "audit")
		if err == nil && audit.code != 0 {
			err = fmt.Errorf("audit of the %s program: exit code %d: %s%s", p.name, audit.code, audit.out, audit.err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (t *trial) events(ctx context.Context) (string, error) {
	now, err := t.takePicture(ctx, t.new)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the %d of before are there as they were, %d came on top, and all of them rebuild the table", len(t.before["events"]),
		len(now["events"])-len(t.before["events"])), errors.Join(now.told(t.before), now.rebuilds())
}

// refusals are the words by which a program says that data is of a newer one.
var refusals = []string{"newer version of this program"}

// back opens what the new program has written with the old one.
func (t *trial) back(ctx context.Context) (string, error) {
	r, err := t.run(ctx, t.old, "status")
	if err != nil {
		return "", err
	}
	for _, words := range refusals {
		if r.code != 0 && strings.Contains(r.err, words) {
			return "REFUSED by name: " + strings.TrimSpace(r.err), nil
		}
	}
	now, err := t.takePicture(ctx, t.old)
	if err != nil {
		return "", err
	}
	if _, err := t.start(ctx, t.old, "up"); err != nil {
		return "", err
	}
	if _, err := t.ask(ctx, 0, t.old); err != nil {
		return "", err
	}
	return "OPEN: the old program shows the same, works on and audits clean", errors.Join(now.notDone(),
		t.before.without("events").differences(now, columnsOfRuns...), now.told(t.before), t.settled(ctx, t.old))
}
