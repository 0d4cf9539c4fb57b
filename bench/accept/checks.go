package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ahead is how far the clock of an audit is set forward: it judges a day only when it has been calm for a minute.
const ahead = 2 * time.Minute

// checks works off the book under disturbances and holds the result against every opinion there is, then does with it
// what people do.
func (t *trial) checks(ctx context.Context) {
	t.check("disturbed while working", func() (string, error) { return t.disturb(ctx) })
	if !t.check("a every due day is DONE", func() (string, error) { return t.allDone(ctx) }) {
		return
	}
	t.check("b one day.due per job and day", func() (string, error) { return t.oneDue(ctx) })
	t.check("c diffs equal the oracle's", func() (string, error) { return t.equalOracle(ctx) })
	t.check("d diffs equal those planted", func() (string, error) { return t.equalPlanted(ctx) })
	t.check("e events rebuild the table", func() (string, error) { return t.rebuild(ctx, append(contract, notes...)) })
	t.check("g audit finds nothing", func() (string, error) { return t.audited(ctx) })
	t.check("h three replays change nothing", func() (string, error) { return t.replays(ctx) })
	t.check("i drill", func() (string, error) { return t.drill(ctx) })
	t.check("l a replay by any client", func() (string, error) { return t.replayByClient(ctx) })
	t.check("l rubbish lands in DEAD", func() (string, error) { return t.rubbish(ctx) })
	t.check("m review during a recompute", func() (string, error) { return t.reviewDuring(ctx) })
	t.check("j correction recomputes no more", func() (string, error) { return t.correct(ctx) })
	t.check("c diffs equal the oracle's again", func() (string, error) { return t.equalOracle(ctx) })
	t.check("e events rebuild the table again", func() (string, error) { return t.rebuild(ctx, contract) })
	t.check("g audit finds nothing again", func() (string, error) { return t.audited(ctx) })
	t.check("f no write under a stale fence", func() (string, error) { return t.log.noStaleWrite(ctx) })
	t.check("processes end when asked", func() (string, error) {
		return fmt.Sprintf("%d were started", t.fleet.started), errors.Join(t.fleet.lost(), t.fleet.end(ctx, ""))
	})
}

// allDone waits until every due day is DONE and shows it.
func (t *trial) allDone(ctx context.Context) (string, error) {
	wait, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	said := time.Now()
	err := until(wait, 500*time.Millisecond, func() error {
		n := t.log.done()
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			t.say("       %d of %d days are done", n, t.total())
		}
		if n < t.total() {
			return fmt.Errorf("%d of %d days are DONE", n, t.total())
		}
		return t.fleet.lost()
	})
	if err == nil {
		err = t.settle(ctx)
	}
	rows, statusErr := t.rows(ctx, "status")
	count, attempts := map[string]int{}, 0
	for _, r := range rows {
		count[r["status"]]++
		n, _ := strconv.Atoi(r["attempt"])
		attempts += n
	}
	if err == nil && (count["DONE"] != t.total() || len(rows) != t.total()) {
		err = fmt.Errorf("want %d DONE and no other row", t.total())
	}
	return fmt.Sprintf("%v of %d jobs × %d days, %d attempts", count, len(t.book.Jobs), t.days, attempts), errors.Join(err, statusErr)
}

func (t *trial) oneDue(ctx context.Context) (string, error) {
	all, err := t.messages(ctx, "DAYS", "day.due.>")
	if err != nil {
		return "", err
	}
	var got, want []string
	for _, m := range all {
		got = append(got, m.Subject())
	}
	for _, job := range t.book.Jobs {
		for d := t.book.First; d <= t.book.Last; d++ {
			want = append(want, "day.due."+job+"."+d.String())
		}
	}
	nudges, err := t.messages(ctx, "DAYS", "day.nudge.>")
	return fmt.Sprintf("%d messages for %d days (and %d nudges)", len(got), len(want), len(nudges)), errors.Join(err, differences("in the stream", "expected", got, want))
}

// oracleColumns are what the oracle has an opinion on.
var oracleColumns = []string{
	"job", "biz_date", "origin_date", "kind", "state", "key", "currency", "ledger_count", "channel_count", "ledger_amount",
	"channel_amount", "delta", "ledger_status", "channel_status",
}

func (t *trial) equalOracle(ctx context.Context) (string, error) {
	rows, err := t.diffs(ctx, "")
	if err != nil {
		return "", err
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return r["state"] == "cleared" })
	outcomes, err := t.oracle()
	if err != nil {
		return "", err
	}
	var want []row
	var pool, waiting []string
	for job, days := range outcomes {
		for _, day := range days {
			for _, d := range day.Diffs {
				want = append(want, row{
					"job": job, "biz_date": t.day(d.Day), "origin_date": t.day(d.Origin), "kind": d.Kind, "state": "open", "key": d.Key,
					"currency": d.Currency, "ledger_count": strconv.Itoa(d.LedgerCount), "channel_count": strconv.Itoa(d.ChannelCount),
					"ledger_amount": d.Ledger, "channel_amount": d.Channel, "delta": d.Delta, "ledger_status": d.LedgerStatus,
					"channel_status": d.ChannelStatus,
				})
			}
		}
		for _, w := range days[len(days)-1].Pool {
			pool = append(pool, fmt.Sprintf("%s %s %s %s %s %s", job, w.Side, w.Key, w.Currency, w.Amount, t.day(w.Origin)))
		}
		rows, err := t.rows(ctx, "diffs", job, "--carried")
		if err != nil {
			return "", err
		}
		for _, r := range rows {
			waiting = append(waiting, fmt.Sprintf("%s %s %s %s %s %s", job, r["side"], r["key"], r["currency"], r["amount"], r["origin_date"]))
		}
	}
	return fmt.Sprintf("%d diffs in %d columns, %d entries waiting", len(rows), len(oracleColumns), len(waiting)), errors.Join(
		differences("here", "with the oracle", sortedText(rows, oracleColumns...), sortedText(want, oracleColumns...)),
		differences("waiting here", "waiting with the oracle", waiting, pool))
}

func (t *trial) day(index int) string { return t.book.First.Add(index).String() }

func (t *trial) equalPlanted(ctx context.Context) (string, error) {
	rows, err := t.diffs(ctx, "")
	if err != nil {
		return "", err
	}
	var got, want []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s %s %s %s ledger=%s channel=%s origin=%s", r["job"], r["biz_date"], r["key"], r["kind"],
			r["ledger_amount"], r["channel_amount"], r["origin_date"]))
	}
	kinds := map[string]int{}
	for _, f := range t.book.Faults {
		want = append(want, f.String())
		kinds[string(f.Kind)]++
	}
	return fmt.Sprintf("%d faults planted: %v", len(want), kinds), differences("here", "planted", got, want)
}

func (t *trial) audited(ctx context.Context) (string, error) {
	r, err := t.runAhead(ctx, ahead, "audit", "--once", "--format", "ndjson")
	if err == nil && r.code != 0 {
		err = fmt.Errorf("%s%s", r.out, r.err)
	}
	return fmt.Sprintf("daybreak audit --once: exit code %d", r.code), err
}

// replays asks three times for every day of the job that carries most.
func (t *trial) replays(ctx context.Context) (string, error) {
	const job = "cards"
	before, err := t.diffs(ctx, job)
	if err != nil {
		return "", err
	}
	versions, err := t.versions(ctx, job)
	if err != nil {
		return "", err
	}
	var all []string
	for range 3 {
		rows, err := t.rows(ctx, "replay", job, t.book.First.String()+".."+t.book.Last.String(), "--wait", "--reason", "acceptance")
		if err != nil {
			return "", err
		}
		if err := t.settle(ctx); err != nil {
			return "", err
		}
		all = append(all, strconv.Itoa(len(rows)))
	}
	after, err := t.diffs(ctx, job)
	if err != nil {
		return "", err
	}
	columns := slices.DeleteFunc(append(slices.Clone(contract), notes...), func(c string) bool { return c == "version" })
	err = differences("before", "after", sortedText(before, columns...), sortedText(after, columns...))
	now, versionErr := t.versions(ctx, job)
	errs := []error{err, versionErr}
	for day, v := range versions {
		old, _ := strconv.Atoi(v)
		if n, _ := strconv.Atoi(now[day]); n != old+3 {
			errs = append(errs, fmt.Errorf("%s %s had version %d and has %d, want three more", job, day, old, n))
		}
	}
	return fmt.Sprintf("%s: %s days recomputed, %d diffs the same", job, strings.Join(all, " + "), len(after)), errors.Join(errs...)
}

// drill loses the last watermarks. The auditors that will find it get clocks that run ahead, so that the days before count
// as calm at once: clocks differ between machines, too.
func (t *trial) drill(ctx context.Context) (string, error) {
	if err := t.fleet.end(ctx, "auditor"); err != nil {
		return "", err
	}
	for range 2 {
		if _, err := t.fleet.start("auditor", ahead); err != nil {
			return "", err
		}
	}
	const job = "cards"
	r, err := t.run(ctx, "drill", job, "--days", "3", "--timeout", "3m", "--format", "csv")
	if err == nil && r.code != 0 {
		err = fmt.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
	return fmt.Sprintf("daybreak drill %s --days 3: %s", job, lastLine(r.err)), err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// changed lists the days whose version is another one, with both.
func changed(before, after map[string]string) (days []string, figures string) {
	var parts []string
	for _, day := range slices.Sorted(maps.Keys(after)) {
		if before[day] != after[day] {
			days = append(days, day)
			parts = append(parts, fmt.Sprintf("%s v%s→v%s", day, before[day], after[day]))
		}
	}
	return days, strings.Join(parts, ", ")
}
