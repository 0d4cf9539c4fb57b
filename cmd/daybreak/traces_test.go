package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

// What is lacking of a day, for every way in which the three places that know of it can disagree. Runs are named in the
// order of time.
func TestLacks(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 3, 4, 0, 0, 0, time.UTC)
	batch := func(run string, version uint64) *model.Batch {
		return &model.Batch{RunID: run, Version: version, CommittedAt: at}
	}
	done := func(run string, version uint64) *model.Watermark {
		return &model.Watermark{Status: model.Done, RunID: run, Committed: run, Version: version, Published: version}
	}
	after := func(w *model.Watermark, status model.Status, run string) *model.Watermark {
		w.Status, w.RunID = status, run
		return w
	}
	told := func(run string, version uint64) model.BatchData { return model.BatchData{RunID: run, Version: version} }
	found := func(kind model.AuditKind, since time.Time) []model.Audit {
		return []model.Audit{{Kind: kind, Since: since}}
	}
	for name, c := range map[string]struct {
		traces
		want lack
	}{
		"nobody knows of it":                           {traces{}, ""},
		"begun and never committed":                    {traces{mark: &model.Watermark{Status: model.Failed, RunID: "r1"}}, ""},
		"all agree":                                    {traces{mark: done("r2", 2), batch: batch("r2", 2), told: told("r2", 2)}, ""},
		"bucket lost":                                  {traces{batch: batch("r2", 2), told: told("r2", 2)}, lackMark},
		"bucket and stream lost":                       {traces{batch: batch("r2", 2)}, lackMark},
		"bucket lost, cured finding of before":         {traces{batch: batch("r2", 2), open: found(model.AuditFailed, at.Add(-time.Hour))}, lackMark},
		"bucket lost, failed when last seen":           {traces{batch: batch("r2", 2), open: found(model.AuditFailed, at.Add(time.Hour))}, lackResult},
		"bucket lost, missing when last seen":          {traces{batch: batch("r2", 2), open: found(model.AuditMissing, at.Add(time.Hour))}, lackMark},
		"bucket lost, attempt fails since":             {traces{mark: &model.Watermark{Status: model.Failed, RunID: "r3"}, batch: batch("r2", 2), open: found(model.AuditFailed, at.Add(time.Hour))}, lackMark},
		"bucket lost, blocked since":                   {traces{mark: &model.Watermark{Status: model.Blocked}, batch: batch("r2", 2)}, lackMark},
		"bucket lost, source changed when last seen":   {traces{batch: batch("r2", 2), open: found(model.AuditSourceChanged, at.Add(time.Hour))}, lackMark},
		"bucket older":                                 {traces{mark: done("r1", 1), batch: batch("r2", 2), told: told("r2", 2)}, lackMark},
		"bucket older, of the instant of an attempt":   {traces{mark: after(done("r1", 1), model.Running, "r1b"), batch: batch("r2", 2)}, lackMark},
		"bucket older, had failed, failed again since": {traces{mark: after(done("r1", 1), model.Failed, "r1b"), batch: batch("r2", 2), open: found(model.AuditFailed, at.Add(time.Hour))}, lackResult},
		"tables lost":                                  {traces{mark: done("r2", 2), told: told("r2", 2)}, lackResult},
		"tables lost, failed since":                    {traces{mark: after(done("r2", 2), model.Failed, "r3")}, lackResult},
		"tables and bucket lost":                       {traces{told: told("r2", 2)}, lackResult},
		"tables older":                                 {traces{mark: done("r2", 2), batch: batch("r1", 1), told: told("r2", 2)}, lackResult},
		"tables older, stream lost":                    {traces{mark: done("r2", 2), batch: batch("r1", 1)}, lackResult},
		"tables older, failed since":                   {traces{mark: after(done("r2", 2), model.Failed, "r3"), batch: batch("r1", 1)}, lackResult},
		"tables older, counted anew":                   {traces{mark: done("r3", 2), batch: batch("r2", 2)}, lackResult},
		"tables and bucket older than the stream":      {traces{mark: done("r1", 1), batch: batch("r1", 1), told: told("r2", 2)}, lackResult},
		"stream lost":                                  {traces{mark: done("r2", 2), batch: batch("r2", 2)}, lackEvents},
		"stream older":                                 {traces{mark: done("r2", 2), batch: batch("r2", 2), told: told("r1", 1)}, lackEvents},
		"failed after the version":                     {traces{mark: after(done("r2", 2), model.Failed, "r3"), batch: batch("r2", 2), told: told("r2", 2)}, ""},
		"waiting after the version, events lost":       {traces{mark: after(done("r2", 2), model.Waiting, "r2"), batch: batch("r2", 2)}, ""},
		"committed, not come to its end":               {traces{mark: after(done("r1", 1), model.Running, "r2"), batch: batch("r2", 2), told: told("r1", 1)}, ""},
		"first version, not come to its end":           {traces{mark: &model.Watermark{Status: model.Running, RunID: "r1"}, batch: batch("r1", 1)}, ""},
		"a sleeper's late commit under a later run":    {traces{mark: after(done("r1", 1), model.Failed, "r3"), batch: batch("r2", 2), told: told("r1", 1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, why := c.lacks()
			require.Equal(t, c.want, got, why)
			require.Equal(t, got == "", why == "")
			if got == lackMark {
				w := c.restored("me", at)
				c.mark = &w
				next, _ := c.lacks()
				require.NotEqual(t, lackMark, next, "what was restored lacks no more than events")
			}
		})
	}
}
