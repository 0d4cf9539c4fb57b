package check

import (
	"encoding/json"
	"strings"
)

// OneHolder: at most one holder's writes are accepted per batch at any time (G1). Every accepted watermark bears the newest
// fence of its batch, and a lease passes to another holder only after it was given back or ran out.
func OneHolder(h *History) []Violation {
	f := &finder{guarantee: "G1"}
	fences, holdings, marks, takeovers := map[string]uint64{}, map[string]int{}, 0, 0
	type lease struct {
		seq    uint64
		holder string
	}
	leases := map[string]lease{}
	for _, w := range h.Control {
		if batch, ok := strings.CutPrefix(w.Key, "fence."); ok {
			if holdings[batch]++; holdings[batch] > 1 {
				takeovers++
			}
			fences[batch] = w.Seq
		}
		if batch, m, ok := w.mark(); ok {
			job, day := split(batch)
			marks++
			newest := fences[batch]
			switch {
			case m.Fence > w.Seq:
				f.at(job, day, "write %d bears fence %d, which is not there yet", w.Seq, m.Fence)
			case newest > m.Fence:
				f.at(job, day, "write %d (%s %s, run %s) was accepted under fence %d while %d was the newest", w.Seq, m.Status, m.Phase, m.RunID, m.Fence, newest)
			case newest < m.Fence && !h.missing(m.Fence-1, m.Fence+1):
				f.at(job, day, "write %d bears fence %d, which nobody has raised", w.Seq, m.Fence)
			}
		}
		if batch, ok := strings.CutPrefix(w.Key, "lease."); ok {
			job, day := split(batch)
			var body struct{ Owner, Term string }
			_ = json.Unmarshal(w.Body, &body)
			is, was := body.Owner+" "+body.Term, leases[batch]
			if w.Op != "PUT" {
				is = ""
			}
			if is != "" && was.holder != "" && is != was.holder && !h.missing(was.seq, w.Seq) {
				f.at(job, day, "lease %d was given to %s while %s held it since %d", w.Seq, is, was.holder, was.seq)
			}
			leases[batch] = lease{w.Seq, is}
		}
	}
	f.need(marks, "watermark")
	f.need(takeovers, "second holding of any batch")
	return f.out
}
