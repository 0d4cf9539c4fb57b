package check

import (
	"encoding/json"
	"strconv"
	"strings"
)

// The condition that a write was made under, as the server that took it keeps it.
const (
	conditionSeq     = "Nats-Expected-Last-Subject-Sequence"
	conditionSubject = "Nats-Expected-Last-Subject-Sequence-Subject"
)

// holders follows leases and fences through the log.
type holders struct {
	h      *History
	f      *finder
	leases map[string]lease
	fences map[string]uint64

	marks, takeovers int
}

// lease is the newest write of a lease; the holder is empty when it was given back or ran out.
type lease struct {
	seq    uint64
	holder string
}

// OneHolder: at most one holder's writes are accepted per batch at any time (G1). Every accepted watermark bears the newest
// fence of its batch and was written on that condition; a fence is raised by whoever holds the lease; a lease passes to
// another holder only after it was given back or ran out. What is there at the end is what the log says was written last.
func OneHolder(h *History) []Violation {
	s := &holders{h: h, f: &finder{guarantee: "G1"}, leases: map[string]lease{}, fences: map[string]uint64{}}
	last := map[string]Write{}
	for _, w := range h.Control {
		last[w.Key] = w
		kind, batch, _ := strings.Cut(w.Key, ".")
		switch kind {
		case "lease":
			s.lease(batch, w)
		case "fence":
			s.fence(batch, w)
		case "day":
			s.mark(w)
		}
	}
	for _, k := range h.Watermarks {
		w, logged := last[k.Key]
		_, batch, _ := strings.Cut(k.Key, ".")
		job, day := split(batch)
		if k.Seq != 0 && (!logged && !h.missing(0, k.Seq+1) || logged && w.Seq != k.Seq && !h.missing(w.Seq, k.Seq+1)) {
			s.f.at(job, day, "the watermark at the end is write %d, the log says that %d was the last", k.Seq, w.Seq)
		}
	}
	s.f.need(s.marks, "watermark")
	s.f.need(s.takeovers, "second holding of any batch")
	return s.f.out
}

func (s *holders) lease(batch string, w Write) {
	job, day := split(batch)
	is, was := w.holder(), s.leases[batch]
	if is != "" && was.holder != "" && is != was.holder && !s.h.missing(was.seq, w.Seq) {
		s.f.at(job, day, "lease %d was given to %s while %s held it since %d", w.Seq, is, was.holder, was.seq)
	}
	s.leases[batch] = lease{w.Seq, is}
}

func (s *holders) fence(batch string, w Write) {
	job, day := split(batch)
	if s.fences[batch] != 0 {
		s.takeovers++
	}
	s.fences[batch] = w.Seq
	if l := s.leases[batch]; l.holder != w.holder() && !s.h.missing(l.seq, w.Seq) {
		s.f.at(job, day, "fence %d was raised by %s while the lease was %q (write %d)", w.Seq, w.holder(), l.holder, l.seq)
	}
}

func (s *holders) mark(w Write) {
	batch, m, ok := w.mark()
	if !ok {
		return
	}
	job, day := split(batch)
	s.marks++
	newest := s.fences[batch]
	switch {
	case m.Fence > w.Seq:
		s.f.at(job, day, "write %d bears fence %d, which is not there yet", w.Seq, m.Fence)
	case newest > m.Fence:
		s.f.at(job, day, "write %d (%s %s, run %s) was accepted under fence %d while %d was the newest", w.Seq, m.Status, m.Phase, m.RunID, m.Fence, newest)
	case newest < m.Fence && !s.h.missing(m.Fence-1, m.Fence+1):
		s.f.at(job, day, "write %d bears fence %d, which nobody has raised", w.Seq, m.Fence)
	}
	on := w.Headers[conditionSubject]
	if !strings.HasSuffix(on, ".fence."+batch) || w.Headers[conditionSeq] != strconv.FormatUint(m.Fence, 10) {
		s.f.at(job, day, "write %d bears fence %d and was not written on the condition that it is the newest, but on %q at %q", w.Seq, m.Fence, on, w.Headers[conditionSeq])
	}
}

// holder is who a lease or a fence names, and in which of his terms.
func (w Write) holder() string {
	var body struct{ Owner, Term string }
	if w.Op != "PUT" || json.Unmarshal(w.Body, &body) != nil {
		return ""
	}
	return body.Owner + " " + body.Term
}
