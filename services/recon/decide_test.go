package recon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

// Every way a day can be lost, done twice or done in the wrong order is a row here.
func TestDecide(t *testing.T) {
	t.Parallel()
	earlier := model.NewDay(2026, 10, 1)
	committed := &model.Batch{RunID: "run1", Version: 1}
	mark := func(status model.Status, run string, change func(*model.Watermark)) *model.Watermark {
		w := &model.Watermark{Status: status, RunID: run, Trigger: 7}
		if change != nil {
			change(w)
		}
		return w
	}
	finished := func(w *model.Watermark) { w.Committed, w.Version, w.Published = "run1", 1, 1 }
	done := mark(model.Done, "run1", finished)
	for name, c := range map[string]struct {
		req  request
		view view
		want decision
	}{
		"never begun":                           {request{}, view{}, decision{actPull, "never_begun"}},
		"never begun, earlier day open":         {request{}, view{unfinished: &earlier}, decision{actBlock, "earlier_day_not_done"}},
		"died before the commit":                {request{}, view{watermark: mark(model.Running, "run1", nil)}, decision{actPull, "not_done"}},
		"died after the commit":                 {request{}, view{watermark: mark(model.Running, "run1", nil), committed: committed}, decision{actResume, "committed_before_it_stopped"}},
		"reclaimed after the commit":            {request{}, view{watermark: mark(model.Failed, "run1", nil), committed: committed}, decision{actResume, "committed_before_it_stopped"}},
		"replay died after its commit":          {request{cause: model.CauseReplay, seq: 7}, view{watermark: mark(model.Running, "run1", nil), committed: committed}, decision{actResume, "committed_before_it_stopped"}},
		"failed":                                {request{}, view{watermark: mark(model.Failed, "run2", finished), committed: committed}, decision{actPull, "not_done"}},
		"waiting after being done":              {request{}, view{watermark: mark(model.Waiting, "run1", finished), committed: committed}, decision{actPull, "not_done"}},
		"blocked after being done":              {request{}, view{watermark: mark(model.Blocked, "run1", finished), committed: committed}, decision{actPull, "not_done"}},
		"blocked for a carry":                   {request{}, view{watermark: mark(model.Blocked, "run1", func(w *model.Watermark) { finished(w); w.Cause = model.CauseCarry }), committed: committed}, decision{actCompare, "carry_changed_while_blocked"}},
		"done, due again":                       {request{cause: model.CauseDue, seq: 9}, view{watermark: done, committed: committed}, decision{actSkip, "already_done"}},
		"done, earlier day open, due again":     {request{cause: model.CauseDue}, view{watermark: done, committed: committed, unfinished: &earlier}, decision{actSkip, "already_done"}},
		"done, replay":                          {request{cause: model.CauseReplay, seq: 9}, view{watermark: done, committed: committed}, decision{actPull, "replay"}},
		"done, the same replay delivered again": {request{cause: model.CauseReplay, seq: 7}, view{watermark: done, committed: committed}, decision{actSkip, "replay_already_answered"}},
		"done, replay, earlier day open":        {request{cause: model.CauseReplay, seq: 9}, view{watermark: done, committed: committed, unfinished: &earlier}, decision{actBlock, "earlier_day_not_done"}},
		"done, source changed":                  {request{cause: model.CauseChanged, seq: 9}, view{watermark: done, committed: committed}, decision{actPull, "source_changed"}},
		"done, pool changed":                    {request{cause: model.CauseCarry, seq: 9}, view{watermark: done, committed: committed, carryIn: "x"}, decision{actCompare, "carry_changed"}},
		"done, pool and rules changed":          {request{cause: model.CauseCarry, seq: 9}, view{watermark: done, committed: committed, carryIn: "x", reading: "new"}, decision{actPull, "read_under_other_rules"}},
		"done, pool changed, any message":       {request{cause: model.CauseDue, seq: 9}, view{watermark: done, committed: committed, carryIn: "x"}, decision{actCompare, "carry_changed"}},
		"done, pool changed, earlier day open":  {request{cause: model.CauseCarry}, view{watermark: done, committed: committed, carryIn: "x", unfinished: &earlier}, decision{actBlock, "earlier_day_not_done"}},
		"done, pool as before":                  {request{cause: model.CauseCarry, seq: 9}, view{watermark: done, committed: committed}, decision{actSkip, "already_done"}},
		"done, events missing":                  {request{cause: model.CauseNudge, seq: 9}, view{watermark: mark(model.Done, "run1", func(w *model.Watermark) { finished(w); w.Published = 0 }), committed: committed}, decision{actResume, "events_missing"}},
		"done, the auditor misses its events":   {request{cause: model.CauseNudge, finding: model.AuditUnpublished}, view{watermark: done, committed: committed}, decision{actResume, "events_missing"}},
		"done, version lost":                    {request{cause: model.CauseDue}, view{watermark: done}, decision{actPull, "committed_version_lost"}},
		"done, other version found":             {request{cause: model.CauseDue}, view{watermark: done, committed: &model.Batch{RunID: "run0", Version: 1}}, decision{actPull, "committed_version_lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, decide(c.req, c.view))
		})
	}
}

func TestFirstUnfinished(t *testing.T) {
	t.Parallel()
	d := model.NewDay(2026, 10, 1)
	days := []model.Day{d, d + 1, d + 2}
	marks := map[model.Day]model.Watermark{d: {Status: model.Done}, d + 2: {Status: model.Failed}}
	require.Nil(t, model.FirstUnfinished(days, marks, d+1))
	require.Equal(t, d+1, *model.FirstUnfinished(days, marks, d+2))
	require.Equal(t, d+1, *chained(days, marks))
	marks[d+1] = model.Watermark{Status: model.Waiting}
	require.Nil(t, chained(days, marks), "a waiting day is looked for by its own message")
}
