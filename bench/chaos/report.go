package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// tally counts what was done. It is safe for concurrent use until it is printed.
type tally struct {
	mu      sync.Mutex
	faults  map[string]int
	missing map[string]error // why a fault could not be injected, the last reason
	errs    []error          // of the world itself: they spoil a run
}

func newTally() *tally { return &tally{faults: map[string]int{}, missing: map[string]error{}} }

func (t *tally) fault(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[kind]++
}

func (t *tally) missed(kind string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.missing[kind] = err
}

func (t *tally) broken(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, err)
}

// unitCount is how often a process was started, and how often it ended though nobody had asked for it.
type unitCount struct {
	name          string
	starts, alone int
}

// result is what came out of a run.
type result struct {
	*tally
	rec        *records
	seed       uint64
	length     time.Duration
	rest       time.Duration
	units      []unitCount
	figures    [][2]string
	violations []string
	kept       string
}

func (r *result) violate(format string, args ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

// count takes the figures of the summary from the records.
func (r *result) count(dir string) {
	actions, refused, versions := map[string]int{}, map[string]int{}, 0
	each(filepath.Join(dir, "actions.jsonl"), func(o object) {
		actions[fmt.Sprint(o["kind"])]++
		if o["answer"] != "ok" {
			refused[fmt.Sprint(o["kind"])]++
		}
	})
	causes := map[string]int{}
	each(filepath.Join(dir, "final", "batches.jsonl"), func(o object) { versions++; causes[fmt.Sprint(o["cause"])]++ })
	readings, failed := 0, 0
	each(filepath.Join(dir, "reads.jsonl"), func(o object) {
		readings++
		if o["error"] != nil {
			failed++
		}
	})
	r.figures = append(r.figures, [2]string{"versions committed", fmt.Sprintf("%d (%s)", versions, list(causes))})
	for _, k := range sorted(actions) {
		r.figures = append(r.figures, [2]string{"people: " + k, fmt.Sprintf("%d, of these refused or without answer %d", actions[k], refused[k])})
	}
	r.figures = append(r.figures, [2]string{"readings of the books", fmt.Sprintf("%d, of these %d without answer", readings, failed)},
		[2]string{"messages stored", fmt.Sprint(r.rec.count("stream"))}, [2]string{"accepted writes recorded", fmt.Sprint(r.rec.count("control"))})
}

func each(file string, do func(object)) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var o object
		if json.Unmarshal(in.Bytes(), &o) == nil {
			do(o)
		}
	}
}

func list(counts map[string]int) string {
	out := ""
	for _, k := range sorted(counts) {
		if out != "" {
			out += ", "
		}
		out += fmt.Sprintf("%s %d", k, counts[k])
	}
	return out
}

func (r *result) print(to io.Writer) {
	total := 0
	fmt.Fprintf(to, "seed %d, faults for %s, at rest %s after the last\n", r.seed, r.length, r.rest.Round(time.Second))
	for _, k := range sorted(r.faults) {
		total += r.faults[k]
		fmt.Fprintf(to, "  %-42s %d\n", k, r.faults[k])
	}
	fmt.Fprintf(to, "  %-42s %d\n", "faults", total)
	for _, f := range r.figures {
		fmt.Fprintf(to, "  %-42s %s\n", f[0], f[1])
	}
	for _, u := range r.units {
		fmt.Fprintf(to, "  %-42s started %d times, ended by itself %d times\n", u.name, u.starts, u.alone)
	}
	fmt.Fprintf(to, "  %-42s %d\n", "violations", len(r.violations))
	for i, v := range r.violations {
		if i == 40 {
			fmt.Fprintf(to, "    … and %d more\n", len(r.violations)-i)
			break
		}
		fmt.Fprintf(to, "    %s\n", v)
	}
	if r.kept != "" {
		fmt.Fprintf(to, "left behind: %s (records, books, logs of every process)\n", r.kept)
	}
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
