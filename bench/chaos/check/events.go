package check

import (
	"fmt"
	"slices"
	"strings"
)

// EventsRebuild: the events alone rebuild the table of diffs, every version is announced with as many events as it has, and an
// id never tells two things (G5).
func EventsRebuild(h *History) []Violation {
	f := &finder{guarantee: "G5"}
	events, bad := h.events()
	f.out = append(f.out, bad...)
	bodies := map[string]string{}
	for _, m := range h.Messages {
		if m.Stream != "DIFFS" {
			continue
		}
		if was, again := bodies[m.MsgID]; again && was != string(m.Body) {
			f.at("", "", "event %s was told twice and differently:\n      %s\n      %s", m.MsgID, was, m.Body)
		}
		bodies[m.MsgID] = string(m.Body)
	}
	type version struct {
		batch string
		n     uint64
	}
	ids, told, announced, newest := map[string]bool{}, map[version]uint64{}, map[version]uint64{}, map[string]uint64{}
	diffs, reviews := map[string]Row{}, map[string]string{}
	for _, e := range events {
		if ids[e.ID] {
			continue // told again under the same id
		}
		ids[e.ID] = true
		batch := e.Data.Text("batch_id")
		at, key := version{batch, e.Data.Number("version")}, batch+" "+e.Data.Text("diff_id")
		switch strings.TrimPrefix(e.Type, "daybreak.") {
		case "diff.opened", "diff.changed", "diff.cleared":
			told[at]++
			diffs[key] = e.Data
		case "diff.reviewed":
			if r, ok := e.Data["review"].(map[string]any); ok {
				reviews[key] = Row(r).Text("state")
			}
		case "batch.committed":
			if _, again := announced[at]; again {
				job, day := split(batch)
				f.at(job, day, "version %d was announced under two ids", at.n)
			}
			announced[at] = e.Data.Number("events")
			newest[batch] = max(newest[batch], at.n)
		case "batch.failed":
		default:
			f.at("", "", "event %s has the type %q, which is none", e.ID, e.Type)
		}
	}
	for batch, rows := range h.versions() {
		job, day := split(batch)
		for _, r := range rows {
			v := version{batch, r.Number("version")}
			n, ok := announced[v]
			switch {
			case !ok:
				f.at(job, day, "version %d was committed and never announced", v.n)
			case told[v] != n:
				f.at(job, day, "version %d announces %d events, %d are there", v.n, n, told[v])
			}
		}
		if last := rows[len(rows)-1].Number("version"); newest[batch] != last {
			f.at(job, day, "the events end with version %d, the table with %d", newest[batch], last)
		}
	}
	var rebuilt, table []string
	for key, d := range diffs {
		if state := reviews[key]; d.Text("state") == "open" || state != "" {
			rebuilt = append(rebuilt, shown(d.Text("batch_id"), state, d))
		}
	}
	for _, d := range h.Diffs {
		table = append(table, shown(d.Text("batch_id"), d.Text("review"), d))
	}
	f.same("the events rebuild", rebuilt, "the table shows", table)
	f.need(len(events), "event")
	return f.out
}

func shown(batch, review string, d Row) string {
	if review == "" {
		review = "none"
	}
	return fmt.Sprintf("%s review=%s %s", batch, review, d.figures())
}

// same reports every line that is on one side only.
func (f *finder) same(a string, left []string, b string, right []string) {
	n := map[string]int{}
	for _, l := range left {
		n[l]++
	}
	for _, r := range right {
		n[r]--
	}
	var lines []string
	for l := range n {
		lines = append(lines, l)
	}
	slices.Sort(lines)
	for _, l := range lines {
		if n[l] > 0 {
			f.at("", "", "only %s: %s", a, l)
		}
		if n[l] < 0 {
			f.at("", "", "only %s: %s", b, l)
		}
	}
}

// ReviewsKept: a step that was confirmed is there at the end, in the bucket or behind a later one, in the mirror, and among the
// events; its diff is still shown (G4).
func ReviewsKept(h *History) []Violation {
	f := &finder{guarantee: "G4"}
	mirror, steps, newest := map[string]Row{}, map[string]uint64{}, map[string]Row{}
	for _, r := range h.Reviews {
		id := r.Text("job") + "." + r.Text("biz_date") + " " + r.Text("diff_id")
		mirror[id+" "+r.Text("note")] = r
		if was := newest[id]; was == nil || r.Number("step") >= was.Number("step") {
			newest[id] = r
		}
		steps[id]++
	}
	kept := map[string]Row{}
	for _, k := range h.ReviewKeys {
		var r Row
		if decode(k.Body, &r) != nil {
			f.at("", "", "key %s holds no review: %s", k.Key, k.Body)
			continue
		}
		kept[r.Text("job")+"."+r.Text("biz_date")+" "+r.Text("diff_id")] = r
	}
	visible := map[string]Row{}
	for _, d := range h.Diffs {
		visible[d.Text("batch_id")+" "+d.Text("diff_id")] = d
	}
	toldSteps := map[string]bool{}
	events, _ := h.events()
	for _, e := range events {
		if r, ok := e.Data["review"].(map[string]any); ok && e.Type == "daybreak.diff.reviewed" {
			toldSteps[fmt.Sprintf("%s %s %s", e.Data.Text("batch_id"), e.Data.Text("diff_id"), Row(r).Text("step"))] = true
		}
	}
	confirmed := 0
	for _, a := range h.Actions {
		if a.Kind != "review" || a.Answer != "ok" {
			continue
		}
		confirmed++
		id := a.Job + "." + a.Day + " " + a.Detail.Text("diff_id")
		if r := mirror[id+" "+a.Detail.Text("note")]; r == nil || r.Text("state") != a.Detail.Text("to") || r.Text("by") != a.By {
			f.at(a.Job, a.Day, "the step of %s to %s on diff %s was confirmed (%s) and is not in the table", a.By, a.Detail.Text("to"), a.Detail.Text("diff_id"), a.Detail.Text("note"))
		}
	}
	for id, r := range newest {
		batch, _, _ := strings.Cut(id, " ")
		job, day := split(batch)
		k, d := kept[id], visible[id]
		switch {
		case k == nil:
			f.at(job, day, "the review of diff %s is in the table and not in the bucket", r.Text("diff_id"))
		case k.Text("step") != r.Text("step") || k.Text("state") != r.Text("state") || k.Text("note") != r.Text("note"):
			f.at(job, day, "the review of diff %s is at step %s (%s) in the bucket, at step %s (%s) in the table", r.Text("diff_id"), k.Text("step"), k.Text("state"), r.Text("step"), r.Text("state"))
		}
		if steps[id] != r.Number("step") {
			f.at(job, day, "the review of diff %s is at step %s and has %d steps in the table", r.Text("diff_id"), r.Text("step"), steps[id])
		}
		switch {
		case d == nil:
			f.at(job, day, "diff %s is under review and is not shown", r.Text("diff_id"))
		case d.Text("review") != r.Text("state"):
			f.at(job, day, "diff %s is shown as %s and its review says %s", r.Text("diff_id"), d.Text("review"), r.Text("state"))
		}
		for s := uint64(1); s <= r.Number("step"); s++ {
			if !toldSteps[fmt.Sprintf("%s %d", id, s)] {
				f.at(job, day, "step %d of the review of diff %s was never told", s, r.Text("diff_id"))
			}
		}
	}
	for id, k := range kept {
		if newest[id] == nil {
			f.at(k.Text("job"), k.Text("biz_date"), "the review of diff %s is in the bucket and not in the table", k.Text("diff_id"))
		}
	}
	f.need(confirmed, "confirmed review")
	return f.out
}
