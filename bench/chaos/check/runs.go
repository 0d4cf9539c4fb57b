package check

import (
	"encoding/json"
	"strings"
)

// NoMissedRun: every due day ends DONE, with a version (G2). The records end when everybody had time to finish and all files
// were there, so at that time there is no excuse.
func NoMissedRun(h *History) []Violation {
	f := &finder{guarantee: "G2"}
	marks := map[string]Mark{}
	for _, k := range h.Watermarks {
		if batch, m, ok := (Write{Key: k.Key, Op: "PUT", Body: k.Body}).mark(); ok {
			marks[batch] = m
		}
	}
	versions, days := h.versions(), 0
	for _, j := range h.Jobs {
		for _, day := range j.Days() {
			days++
			batch := j.Name + "." + day
			m, rows := marks[batch], versions[batch]
			switch {
			case m.Status != "DONE":
				f.at(j.Name, day, "the watermark is %q at the end", m.Status)
			case len(rows) == 0:
				f.at(j.Name, day, "it is DONE and nothing was committed")
			case m.Version != rows[len(rows)-1].Number("version"):
				f.at(j.Name, day, "the watermark says version %d, the table %d", m.Version, rows[len(rows)-1].Number("version"))
			}
		}
	}
	f.need(days, "due day")
	return f.out
}

// asks are the messages of DAYS that ask for a day: what it was asked for, by sequence.
type ask struct {
	seq   uint64
	cause string // due, replay, nudge
	part  bool   // of a range, which recon publishes again day by day
}

func (h *History) asks() map[string][]ask {
	out := map[string][]ask{}
	for _, m := range h.Messages {
		if m.Stream != "DAYS" {
			continue
		}
		p := strings.Split(m.Subject, ".")
		if len(p) < 3 {
			continue
		}
		add := func(day string, part bool) { out[p[2]+"."+day] = append(out[p[2]+"."+day], ask{m.Seq, p[1], part}) }
		if len(p) == 4 {
			add(p[3], false)
			continue
		}
		var r struct{ From, To string }
		if json.Unmarshal(m.Body, &r) == nil && r.From != "" {
			for _, day := range (Job{Start: r.From, Last: r.To}).Days() {
				add(day, true)
			}
		}
	}
	return out
}

// interrupted counts the holdings of each batch that nobody gave back: the lease ran out, or another holder came.
func (h *History) interrupted() map[string]int {
	out, held := map[string]int{}, map[string]bool{}
	for _, w := range h.Control {
		batch, ok := strings.CutPrefix(w.Key, "lease.")
		if !ok {
			continue
		}
		if w.Op != "PUT" && held[batch] && w.Headers["Nats-Marker-Reason"] != "" {
			out[batch]++
		}
		held[batch] = w.Op == "PUT"
	}
	return out
}

// NoExtraRun: versions are 1, 2, 3 …, each committed once, and there are no more of them than somebody asked for (G3). Two rows
// of one version are what a holder that was overtaken leaves: they have different fences, and the older is never shown. A
// message whose worker was interrupted comes again; when the day answered another message meanwhile, it is done once more,
// so each interruption allows one version more.
func NoExtraRun(h *History) []Violation {
	f := &finder{guarantee: "G3"}
	asks, interrupted := h.asks(), h.interrupted()
	for batch, rows := range h.versions() {
		job, day := split(batch)
		distinct, replays, asked := 0, 0, 0
		for i, r := range rows {
			same := i > 0 && rows[i-1].Number("version") == r.Number("version")
			if same && rows[i-1].Number("fence") == r.Number("fence") {
				f.at(job, day, "version %d was committed twice under fence %d, by the runs %s and %s", r.Number("version"), r.Number("fence"),
					rows[i-1].Text("run_id"), r.Text("run_id"))
			}
			if !same {
				distinct++
			}
			if !same && r.Number("version") != uint64(distinct) {
				f.at(job, day, "version %d stands where version %d is expected", r.Number("version"), distinct)
				distinct = int(r.Number("version"))
			}
			if !same && r.Text("cause") == "replay" {
				replays++
			}
		}
		all := 0
		for _, a := range asks[batch] {
			if a.part {
				continue
			}
			if all++; a.cause == "replay" {
				asked++
			}
		}
		if distinct > all+interrupted[batch] {
			f.at(job, day, "there are %d versions and only %d messages that ask for the day, with %d interruptions", distinct, all, interrupted[batch])
		}
		if replays > asked+interrupted[batch] {
			f.at(job, day, "%d versions say that somebody asked for a replay, %d messages do, with %d interruptions", replays, asked, interrupted[batch])
		}
	}
	f.need(len(h.Batches), "committed version")
	return f.out
}

// DayOrder: of a strict job, a day is begun only after the day before was DONE (G6).
func DayOrder(h *History) []Violation {
	f := &finder{guarantee: "G6"}
	begun, done := map[string]uint64{}, map[string]uint64{}
	for _, w := range h.Control {
		batch, m, ok := w.mark()
		if !ok {
			continue
		}
		if m.Status == "RUNNING" && begun[batch] == 0 {
			begun[batch] = w.Seq
		}
		if m.Status == "DONE" && done[batch] == 0 {
			done[batch] = w.Seq
		}
	}
	pairs := 0
	for _, j := range h.Jobs {
		days := j.Days()
		for i := 1; j.Order == "strict" && i < len(days); i++ {
			d, before := j.Name+"."+days[i], j.Name+"."+days[i-1]
			if begun[d] == 0 {
				continue
			}
			pairs++
			if (done[before] == 0 || done[before] > begun[d]) && !h.missing(0, begun[d]) {
				f.at(j.Name, days[i], "it was begun at write %d, %s was first DONE at %d", begun[d], days[i-1], done[before])
			}
		}
	}
	f.need(pairs, "two days of a strict job that were begun")
	return f.out
}

// ReplaysAnswered: what somebody asked for was done after it was asked for, or rejected with a reason (G2).
func ReplaysAnswered(h *History) []Violation {
	f := &finder{guarantee: "G2"}
	latest, dead, replays := map[string]uint64{}, map[uint64]bool{}, 0
	for _, w := range h.Control {
		if batch, m, ok := w.mark(); ok && m.Status == "DONE" {
			latest[batch] = max(latest[batch], m.Trigger)
		}
	}
	for _, m := range h.Messages {
		if seq := (Row{"seq": m.Headers["Daybreak-Seq"]}).Number("seq"); m.Stream == "DEAD" && m.Headers["Daybreak-Stream"] == "DAYS" && m.Headers["Daybreak-Reason"] != "" {
			dead[seq] = true
		}
	}
	for batch, asks := range h.asks() {
		job, day := split(batch)
		for _, a := range asks {
			if a.cause != "replay" {
				continue
			}
			replays++
			if !dead[a.seq] && latest[batch] < a.seq && !h.missing(0, h.end()) {
				f.at(job, day, "message %d of DAYS asked for it and no run that was DONE came after it (the latest was for message %d)", a.seq, latest[batch])
			}
		}
	}
	f.need(replays, "replay")
	return f.out
}

func (h *History) end() uint64 {
	if len(h.Control) == 0 {
		return 0
	}
	return h.Control[len(h.Control)-1].Seq + 1
}

// Rejected: what nobody can work on is a dead letter with a reason (G8).
func Rejected(h *History) []Violation {
	f := &finder{guarantee: "G8"}
	letters, sent, stored := map[string]int{}, map[string]int{}, 0
	for _, m := range h.Messages {
		if m.Stream != "DEAD" {
			continue
		}
		stored++
		if m.Headers["Daybreak-Reason"] == "" {
			f.at("", "", "dead letter %d (%s) has no reason", m.Seq, m.Subject)
		}
		letters[strings.TrimPrefix(m.Subject, "dead.")]++
	}
	for _, a := range h.Actions {
		if a.Kind == "rubbish" && a.Answer == "ok" {
			sent[a.Detail.Text("subject")]++
		}
	}
	for subject, n := range sent {
		if letters[subject] < n {
			f.at("", "", "%d pieces of rubbish were sent to %s and %d are among the dead letters", n, subject, letters[subject])
		}
	}
	f.need(stored, "dead letter")
	return f.out
}
