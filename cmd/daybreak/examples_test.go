package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/config"
	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
	"daybreak/pkg/source"
)

// examples are a ledger against the bill of every provider family, as a user would describe them.
const examples = "../../docs/examples/bills"

// wantColumns are those that were worked out by hand for every example.
var wantColumns = []string{"kind", "key", "currency", "ledger_amount", "channel_amount", "delta", "ledger_status", "channel_status"}

// Every provider family goes through the whole pipeline, and the diffs are those that were worked out by hand: what is in
// want/ was written from the files, not from what the program printed.
func TestExamplesOfEveryProvider(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(examples)))
	first := model.NewDay(2026, 10, 1)
	i := &installation{t: t, book: &scenario.Book{Config: filepath.Join(dir, "daybreak.yaml"), First: first, Last: first}}
	i.now = i.book.Now()
	cfg, err := config.Load(i.book.Config)
	require.NoError(t, err)
	once := i.run("up", "--once")
	require.Equal(t, exitFine, once.code, once.err)
	stop := i.background("up")
	var jobs []string
	for _, job := range cfg.Jobs {
		jobs = append(jobs, job.Name)
		require.Equal(t, wanted(t, job.Name), i.differences(job.Name), job.Name)
		require.NotNil(t, job.Channel.Bill, job.Name)
		i.inspected(dir, job.Channel)
	}
	require.Equal(t, exitFine, stop())
	for _, entry := range mustReadDir(t, filepath.Join(examples, "want")) {
		require.Contains(t, jobs, strings.TrimSuffix(entry, ".csv"))
	}
	require.GreaterOrEqual(t, len(jobs), 12, "one of every provider family")
}

func mustReadDir(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// wanted reads the diffs worked out by hand.
func wanted(t *testing.T, job string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(examples, "want", job+".csv"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	require.NoError(t, err)
	require.Equal(t, wantColumns, rows[0])
	return rows[1:]
}

// differences are the current diffs of a job in the same columns, by key.
func (i *installation) differences(job string) [][]string {
	i.t.Helper()
	out := [][]string{}
	for _, row := range i.fine("diffs", job) {
		var cells []string
		for _, name := range wantColumns {
			text, _ := row[name].(string)
			cells = append(cells, text)
		}
		out = append(out, cells)
	}
	slices.SortFunc(out, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
	return out
}

// inspected looks at the bill of a job by its content alone: it must be told as what the job says it is.
func (i *installation) inspected(dir string, spec source.Spec) {
	i.t.Helper()
	pattern := spec.Bill.Path
	before, after, _ := strings.Cut(pattern, "{date}")
	seen, err := source.Inspect(i.t.Context(), filepath.Join(dir, before+"2026-10-01"+after), source.InspectOptions{Zone: spec.Zone})
	require.NoError(i.t, err)
	require.False(i.t, seen.Refused, "%s: %v", pattern, seen.Problems)
	require.Equal(i.t, spec.Bill.Format, seen.Format)
}
