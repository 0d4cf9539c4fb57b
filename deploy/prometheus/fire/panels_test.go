package fire

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/deploy/grafana/gen/boards"
	"daybreak/deploy/grafana/gen/live"
)

var out = flag.String("out", "", "folder for panels.txt and alerts.txt")

// Every query of every panel answers: Prometheus' over its HTTP API, the books' by ClickHouse.
func TestEveryPanelAnswers(t *testing.T) {
	w := newWorld(t, 7, 5*time.Second, "127.0.0.1:1")
	w.breakFile("cards/ledger/" + w.book.Last.String() + ".csv")
	require.NoError(t, os.Remove(w.path("wallet/ledger/"+w.book.Last.Add(-2).String()+".csv")))
	for _, service := range []string{"ticker", "recon", "auditor"} {
		w.start(service, whole)
	}
	w.requireScraped()
	w.until(fmt.Sprintf(`sum(max by (job) (daybreak_batches{status="done"})) == %d and sum(max by (job) (daybreak_findings{finding="failed"})) == 2`, w.days()-2), patience)
	require.NoError(t, os.Remove(w.path("cards/ledger/"+w.book.First.Add(2).String()+".csv")))
	w.publish("day.due.cards."+w.book.First.String(), "nobody understands this")
	w.review("cards", "investigating", "resolved", "written_off")
	w.until(`max(daybreak_findings_escalated{finding="source-changed"}) == 1 and on() max(daybreak_stream_messages{stream="DEAD"}) == 1
		and on() sum(max by (job) (daybreak_review_backlog{state="investigating"})) == 1`, patience)
	w.until(`min(count_over_time(daybreak_build_info[1m])) > 20`, patience) // a line has more than a few points
	w.requireScraped()
	table := &strings.Builder{}
	fmt.Fprintln(table, "panel | from | answer | query")
	for _, q := range boards.Queries {
		n, unit := w.panel(q)
		fmt.Fprintf(table, "%s | %s | %d %s | %s\n", q.Panel, q.Kind, n, unit, strings.Join(strings.Fields(q.Text), " "))
		if n == 0 {
			t.Errorf("%s answers nothing: %s", q.Panel, q.Text)
		}
	}
	save(t, "panels.txt", table.String())
}

// requireScraped checks that Prometheus reads exactly the processes that the shipped file names, under their services.
func (w *world) requireScraped() {
	w.t.Helper()
	w.until(fmt.Sprintf(`sum(up{job="daybreak"}) == %d`, len(w.places)), patience)
	var found struct {
		Active []struct {
			Labels    map[string]string
			Health    string
			LastError string
		} `json:"activeTargets"`
	}
	require.NoError(w.t, w.prom.ask("targets", &found))
	require.Len(w.t, found.Active, len(w.places))
	var want, got []string
	for _, p := range w.places {
		want = append(want, p.service+" "+p.address+" up ")
	}
	for _, a := range found.Active {
		got = append(got, a.Labels["service"]+" "+a.Labels["instance"]+" "+a.Health+" "+a.LastError)
	}
	require.ElementsMatch(w.t, want, got)
}

// panel runs a query and counts its series or rows.
func (w *world) panel(q boards.Query) (n int, unit string) {
	w.t.Helper()
	c := live.Chosen{From: w.book.First.UTC(), To: time.Now().UTC(), Jobs: append(w.book.Jobs, "slow"), Currencies: []string{"CNY", "USD", "GBP", "EUR"}}
	if strings.HasPrefix(q.Panel, "job/") {
		c.Jobs = []string{"cards"}
	}
	if q.Kind == boards.ClickHouse {
		statement, err := c.SQL(q.Text)
		require.NoError(w.t, err, q.Panel)
		return w.rows(statement), "rows"
	}
	c.From = w.begun
	expr, err := c.PromQL(q.Text)
	require.NoError(w.t, err, q.Panel)
	series, err := w.over(expr, c.From, c.To, interval)
	require.NoError(w.t, err, q.Panel)
	for _, s := range series {
		if s.drawn() {
			n++
		}
	}
	return n, "series"
}

// drawn reports whether a line has a point.
func (s series) drawn() bool {
	for _, v := range s.Values {
		text, _ := v[1].(string)
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return true
		}
	}
	return false
}

// rows asks ClickHouse as the dashboards' user does, who may read and nothing else.
func (w *world) rows(statement string) int {
	w.t.Helper()
	settings := url.Values{"database": {"daybreak"}, "default_format": {"JSONCompact"}, "readonly": {"1"}}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+w.ch.Addr()+"/?"+settings.Encode(), strings.NewReader(statement))
	require.NoError(w.t, err)
	req.SetBasicAuth(w.ch.User(), w.ch.Password())
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, resp.StatusCode, "%s\n%s", statement, text)
	var answer struct{ Data [][]any }
	require.NoError(w.t, json.Unmarshal(text, &answer))
	return len(answer.Data)
}

// save prints a table, and keeps it where -out says.
func save(t *testing.T, name, text string) {
	t.Helper()
	t.Log("\n" + text)
	if *out != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*out, name), []byte(text), 0o600))
	}
}
