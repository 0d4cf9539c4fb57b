package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// report collects what was checked. It may be used by several goroutines.
type report struct {
	progress io.Writer
	mu       sync.Mutex
	lines    []reportRow
}

type reportRow struct {
	check, figures string
	err            error
	took           time.Duration
}

// check makes one check and notes it. It returns whether it held.
func (r *report) check(name string, do func() (figures string, err error)) bool {
	begun := time.Now()
	figures, err := do()
	row := reportRow{name, figures, err, time.Since(begun)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, row)
	_, _ = fmt.Fprintf(r.progress, "%-6s %s (%s): %s\n", row.result(), name, row.took.Round(100*time.Millisecond), row.text())
	return err == nil
}

func (r *report) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.progress, format+"\n", args...)
}

func (r *report) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.lines {
		if row.err != nil {
			return true
		}
	}
	return len(r.lines) == 0
}

func (r *report) print(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	_, _ = fmt.Fprintln(t, "check\t| result\t| figures")
	for _, row := range r.lines {
		_, _ = fmt.Fprintf(t, "%s\t| %s\t| %s\n", row.check, row.result(), strings.ReplaceAll(row.text(), "\n", "; "))
	}
	_ = t.Flush()
}

func (r reportRow) result() string {
	if r.err != nil {
		return "FAILED"
	}
	return "ok"
}

func (r reportRow) text() string {
	switch {
	case r.err == nil:
		return r.figures
	case r.figures == "":
		return r.err.Error()
	}
	return r.figures + ": " + r.err.Error()
}

// differences names what is only in one of two lists, nil when they hold the same.
func differences(left, right string, a, b []string) error {
	count := map[string]int{}
	for _, x := range b {
		count[x]++
	}
	var out []string
	for _, x := range a {
		if count[x]--; count[x] < 0 {
			out = append(out, "only "+left+": "+x)
		}
	}
	for _, x := range b {
		if count[x] > 0 {
			count[x]--
			out = append(out, "only "+right+": "+x)
		}
	}
	if len(out) == 0 {
		return nil
	}
	const shown = 5
	n := len(out)
	if n > shown {
		out = append(out[:shown], fmt.Sprintf("and %d more", n-shown))
	}
	return fmt.Errorf("%d differences: %s", n, strings.Join(out, "; "))
}
