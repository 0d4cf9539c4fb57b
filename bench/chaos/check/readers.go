package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// figures are the columns of a diff that belong to its version. What a person made of it may change in between, and so do
// the places in files that a recompute reads anew.
var figures = []string{
	"diff_id", "kind", "state", "key", "currency", "ledger_count", "channel_count", "ledger_amount", "channel_amount", "delta",
	"ledger_status", "channel_status", "origin_date",
}

func (r Row) figures() string {
	var out []string
	for _, c := range figures {
		out = append(out, c+"="+r.Text(c))
	}
	return strings.Join(out, " ")
}

// open are the figures of the open diffs among rows. Cleared ones come and go with their reviews.
func open(rows []Row) (out []string) {
	for _, r := range rows {
		if r.Text("state") == "open" {
			out = append(out, r.figures())
		}
	}
	slices.Sort(out)
	return out
}

// WholeVersions: a reader sees one committed version, whole, and time does not run back for it (G3). What a version holds is
// what its events say, so readers are held against the stream.
func WholeVersions(h *History) []Violation {
	f := &finder{guarantee: "G3"}
	versions, told := h.versions(), h.told()
	type place struct{ reader, batch string }
	type seen struct {
		version uint64
		empty   int // a reading without a row since then, its number; 0 when none
	}
	last := map[place]seen{}
	full, changes := 0, 0
	for _, r := range h.Reads {
		if r.Error != "" {
			continue
		}
		batch := r.Job + "." + r.Day
		at := place{r.Reader, batch}
		was := last[at]
		if len(r.Diffs) == 0 {
			if was.version > 0 && was.empty == 0 {
				was.empty = r.N
				last[at] = was
			}
			continue
		}
		full++
		version, run := r.Diffs[0].Number("version"), r.Diffs[0].Text("run_id")
		for _, d := range r.Diffs {
			if d.Number("version") != version || d.Text("run_id") != run {
				f.at(r.Job, r.Day, "reading %d of %s mixes version %d of run %s with version %d of run %s", r.N, r.Reader, version, run, d.Number("version"), d.Text("run_id"))
				break
			}
		}
		if version < was.version {
			f.at(r.Job, r.Day, "reading %d of %s shows version %d after version %d", r.N, r.Reader, version, was.version)
		}
		if was.version != 0 && version != was.version {
			changes++
		}
		if was.empty > 0 && !anyEmpty(versions[batch], was.version, version) {
			f.at(r.Job, r.Day, "reading %d of %s shows nothing between version %d and version %d, all of which have open diffs", was.empty, r.Reader, was.version, version)
		}
		last[at] = seen{version: version}
		h.against(f, r, version, run, versions[batch], told[batch])
	}
	f.need(full, "reading with a diff in it")
	f.need(changes, "reader that saw a new version")
	return f.out
}

// against holds one reading against what the table of versions and the events say.
func (h *History) against(f *finder, r Read, version uint64, run string, rows []Row, told map[uint64][]string) {
	i := slices.IndexFunc(rows, func(b Row) bool { return b.Text("run_id") == run })
	if i < 0 {
		f.at(r.Job, r.Day, "reading %d of %s shows run %s, which was never committed", r.N, r.Reader, run)
		return
	}
	have := open(r.Diffs)
	if want := rows[i].Number("open_diffs"); uint64(len(have)) != want {
		f.at(r.Job, r.Day, "reading %d of %s shows %d open diffs of version %d, which has %d", r.N, r.Reader, len(have), version, want)
		return
	}
	overtaken := i+1 < len(rows) && rows[i+1].Number("version") == version // by another holder with the same version: no events of its own
	if want, ok := told[version]; ok && !overtaken && !slices.Equal(have, want) {
		f.at(r.Job, r.Day, "reading %d of %s shows other figures of version %d than its events:\n      %s", r.N, r.Reader, version, firstDifference(have, want))
	}
}

// anyEmpty reports whether one of the versions from a to b has no open diff.
func anyEmpty(rows []Row, a, b uint64) bool {
	for _, r := range rows {
		if v := r.Number("version"); v >= a && v <= b && r.Number("open_diffs") == 0 {
			return true
		}
	}
	return false
}

func firstDifference(have, want []string) string {
	for i := range max(len(have), len(want)) {
		switch {
		case i >= len(have):
			return "absent: " + want[i]
		case i >= len(want):
			return "too many: " + have[i]
		case have[i] != want[i]:
			return have[i] + "\n      " + want[i]
		}
	}
	return "none"
}

// event is a CloudEvent of DIFFS.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data Row    `json:"data"`
}

func (h *History) events() (out []event, bad []Violation) {
	for _, m := range h.Messages {
		if m.Stream != "DIFFS" {
			continue
		}
		var e event
		dec := json.NewDecoder(bytes.NewReader(m.Body))
		dec.UseNumber()
		if err := dec.Decode(&e); err != nil || e.ID == "" {
			bad = append(bad, Violation{"G5", "", "", "message " + m.Subject + " is no event"})
			continue
		}
		out = append(out, e)
	}
	return out, bad
}

// told is what each version's open diffs are by the events alone: by batch and version, sorted.
func (h *History) told() map[string]map[uint64][]string {
	events, _ := h.events()
	byVersion := map[string]map[uint64][]event{}
	for _, e := range events {
		batch, v := e.Data.Text("batch_id"), e.Data.Number("version")
		if byVersion[batch] == nil {
			byVersion[batch] = map[uint64][]event{}
		}
		byVersion[batch][v] = append(byVersion[batch][v], e)
	}
	out := map[string]map[uint64][]string{}
	for batch, versions := range byVersion {
		out[batch] = map[uint64][]string{}
		state := map[string]Row{}
		for v := uint64(1); ; v++ {
			es, ok := versions[v]
			if !ok {
				break
			}
			committed := false
			for _, e := range es {
				switch e.Type {
				case "daybreak.diff.opened", "daybreak.diff.changed", "daybreak.diff.cleared":
					state[e.Data.Text("diff_id")] = e.Data
				case "daybreak.batch.committed":
					committed = true
				}
			}
			if !committed {
				break
			}
			var rows []Row
			for _, r := range state {
				rows = append(rows, r)
			}
			out[batch][v] = open(rows)
		}
	}
	return out
}
