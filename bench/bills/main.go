// Command bills measures how fast a provider's bill is read, and what hostile files cost:
//
//	go run ./bench/bills -rows 10000000
//	go run ./bench/bills -hostile
//
// The same rows are written as a WeChat Pay trade bill with its trailer and as a plain CSV file with the same columns.
// Both are read by their source, as a worker pulls them, and the CSV file also by encoding/csv with the one amount column
// parsed, which is what people write today. Every reading is a process of its own, so that its peak memory is its own;
// readings alternate, so that what else the machine does hits all of them; and all must count and total the same.
//
// The hostile files are a zip bomb, a zip of many bombs, a line of 2 GiB in every syntax that has lines, a JSON text of
// 2 GiB and an XML text of 2 GiB. Each must be refused, and a peak above the bound fails the program.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// peakBytesMax is what refusing a hostile file may cost, the program and its runtime included.
const peakBytesMax = 128 << 20

func main() {
	rows := flag.Int("rows", 1_000_000, "rows of the bill")
	runs := flag.Int("runs", 3, "readings of each kind")
	hostile := flag.Bool("hostile", false, "feed hostile files instead")
	as := flag.String("read-as", "", "read one file and report; used by the program itself")
	flag.Parse()
	if *rows < 1 || *runs < 1 || (*as == "") != (flag.NArg() == 0) {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *as != "":
		err = readOne(ctx, *as, flag.Arg(0))
	case *hostile:
		err = feed(ctx)
	default:
		err = measure(ctx, *rows, *runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bills:", err)
		os.Exit(1)
	}
}

// reading is what a child process found.
type reading struct {
	Rows    uint64        `json:"rows"`
	Total   string        `json:"total"`
	Took    time.Duration `json:"took"`
	Peak    uint64        `json:"peak"`
	Refused string        `json:"refused,omitempty"`
}

// read runs one reading in a process of its own.
func read(ctx context.Context, as, file string) (r reading, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, self, "-read-as", as, file) //nolint:gosec // itself
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("reading %s as %s: %w", filepath.Base(file), as, err)
	}
	return r, json.Unmarshal(out, &r)
}

var contestants = []struct{ name, as, file string }{
	{"WeChat bill", "bill", "bill.csv"},
	{"WeChat bill, gzip", "bill", "bill.csv.gz"},
	{"plain CSV source", "csv", "plain.csv"},
	{"encoding/csv", "peer", "plain.csv"},
}

func measure(ctx context.Context, rows, runs int) error {
	dir, err := os.MkdirTemp("", "daybreak-bills-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeBooks(dir, rows); err != nil {
		return err
	}
	all := make([][]reading, len(contestants))
	for range runs {
		for i, c := range contestants {
			r, err := read(ctx, c.as, filepath.Join(dir, c.file))
			if err != nil {
				return err
			}
			if r.Refused != "" {
				return fmt.Errorf("%s was refused: %s", c.name, r.Refused)
			}
			if first := all[0]; len(first) > 0 && (r.Rows != first[0].Rows || r.Total != first[0].Total) {
				return fmt.Errorf("%s: %d rows, %s; the bill has %d, %s", c.name, r.Rows, r.Total, first[0].Rows, first[0].Total)
			}
			all[i] = append(all[i], r)
		}
	}
	return report(rows, runs, all)
}

func report(rows, runs int, all [][]reading) error {
	fmt.Printf("%d rows, %d readings each, alternating; total %s\n\n", rows, runs, all[0][0].Total)
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tmin\tmedian\tmax\trows/s\tpeak MiB\t")
	for i, c := range contestants {
		took := make([]time.Duration, len(all[i]))
		var peak uint64
		for n, r := range all[i] {
			took[n], peak = r.Took, max(peak, r.Peak)
		}
		slices.Sort(took)
		middle := took[len(took)/2]
		fmt.Fprintf(w, "%s\t%.1fs\t%.1fs\t%.1fs\t%.0f\t%d\t\n", c.name, took[0].Seconds(), middle.Seconds(), took[len(took)-1].Seconds(),
			float64(rows)/middle.Seconds(), peak>>20)
	}
	return w.Flush()
}
