// Command accept runs Daybreak as people run it, many processes on one data folder, kills and pauses them while they work,
// and holds what comes out against what others say it must be:
//
//	go run ./bench/accept                       3 jobs × 30 days, 6 processes struck
//	go run ./bench/accept -seeds 3              the same for three books
//	go run ./bench/accept -nats                 the replay is asked for by the nats CLI (built once, takes a minute)
//
// Nothing is asked of the product's packages that a user could not see: commands, exit codes, streams, and the log of the
// control bucket as the server republishes it. The opinions it is held against are the faults that were planted and
// package oracle, which compares the files by a road of its own.
//
// A recon is struck on entering a phase: the control log tells who is where, the signal follows at once. A paused process
// sleeps beyond its lease, is replaced meanwhile, and wakes up again. Every check is bounded in time, a failed one does not
// keep the others from being made, and no process outlives the run. Exits 1 when a check failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

type options struct {
	seed    uint64
	days    int
	entries int
	kills   int
	keep    string        // a folder that is left behind, a temporary one when empty
	nats    bool          // use the nats CLI
	audit   time.Duration // interval of the auditors
}

func main() {
	o := options{audit: 20 * time.Second}
	seeds := flag.Int("seeds", 1, "how many books, one after the other, from -seed on")
	timeout := flag.Duration("timeout", 20*time.Minute, "bound on the time of one book")
	flag.Uint64Var(&o.seed, "seed", 1, "of book and disturbances")
	flag.IntVar(&o.days, "days", 30, "business days of each job, 4 or more")
	flag.IntVar(&o.entries, "entries", 50, "clean payments per job and day")
	flag.IntVar(&o.kills, "kills", 6, "processes that are killed or paused while the days are worked off")
	flag.StringVar(&o.keep, "keep", "", "work in a new folder below this one and leave it behind; a failed run is left behind anyway")
	flag.BoolVar(&o.nats, "nats", false, "ask for a replay with the nats CLI, which is built from its module first")
	flag.Parse()
	if flag.NArg() > 0 || o.days < daysMin || o.entries < 1 || o.kills < 0 || *seeds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := 0
	for range *seeds {
		if !one(ctx, o, *timeout) {
			code = 1
		}
		o.seed++
	}
	stop()
	os.Exit(code)
}

// one runs one book and prints its table.
func one(ctx context.Context, o options, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	begun := time.Now()
	if o.keep != "" {
		o.keep = filepath.Join(o.keep, fmt.Sprintf("seed-%d", o.seed))
	}
	r := &report{progress: os.Stderr}
	accept(ctx, o, r)
	fmt.Printf("seed %d: %d days, %d entries a day, %d disturbances, %s\n", o.seed, o.days, o.entries, o.kills, time.Since(begun).Round(time.Second))
	r.print(os.Stdout)
	return !r.failed()
}
