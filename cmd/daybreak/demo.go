package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"daybreak/pkg/config"
	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
	"daybreak/pkg/store"
)

// The demonstration's books: a week, small enough to end within half a minute on a laptop.
const (
	demoSeed    = 20261101
	demoDays    = 7
	demoEntries = 3000
)

func (c *cli) demoCommand() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use: "demo", Short: "Reconcile a week of made-up books with known faults, and show that they are found",
		Long: "Write a week of made-up books of three jobs with known faults, run them through the real pipeline (ticker, recon and\n" +
			"auditor on embedded engines) and hold the faults that were found against those that were planted.\n\n" +
			"Exits 0 only when they are the same and the auditor has no finding. Needs no configuration.",
		Example: "  daybreak demo\n  daybreak demo --dir ./demo    # keep the books and the results, for the other commands",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.demo(cmd.Context(), keep)
		},
	}
	cmd.Flags().StringVar(&keep, "dir", "", "write books and results to this new folder and keep them")
	return cmd
}

// demo writes the books, works them off and compares.
func (c *cli) demo(ctx context.Context, keep string) error {
	dir, clean, err := demoFolder(keep)
	if err != nil {
		return err
	}
	defer clean()
	first := model.NewDay(2026, time.November, 2)
	book, err := scenario.Write(dir, scenario.Options{Seed: demoSeed, First: first, Days: demoDays, Entries: demoEntries})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "made-up books: %d jobs × %d days, %d entries, %d faults planted, %d entries left waiting for their counterpart\n",
		len(book.Jobs), demoDays, book.Entries, len(book.Faults), book.Waiting)
	cfg, err := config.Load(book.Config)
	if err != nil {
		return err
	}
	quiet := slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	a, err := openApp(ctx, c.environment, cfg, appOptions{clock: clockAt(book.Now()), log: quiet, command: c.command})
	if err != nil {
		return err
	}
	defer a.close()
	begun := time.Now()
	p := c.progress()
	audits, err := a.once(ctx, p)
	p.end()
	if err != nil {
		return err
	}
	for _, f := range audits {
		fmt.Fprintf(c.stdout, "audit finding: %s %s: %s\n", f.Job, f.Kind, f.Detail)
	}
	if err := c.demoVerdict(ctx, a, book, time.Since(begun)); err != nil {
		return err
	}
	if len(audits) > 0 {
		return failed()
	}
	if keep != "" {
		fmt.Fprintf(c.stderr, "kept; look around with: daybreak status -f %s --now %s\n", book.Config, book.Now().Format(time.RFC3339))
	}
	return nil
}

func demoFolder(keep string) (dir string, clean func(), err error) {
	if keep == "" {
		dir, err = os.MkdirTemp("", "daybreak-demo-")
		return dir, func() { _ = os.RemoveAll(dir) }, err
	}
	if entries, err := os.ReadDir(keep); err == nil && len(entries) > 0 {
		return "", nil, usage(fmt.Errorf("--dir %s: the folder is not empty; name a new one", keep))
	}
	dir, err = filepath.Abs(keep)
	return dir, func() {}, err
}

// demoVerdict lists what was planted against what was found, job by job, and fails when they differ.
func (c *cli) demoVerdict(ctx context.Context, a *app, book *scenario.Book, took time.Duration) error {
	found, err := foundFaults(ctx, a, book)
	if err != nil {
		return err
	}
	missed, extra := compareFaults(book.Faults, found)
	counts := map[string]map[model.Kind][2]int{}
	tally(counts, book.Faults, 0)
	tally(counts, found, 1)
	fmt.Fprintf(c.stdout, "%-8s %-20s %8s %8s\n", "job", "kind", "planted", "found")
	for _, job := range book.Jobs {
		for _, kind := range model.Kinds {
			if n := counts[job][kind]; n != [2]int{} {
				fmt.Fprintf(c.stdout, "%-8s %-20s %8d %8d\n", job, kind, n[0], n[1])
			}
		}
	}
	for _, f := range missed {
		fmt.Fprintln(c.stdout, "NOT FOUND ", f)
	}
	for _, f := range extra {
		fmt.Fprintln(c.stdout, "NOT PLANTED", f)
	}
	waiting, err := a.waiting(ctx, book)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "entries waiting for their counterpart: %d planted, %d found\n", book.Waiting, waiting)
	if len(missed)+len(extra) > 0 || waiting != book.Waiting {
		fmt.Fprintln(c.stdout, "the result differs from what was planted")
		return failed()
	}
	fmt.Fprintf(c.stdout, "every planted fault was found and nothing else: %d days of %d jobs, %d entries, in %s\n",
		demoDays, len(book.Jobs), book.Entries, took.Round(100*time.Millisecond))
	return nil
}

func tally(counts map[string]map[model.Kind][2]int, faults []scenario.Fault, column int) {
	for _, f := range faults {
		if counts[f.Job] == nil {
			counts[f.Job] = map[model.Kind][2]int{}
		}
		n := counts[f.Job][f.Kind]
		n[column]++
		counts[f.Job][f.Kind] = n
	}
}

// foundFaults reads the current diffs in the words of the book.
func foundFaults(ctx context.Context, a *app, book *scenario.Book) ([]scenario.Fault, error) {
	var out []scenario.Fault
	for _, job := range book.Jobs {
		for row, err := range a.store.Diffs(ctx, store.DiffQuery{Job: job, From: book.First, To: book.Last.Add(7)}) {
			if err != nil {
				return nil, err
			}
			out = append(out, scenario.Fault{
				Job: job, Day: row.Day, Key: row.Key, Kind: row.Kind, Ledger: row.LedgerAmount.Decimal.String(),
				Channel: row.ChannelAmount.Decimal.String(), Origin: row.Origin,
			})
		}
	}
	return out, nil
}

// compareFaults returns what is only in planted and what is only in found.
func compareFaults(planted, found []scenario.Fault) (missed, extra []scenario.Fault) {
	count := map[scenario.Fault]int{}
	for _, f := range found {
		count[f]++
	}
	for _, f := range planted {
		if count[f]--; count[f] < 0 {
			missed = append(missed, f)
		}
	}
	for f, n := range count {
		for range max(n, 0) {
			extra = append(extra, f)
		}
	}
	slices.SortFunc(extra, func(x, y scenario.Fault) int { return strings.Compare(x.String(), y.String()) })
	return missed, extra
}

// waiting counts the entries that the newest day of every job hands on.
func (a *app) waiting(ctx context.Context, book *scenario.Book) (n int, err error) {
	for _, job := range book.Jobs {
		for _, err := range a.store.Carried(ctx, job, book.Last) {
			if err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, nil
}
