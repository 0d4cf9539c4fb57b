package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

// history is a book with two copies of its data folder, each taken while nothing ran: old, with all days worked off and
// one review begun, and current, with days computed again, one of them from a corrected file, the review decided and
// another begun.
type history struct {
	dir          string
	book         *scenario.Book
	now          time.Time
	old, current state
}

const (
	corrected = "wallet"
	replayed  = "cards"
)

// after stands the book on the data folders named "old" or "current", "" for lost.
func (h history) after(t *testing.T, nats, clickhouse string) *installation {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(h.dir, "book"))))
	for name, from := range map[string]string{"nats": nats, "clickhouse": clickhouse} {
		if from != "" {
			require.NoError(t, os.CopyFS(filepath.Join(dir, "data", name), os.DirFS(filepath.Join(h.dir, from, name))))
		}
	}
	book := *h.book
	book.Config = filepath.Join(dir, "daybreak.yaml")
	return &installation{t: t, book: &book, now: h.now}
}

func makeHistory(t *testing.T) history {
	h := history{dir: t.TempDir()}
	dir := h.dir
	var err error
	h.book, err = scenario.Write(filepath.Join(dir, "book"), scenario.Options{Seed: 5, First: model.NewDay(2026, time.November, 2), Days: 3, Entries: 6})
	require.NoError(t, err)
	h.leaveOut(t, "split") // two jobs show as much
	i := &installation{t: t, book: h.book, now: h.book.Now()}
	require.Equal(t, exitFine, i.run("up", "--once").code)
	day := h.book.First.String()
	stop := i.background("up")
	ids := []string{i.fine("diffs", corrected, day)[0]["diff_id"].(string), i.fine("diffs", corrected, day)[1]["diff_id"].(string)}
	step := func(id, to string) {
		i.fine("review", corrected, day, id, "--to", to, "--by", "lin", "--note", "to "+to)
	}
	step(ids[0], "investigating")
	require.Equal(t, exitFine, stop())
	h.old = i.look()
	data := filepath.Join(dir, "book", "data")
	require.NoError(t, os.CopyFS(filepath.Join(dir, "old"), os.DirFS(data)))

	stop = i.background("up")
	step(ids[0], "accepted")
	step(ids[1], "investigating")
	i.dropRow(corrected, h.book.First.Add(1))
	i.fine("replay", corrected, h.book.First.Add(1).String(), "--wait", "--timeout", "40s")
	i.fine("replay", replayed, h.book.First.String(), "--wait", "--timeout", "40s")
	require.Equal(t, exitFine, stop())
	h.current = i.look()
	require.NoError(t, os.Rename(data, filepath.Join(dir, "current")))
	h.now = i.now
	return h
}

// leaveOut takes the last job out of the configuration.
func (h history) leaveOut(t *testing.T, job string) {
	t.Helper()
	data, err := os.ReadFile(h.book.Config)
	require.NoError(t, err)
	text, _, found := strings.Cut(string(data), "  - name: "+job)
	require.True(t, found)
	require.NoError(t, os.WriteFile(h.book.Config, []byte(text), 0o600))
	h.book.Jobs = h.book.Jobs[:len(h.book.Jobs)-1]
	require.Equal(t, []string{replayed, corrected}, h.book.Jobs)
}

// dropRow takes the last row out of a ledger file.
func (i *installation) dropRow(job string, day model.Day) {
	i.t.Helper()
	file := filepath.Join(filepath.Dir(i.book.Config), job, "ledger", day.String()+".csv")
	data, err := os.ReadFile(file)
	require.NoError(i.t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n")+"\n", "\n")
	require.NoError(i.t, os.WriteFile(file, []byte(strings.Join(lines[:len(lines)-2], "")), 0o600))
}

// Each loss on engines of its own, from copies of one history.
func TestDisasters(t *testing.T) {
	t.Parallel()
	h := makeHistory(t)
	t.Run("NATS lost and rebuilt", h.natsLostAndRebuilt)
	t.Run("NATS lost by itself", h.natsLostByItself)
	t.Run("tables lost and rebuilt", h.tablesLostAndRebuilt)
	t.Run("tables lost by itself", h.tablesLostByItself)
	t.Run("NATS older than tables", h.natsOlderThanTables)
	t.Run("beyond the cap", h.beyondTheCap)
	t.Run("tables older than NATS", h.tablesOlderThanNATS)
	t.Run("files moved away", h.filesMovedAway)
	t.Run("requests lost", h.requestsLost)
	t.Run("streams backed up while services ran", h.streamsBackedUpWhileServicesRan)
	t.Run("both from one backup", h.bothFromOneBackup)
	t.Run("review after NATS came back older", h.reviewAfterNATSCameBackOlder)
}

// NATS is lost, the tables stay, and an operator rebuilds before anything runs: no day is computed again, reviews and
// floors are back, events are told anew, and a reader who knew the old ones ends with the same table.
func (h history) natsLostAndRebuilt(t *testing.T) {
	t.Parallel()
	i := h.after(t, "", "current")
	plan := i.run("rebuild", "--dry-run")
	require.Equal(t, exitFound, plan.code, plan.err)
	require.Equal(t, map[string]int{"floor to do": 2, "watermark to do": 6, "events to do": 6, "review to do": 2}, actions(decodeRows(t, plan.out)))
	i.with(func(d *desk) { // a first scan came before
		_, err := d.app.control.Floor(d.ctx, replayed, i.book.Last)
		require.NoError(t, err)
	})
	done := i.run("rebuild")
	require.Equal(t, exitFine, done.code, done.out+done.err)
	require.Contains(t, done.err, "6 days are asked for; no daybreak runs here")
	require.Equal(t, map[string]int{"floor restored": 2, "watermark restored": 6, "events asked for": 6, "review restored": 2}, actions(decodeRows(t, done.out)))
	i.with(func(d *desk) {
		d.once()
		s := d.requireWhole(h.current)
		requireSameVersions(t, h.current, s)
		h.requireReader(t, s)
	})
}

// requireReader checks a reader who had read everything before the loss and then reads the whole stream as it is now.
func (h history) requireReader(t *testing.T, now state) {
	t.Helper()
	known := consumer{}
	known.read(t, h.current.events)
	known.read(t, now.events)
	known.requireTable(t, now)
}

// The same without anybody's doing: the days inside the cap are computed again to the same results under higher versions.
func (h history) natsLostByItself(t *testing.T) {
	t.Parallel()
	h.after(t, "", "current").with(func(d *desk) {
		d.once()
		require.Contains(t, d.err.String(), "was NATS lost? run daybreak rebuild")
		s := d.requireWhole(h.current)
		for id, b := range s.batches {
			require.Equal(t, h.current.batches[id].Version+1, b.Version, id)
		}
		h.requireReader(t, s)
	})
}

// The tables are lost, NATS stays: every version that was told of is computed again, above it, and reviews are mirrored.
func (h history) tablesLostAndRebuilt(t *testing.T) {
	t.Parallel()
	h.after(t, "current", "").with(func(d *desk) {
		done, code := d.rebuild(false)
		require.Equal(t, exitFine, code)
		require.Equal(t, map[string]int{"result asked for": 6, "review restored": 2}, done)
		d.once()
		h.requireReader(t, d.requireWhole(h.current))
	})
}

// The same without anybody's doing.
func (h history) tablesLostByItself(t *testing.T) {
	t.Parallel()
	h.after(t, "current", "").with(func(d *desk) {
		d.once()
		h.requireReader(t, d.requireWhole(h.current))
	})
}

// NATS comes back from an older backup than the tables: what was committed since is not computed again.
func (h history) natsOlderThanTables(t *testing.T) {
	t.Parallel()
	h.after(t, "old", "current").with(func(d *desk) {
		done, code := d.rebuild(false)
		require.Equal(t, exitFine, code)
		require.Equal(t, 2, done["review restored"], done)
		require.Equal(t, done["watermark restored"], done["events asked for"], done)
		require.GreaterOrEqual(t, done["watermark restored"], 2, done)
		require.Len(t, done, 3, done)
		d.once()
		s := d.requireWhole(h.current)
		requireSameVersions(t, h.current, s)
		h.requireReader(t, s)
	})
}

// shortCap lets only the newest two days be repaired unasked.
func (i *installation) shortCap() {
	i.t.Helper()
	data, err := os.ReadFile(i.book.Config)
	require.NoError(i.t, err)
	require.Contains(i.t, string(data), "max_days: 60")
	require.NoError(i.t, os.WriteFile(i.book.Config, []byte(strings.ReplaceAll(string(data), "max_days: 60", "max_days: 1")), 0o600))
}

// Days that nobody repairs unasked are not forgotten when NATS is lost: a first scan does not fix a later floor.
func (h history) beyondTheCap(t *testing.T) {
	t.Parallel()
	i := h.after(t, "", "current")
	i.shortCap()
	i.with(func(d *desk) {
		_, err := d.app.once(d.ctx, d.cli.progress())
		for _, job := range i.book.Jobs {
			require.ErrorContains(t, err, job+" "+i.book.First.String()+" MISSING")
		}
		done, _ := d.rebuild(false)
		require.Equal(t, 2, done["watermark restored"], done)
		require.Equal(t, 2, done["events asked for"], done)
		d.once()
		d.requireWhole(h.current)
	})
}

// The tables come back from an older backup than NATS: what they lack inside the cap is computed again by itself, under
// versions above every one told; what they lack beyond it is not green, and is computed again by a rebuild.
func (h history) tablesOlderThanNATS(t *testing.T) {
	t.Parallel()
	i := h.after(t, "current", "old")
	i.shortCap()
	i.with(func(d *desk) {
		_, err := d.app.once(d.ctx, d.cli.progress())
		require.ErrorContains(t, err, replayed+" "+i.book.First.String()+": events tell of version 2")
		require.NotEmpty(t, d.audit())
		done, _ := d.rebuild(false)
		require.Equal(t, map[string]int{"result asked for": 1}, done, "reviews and the other day came back by themselves")
		d.once()
		h.requireReader(t, d.requireWhole(h.current))
	})
}

// Services started by themselves after NATS was lost, when the files of old days were moved away: a strict job stands
// still. What the tables have is DONE again after a rebuild, and the job goes on.
func (h history) filesMovedAway(t *testing.T) {
	t.Parallel()
	i := h.after(t, "", "current")
	file := filepath.Join(filepath.Dir(i.book.Config), replayed, "ledger", i.book.First.String()+".csv")
	require.NoError(t, os.Rename(file, file+".away"))
	i.with(func(d *desk) {
		_, err := d.app.once(d.ctx, d.cli.progress())
		require.ErrorContains(t, err, replayed+" "+i.book.Last.String()+" BLOCKED")
		done, _ := d.rebuild(false)
		require.Equal(t, 3, done["watermark restored"], done)
		d.once()
		require.Equal(t, h.current.diffs, d.look().diffs)
		found := d.audit()
		require.Len(t, found, 1, "inside the cap a file that is gone is told of")
		require.Equal(t, "source-changed", found[0]["finding"])
	})
}

// The stream of requests is lost and the bucket is kept: its numbers are given anew, and a replay that gets the number of
// one that was answered is answered all the same.
func (h history) requestsLost(t *testing.T) {
	t.Parallel()
	i := h.after(t, "current", "current")
	i.with(func(d *desk) { require.NoError(t, d.app.bus.JetStream().DeleteStream(d.ctx, bus.StreamDays)) })
	i.with(func(d *desk) { // which lays it out again
		done, code := d.rebuild(false)
		require.Equal(t, exitFine, code)
		require.Equal(t, map[string]int{"request restored": 6}, done)
		s := d.look()
		requireSameVersions(t, h.current, s)
		for id, w := range s.marks {
			require.Zero(t, w.Trigger, id)
			require.Equal(t, h.current.marks[id].RunID, w.RunID, id)
		}
		d.requireWhole(h.current)
	})
}

// Both come back from one older backup: they agree, the replays since are forgotten, and what the sources say now is found
// to differ. Nothing is green that is not.
func (h history) bothFromOneBackup(t *testing.T) {
	t.Parallel()
	i := h.after(t, "old", "old")
	i.with(func(d *desk) {
		none, code := d.rebuild(true)
		require.Equal(t, exitFine, code)
		require.Empty(t, none)
		requireSameVersions(t, h.old, d.look())
		found := d.audit()
		require.Equal(t, "source-changed", found[0]["finding"])
		require.Equal(t, corrected, found[0]["job"])
		d.once()
		s := d.look()
		require.Equal(t, h.old.kept, s.kept)
		id := model.BatchID(corrected, i.book.First.Add(1))
		require.Equal(t, h.current.batches[id].Diffs, s.batches[id].Diffs, "computed again from the corrected file")
	})
}

// A review step that is made after NATS came back older, before anything was rebuilt, comes after the newest step that
// anybody made, and is not taken for one with the same number.
func (h history) reviewAfterNATSCameBackOlder(t *testing.T) {
	t.Parallel()
	i := h.after(t, "old", "current")
	for id, r := range h.current.kept {
		if r.State != model.ReviewAccepted {
			continue
		}
		refused := i.run("review", r.Job, r.Day.String(), id, "--to", "resolved", "--by", "wu", "--note", "n")
		require.Equal(t, exitFailed, refused.code, "it is accepted already: %s", refused.out)
		row := i.fine("review", r.Job, r.Day.String(), id, "--to", "investigating", "--by", "wu", "--note", "again")[0]
		require.InDelta(t, float64(r.Step+1), row["step"], 0)
		s := i.look()
		require.Equal(t, s.stored[id], s.kept[id])
		require.Equal(t, "wu", s.kept[id].By)
	}
}
