package recon_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/review"
	"daybreak/pkg/scenario"
	"daybreak/pkg/store"
	"daybreak/services/recon"
)

// G3: three replays of every day give the diffs of one run, and tell nothing new but that they committed.
func TestReplayGivesTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, 50)
	b.start(t, nil)
	b.dueAll(t)
	for _, job := range b.book.Jobs {
		b.awaitDone(t, job)
	}
	before := len(b.events(t))
	const replays = 3
	for range replays {
		for _, job := range b.book.Jobs {
			for day := b.book.First; day <= b.book.Last; day++ {
				w := b.awaitAnswer(t, job, day, b.replay(t, job, day))
				require.Equal(t, model.Done, w.Status, w.Error)
			}
		}
	}
	for _, job := range b.book.Jobs {
		require.ElementsMatch(t, b.planted(job), b.diffs(t, job))
		for day, w := range b.awaitDone(t, job) {
			require.Equal(t, uint64(1+replays), w.Version, "%s %s: a replay recomputes exactly one day", job, day)
		}
	}
	days := int(b.book.Last-b.book.First) + 1
	require.Len(t, b.events(t), before+replays*days*len(b.book.Jobs), "only batch events are new")
}

// edit rewrites a ledger file of the book.
func (b *bundle) edit(t *testing.T, job string, day model.Day, change func(rows [][]string) [][]string) {
	t.Helper()
	file := b.ledgerFile(job, day)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, csv.NewWriter(&out).WriteAll(change(rows)))
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o600))
}

func (b *bundle) ledgerFile(job string, day model.Day) string {
	return filepath.Join(b.dir, job, "ledger", day.String()+".csv")
}

// faultOf is the first planted fault of a kind that has its origin on a day.
func (b *bundle) faultOf(t *testing.T, job string, kind model.Kind, origin model.Day) scenario.Fault {
	t.Helper()
	for _, f := range b.planted(job) {
		if f.Kind == kind && f.Origin == origin {
			return f
		}
	}
	require.FailNow(t, "no such fault in the book", "%s %s %s", job, kind, origin)
	return scenario.Fault{}
}

// An old day's file is corrected and replayed: exactly the days whose pool changes are computed again, without pulling.
func TestCorrectionCascadesOnlyAsFarAsThePoolChanges(t *testing.T) {
	t.Parallel()
	b := setup(t, 6, 30)
	b.start(t, nil)
	b.dueAll(t)
	const job = "cards" // carries for two days
	b.awaitDone(t, job)
	first := b.book.First
	gone := b.faultOf(t, job, model.KindMissingInChannel, first) // waits on D1 and D2, opens on D3
	b.edit(t, job, first, func(rows [][]string) [][]string {
		var out [][]string
		for _, r := range rows {
			if r[0] != gone.Key {
				out = append(out, r)
			}
		}
		require.Len(t, out, len(rows)-1)
		return out
	})
	seq := b.replay(t, job, first)
	b.awaitAnswer(t, job, first, seq)
	marks := b.await(t, job, func(m map[model.Day]model.Watermark) bool {
		return m[first+1].Version == 2 && m[first+2].Version == 2 && m[first+2].Status == model.Done
	})
	require.Equal(t, model.CauseCarry, marks[first+1].Cause)
	for day := first + 3; day <= b.book.Last; day++ {
		require.Equal(t, uint64(1), marks[day].Version, "%s: its pool did not change", day)
	}
	for _, day := range []model.Day{first + 1, first + 2} {
		batch, ok, err := b.store.Current(t.Context(), job, day)
		require.NoError(t, err)
		require.True(t, ok)
		require.NotEqual(t, batch.RunID, batch.SnapshotID, "the sealed snapshots were compared again")
	}
	require.NotContains(t, b.diffs(t, job), gone)
	require.Len(t, b.diffs(t, job), len(b.planted(job))-1)
}

// A missing file is WAITING, the later days of a strict job are BLOCKED, other jobs go on; the file arrives and all is
// DONE without a hand.
func TestMissingFileWaitsAndBlocks(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, 30)
	late := b.book.First + 1
	for _, job := range []string{"cards", "wallet"} {
		require.NoError(t, os.Rename(b.ledgerFile(job, late), b.ledgerFile(job, late)+".later"))
	}
	clock := at{clockwork.NewRealClock(), late.UTC().Add(30 * time.Hour)} // inside the patience of the late day
	b.clock = clock
	b.start(t, nil)
	for _, job := range b.book.Jobs {
		for d := b.book.First; d <= late; d++ {
			b.due(t, job, d)
		}
	}
	marks := b.await(t, "cards", func(m map[model.Day]model.Watermark) bool { return m[late].Status == model.Waiting })
	require.Contains(t, marks[late].Error, late.String()+".csv")
	b.await(t, "wallet", func(m map[model.Day]model.Watermark) bool { return m[late].Status == model.Waiting })
	b.await(t, "split", func(m map[model.Day]model.Watermark) bool { return m[late].Status == model.Done })
	for _, job := range []string{"cards", "wallet"} {
		require.NoError(t, os.Rename(b.ledgerFile(job, late)+".later", b.ledgerFile(job, late)))
		b.await(t, job, func(m map[model.Day]model.Watermark) bool { return m[late].Status == model.Done })
	}
}

// Patience ends: late becomes FAILED, the strict chain stops there, and a replay of the mended day sets it going again.
func TestPatienceEndsAndTheChainStops(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, 30)
	late := b.book.First + 1
	require.NoError(t, os.Rename(b.ledgerFile("cards", late), b.ledgerFile("cards", late)+".later"))
	b.start(t, nil)
	b.dueAll(t)
	marks := b.await(t, "cards", func(m map[model.Day]model.Watermark) bool {
		return m[late].Status == model.Failed && m[late+1].Status == model.Blocked && m[late+2].Status == model.Blocked
	})
	require.Equal(t, late, *b.jobs[0].Blocker(late+2, b.book.First, b.clock.Now(), marks))
	require.Contains(t, marks[late].Error, "still not there")
	require.NoError(t, os.Rename(b.ledgerFile("cards", late)+".later", b.ledgerFile("cards", late)))
	b.replay(t, "cards", late)
	b.awaitDone(t, "cards")
	require.ElementsMatch(t, b.planted("cards"), b.diffs(t, "cards"))
}

// G8: what cannot be worked on lands in DEAD with its reason and stops nobody.
func TestRubbishLandsInDead(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, 20)
	b.start(t, nil)
	day := b.book.First.String()
	rubbish := map[string]struct{ subject, body string }{
		"unknown job":        {"day.replay.nobody." + day, ""},
		"no job name":        {"day.replay.UPPER." + day, ""},
		"impossible date":    {"day.replay.cards.2026-02-30", ""},
		"not yet due":        {"day.replay.cards.2027-01-05", ""},
		"before the start":   {"day.replay.cards.2020-01-05", ""},
		"too many tokens":    {"day.replay.cards.2026.10.01", ""},
		"unknown kind":       {"day.rerun.cards." + day, ""},
		"bad JSON":           {"day.replay.cards." + day, "{"},
		"unknown field":      {"day.replay.cards." + day, `{"raeson":"x"}`},
		"two values":         {"day.replay.cards." + day, `{} {}`},
		"range in a day":     {"day.replay.cards." + day, `{"from":"2026-10-01","to":"2026-10-02"}`},
		"other day in body":  {"day.replay.cards." + day, `{"biz_date":"2026-10-02"}`},
		"range without body": {"day.replay.cards", ""},
		"range backwards":    {"day.replay.cards", `{"from":"2026-10-02","to":"2026-10-01"}`},
		"range not yet due":  {"day.replay.cards", `{"from":"2026-10-01","to":"2027-10-01"}`},
		"range of bad dates": {"day.replay.cards", `{"from":"soon","to":"2026-10-01"}`},
		"binary body":        {"day.replay.cards." + day, "\x00\xff\xfe"},
		"due of unknown job": {"day.due.nobody." + day, ""},
	}
	for _, m := range rubbish {
		_, err := b.bus.JetStream().Publish(t.Context(), m.subject, []byte(m.body))
		require.NoError(t, err)
	}
	b.dueAll(t)
	b.awaitDone(t, "cards")
	reasons := map[string]string{}
	require.Eventually(t, func() bool {
		clear(reasons)
		err := b.bus.Tail(t.Context(), bus.StreamDead, nil, bus.From{}, false, func(d bus.Delivery) error {
			reasons[d.Subject+" "+string(d.Data)] = d.Header.Get(bus.HeaderReason)
			return nil
		})
		return err == nil && len(reasons) == len(rubbish)
	}, 30*time.Second, 100*time.Millisecond)
	for name, m := range rubbish {
		reason := reasons["dead."+m.subject+" "+m.body]
		require.NotEmpty(t, reason, name)
		t.Logf("%-20s %-34s %q → %s", name, m.subject, m.body, reason)
	}
}

// A range replays every business day in it.
func TestRangeReplay(t *testing.T) {
	t.Parallel()
	b := setup(t, 3, 20)
	b.start(t, nil)
	b.dueAll(t)
	b.awaitDone(t, "wallet")
	body := `{"from":"` + b.book.First.String() + `","to":"` + (b.book.Last - 1).String() + `","reason":"new export","by":"ana"}`
	_, err := b.bus.JetStream().Publish(t.Context(), "day.replay.wallet", []byte(body))
	require.NoError(t, err)
	marks := b.await(t, "wallet", func(m map[model.Day]model.Watermark) bool {
		return m[b.book.First].Version == 2 && m[b.book.First].Status == model.Done &&
			m[b.book.First+1].Version == 2 && m[b.book.First+1].Status == model.Done
	})
	require.Equal(t, uint64(1), marks[b.book.Last].Version)
	require.Equal(t, "new export", marks[b.book.First].Reason)
	require.Equal(t, "ana", marks[b.book.First].By)
}

// G4: a review written while the day is being recomputed survives, and a reviewed diff that the recompute no longer
// finds stays as cleared.
func TestReviewSurvivesRecompute(t *testing.T) {
	t.Parallel()
	b := setup(t, 2, 20)
	const job = "wallet"
	day := b.book.First
	var diff store.DiffRow
	desk := &review.Desk{Keeper: b.control, Table: b.store, Publisher: b.bus, Clock: b.clock}
	reviewing := false
	b.start(t, func(o *recon.Options) {
		o.Entered = func(j string, d model.Day, phase model.Phase) {
			if reviewing && j == job && d == day && phase == model.PhaseCommit {
				_, err := desk.Make(t.Context(), review.Step{Job: job, Day: day, DiffID: diff.ID, To: model.ReviewInvestigating, By: "ana", Note: "asked the provider"})
				require.NoError(t, err)
			}
		}
	})
	b.due(t, job, day)
	b.await(t, job, func(m map[model.Day]model.Watermark) bool { return m[day].Status == model.Done })
	gone := b.faultOf(t, job, model.KindMissingInChannel, day)
	for row, err := range b.store.Diffs(t.Context(), store.DiffQuery{Job: job, From: day, To: day}) {
		require.NoError(t, err)
		if row.Key == gone.Key {
			diff = row
		}
	}
	require.NotEmpty(t, diff.ID)
	b.edit(t, job, day, func(rows [][]string) [][]string {
		var out [][]string
		for _, r := range rows {
			if r[0] != gone.Key {
				out = append(out, r)
			}
		}
		return out
	})
	reviewing = true
	b.awaitAnswer(t, job, day, b.replay(t, job, day))
	row, ok, err := b.store.Diff(t.Context(), job, day, diff.ID)
	require.NoError(t, err)
	require.True(t, ok, "the reviewed diff is kept")
	require.Equal(t, model.Cleared, row.State)
	require.Equal(t, model.ReviewInvestigating, row.Review)
	require.Equal(t, "ana", row.ReviewBy)
	// Diffs that nobody reviewed and that are gone are not shown.
	for row, err := range b.store.Diffs(t.Context(), store.DiffQuery{Job: job, From: day, To: day, State: model.Cleared}) {
		require.NoError(t, err)
		require.Equal(t, diff.ID, row.ID)
	}
}
