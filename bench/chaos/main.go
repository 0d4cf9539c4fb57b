// Command chaos runs Daybreak as an installation and breaks it while people work with it:
//
//	go run ./bench/chaos -minutes 10              as root, for the full disk; -without disk otherwise
//	go run ./bench/chaos -minutes 2 -seed 7 -keep /tmp/records
//
// # What runs
//
// The real binary, as two tickers, three recons and two auditors whose clocks differ; three NATS servers in a cluster with
// three copies of everything, each a process of its own; the embedded ClickHouse with its child process. Between every
// service and each server stands a proxy. A supervisor starts again what died, as systemd would.
//
// # What is done to it
//
// Faults, drawn from the seed (their effect is not: processes race): SIGKILL and SIGSTOP beyond the lease of services and
// servers, the engine's child and its parent killed, leaders of streams, consumers and of the cluster sent away, connections
// dropped or silent, answers of ClickHouse lost after the work was done, a full disk under a server or under the engine,
// processes started again with another clock, and midnight: a further business day becomes due while services restart.
//
// People meanwhile replay days and ranges, review diffs, correct, cut, mend and deliver late files, and publish rubbish;
// readers read the books in a loop.
//
// # What is looked at
//
// Then faults end, and everything must come to rest by itself within a bound. All that happened is written down as JSON
// lines, and package check, which knows nothing of the product's code, looks for what a guarantee forbids. The program
// exits with 1 when there is a violation, or when a kind of fault that was asked for never happened.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	seed    uint64
	length  time.Duration // how long faults go on
	settle  time.Duration // bound on coming to rest
	days    int           // business days of each job that the book has
	due     int           // of these, how many are due at the beginning
	entries int
	keep    string
	bin     string // the program, built when empty
	without []string
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == serverVerb {
		os.Exit(runServer(os.Args[2]))
	}
	o := options{days: 16, due: 6, entries: 40, settle: 5 * time.Minute}
	minutes := flag.Float64("minutes", 5, "how long faults are injected")
	without := flag.String("without", "", "kinds of faults to leave out, with commas: "+strings.Join(kinds(), ","))
	flag.Uint64Var(&o.seed, "seed", 1, "of book, faults and what people do")
	flag.StringVar(&o.bin, "bin", "", "a program to run instead of building this one, to see what another version, or a spoilt one, does")
	flag.StringVar(&o.keep, "keep", "", "leave books, logs and records in this folder, which must not exist; a failed run is left behind anyway")
	flag.Parse()
	o.length = time.Duration(*minutes * float64(time.Minute))
	for _, k := range strings.FieldsFunc(*without, func(r rune) bool { return r == ',' }) {
		if !slices.Contains(kinds(), k) {
			fmt.Fprintf(os.Stderr, "no fault %q: one of %s\n", k, strings.Join(kinds(), ", "))
			os.Exit(2)
		}
		o.without = append(o.without, k)
	}
	if flag.NArg() > 0 || o.length <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	r, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if r != nil {
		r.print(os.Stdout)
	}
	if err != nil || len(r.violations) > 0 {
		os.Exit(1)
	}
}
