package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"daybreak/pkg/scenario"
)

// missingFile works off a small book of which one file is not there, by one process with engines of its own: the day is
// named, the strict job's later days wait for it, everything else is done, and the file alone mends it.
func missingFile(ctx context.Context, o options, bin, dir string) (string, error) {
	const job, days = "cards", 4
	i, err := newInstall(dir, bin, scenario.Options{
		Seed: o.seed + 1000, First: first, Days: days, Entries: 10, Lease: leaseTTL, Patience: 30 * 24 * time.Hour,
	})
	if err != nil {
		return "", err
	}
	late := first.Add(1)
	file := filepath.Join(dir, job, "ledger", late.String()+".csv")
	if err := os.Rename(file, file+".later"); err != nil {
		return "", err
	}
	r, err := i.run(ctx, "up", "--once", "--log-level", "error")
	if err != nil {
		return "", err
	}
	errs := []error{expect(r.code == 1, "up --once without the file: exit code %d, want 1", r.code)}
	said := fmt.Sprintf("%s %s WAITING", job, late)
	errs = append(errs, expect(strings.Contains(r.err, said) && strings.Contains(r.err, late.String()+".csv"), "no line names %q and the file: %s", said, r.err))
	for d := late + 1; d <= i.book.Last; d++ {
		said := fmt.Sprintf("%s %s BLOCKED", job, d)
		errs = append(errs, expect(strings.Contains(r.err, said), "no line says %q: %s", said, r.err))
	}
	rows, err := i.rows(ctx, "status")
	if err != nil {
		return "", err
	}
	done := 0
	for _, s := range rows {
		if s["status"] == "DONE" {
			done++
		}
	}
	want := days*len(i.book.Jobs) - int(i.book.Last-late) - 1
	errs = append(errs, expect(done == want, "%d days are DONE without the file, want %d", done, want))
	if err := os.Rename(file+".later", file); err != nil {
		return "", err
	}
	again, err := i.run(ctx, "up", "--once", "--log-level", "error")
	if err != nil {
		return "", err
	}
	errs = append(errs, expect(again.code == 0, "up --once with the file: exit code %d: %s", again.code, again.err))
	return fmt.Sprintf("without %s %s: exit %d, WAITING, %d days BLOCKED, %d DONE; with it: exit %d", job, late, r.code,
		int(i.book.Last-late), done, again.code), errors.Join(errs...)
}

func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
