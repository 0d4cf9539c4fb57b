package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/bench/accept/oracle"
	"daybreak/bench/sim/mem"
	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// final holds the world against the guarantees once faults have stopped and everything had time to settle.
func (w *World) final() {
	open := w.openFindings()
	for _, b := range w.jobs {
		well := w.settled(b, open)
		w.truth(b, well)
		for _, day := range well {
			if w.Faults["row lost"] > 0 && day < capAt(b.job, w.now()) {
				continue
			}
			w.balances(b, day)
			if w.Faults["row lost"] == 0 { // what was lost with a row of an old version cannot be told any more
				w.rebuilt(b, day)
			}
		}
		w.triggers(b)
	}
	w.reviewed()
	w.dead()
}

// openFindings are the standing findings by job and day.
func (w *World) openFindings() map[mem.Place][]model.Audit {
	last := map[string]model.Audit{}
	for _, m := range w.streams[bus.StreamAudit].all {
		var a model.Audit
		if err := json.Unmarshal(m.Body, &a); err != nil {
			w.violate("%s holds no finding: %v", m.Subject, err)
		}
		last[m.Subject] = a
	}
	out := map[mem.Place][]model.Audit{}
	for _, s := range slices.Sorted(maps.Keys(last)) {
		if a := last[s]; !a.Resolved && a.Day != nil {
			p := mem.Place{Job: a.Job, Day: *a.Day}
			out[p] = append(out[p], a)
		}
	}
	return out
}

// settled: every due day is DONE, or a finding names it (G2). Without an excuse there is no finding either. It returns
// the days that are DONE and clean, up to the first that is not: what comes after rests on that one.
func (w *World) settled(b *book, open map[mem.Place][]model.Audit) (well []model.Day) {
	excuses, broken := w.watch.excuses[b.job.Name], false
	due := b.job.DueDays(b.job.Start, w.now())
	if want := w.dueDays(b); !slices.Equal(due, want) {
		w.violate("G2: the due days of %s are %v, by the calendar on the wall they are %v", b.job.Name, due, want)
	}
	for _, day := range due {
		p := mem.Place{Job: b.job.Name, Day: day}
		var m model.Watermark
		begun := w.bucket.get("day."+b.job.Name+"."+day.String(), &m)
		done := begun && m.Status == model.Done
		switch {
		case len(open[p]) > 0 && day < capAt(b.job, w.now()): // only a person's replay brings it back now
		case !done && day < capAt(b.job, w.now()) && w.forgotten(p): // nothing that is left knows of it
		case !done && len(open[p]) == 0:
			w.violate("G2: %s %s is %q and nobody says so", b.job.Name, day, m.Status)
		case (!done || len(open[p]) > 0) && len(excuses) == 0:
			w.violate("G2: %s %s is %q with findings %v, without any reason", b.job.Name, day, m.Status, kinds(open[p]))
		}
		broken = broken || !done || len(open[p]) > 0
		if !broken {
			well = append(well, day)
		}
	}
	return well
}

// forgotten: with the bucket the floor was lost, and with the tables or the streams the last that knew of an old day.
func (w *World) forgotten(p mem.Place) bool {
	_, committed := w.db.Newest(p)
	return !committed && (w.Faults["streams and bucket lost"] > 0 || w.Faults["bucket lost"] > 0 && w.Faults["tables lost"] > 0)
}

func kinds(all []model.Audit) (out []string) {
	for _, a := range all {
		out = append(out, string(a.Kind)+": "+a.Detail)
	}
	return out
}

// truth holds what is shown against what an independent oracle makes of the sources (G3).
func (w *World) truth(b *book, well []model.Day) {
	var days []oracle.Day
	for _, day := range well {
		days = append(days, oracle.Day{Ledger: plain(w.sealed(b, day, model.Ledger)), Channel: plain(w.sealed(b, day, model.Channel))})
	}
	for i, want := range b.rules().Compare(days) {
		p := mem.Place{Job: b.job.Name, Day: well[i]}
		if w.Faults["row lost"] > 0 && p.Day < capAt(b.job, w.now()) {
			continue // old versions are not added up again until somebody asks for it
		}
		_, _, rows, _ := w.db.Visible(p)
		var have, should, pool, waits []string
		for _, d := range rows.Diffs {
			if d.State == model.Open {
				have = append(have, fmt.Sprintf("%s %s %s %d/%d %s %s %s %q/%q from %s", d.Key, d.Kind, d.Currency, d.LedgerCount, d.ChannelCount,
					text(d.LedgerAmount), text(d.ChannelAmount), text(d.Delta), d.LedgerStatus, d.ChannelStatus, d.Origin))
			}
		}
		for _, d := range want.Diffs {
			should = append(should, fmt.Sprintf("%s %s %s %d/%d %s %s %s %q/%q from %s", d.Key, d.Kind, d.Currency, d.LedgerCount, d.ChannelCount,
				d.Ledger, d.Channel, d.Delta, d.LedgerStatus, d.ChannelStatus, well[d.Origin]))
		}
		for _, e := range rows.Pool {
			pool = append(pool, fmt.Sprintf("%s %s %s %s from %s", e.Side, e.Key, e.Amount, e.Currency, e.Origin))
		}
		for _, e := range want.Pool {
			waits = append(waits, fmt.Sprintf("%s %s %s %s from %s", e.Side, e.Key, e.Amount, e.Currency, well[e.Origin]))
		}
		w.same("G3: the diffs of "+p.Job+" "+p.Day.String(), have, should)
		w.same("G3: the pool of "+p.Job+" "+p.Day.String(), pool, waits)
	}
}

// sealed is the version of a file that the committed snapshot holds.
func (w *World) sealed(b *book, day model.Day, side model.Side) []model.Entry {
	batch, _ := w.db.Newest(mem.Place{Job: b.job.Name, Day: day})
	live := b.sheet(side, day).live()
	version, ok := w.versionOf(b, day, side, batch.SnapshotID)
	if ok && day >= capAt(b.job, w.now()) && !slices.Equal(linesOf(day, side, version), linesOf(day, side, live)) {
		w.violate("G7: %s %s %s is DONE without finding, and its file says something else by now", b.job.Name, day, side)
	}
	if !ok {
		w.violate("G3: the snapshot of %s %s %s is no version of its file", b.job.Name, day, side)
	}
	return version
}

// versionOf is the version of a file that a snapshot holds, false when it is none that the file ever had.
func (w *World) versionOf(b *book, day model.Day, side model.Side, snapshot string) ([]model.Entry, bool) {
	p := mem.Place{Job: b.job.Name, Day: day}
	var held []string
	for _, r := range w.db.Get(p, snapshot).Entries {
		if r.Side == side && !r.Carried {
			held = append(held, lineOf(r.Entry))
		}
	}
	slices.Sort(held)
	for _, version := range slices.Backward(b.sheet(side, day).versions) {
		if slices.Equal(linesOf(day, side, version), held) {
			return version, true
		}
	}
	return nil, false
}

// linesOf are the entries of a version as text, sorted.
func linesOf(day model.Day, side model.Side, version []model.Entry) (lines []string) {
	for _, e := range entriesOf(day, side, version) {
		lines = append(lines, lineOf(e))
	}
	slices.Sort(lines)
	return lines
}

func lineOf(e model.Entry) string {
	return fmt.Sprintf("%s:%d %s %s %s %s %s", e.File, e.Line, e.Key, e.Amount, e.Currency, e.Status, e.Origin)
}

func text(d decimal.NullDecimal) string {
	if !d.Valid {
		return ""
	}
	return d.Decimal.String()
}

func (w *World) same(what string, have, want []string) {
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		w.violate("%s: shown\n\t%s\nin truth\n\t%s", what, strings.Join(have, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// balances: what is DONE and clean accounts for every entry and every unit of its sources (G7).
func (w *World) balances(b *book, day model.Day) {
	p := mem.Place{Job: b.job.Name, Day: day}
	batch, ok := w.db.Newest(p)
	if !ok {
		w.violate("G7: %s %s is DONE and nothing is committed", p.Job, day)
		return
	}
	run := w.db.Get(p, batch.RunID)
	gone, pooled := map[string]bool{}, map[string]bool{}
	for _, d := range run.Diffs {
		if d.State == model.Open {
			gone[d.Key] = true
		}
	}
	for _, e := range run.Pool {
		pooled[e.Key] = true
	}
	books := map[string]decimal.Decimal{} // by side and currency: in less out
	count := map[string]int{}
	put := func(e model.Entry, n int64) {
		k := string(e.Side) + " " + e.Currency
		books[k] = books[k].Add(e.Amount.Mul(decimal.New(n, 0)))
		count[k] += int(n)
	}
	for _, side := range model.Sides {
		for _, e := range entriesOf(day, side, w.sealed(b, day, side)) {
			put(e, 1)
		}
	}
	for _, r := range w.db.Get(p, batch.SnapshotID).Entries {
		if !r.Carried && !gone[r.Key] && !pooled[r.Key] {
			put(r.Entry, -1)
		}
	}
	for _, r := range run.Entries {
		if !r.Carried {
			continue
		}
		put(r.Entry, 1)
		if !gone[r.Key] && !pooled[r.Key] {
			put(r.Entry, -1)
		}
	}
	for _, e := range run.Pool {
		put(e, -1)
	}
	for _, d := range run.Diffs {
		for _, a := range d.Amounts {
			if d.State != model.Open {
				continue
			}
			l, c := "ledger "+a.Currency, "channel "+a.Currency
			books[l], books[c] = books[l].Sub(a.Ledger), books[c].Sub(a.Channel)
			count[l], count[c] = count[l]-int(a.LedgerCount), count[c]-int(a.ChannelCount)
		}
	}
	for k, left := range books {
		if !left.IsZero() || count[k] != 0 {
			w.violate("G7: %s %s is DONE without finding, and %d entries %s of %s are unaccounted for", p.Job, day, count[k], left, k)
		}
	}
}

// rebuilt: the events make the table (G5).
func (w *World) rebuilt(b *book, day model.Day) {
	p := mem.Place{Job: b.job.Name, Day: day}
	table, ids := map[string]model.DiffData{}, map[string]bool{}
	batch := model.BatchID(p.Job, p.Day)
	var closed model.BatchData
	for _, m := range w.streams[bus.StreamDiffs].all {
		var e model.Event
		if !strings.Contains(m.Subject, "."+p.Job+"."+p.Day.String()+".") || ids[m.ID] || json.Unmarshal(m.Body, &e) != nil {
			continue
		}
		ids[m.ID] = true
		var d model.DiffData
		if json.Unmarshal(e.Data, &d) != nil || d.BatchID != batch {
			continue
		}
		switch e.Type {
		case "daybreak.diff.opened", "daybreak.diff.changed":
			table[d.DiffID] = d
		case "daybreak.diff.cleared":
			delete(table, d.DiffID)
		case "daybreak.batch.committed":
			closed = model.BatchData{}
			_ = json.Unmarshal(e.Data, &closed)
			maps.DeleteFunc(table, func(_ string, d model.DiffData) bool { return closed.Full && d.Version < closed.Version })
		}
	}
	version, run, rows, _ := w.db.Visible(p)
	if closed.Version != version || closed.RunID != run {
		w.violate("G5: %s shows version %d of run %s, the events end with version %d of run %s", batch, version, run, closed.Version, closed.RunID)
	}
	var have, want []string
	line := func(d model.DiffData) string {
		return fmt.Sprintf("%s %s %s %s %s %s from %s", d.Key, d.Kind, d.Currency, text(d.LedgerAmount), text(d.ChannelAmount), d.Detail, d.Origin)
	}
	for _, d := range table {
		have = append(have, line(d))
	}
	for _, d := range rows.Diffs {
		if d.State == model.Open {
			want = append(want, line(d.DataOf()))
		}
	}
	w.same("G5: the events of "+batch, have, want)
}

// triggers: one message is answered by one run (G2, as in Chronos: missed and extra).
func (w *World) triggers(b *book) {
	buried := w.buried()
	for _, day := range b.job.DueDays(b.job.Start, w.now()) {
		p := mem.Place{Job: b.job.Name, Day: day}
		var before mark
		other, next := false, ""
		answered := map[uint64]bool{}
		for _, m := range w.watch.marks[p] {
			answered[m.Trigger] = true
			// After an attempt that died, for another message or for a changed pool, the day is to be computed anew.
			if m.RunID != before.RunID && next == "" {
				next = m.RunID
			}
			other = other || m.Trigger != before.Trigger || next != "" && m.RunID != next
			if m.Status != model.Done || m.RunID == before.RunID {
				continue
			}
			// A watermark read from a leader that was deposed and does not know it costs a run too many, with the same outcome.
			if before.RunID != "" && !other && !w.watch.lostBetween(before.at, m.at) && !w.watch.drilledBetween(p, before.at, m.at) &&
				!within(w.watch.stale[p], before.at, m.at) &&
				m.Trigger == before.Trigger && w.pulled(p, m.Committed) && w.pulled(p, before.Committed) {
				w.violate("G2: message %d of %s made run %s after run %s", m.Trigger, model.BatchID(p.Job, p.Day), m.RunID, before.RunID)
			}
			before, other, next = m, false, ""
		}
		for _, l := range w.days.letters {
			if l.Subject == "day.replay."+p.Job+"."+p.Day.String() && w.watch.poison[l.seq] == "" && !answered[l.seq] && !w.early(buried[fmt.Sprintf("dead/%d", l.seq)]) && len(w.watch.excuses[p.Job]) == 0 {
				w.violate("G2: replay %d of %s was never answered", l.seq, model.BatchID(p.Job, p.Day))
			}
		}
	}
}

func (w *World) pulled(p mem.Place, run string) bool {
	return slices.ContainsFunc(w.db.Batches[p], func(b model.Batch) bool { return b.RunID == run && b.SnapshotID == run })
}

// reviewsHealed is how far back the documentation says that review events are told again, see docs/guarantees.md, G5.
const reviewsHealed = 7 * 24 * time.Hour

// reviewed: no step that was made is lost, in the bucket, in the table, among the events (G4).
func (w *World) reviewed() {
	told := map[string]bool{}
	for _, m := range w.streams[bus.StreamDiffs].all {
		told[m.ID] = true
	}
	for id, want := range w.watch.promise {
		var kept model.Review
		if !w.bucket.get("review."+want.Job+"."+want.Day.String()+"."+id, &kept) || kept.Step < want.Step {
			w.violate("G4: step %d of the review of %s is not kept", want.Step, want.Key)
		}
		if _, ok := w.db.Reviews[id][want.Step]; !ok {
			w.violate("G4: step %d of the review of %s is not in the table", want.Step, want.Key)
		}
		e, err := model.NewReviewEvent(model.Diff{Job: want.Job, Day: want.Day, ID: id}, want)
		// Of review events that went with their stream, those of the last seven days are told again.
		beyond := w.Faults["streams and bucket lost"] > 0 && w.now().Sub(want.At) > reviewsHealed
		if err != nil || !told[e.ID] && !beyond {
			w.violate("G4: step %d of the review of %s was not told", want.Step, want.Key)
		}
		p := mem.Place{Job: want.Job, Day: want.Day}
		if w.watch.forgiven[id] {
			continue
		}
		if _, _, rows, _ := w.db.Visible(p); !slices.ContainsFunc(rows.Diffs, func(d mem.Diff) bool { return d.ID == id }) {
			w.violate("G4: diff %s is under review and is gone", want.Key)
		}
	}
}

// buried are the reasons of the dead letters, by id.
func (w *World) buried() map[string]string {
	out := map[string]string{}
	for _, m := range w.streams[bus.StreamDead].all {
		out[m.ID] = m.Header.Get(bus.HeaderReason)
	}
	return out
}

// early: by a clock that was behind, a day that a person asked for was not due yet.
func (w *World) early(reason string) bool {
	return w.Faults["clock"] > 0 && strings.Contains(reason, model.ErrNotDue.Error())
}

// dead: what cannot be worked on is in DEAD, and nothing else is (G8).
func (w *World) dead() {
	buried := w.buried()
	for _, l := range w.days.letters {
		reason, dead := buried[fmt.Sprintf("dead/%d", l.seq)]
		bad := w.watch.poison[l.seq] != ""
		if bad && !dead && len(w.watch.excuses) == 0 {
			w.violate("G8: message %d %s is not in DEAD", l.seq, l.Subject)
		}
		if dead && !bad && !w.early(reason) {
			w.violate("G8: message %d %s is in DEAD: %s", l.seq, l.Subject, reason)
		}
	}
}
