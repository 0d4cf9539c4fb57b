package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// The files of both sides. Order numbers come in another order on each side, as they do in life.
const (
	ledgerFile    = "ledger-2026-10-01.csv"
	channelFile   = "channel-2026-10-01.csv"
	ledgerHeader  = "order_no,row_no,amount,currency,state,paid_at"
	channelHeader = "out_trade_no,transaction_id,total,fee_type,trade_state,success_time"
)

// oneIn is how rare a difference is.
const oneIn = 2000

// writeFiles makes up two files of n rows each and returns the differences between them, as every contestant must find
// them: key, kind, amount of the ledger, amount of the channel.
func writeFiles(dir string, n int, seed uint64) ([]string, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	amounts := make([]int64, n)
	for i := range amounts {
		amounts[i] = 1 + rng.Int64N(1_000_000)
	}
	planted := map[int]string{}
	kinds := []string{"missing_in_channel", "missing_in_ledger", "amount", "status", "duplicate"}
	for range max(n/oneIn, min(n, len(kinds))) {
		planted[rng.IntN(n)] = kinds[rng.IntN(len(kinds))]
	}
	ledger, err := writeSide(filepath.Join(dir, ledgerFile), rng.Perm(n), side{header: ledgerHeader, state: "PAID", skip: "missing_in_ledger"}, amounts, planted)
	if err != nil {
		return nil, err
	}
	channel, err := writeSide(filepath.Join(dir, channelFile), rng.Perm(n), side{header: channelHeader, state: "SUCCESS", skip: "missing_in_channel", bill: true}, amounts, planted)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, kind := range planted {
		out = append(out, fmt.Sprintf("%s %s %s %s", key(i), kind, money(ledger[i]), money(channel[i])))
	}
	slices.Sort(out)
	return out, nil
}

type side struct {
	header, state, skip string
	bill                bool
}

func key(i int) string { return fmt.Sprintf("4200002026%018d", i) }

// money is exact text without trailing zeros.
func money(cents int64) string {
	switch {
	case cents%100 == 0:
		return fmt.Sprint(cents / 100)
	case cents%10 == 0:
		return fmt.Sprintf("%d.%d", cents/100, cents%100/10)
	}
	return fmt.Sprintf("%d.%02d", cents/100, cents%100)
}

// writeSide writes one file and returns the sums of the planted keys in it.
func writeSide(path string, order []int, s side, amounts []int64, planted map[int]string) (map[int]int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	w := bufio.NewWriterSize(f, 1<<20)
	_, _ = fmt.Fprintln(w, s.header)
	sums := map[int]int64{}
	for n, i := range order {
		kind, cents, state, times := planted[i], amounts[i], s.state, 1
		switch {
		case kind == "":
		case kind == s.skip:
			continue
		case s.bill && kind == "amount":
			cents += 7
		case s.bill && kind == "status":
			state = "REFUND"
		case s.bill && kind == "duplicate":
			times = 2
		}
		for t := range times {
			fmt.Fprintf(w, "%s,%020d,%d.%02d,CNY,%s,2026-10-01 %02d:%02d:%02d\n", key(i), 2*n+t, cents/100, cents%100, state, n%24, n%60, n%59)
		}
		if kind != "" {
			sums[i] = cents * int64(times)
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return sums, f.Close()
}
