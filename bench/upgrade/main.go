// Command upgrade proves that data written by an earlier program opens with this one, and says whether the way back is open:
//
//	go run ./bench/upgrade                     from the newest tag to the working tree
//	go run ./bench/upgrade -from REF           from any commit, tag or branch
//	go run ./bench/upgrade -golden DIR         write a golden data folder of the working tree's program to DIR
//	go run ./bench/upgrade -golden DIR -from REF    the same of an earlier one
//
// The program of REF is built from `git archive` in a folder of its own; nothing in the working tree is touched. It works
// off a made-up book, people review diffs of it and ask for a replay that nobody has answered when it ends. Then:
//
//	same        the new program shows the same statuses, versions, diffs, pools and events, before it does anything
//	works off   it answers the open replay; every other day keeps its version; a replay of every day finds the same
//	mixed       services of both programs work on one pair of engines, run by the old and then by the new program, and are
//	            exchanged one by one while replays and reviews are made; every request is answered and nothing else changes
//	events      no event of before is gone or told differently, and all of them together still rebuild the table
//	back        the old program opens what the new one has written and shows the same, or refuses it by name: either is
//	            said, and anything else is a failure
//
// Rows are compared in the columns that the old program shows: newer programs may add some. Exits 1 when something differs
// and 2 when the way there is not open: no tag, an unknown commit, a commit that does not build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type options struct {
	from    string
	golden  string
	seed    uint64
	days    int
	entries int
	keep    bool
}

// errWay says that the trial could not be made.
var errWay = errors.New("the upgrade was not tried")

func main() {
	var o options
	timeout := flag.Duration("timeout", 15*time.Minute, "bound on the whole")
	flag.StringVar(&o.from, "from", "", "the earlier program: a tag, branch or commit; the newest tag when empty")
	flag.StringVar(&o.golden, "golden", "", "only write a golden data folder of the program of -from, of the working tree's when that is empty, to this folder")
	flag.Uint64Var(&o.seed, "seed", 1, "of the book")
	flag.IntVar(&o.days, "days", 5, "business days of each job, 3 or more")
	flag.IntVar(&o.entries, "entries", 30, "clean payments per job and day")
	flag.BoolVar(&o.keep, "keep", false, "leave the folder of the trial behind")
	flag.Parse()
	if flag.NArg() > 0 || o.days < 3 || o.entries < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	err := run(ctx, o)
	cancel()
	stop()
	switch {
	case errors.Is(err, errWay):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.golden != "" {
		return writeGolden(ctx, o)
	}
	return tryUpgrade(ctx, o)
}
