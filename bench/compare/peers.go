package main

import (
	"bytes"
	"context"
	_ "embed" // the script
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

//go:embed peer.py
var script string

// peers are the contestants that this machine can run.
func peers(dir string) []*contestant {
	ledger, channel := filepath.Join(dir, ledgerFile), filepath.Join(dir, channelFile)
	var out []*contestant
	if python, err := exec.LookPath("python3"); err == nil {
		out = append(out, &contestant{name: "python script", run: func(ctx context.Context) ([]string, uint64, error) {
			return runPeer(exec.CommandContext(ctx, python, "-c", script, ledger, channel))
		}})
	}
	return append(out, &contestant{name: "go maps", run: func(ctx context.Context) ([]string, uint64, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, 0, err
		}
		return runPeer(exec.CommandContext(ctx, self, "-peer-of", dir))
	}})
}

// runPeer runs a peer to its end and takes its lines.
func runPeer(cmd *exec.Cmd) ([]string, uint64, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	watch := watchMemory(cmd.Process.Pid)
	err := cmd.Wait()
	peak := watch.peak()
	if err != nil {
		return nil, peak, fmt.Errorf("%w: %s", err, errs.String())
	}
	return slices.Sorted(lines(out.String())), peak, nil
}

// entry is a line as far as it is compared.
type entry struct {
	amount          decimal.Decimal
	currency, state string
}

// mapJoin is the script once more, in Go.
func mapJoin(dir string, out io.Writer) error {
	ledger, ledgerErr := load(filepath.Join(dir, ledgerFile), "PAID")
	channel, channelErr := load(filepath.Join(dir, channelFile), "SUCCESS")
	if err := errors.Join(ledgerErr, channelErr); err != nil {
		return err
	}
	var found []string
	see := func(key string, a, b []entry) {
		if kind := kindOf(a, b); kind != "" {
			found = append(found, fmt.Sprintf("%s %s %s %s", key, kind, sum(a), sum(b)))
		}
	}
	for key, a := range ledger {
		see(key, a, channel[key])
	}
	for key, b := range channel {
		if ledger[key] == nil {
			see(key, nil, b)
		}
	}
	slices.Sort(found)
	_, err := io.WriteString(out, strings.Join(found, "\n")+"\n")
	return err
}

// load reads a file whose columns are key, id, amount, currency, state and time.
func load(path, success string) (map[string][]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	rows := csv.NewReader(f)
	rows.ReuseRecord = true
	if _, err := rows.Read(); err != nil {
		return nil, err
	}
	out := map[string][]entry{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		amount, err := decimal.NewFromString(row[2])
		if err != nil {
			return nil, err
		}
		e := entry{amount, strings.Clone(row[3]), strings.Clone(row[4])}
		if e.state == success {
			e.state = "success"
		}
		key := strings.Clone(row[0])
		out[key] = append(out[key], e)
	}
}

func kindOf(a, b []entry) string {
	switch {
	case len(a) > 1 || len(b) > 1:
		return "duplicate"
	case len(b) == 0:
		return "missing_in_channel"
	case len(a) == 0:
		return "missing_in_ledger"
	case a[0].currency != b[0].currency:
		return "currency"
	case !a[0].amount.Equal(b[0].amount):
		return "amount"
	case a[0].state != b[0].state:
		return "status"
	}
	return ""
}

func sum(es []entry) decimal.Decimal {
	var total decimal.Decimal
	for _, e := range es {
		total = total.Add(e.amount)
	}
	return total
}

// lines are the lines of a text, without their ends.
func lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}
