package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
)

const docs = "../../docs"

// metric is one line of the catalogue, or what /metrics shows of it.
type metric struct{ kind, labels string }

var catalogueLine = regexp.MustCompile("(?m)^\\| `(daybreak_[a-z_]+)` \\| ([a-z]+) \\|([a-z, ]*)\\| .+ \\|$")

func catalogue(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, "metrics.md"))
	require.NoError(t, err)
	out := map[string]metric{}
	for _, m := range catalogueLine.FindAllStringSubmatch(string(text), -1) {
		require.NotContains(t, out, m[1], "twice")
		out[m[1]] = metric{m[2], sortedLabels(strings.Split(m[3], ","))}
	}
	require.Len(t, out, strings.Count(string(text), "\n| `daybreak_"), "every line of the tables was understood")
	return out
}

func sortedLabels(names []string) string {
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// page is /metrics of a running process.
type page struct {
	text    string
	metrics map[string]metric
	samples map[string]float64 // by name and labels as printed
}

var (
	typeLine   = regexp.MustCompile(`^# TYPE (daybreak_[a-z_]+) ([a-z]+)$`)
	sampleLine = regexp.MustCompile(`^(daybreak_[a-z_]+)(?:\{(.*)\})? (\S+)$`)
	labelName  = regexp.MustCompile(`([a-z]+)="`)
)

func scrape(t *testing.T, addr string) page {
	t.Helper()
	p := page{metrics: map[string]metric{}, samples: map[string]float64{}}
	p.text = get(t, addr, "/metrics", http.StatusOK)
	kinds := map[string]string{}
	for line := range strings.Lines(p.text) {
		line = strings.TrimSuffix(line, "\n")
		if m := typeLine.FindStringSubmatch(line); m != nil {
			kinds[m[1]] = m[2]
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := m[1]
		var labels []string
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); kinds[base] == "histogram" {
			name = base
		}
		p.metrics[name] = metric{kinds[name], sortedLabels(labels)}
		v, err := strconv.ParseFloat(m[3], 64)
		require.NoError(t, err, line)
		p.samples[m[1]+"{"+m[2]+"}"] = v
	}
	return p
}

func get(t *testing.T, addr, path string, status int) string {
	t.Helper()
	resp, err := http.Get("http://" + addr + path) //nolint:noctx // a test's own server
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, status, resp.StatusCode, "%s: %s", path, text)
	return string(text)
}

func (p page) sum(prefix string, parts ...string) (added float64, n int) {
	for name, v := range p.samples {
		ok := strings.HasPrefix(name, prefix+"{")
		for _, part := range parts {
			ok = ok && strings.Contains(name, part)
		}
		if ok {
			added, n = added+v, n+1
		}
	}
	return added, n
}

// ready waits until a process is, and its auditor has been through a look at every job.
func ready(t *testing.T, addr string, jobs int) page {
	t.Helper()
	var p page
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + addr + "/readyz") //nolint:noctx // a test's own server
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return false
		}
		p = scrape(t, addr)
		_, n := p.sum("daybreak_audit_last_success_timestamp_seconds")
		return n == jobs
	}, time.Minute, 100*time.Millisecond)
	return p
}

// The catalogue and a real process say the same, and the process says of the books what was planted in them.
func TestMetricsOfARealRun(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	require.Equal(t, exitFine, i.run("up", "--once").code)
	stop, addr := i.listening("up")
	p := ready(t, addr, len(i.book.Jobs))

	problems, err := promlint.New(strings.NewReader(p.text)).Lint()
	require.NoError(t, err)
	for _, problem := range problems {
		require.NotContains(t, problem.Metric, "daybreak_", problem.Text)
	}
	want := catalogue(t)
	// The embedded server sets the account no limit.
	require.NotContains(t, p.metrics, "daybreak_jetstream_storage_limit_bytes")
	delete(want, "daybreak_jetstream_storage_limit_bytes")
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(p.metrics)), "docs/metrics.md against /metrics")
	require.Equal(t, want, p.metrics)

	t.Run("books", func(t *testing.T) { i.requireBooks(t, p) })
	t.Run("runbooks", i.runbooks)
	require.Equal(t, exitFine, stop())
}

// requireBooks holds what is shown against what was planted.
func (i *installation) requireBooks(t *testing.T, p page) {
	t.Helper()
	is := func(want float64, prefix string, parts ...string) {
		t.Helper()
		got, n := p.sum(prefix, parts...)
		require.Positive(t, n, "%s %v is absent", prefix, parts)
		require.InDelta(t, want, got, 1e-6, "%s %v", prefix, parts)
	}
	days := float64(i.book.Last - i.book.First + 1)
	planted := map[string]float64{}
	for _, f := range i.book.Faults {
		planted[fmt.Sprintf(`job="%s" kind="%s"`, f.Job, f.Kind)]++
	}
	for _, job := range i.book.Jobs {
		label := fmt.Sprintf("job=%q", job)
		is(days, "daybreak_batches", label, `status="done"`)
		is(days, "daybreak_batches", label)
		is(0, "daybreak_done_lag_batches", label)
		is(0, "daybreak_findings", label)
		is(float64(i.book.Last.UTC().Unix()), "daybreak_last_clean_day_timestamp_seconds", label)
		is(float64(i.book.Last.UTC().Unix()), "daybreak_last_done_day_timestamp_seconds", label)
		n := 0.0
		for _, f := range i.book.Faults {
			if f.Job == job {
				n++
			}
		}
		is(n, "daybreak_open_diffs", label)
		is(n, "daybreak_review_backlog", label)
	}
	for name, n := range planted {
		parts := strings.Split(name, " ")
		is(n, "daybreak_open_diffs", parts...)
	}
	is(float64(i.book.Waiting), "daybreak_carried_entries")
	is(0, "daybreak_stream_messages", `stream="DEAD"`)
	is(1, "daybreak_engine_up", `type="nats"`)
	is(1, "daybreak_engine_up", `type="clickhouse"`)
}

var commandLine = regexp.MustCompile(`(?m)^daybreak ([^#\n>]+)`)

// Every command of a runbook is one that the program knows, and does what it says on a real installation.
func (i *installation) runbooks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(docs, "runbooks", "*.md"))
	require.NoError(t, err)
	done := map[string]bool{}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, part := range []string{"## What it means", "## First three commands", "## How to repair", "## When to wake someone"} {
			require.Contains(t, string(text), part, path)
		}
		_, block, _ := strings.Cut(string(text), "```sh\n")
		block, _, ok := strings.Cut(block, "```")
		require.True(t, ok, path)
		require.Len(t, strings.Split(strings.TrimSpace(block), "\n"), 3, path)
		for _, m := range commandLine.FindAllStringSubmatch(block, -1) {
			line := strings.TrimSpace(strings.NewReplacer("wechat", i.book.Jobs[0], "2026-10-30", i.book.Last.String()).Replace(m[1]))
			if done[line] || strings.HasPrefix(line, "health") { // health asks an address, and has a test of its own
				continue
			}
			done[line] = true
			r := i.run(strings.Fields(line)...)
			require.Contains(t, []int{exitFine, exitFound}, r.code, "%s: %s: %s", filepath.Base(path), line, r.err)
		}
	}
	require.Greater(t, len(done), 8)
}

var (
	alertLine  = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	usedMetric = regexp.MustCompile(`\bdaybreak_[a-z_]+\b`)
)

// Every alert has a page and every page an alert, and no rule asks for a metric that there is not.
func TestRulesRunbooksAndCatalogueBelongTogether(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../../deploy/prometheus/rules/daybreak.rules.yml")
	require.NoError(t, err)
	alerts := map[string]bool{}
	for _, m := range alertLine.FindAllStringSubmatch(string(rules), -1) {
		alerts[m[1]] = true
	}
	require.Greater(t, len(alerts), 15)
	pages, err := os.ReadDir(filepath.Join(docs, "runbooks"))
	require.NoError(t, err)
	for _, page := range pages {
		name := strings.TrimSuffix(page.Name(), ".md")
		require.True(t, alerts[name], "%s: no such alert", page.Name())
		text, err := os.ReadFile(filepath.Join(docs, "runbooks", page.Name()))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "# "+name+"\n"), page.Name())
		for _, link := range regexp.MustCompile(`\]\((\w+\.md)\)`).FindAllStringSubmatch(string(text), -1) {
			require.FileExists(t, filepath.Join(docs, "runbooks", link[1]), page.Name())
		}
		delete(alerts, name)
	}
	require.Empty(t, alerts, "alerts without a page")
	known := catalogue(t)
	for _, name := range usedMetric.FindAllString(string(rules), -1) {
		require.Contains(t, known, name)
	}
	for _, path := range []string{"days.yml", "services.yml", "quiet.yml"} {
		text, err := os.ReadFile("../../deploy/prometheus/tests/" + path)
		require.NoError(t, err)
		for _, name := range usedMetric.FindAllString(string(text), -1) {
			require.Contains(t, known, name, path)
		}
	}
}
