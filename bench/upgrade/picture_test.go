package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func shown() picture {
	return picture{
		"status":     {{"job": "cards", "biz_date": "2026-10-01", "status": "DONE", "version": "1"}},
		"diffs card": {{"diff_id": "d1", "state": "open", "kind": "amount", "review": "none"}},
		"events":     {{"id": "e1", "type": "daybreak.diff.opened", "data": map[string]any{"diff_id": "d1", "kind": "amount"}}},
	}
}

// What a trial rests on sees every kind of change, and passes what a newer program adds.
func TestPicturesDiffer(t *testing.T) {
	t.Parallel()
	require.NoError(t, shown().differences(shown()))
	require.NoError(t, shown().rebuilds())
	require.NoError(t, shown().told(shown()))
	for name, c := range map[string]struct {
		change func(picture)
		fine   bool
	}{
		"a new column":      {func(p picture) { p["status"][0]["zone"] = "UTC" }, true},
		"another version":   {func(p picture) { p["status"][0]["version"] = "2" }, false},
		"a row less":        {func(p picture) { p["status"] = nil }, false},
		"a row more":        {func(p picture) { p["diffs card"] = append(p["diffs card"], row{"diff_id": "d2"}) }, false},
		"a review lost":     {func(p picture) { delete(p["diffs card"][0], "review") }, false},
		"an answer missing": {func(p picture) { delete(p, "diffs card") }, false},
	} {
		now := shown()
		c.change(now)
		require.Equal(t, c.fine, shown().differences(now) == nil, name)
	}
	now := shown()
	now["status"][0]["version"] = "2"
	require.NoError(t, shown().differences(now, columnsOfRuns...))
	require.NotEqual(t, shown().versions(), now.versions())
	now["status"][0]["status"] = "FAILED"
	require.ErrorContains(t, now.notDone(), "cards 2026-10-01 is FAILED")

	now = shown()
	now["events"] = append(now["events"], row{"id": "e2", "type": "daybreak.diff.cleared", "data": map[string]any{"diff_id": "d1"}})
	require.NoError(t, now.told(shown()), "events may come on top")
	require.Error(t, now.rebuilds(), "the table still has the diff")
	require.Error(t, shown().told(now), "an event is gone")
	now["events"][0]["id"] = "e9"
	require.Error(t, now.told(shown()))
}

// Without an earlier program to come from, the command says what to do.
func TestNoWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) {
		_, err := output(t.Context(), dir, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		require.NoError(t, err)
	}
	run("init", "-q")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
	run("add", "f")
	run("commit", "-q", "-m", "one")
	_, err := fromRef(t.Context(), dir, "")
	require.ErrorIs(t, err, errWay)
	require.ErrorContains(t, err, "no tag; name the earlier program with -from COMMIT")
	_, err = fromRef(t.Context(), dir, "v9")
	require.ErrorContains(t, err, "-from v9 is no commit of this repository")
	run("tag", "v1")
	tagged, err := fromRef(t.Context(), dir, "")
	require.NoError(t, err)
	head, err := fromRef(t.Context(), dir, "HEAD")
	require.NoError(t, err)
	require.Equal(t, head, tagged)
	_, err = buildRef(t.Context(), dir, "v1", tagged, t.TempDir())
	require.ErrorIs(t, err, errWay, "it has no program")
}
