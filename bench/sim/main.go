// Command sim runs the simulation: seeds one after the other on every core, until one breaks a guarantee.
//
//	go run ./bench/sim -seeds 10000           seeds 1 to 10000; what was injected and how long it took
//	go run ./bench/sim -seed 42 -trace        one seed, with everything that happens in it
//	go run ./bench/sim -seeds 60 -mutant M    a world in which a mechanism is missing: it must fail
//
// It exits with 1 when a guarantee was broken and prints the seeds, each of which does the same again. What is simulated
// and what is checked stands in package world.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"daybreak/bench/sim/world"
)

type options struct {
	first, seeds, seed uint64
	workers, keepGoing int
	trace              bool
	atMost             time.Duration
	mutant             world.Mutant
}

func main() {
	testing.Init()
	var o options
	var mutant string
	flag.Uint64Var(&o.seeds, "seeds", 100, "how many seeds to run")
	flag.Uint64Var(&o.first, "first", 1, "the first seed")
	flag.Uint64Var(&o.seed, "seed", 0, "run this seed only")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "seeds at once")
	flag.IntVar(&o.keepGoing, "fail", 1, "how many broken seeds to look for before giving up")
	flag.DurationVar(&o.atMost, "for", 24*time.Hour, "begin no further seed after this time")
	flag.BoolVar(&o.trace, "trace", false, "print what happens")
	flag.StringVar(&mutant, "mutant", "", fmt.Sprintf("leave a mechanism out: %v", world.Mutants))
	flag.Parse()
	o.mutant = world.Mutant(mutant)
	if o.mutant != "" && !slices.Contains(world.Mutants, o.mutant) {
		fmt.Fprintf(os.Stderr, "no mutant %q: one of %v\n", mutant, world.Mutants)
		os.Exit(2)
	}
	if o.seed != 0 {
		o.first, o.seeds, o.workers = o.seed, 1, 1
	}
	debug.SetGCPercent(800) // seeds are short and leave much behind
	bubbles(func(t *testing.T) {
		r, begun := &report{faults: map[string]int{}}, time.Now()
		o.run(t, r)
		r.print(os.Stdout, time.Since(begun))
		if len(r.broken) > 0 {
			t.Fail()
		}
	})
}

// bubbles runs f with what a bubble of false time wants to have, and ends the program: with 1 when f failed. It is the
// testing package's own runner, outside of go test.
func bubbles(f func(t *testing.T)) {
	all := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "sim", F: f}}, nil, nil)
}

func (o options) run(t *testing.T, r *report) {
	var next atomic.Uint64
	next.Store(o.first)
	var trace io.Writer
	if o.trace {
		trace = os.Stdout
	}
	var wg sync.WaitGroup
	end := time.Now().Add(o.atMost)
	for range max(1, o.workers) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= o.first+o.seeds || r.enough(o.keepGoing) || time.Now().After(end) {
					return
				}
				r.add(world.Run(t, seed, o.mutant, trace))
			}
		})
	}
	wg.Wait()
}

// report adds up what became of the seeds.
type report struct {
	mu     sync.Mutex
	seeds  int
	steps  int
	runs   int
	faults map[string]int
	broken []world.Outcome
}

func (r *report) enough(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.broken) >= n
}

func (r *report) add(o world.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seeds, r.steps, r.runs = r.seeds+1, r.steps+o.Steps, r.runs+o.Runs
	for k, n := range o.Faults {
		r.faults[k] += n
	}
	if len(o.Violated) > 0 {
		r.broken = append(r.broken, o)
		fmt.Printf("seed %d (again: go run ./bench/sim -seed %d -trace):\n", o.Seed, o.Seed)
		for _, v := range o.Violated {
			fmt.Printf("  %s\n", v)
		}
	}
}

func (r *report) print(to io.Writer, took time.Duration) {
	fmt.Fprintf(to, "%d seeds in %s, %d decisions, %d days done, %d seeds broken\n", r.seeds, took.Round(time.Second), r.steps, r.runs, len(r.broken))
	for _, k := range slices.Sorted(maps.Keys(r.faults)) {
		fmt.Fprintf(to, "  %-18s %d\n", k, r.faults[k])
	}
}
