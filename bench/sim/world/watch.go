package world

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// holding is the content of lease and fence keys.
type holding struct {
	Term string `json:"term"`
}

// mark is an accepted write of a watermark.
type mark struct {
	model.Watermark
	seq uint64
	at  time.Time
}

// shown is what a reader saw of a batch.
type shown struct {
	version uint64
	run     string
	digest  string
	rows    int // rows are only ever added, so as many are the same
}

// watcher holds everything that the world accepts against the guarantees, at once.
type watcher struct {
	w       *World
	marks   map[mem.Place][]mark
	seen    map[mem.Place]shown
	excuses map[string][]string // by job: why its days need not all be well at the end
	spoilt  map[string]bool     // runs whose rows were tampered with
	promise map[string]model.Review
	bodies  map[string][]byte // of events by id
	poison  map[uint64]string // messages that must end in DEAD
	runs    int

	said     map[string]int            // findings opened, by kind, and days that recon itself found not to balance
	drilled  map[mem.Place][]time.Time // when a watermark was removed
	stale    map[mem.Place][]time.Time // when somebody was shown an older one
	due      map[mem.Place]time.Time   // when a day was first published as due
	lost     []time.Time               // when a store was lost
	done     map[mem.Place]bool        // days that were DONE since the bucket was lost last
	version  map[mem.Place]uint64      // shown before the tables were lost
	forgiven map[string]bool           // diffs under review whose rows were lost
}

func newWatcher(w *World) watcher {
	return watcher{
		w: w, marks: map[mem.Place][]mark{}, seen: map[mem.Place]shown{}, excuses: map[string][]string{}, spoilt: map[string]bool{},
		promise: map[string]model.Review{}, bodies: map[string][]byte{}, poison: map[uint64]string{},
		drilled: map[mem.Place][]time.Time{}, stale: map[mem.Place][]time.Time{}, due: map[mem.Place]time.Time{}, said: map[string]int{}, done: map[mem.Place]bool{}, version: map[mem.Place]uint64{}, forgiven: map[string]bool{},
	}
}

// excuse notes that something happened to the job that a subject names which production cannot make good by itself.
func (v *watcher) excuse(subject, why string) {
	job := subject
	if t := strings.Split(subject, "."); len(t) > 2 {
		job = t[2]
	}
	v.excuses[job] = append(v.excuses[job], why)
}

func (v *watcher) job(name string) *book {
	i := slices.IndexFunc(v.w.jobs, func(b *book) bool { return b.job.Name == name })
	if i < 0 {
		return nil
	}
	return v.w.jobs[i]
}

// place reads "<job>.<date>…" out of a key.
func place(rest string) (mem.Place, bool) {
	t := strings.Split(rest, ".")
	if len(t) < 2 {
		return mem.Place{}, false
	}
	day, err := model.ParseDay(t[1])
	return mem.Place{Job: t[0], Day: day}, err == nil
}

// stored looks at every message that the control bucket takes.
func (v *watcher) stored(was, r *record) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.subject, bucketPrefix), ".")
	switch kind {
	case "lease":
		v.lease(was, r)
	case "fence":
		v.fence(rest, r)
	case "day":
		v.day(rest, r)
	case "review":
		v.review(was, r)
	}
}

// lease: nobody takes a lease that another holds (G1).
func (v *watcher) lease(was, r *record) {
	if was == nil || was.marker() || r.marker() {
		return
	}
	var a, b holding
	_, _ = json.Unmarshal(was.data, &a), json.Unmarshal(r.data, &b)
	if a.Term != b.Term {
		v.w.violate("G1: %s taken by %s while %s holds it", r.subject, b.Term, a.Term)
	}
}

// fence: only the holder of the lease raises it (G1).
func (v *watcher) fence(name string, r *record) {
	lease := v.w.bucket.now[bucketPrefix+"lease."+name]
	var a, b holding
	if lease != nil && !lease.marker() {
		_ = json.Unmarshal(lease.data, &a)
	}
	_ = json.Unmarshal(r.data, &b)
	if a.Term != b.Term {
		v.w.violate("G1: fence of %s raised by %s while %q holds the lease", name, b.Term, a.Term)
	}
}

// day: no watermark is written under a stale fence (G1), no day of a strict job before its earlier days (G6).
func (v *watcher) day(rest string, r *record) {
	p, ok := place(rest)
	if ok && r.marker() {
		delete(v.done, p)
		v.drilled[p] = append(v.drilled[p], r.at)
	}
	if !ok || r.marker() {
		return
	}
	m := mark{seq: r.seq, at: r.at}
	if err := json.Unmarshal(r.data, &m.Watermark); err != nil {
		v.w.violate("%s holds no watermark: %v", r.subject, err)
		return
	}
	if now := v.w.bucket.lastSeq(bucketPrefix + "fence." + rest); m.Fence != now {
		v.w.violate("G1: %s %s written under fence %d while %d stands", rest, m.Status, m.Fence, now)
	}
	if m.Status == model.Running && m.Phase == model.PhaseCommit {
		v.order(p, r)
	}
	v.marks[p] = append(v.marks[p], m)
	if m.Status == model.Failed && strings.Contains(m.Error, model.ErrUnbalanced.Error()) {
		v.said["recon: unbalanced"]++
	}
	if m.Status == model.Done {
		v.runs++
		v.done[p] = true
	}
}

// order: every earlier day of a strict job has been DONE before a day is computed.
func (v *watcher) order(p mem.Place, r *record) {
	b := v.job(p.Job)
	if b == nil || b.job.Order != model.Strict {
		return
	}
	for d := capAt(b.job, v.w.now().Add(pauseMost)); d < p.Day; d = b.job.Calendar.Next(d) {
		if e := (mem.Place{Job: p.Job, Day: d}); !v.done[e] && !v.drilledBetween(e, r.at, r.at) {
			v.w.violate("G6: %s %s is computed although %s was never done", p.Job, p.Day, d)
		}
	}
}

// review: each step follows the one before (G4).
func (v *watcher) review(was, r *record) {
	var a, b model.Review
	if was != nil && !was.marker() {
		_ = json.Unmarshal(was.data, &a)
	}
	if was == nil && len(v.lost) > 0 { // the auditor, or whoever makes the next step, takes it from the table
		if json.Unmarshal(r.data, &b) == nil {
			a, _ = v.w.db.Review(b.DiffID)
		}
		if b.Step == a.Step {
			a.Step--
		}
	}
	if r.marker() || json.Unmarshal(r.data, &b) != nil {
		v.w.violate("G4: %s was removed", r.subject)
		return
	}
	if b.Step != a.Step+1 {
		v.w.violate("G4: %s goes from step %d to %d", r.subject, a.Step, b.Step)
	}
	v.promise[b.DiffID] = b
}

// tables is a reader that looks at every batch after every write: the old version or the new one, never a mixture (G3).
func (v *watcher) tables() {
	for p := range v.w.db.Runs {
		version, run, rows, ok := v.w.db.Visible(p)
		was, had := v.seen[p]
		if !ok && !had {
			continue
		}
		if had && ok && was.run == run && was.rows == len(rows.Diffs)+len(rows.Pool) {
			continue
		}
		now := shown{version, run, digestOf(rows), len(rows.Diffs) + len(rows.Pool)}
		switch {
		case !ok:
			v.w.violate("G3: %s %s has vanished", p.Job, p.Day)
		case had && was.run == run && was.digest != now.digest:
			v.w.violate("G3: version %d of %s %s changed under its readers", version, p.Job, p.Day)
		case !had && version <= v.version[p] && v.version[p] > 0:
			v.w.violate("G3: after the tables were lost %s %s begins anew with version %d: %d was shown before", p.Job, p.Day, version, v.version[p])
		case had && was.run != run && now.version < was.version:
			v.w.violate("G3: %s %s goes back from version %d to %d", p.Job, p.Day, was.version, version)
		case !had || was.run != run:
			v.whole(p, run, rows)
			v.kept(p, rows)
		}
		v.seen[p] = now
	}
}

// whole: what is shown for the first time is all there.
func (v *watcher) whole(p mem.Place, run string, rows *mem.Run) {
	if v.spoilt[run] {
		return
	}
	all := v.w.db.Batches[p]
	i := slices.IndexFunc(all, func(b model.Batch) bool { return b.RunID == run })
	if i < 0 {
		v.w.violate("G3: %s %s shows run %s, which is not committed", p.Job, p.Day, run)
		return
	}
	v.loaded(p, all[i])
	v.ended(p, all[i])
	open := uint64(0)
	for _, d := range rows.Diffs {
		if d.State == model.Open {
			open++
		}
	}
	out := all[i].Balance.Ledger.CarriedOut.Count() + all[i].Balance.Channel.CarriedOut.Count()
	if open != all[i].OpenDiffs() || uint64(len(rows.Pool)) != out {
		v.w.violate("G3: %s %s shows %d of %d diffs and %d of %d carried entries", p.Job, p.Day, open, all[i].OpenDiffs(), len(rows.Pool), out)
	}
}

// kept: a diff under review is in every later version (G4).
func (v *watcher) kept(p mem.Place, rows *mem.Run) {
	for id, r := range v.promise {
		if r.Job != p.Job || r.Day != p.Day || v.forgiven[id] {
			continue
		}
		if !slices.ContainsFunc(rows.Diffs, func(d mem.Diff) bool { return d.ID == id }) {
			v.w.violate("G4: diff %s of %s %s is under review and is gone", r.Key, p.Job, p.Day)
		}
	}
}

func digestOf(r *mem.Run) string {
	var lines []string
	for _, d := range r.Diffs {
		lines = append(lines, fmt.Sprintf("%s %s %s %d", d.ID, d.State, d.Fingerprint, d.Version))
	}
	for _, e := range r.Pool {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", e.Side, e.Key, e.Amount, e.Origin))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// repeated: one id tells one thing (G5).
func (v *watcher) repeated(first message, again bus.Message) {
	if strings.HasPrefix(first.Subject, "diff.") || strings.HasPrefix(first.Subject, "batch.") {
		if !bytes.Equal(first.Body, again.Body) {
			v.w.violate("G5: event %s was told twice and differently:\n%s\n%s", first.ID, first.Body, again.Body)
		}
	}
}

// told looks at every message that a stream takes.
func (v *watcher) told(stream string, m message) {
	if stream == bus.StreamDead && m.Header.Get(bus.HeaderReason) == "" {
		v.w.violate("G8: %s has no reason", m.Subject)
	}
	if rest, isDue := strings.CutPrefix(m.Subject, "day.due."); isDue {
		if p, ok := place(rest); ok && v.due[p].IsZero() {
			v.due[p] = m.at
		}
	}
	if t := strings.Split(m.Subject, "."); stream == bus.StreamAudit && len(t) == 4 {
		v.said["auditor: "+t[3]]++
	}
	if stream != bus.StreamDiffs {
		return
	}
	if before, ok := v.bodies[m.ID]; ok && !bytes.Equal(before, m.Body) {
		v.w.violate("G5: event %s was told twice and differently", m.ID)
	}
	v.bodies[m.ID] = m.Body
}
