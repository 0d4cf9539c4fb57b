package check

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASoundHistoryPasses(t *testing.T) {
	t.Parallel()
	require.Empty(t, All(sound(t)))
}

// Each checker has caught what it is for: one fault planted in the sound history.
func TestPlantedFaultsAreCaught(t *testing.T) {
	t.Parallel()
	replace := func(text *json.RawMessage, old, with string) {
		if !strings.Contains(string(*text), old) {
			panic("nothing to plant a fault in: " + string(*text))
		}
		*text = json.RawMessage(strings.Replace(string(*text), old, with, 1))
	}
	control := func(h *History, key string, nth int) *Write {
		for i := range h.Control {
			if h.Control[i].Key == key {
				if nth--; nth == 0 {
					return &h.Control[i]
				}
			}
		}
		panic("no such write")
	}
	event := func(h *History, part string) int {
		return slices.IndexFunc(h.Messages, func(m Message) bool { return m.Stream == "DIFFS" && strings.Contains(string(m.Body), part) })
	}
	const w1 = "wallet." + day1
	for name, c := range map[string]struct {
		plant func(h *History)
		want  string
	}{
		"a write under an old fence": {func(h *History) { h.stale(w1) }, "G1 wallet 2026-09-01: write"},
		"a fence nobody raised":      {func(h *History) { replace(&control(h, "day."+w1, 1).Body, `"fence":2`, `"fence":1`) }, "G1 wallet 2026-09-01"},
		"a lease given twice": {func(h *History) {
			control(h, "lease."+w1, 2).Op = "PUT"
			control(h, "lease."+w1, 2).Body = control(h, "lease."+w1, 1).Body
		}, "G1 wallet 2026-09-01: lease"},
		"a day that is not done":   {func(h *History) { replace(&h.Watermarks[1].Body, "DONE", "RUNNING") }, `G2 wallet 2026-09-02: the watermark is "RUNNING"`},
		"a day that was not begun": {func(h *History) { h.Watermarks = h.Watermarks[1:] }, `G2 wallet 2026-09-01: the watermark is ""`},
		"done without a version": {func(h *History) {
			h.Batches = slices.DeleteFunc(h.Batches, func(r Row) bool { return r.Text("job") == "split" && r.Text("biz_date") == day1 })
		}, "G2 split 2026-09-01: it is DONE and nothing was committed"},
		"a version that nobody asked for": {func(h *History) {
			h.Messages = slices.DeleteFunc(h.Messages, func(m Message) bool { return m.Subject == "day.replay."+w1 })
		}, "G3 wallet 2026-09-01: there are 2 versions and only 1 messages that ask for the day, with 0 interruptions"},
		"a version left out": {func(h *History) { h.Batches[len(h.Batches)-1]["version"] = "3" }, "G3 wallet 2026-09-01: version 3 stands where version 2"},
		"a version twice":    {func(h *History) { h.Batches = append(h.Batches, h.Batches[0]) }, "G3 wallet 2026-09-01: version 1 was committed twice"},
		"a day before its time": {func(h *History) {
			control(h, "day.split."+day1, 2).Key = "elsewhere"
		}, "G6 split 2026-09-02: it was begun"},
		"an unanswered replay":     {func(h *History) { replace(&control(h, "day."+w1, 4).Body, `"trigger":5`, `"trigger":1`) }, "G2 wallet 2026-09-01: message 5"},
		"a mixture":                {func(h *History) { h.Reads[1].Diffs = append(h.Reads[1].Diffs, h.Reads[0].Diffs[0]) }, "G3 wallet 2026-09-01: reading 2 of r mixes"},
		"a version that went back": {func(h *History) { h.Reads[0], h.Reads[1] = h.Reads[1], h.Reads[0] }, "G3 wallet 2026-09-01: reading 1 of r shows version 1 after version 2"},
		"a gap": {func(h *History) {
			h.Reads = slices.Insert(h.Reads, 1, Read{Reader: "r", N: 7, Job: "wallet", Day: day1})
		}, "reading 7 of r shows nothing between version 1 and version 2"},
		"half a version":              {func(h *History) { h.Batches[0]["open_diffs"] = "2" }, "shows 1 open diffs of version 1, which has 2"},
		"figures of another":          {func(h *History) { h.Reads[0].Diffs[0]["delta"] = "-3" }, "shows other figures of version 1"},
		"a run never committed":       {func(h *History) { h.Reads[0].Diffs[0]["run_id"] = "x" }, "run x, which was never committed"},
		"a lost review":               {func(h *History) { h.Reviews = nil }, "G4 wallet 2026-09-01: the step of ana"},
		"a review lost in the bucket": {func(h *History) { h.ReviewKeys = nil }, "is in the table and not in the bucket"},
		"a review lost in the table":  {func(h *History) { h.Reviews, h.Actions = nil, h.Actions[1:] }, "is in the bucket and not in the table"},
		"a reviewed diff gone":        {func(h *History) { h.Diffs = h.Diffs[1:] }, "diff d2 is under review and is not shown"},
		"a review not told":           {func(h *History) { i := event(h, "review1"); h.Messages = slices.Delete(h.Messages, i, i+1) }, "step 1 of the review of diff d2 was never told"},
		"an event lost":               {func(h *History) { i := event(h, "diff.changed"); h.Messages = slices.Delete(h.Messages, i, i+1) }, "version 2 announces 1 events, 0 are there"},
		"an event told otherwise": {func(h *History) {
			m := h.Messages[event(h, "diff.opened")]
			m.Body = json.RawMessage(strings.Replace(string(m.Body), `"-2"`, `"-9"`, 1))
			h.Messages = append(h.Messages, m)
		}, "was told twice and differently"},
		"a version not announced":  {func(h *History) { i := event(h, "batch.committed"); h.Messages = slices.Delete(h.Messages, i, i+1) }, "was committed and never announced"},
		"another table":            {func(h *History) { h.Diffs[0]["delta"] = "-4" }, "only the events rebuild"},
		"a diff too few":           {func(h *History) { h.Diffs = h.Diffs[:1] }, "only the oracle has"},
		"a pool too small":         {func(h *History) { h.Carried = nil }, "only with the oracle waits"},
		"an entry lost":            {func(h *History) { h.Entries = h.Entries[1:] }, "G7 wallet 2026-09-01: the ledger file holds 2 entries, 15 USD, the tables 1 entries, 5"},
		"an amount altered":        {func(h *History) { h.Entries[1]["amount"] = "10.5" }, "what settled is"},
		"a pool taken over twice":  {func(h *History) { h.Entries = append(h.Entries, h.Entries[len(h.Entries)-1]) }, "this day took over 2 entries, 14"},
		"rubbish without a letter": {func(h *History) { h.Messages = h.Messages[:len(h.Messages)-1] }, "0 are among the dead letters"},
		"a letter without reason":  {func(h *History) { h.Messages[len(h.Messages)-1].Headers = nil }, "has no reason"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sound(t)
			c.plant(h)
			var all []string
			for _, v := range All(h) {
				all = append(all, v.String())
			}
			require.Contains(t, strings.Join(all, "\n"), c.want)
		})
	}
}

// stale makes the last watermark of a batch one of its first holder.
func (h *History) stale(batch string) {
	for i, w := range slices.Backward(h.Control) {
		if w.Key == "day."+batch {
			var r Row
			_ = decode(w.Body, &r)
			r["fence"] = 2
			h.Control[i].Body, _ = json.Marshal(r)
			return
		}
	}
}

func TestWithoutEvidenceNothingIsProved(t *testing.T) {
	t.Parallel()
	var all []string
	for _, v := range All(&History{Dir: t.TempDir()}) {
		all = append(all, v.String())
	}
	for _, what := range []string{"watermark", "second holding", "due day", "committed version", "strict job", "reading", "new version", "confirmed review", "event", "difference", "entry", "replay", "dead letter"} {
		require.Contains(t, strings.Join(all, "\n"), what)
	}
}

// Where the log has holes nothing is claimed.
func TestHolesInTheLogAreNoViolation(t *testing.T) {
	t.Parallel()
	h := sound(t)
	h.Control = slices.DeleteFunc(h.Control, func(w Write) bool { return w.Key == "fence.wallet."+day2 })
	require.Empty(t, All(h))
}

// The checkers know the contracts and not the code.
func TestNothingOfTheProductIsImported(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	for p := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(p, "daybreak/") {
			require.True(t, strings.HasPrefix(p, "daybreak/bench/"), p)
		}
	}
}

func TestLoadNamesTheLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.json"), []byte(`[{"job":"a","start":"2026-09-01","last":"2026-09-01"}]`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "control.jsonl"), []byte("{\"seq\":1,\"key\":\"k\"}\n{\n"), 0o600))
	_, err := Load(dir)
	require.ErrorContains(t, err, "control.jsonl, line 2")
}
