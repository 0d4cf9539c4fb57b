package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

// installation is a book on embedded engines, and a clock that goes on from command to command.
type installation struct {
	t    *testing.T
	book *scenario.Book
	now  time.Time
}

func newInstallation(t *testing.T) *installation {
	book := newBook(t)
	return &installation{t: t, book: book, now: book.Now()}
}

func (i *installation) vars() map[string]string {
	return map[string]string{"DAYBREAK_CONFIG": i.book.Config}
}

// run runs a command a minute after the one before.
func (i *installation) run(args ...string) result {
	i.t.Helper()
	i.now = i.now.Add(time.Minute)
	if args[0] != "events" {
		args = append(args, "--now", i.now.Format(time.RFC3339))
	}
	ctx, cancel := context.WithTimeout(i.t.Context(), time.Minute)
	defer cancel()
	begun := time.Now()
	r := command(ctx, i.vars(), args...)
	i.t.Logf("%s: %d after %s", strings.Join(args, " "), r.code, time.Since(begun).Round(time.Millisecond))
	return r
}

// fine runs a command that must end well and gives its rows.
func (i *installation) fine(args ...string) []map[string]any {
	i.t.Helper()
	r := i.run(args...)
	require.Equal(i.t, exitFine, r.code, "%v\n%s\n%s", args, r.out, r.err)
	return decodeRows(i.t, r.out)
}

func decodeRows(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(text) {
		row := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(line), &row), line)
		out = append(out, row)
	}
	return out
}

// background runs services until stop, which gives their exit code.
func (i *installation) background(name string) (stop func() int) {
	i.t.Helper()
	stop, _ = i.listening(name)
	return stop
}

// listening is background that also tells where it serves HTTP.
func (i *installation) listening(name string) (stop func() int, addr string) {
	i.t.Helper()
	log := listenFor(`"msg":"running"`)
	ctx, cancel := context.WithCancel(i.t.Context())
	code := make(chan int, 1)
	args := []string{name}
	if name == "up" {
		i.now = i.now.Add(time.Minute)
		args = append(args, "--now", i.now.Format(time.RFC3339))
	}
	go func() { code <- runWith(ctx, testEnvironment(log, log, i.vars()), args) }()
	select {
	case <-log.heard:
	case c := <-code:
		i.t.Fatalf("%s ended with %d: %s", name, c, log)
	case <-time.After(time.Minute):
		i.t.Fatalf("%s does not come up: %s", name, log)
	}
	addr = regexp.MustCompile(`"msg":"running".*"http":"([^"]+)"`).FindStringSubmatch(log.String())[1]
	stop = func() int {
		cancel()
		return <-code
	}
	return stop, addr
}

// diffsOf are the current diffs of all jobs as faults, to be held against those planted.
func (i *installation) diffsOf() []scenario.Fault {
	i.t.Helper()
	var out []scenario.Fault
	for _, job := range i.book.Jobs {
		for _, r := range i.fine("diffs", job) {
			day, err := model.ParseDay(r["biz_date"].(string))
			require.NoError(i.t, err)
			origin, err := model.ParseDay(r["origin_date"].(string))
			require.NoError(i.t, err)
			require.Equal(i.t, job+"."+day.String(), r["batch_id"])
			out = append(out, scenario.Fault{
				Job: job, Day: day, Key: r["key"].(string), Kind: model.Kind(r["kind"].(string)),
				Ledger: r["ledger_amount"].(string), Channel: r["channel_amount"].(string), Origin: origin,
			})
		}
	}
	return out
}

// The commands on one installation, from nothing: alone on the engines and beside a running up.
func TestCommands(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	once := i.run("up", "--once")
	require.Equal(t, exitFine, once.code, once.err)
	t.Run("replay alone", i.replayAlone)
	t.Run("drill", i.drill)

	i.t = t
	stop := i.background("up")
	t.Run("diffs", i.diffsAreThePlantedOnes)
	t.Run("status", i.status)
	t.Run("review", i.review)
	t.Run("replay beside", i.replayBeside)
	t.Run("events", i.events)
	t.Run("check", i.check)
	t.Run("audit", i.audit)
	require.Equal(t, exitFine, stop())
}

func (i *installation) replayAlone(t *testing.T) {
	i.t = t
	day := i.book.First.Add(1).String()
	rows := i.fine("replay", "cards", i.book.First.String()+".."+day, "--wait", "--reason", "why", "--by", "who")
	require.Len(t, rows, 2)
	for _, r := range rows {
		require.Equal(t, "answered", r["action"])
		require.Equal(t, "DONE", r["status"])
		require.Greater(t, r["version"], r["version_before"])
	}
	published := i.run("replay", "wallet", day)
	require.Equal(t, exitFine, published.code)
	require.Contains(t, published.err, "wait for the next up")
}

func (i *installation) drill(t *testing.T) {
	i.t = t
	for _, job := range []string{"cards", "wallet"} { // strict and independent
		rows := i.fine("drill", job, "--days", "2", "--timeout", "50s")
		require.Len(t, rows, 2)
		for n, r := range rows {
			require.Equal(t, i.book.Last.Add(n-1).String(), r["biz_date"])
			require.Equal(t, "same", r["result"])
			require.Equal(t, r["diffs_before"], r["diffs"])
			require.Greater(t, r["version"], r["version_before"])
		}
	}
}

func (i *installation) diffsAreThePlantedOnes(t *testing.T) {
	i.t = t
	missed, extra := compareFaults(i.book.Faults, i.diffsOf())
	require.Empty(t, missed)
	require.Empty(t, extra)

	r := i.run("diffs", "cards", i.book.First.String()+".."+i.book.Last.String(), "--kind", "amount,status", "--format", "csv")
	require.Equal(t, exitFine, r.code, r.err)
	table, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, strings.Split("batch_id,biz_date,diff_id,kind,state,key,currency,ledger_count,channel_count,ledger_amount,channel_amount,delta,"+
		"ledger_status,channel_status,review,version,origin_date,reasons,detail,ledger_ref,channel_ref,changed_after_review,review_by,review_at,review_note", ","), table[0])
	want := 0
	for _, f := range i.book.Faults {
		if f.Job == "cards" && (f.Kind == model.KindAmount || f.Kind == model.KindStatus) {
			want++
		}
	}
	require.Len(t, table[1:], want)

	require.Empty(t, i.fine("diffs", "cards", "--state", "cleared"))
	none := i.run("diffs", "cards", i.book.Last.Add(1).String())
	require.Contains(t, none.err, "no committed result")
	require.Equal(t, exitFailed, none.code, "a script must not take it for no differences")
	waiting := 0
	for _, job := range i.book.Jobs {
		for _, r := range i.fine("diffs", job, "--carried") {
			require.Equal(t, i.book.Last.String(), r["biz_date"])
			require.Greater(t, r["closes_on"], r["biz_date"])
			waiting++
		}
	}
	require.Equal(t, i.book.Waiting, waiting)
	require.Empty(t, i.fine("diffs", "wallet", i.book.First.String(), "--carried"))
}

func (i *installation) status(t *testing.T) {
	i.t = t
	rows := i.fine("status")
	require.Len(t, rows, 9)
	for _, r := range rows {
		require.Equal(t, "DONE", r["status"], r)
		require.Greater(t, r["ledger_count"], float64(20))
		require.NotNil(t, r["finished_at"])
	}
	require.Len(t, i.fine("status", "split", "--from", i.book.Last.String()), 1)
	table := i.run("status", "split", "--format", "table")
	require.Contains(t, table.out, "│ DONE ")
}

func (i *installation) review(t *testing.T) {
	i.t = t
	day := i.book.First.String()
	id := i.fine("diffs", "wallet", day)[0]["diff_id"].(string)
	step := func(id, to string) result {
		return i.run("review", "wallet", day, id, "--to", to, "--by", "lin", "--note", "=why")
	}
	made := step(id[:10], "investigating")
	require.Equal(t, exitFine, made.code, made.err)
	row := decodeRows(t, made.out)[0]
	require.Equal(t, id, row["diff_id"])
	require.Equal(t, "investigating", row["review"])

	again := step(id, "investigating")
	require.Equal(t, exitFailed, again.code)
	require.Contains(t, again.err, "last step: investigating by lin at ")
	require.Contains(t, again.err, "=why")
	require.Empty(t, again.out)
	gone := step(strings.Repeat("f", 32), "investigating")
	require.Equal(t, exitFailed, gone.code)
	require.Contains(t, gone.err, "has no diff")

	require.Len(t, i.fine("diffs", "wallet", "--review", "investigating"), 1)
	asCSV := i.run("diffs", "wallet", "--review", "investigating", "--format", "csv")
	require.Contains(t, asCSV.out, ",'=why")
}

func (i *installation) replayBeside(t *testing.T) {
	i.t = t
	day := i.book.First.String()
	plan := i.fine("replay", "cards", day, "--dry-run")
	require.Len(t, plan, 1)
	require.Equal(t, "would replay", plan[0]["action"])
	require.Nil(t, plan[0]["seq"])
	rows := i.fine("replay", "wallet", day, "--wait", "--timeout", "40s")
	require.Equal(t, "DONE", rows[0]["status"])
	kept := i.fine("diffs", "wallet", day, "--review", "investigating")
	require.Len(t, kept, 1, "a recompute keeps the review")
	require.Equal(t, rows[0]["version"], kept[0]["version"])
	require.Equal(t, false, kept[0]["changed_after_review"])

	// A source that cannot be used: the day fails, its committed version stays.
	file := filepath.Join(filepath.Dir(i.book.Config), "wallet", "ledger", day+".csv")
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(slices.Clone(good), "x,y\n"...), 0o600))
	bad := i.run("replay", "wallet", day, "--wait", "--timeout", "40s")
	require.Equal(t, exitFailed, bad.code)
	failed := decodeRows(t, bad.out)[0]
	require.Equal(t, "FAILED", failed["status"])
	require.Contains(t, failed["note"], day+".csv")
	require.Equal(t, rows[0]["version"], failed["version"])
	require.Equal(t, "FAILED", i.fine("status", "wallet", "--to", day)[0]["status"])

	found := i.run("audit", "wallet")
	require.Equal(t, exitFound, found.code, found.err)
	require.Equal(t, "failed", decodeRows(t, found.out)[0]["finding"])

	require.NoError(t, os.WriteFile(file, good, 0o600))
	require.Equal(t, "DONE", i.fine("replay", "wallet", day, "--wait", "--timeout", "40s")[0]["status"])
}

func (i *installation) events(t *testing.T) {
	i.t = t
	// Folding all events gives the diff table.
	open := map[string]map[string]any{}
	for _, e := range i.fine("events", "--job", "cards") {
		require.Equal(t, "1.0", e["specversion"])
		data := e["data"].(map[string]any)
		switch e["type"] {
		case "daybreak.diff.opened", "daybreak.diff.changed":
			open[data["diff_id"].(string)] = data
		case "daybreak.diff.cleared":
			delete(open, data["diff_id"].(string))
		}
	}
	table := i.fine("diffs", "cards")
	require.Len(t, open, len(table))
	for _, row := range table {
		data := open[row["diff_id"].(string)]
		for _, name := range []string{"kind", "key", "delta", "ledger_amount", "channel_amount", "origin_date"} {
			require.Equal(t, row[name], data[name], name)
		}
	}
	require.NotEmpty(t, i.fine("events", "--since", "1h", "--date", i.book.First.String()))
	require.Empty(t, i.fine("events", "--since", time.Now().Add(time.Hour).Format(time.RFC3339)))
	array := i.run("events", "--job", "split", "--format", "json")
	require.True(t, json.Valid([]byte(array.out)))
	asCSV := i.run("events", "--job", "wallet", "--format", "csv")
	require.Contains(t, asCSV.out, "daybreak.diff.reviewed")
	require.Contains(t, asCSV.out, "investigating by lin: =why")
	i.follow(t)
}

// follow sees an event that comes after the command began, and ends without error when it is interrupted.
func (i *installation) follow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := listenFor("daybreak.diff.reviewed")
	code := make(chan int, 1)
	go func() {
		code <- runWith(ctx, testEnvironment(out, listenFor("nothing"), i.vars()), []string{"events", "--follow", "--job", "split"})
	}()
	day := i.book.First.Add(1).String()
	id := i.fine("diffs", "split", day)[0]["diff_id"].(string)
	i.fine("review", "split", day, id, "--to", "investigating", "--by", "b", "--note", "n")
	select {
	case <-out.heard:
	case <-time.After(30 * time.Second):
		t.Fatalf("the event did not come: %s", out)
	}
	cancel()
	require.Equal(t, exitFine, <-code)
	lines := bufio.NewScanner(strings.NewReader(out.String()))
	for lines.Scan() {
		require.True(t, json.Valid(lines.Bytes()))
	}
}

func (i *installation) check(t *testing.T) {
	i.t = t
	rows := i.fine("check")
	require.Len(t, rows, 3+3*2*2)
	for _, r := range rows {
		require.Equal(t, true, r["ok"], r)
	}
	// The newest due day of one side is broken: said, and all the others are still looked at.
	file := filepath.Join(filepath.Dir(i.book.Config), "split", "ledger", i.book.Last.String()+".csv")
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("order_no,amount\n"), 0o600))
	r := i.run("check")
	require.NoError(t, os.WriteFile(file, good, 0o600))
	require.Equal(t, exitFailed, r.code)
	bad := decodeRows(t, r.out)
	require.Len(t, bad, len(rows))
	bad = slices.DeleteFunc(bad, func(r map[string]any) bool { return r["ok"] == true })
	require.Len(t, bad, 1)
	require.Equal(t, fmt.Sprintf("split ledger %s", i.book.Last), bad[0]["what"])
	require.Contains(t, bad[0]["detail"], i.book.Last.String()+".csv")
}

func (i *installation) audit(t *testing.T) {
	i.t = t
	require.Empty(t, i.fine("audit", "--once"))
	file := filepath.Join(filepath.Dir(i.book.Config), "split", "ledger", i.book.Last.String()+".csv")
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(slices.Clone(good), "late,1,1.00,GBP,PAID,2026-11-04 10:00:00\n"...), 0o600))
	r := i.run("audit", "split")
	require.Equal(t, exitFound, r.code, r.err)
	row := decodeRows(t, r.out)[0]
	require.Equal(t, "source-changed", row["finding"])
	require.Equal(t, true, row["nudged"])
}
