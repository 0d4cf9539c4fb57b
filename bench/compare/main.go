// Command compare reconciles the same two files with Daybreak's pipeline and with what people write today, in one run:
//
//	go run ./bench/compare -rows 1000000
//
// Daybreak goes through its stages (source, land, compare, commit) in this process on the embedded engine, as a worker
// does for one day. The peers keep both files in dictionaries in memory: a Python script with csv and Decimal, where
// python3 is installed, and the same in Go. Runs alternate, so that what else the machine does hits all of them, and every
// run must find the same differences as every other, or the program fails.
//
// What the figures do not say: the peers keep nothing. Daybreak has stored every entry, proved that the balance holds, and
// could be killed at any instant.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"daybreak/pkg/engine"
)

func main() {
	engine.RunChildIfAsked()
	rows := flag.Int("rows", 1_000_000, "entries of each side")
	runs := flag.Int("runs", 3, "runs of each")
	seed := flag.Uint64("seed", 1, "of the made-up files")
	peer := flag.String("peer-of", "", "run as the Go peer on this folder; used by the program itself")
	flag.Parse()
	if flag.NArg() > 0 || *rows < 1 || *runs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *peer != "" {
		err = mapJoin(*peer, os.Stdout)
	} else {
		err = compare(ctx, *rows, *runs, *seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// contestant reconciles the files of a folder and says what differs, one sorted line each.
type contestant struct {
	name string
	run  func(ctx context.Context) (found []string, peak uint64, err error)
	took []time.Duration
	peak []uint64
}

func compare(ctx context.Context, rows, runs int, seed uint64) error {
	dir, err := os.MkdirTemp("", "daybreak-compare-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	planted, err := writeFiles(dir, rows, seed)
	if err != nil {
		return err
	}
	bench, err := newPipeline(ctx, dir)
	if err != nil {
		return err
	}
	defer bench.close()
	all := append([]*contestant{{name: "daybreak", run: bench.run}}, peers(dir)...)
	for n := range runs {
		for _, c := range all {
			begun := time.Now()
			found, peak, err := c.run(ctx)
			took := time.Since(begun)
			if err == nil && !slices.Equal(found, planted) {
				err = fmt.Errorf("found %d differences, planted were %d, or they are not the same ones", len(found), len(planted))
			}
			if err != nil {
				return fmt.Errorf("%s, run %d: %w", c.name, n+1, err)
			}
			c.took, c.peak = append(c.took, took), append(c.peak, peak)
			fmt.Fprintf(os.Stderr, "run %d: %-14s %6.2f s%s\n", n+1, c.name, took.Seconds(), bench.stages(c.name))
		}
	}
	fmt.Printf("%d + %d rows, %d differences, found by all; %d runs each, alternating\n", rows, rows, len(planted), runs)
	printTable(all, 2*rows, filepath.Join(dir, ledgerFile))
	return nil
}

func printTable(all []*contestant, rows int, sample string) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "who\trows/s min\tmedian\tmax\tpeak MB min\tmedian\tmax\t")
	for _, c := range all {
		slices.Sort(c.took)
		slices.Sort(c.peak)
		n := len(c.took)
		rate := func(d time.Duration) int { return int(float64(rows) / d.Seconds()) }
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", c.name, rate(c.took[n-1]), rate(c.took[n/2]), rate(c.took[0]),
			c.peak[0]>>20, c.peak[n/2]>>20, c.peak[n-1]>>20)
	}
	_ = w.Flush()
	if info, err := os.Stat(sample); err == nil {
		fmt.Printf("one side is %d MB of text; memory is resident, of all processes of a contestant together\n", info.Size()>>20)
	}
}
