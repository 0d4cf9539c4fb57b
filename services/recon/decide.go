package recon

import "daybreak/pkg/model"

// action is what a held day needs.
type action string

const (
	actSkip    action = "skip"    // nothing: the watermark says it is done
	actBlock   action = "block"   // an earlier day of a strict job comes first
	actResume  action = "resume"  // the run committed before it died: events and DONE are left
	actPull    action = "pull"    // compute from the sources
	actCompare action = "compare" // compare the sealed snapshots again with another pool
)

// view is everything that the decision rests on, read after the day was taken.
type view struct {
	watermark  *model.Watermark // nil: nobody has begun
	committed  *model.Batch     // nil: no version yet
	unfinished *model.Day       // strict: the earliest earlier day in the cap that is not DONE
	carryIn    string           // digest of the pool that the day before hands on now
	reading    string           // digest of the rules that entries are read under now
}

// decision is an action and the named reason for it.
type decision struct {
	act action
	why string
}

// decide says what a held day needs. It is pure: every way a day can be lost or done twice is a case of its test.
func decide(req request, v view) decision {
	d := decideAlone(req, v)
	if d.act == actCompare && v.committed.Reading != v.reading {
		d = decision{actPull, "read_under_other_rules"}
	}
	if v.unfinished != nil && d.act != actSkip {
		return decision{actBlock, "earlier_day_not_done"}
	}
	return d
}

// decideAlone is decide without regard to earlier days.
func decideAlone(req request, v view) decision {
	w := v.watermark
	switch {
	case w == nil:
		return decision{actPull, "never_begun"}
	case v.committed != nil && v.committed.RunID == w.RunID && w.Committed != w.RunID:
		return decision{actResume, "committed_before_it_stopped"}
	case w.Committed != "" && (v.committed == nil || v.committed.RunID != w.Committed):
		return decision{actPull, "committed_version_lost"}
	case w.Status == model.Blocked && w.Cause == model.CauseCarry && w.Committed != "":
		return decision{actCompare, "carry_changed_while_blocked"}
	case w.Status != model.Done:
		return decision{actPull, "not_done"}
	}
	return decideDone(req, v)
}

// decideDone is decide for a day that is DONE and whose committed version is there.
func decideDone(req request, v view) decision {
	switch {
	case req.cause == model.CauseReplay && v.watermark.Trigger == req.seq:
		return decision{actSkip, "replay_already_answered"}
	case req.cause == model.CauseReplay:
		return decision{actPull, "replay"}
	case req.cause == model.CauseChanged && v.watermark.Trigger != req.seq:
		return decision{actPull, "source_changed"}
	case v.watermark.CarryIn != v.carryIn:
		return decision{actCompare, "carry_changed"}
	case v.watermark.Published < v.committed.Version || req.finding == model.AuditUnpublished:
		return decision{actResume, "events_missing"}
	}
	return decision{actSkip, "already_done"}
}
