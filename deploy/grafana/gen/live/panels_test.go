package live

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/deploy/grafana/gen/boards"
)

// The pictures of the documentation are drawn from the answers of a longer book: see pictures/README.md.
var (
	answersFile = flag.String("answers", "", "write every answer to this file, for the pictures")
	days        = flag.Int("days", 7, "business days of the book")
	entries     = flag.Int("entries", 60, "clean payments per job and day")
)

// silent are the queries that answer nothing here, and why that is right. Everything else must answer.
var silent = map[string]string{
	`clamp_min(1 - max(daybreak_jetstream_storage_bytes / daybreak_jetstream_storage_limit_bytes), 0)`: "the account of the embedded server has no limit",
}

// drawn is an answer as the pictures read it.
type drawn struct {
	Panel   string          `json:"panel"`
	Kind    boards.Kind     `json:"kind"`
	Columns []boards.Column `json:"columns,omitempty"`
	Rows    [][]any         `json:"rows,omitempty"`
	Series  []series        `json:"series,omitempty"`
}

type series struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"` // ms, value
}

func TestEveryQueryAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, *days, *entries)
	w.harm()
	var all []drawn
	for _, q := range boards.Queries {
		d := w.run(q)
		n := len(d.Rows) + len(d.Series)
		t.Logf("%-26s %-10s %4d %s", q.Panel, q.Kind, n, map[boards.Kind]string{boards.ClickHouse: "rows", boards.Prometheus: "series"}[q.Kind])
		if why, ok := silent[q.Text]; ok {
			require.Zero(t, n, "%s answers although %s", q.Panel, why)
		} else if n == 0 {
			t.Errorf("%s answers nothing: %s", q.Panel, q.Text)
		}
		all = append(all, d)
	}
	w.variables()
	if *answersFile != "" {
		text, err := json.Marshal(map[string]any{"from": w.book.First.UTC(), "to": w.now(), "states": boards.States, "boards": boards.Boards(), "answers": all})
		require.NoError(t, err)
		text = bytes.ReplaceAll(text, []byte(filepath.Dir(w.book.Config)), []byte("/books")) // the test's own folder is nobody's business
		require.NoError(t, os.WriteFile(*answersFile, text, 0o600))
	}
}

// chosen is all jobs, or the harmed one where the board shows one.
func (w *world) chosen(panel string) Chosen {
	c := Chosen{From: w.book.First.UTC(), To: w.now(), Jobs: w.book.Jobs, Currencies: []string{"CNY", "USD", "GBP", "EUR"}}
	if strings.HasPrefix(panel, "job/") {
		c.Jobs = []string{"cards"}
	}
	return c
}

func (w *world) run(q boards.Query) drawn {
	w.t.Helper()
	d := drawn{Panel: q.Panel, Kind: q.Kind, Columns: q.Columns}
	if q.Kind == boards.ClickHouse {
		statement, err := w.chosen(q.Panel).SQL(q.Text)
		require.NoError(w.t, err, q.Panel)
		d.Rows = w.rows(q, statement)
		return d
	}
	c := w.chosen(q.Panel)
	c.From = w.begun
	expr, err := c.PromQL(q.Text)
	require.NoError(w.t, err, q.Panel)
	if q.Instant {
		for _, s := range w.signals.at(expr, c.To) {
			require.False(w.t, math.IsNaN(s.F) || math.IsInf(s.F, 0), q.Panel)
			d.Series = append(d.Series, series{Name: legend(q.Legend, s.Metric.Map()), Points: [][2]float64{{float64(s.T), s.F}}})
		}
		return d
	}
	d.Series = group(q.Legend, w.signals.over(expr, c.From, c.To, max(time.Second, c.To.Sub(c.From)/120)))
	return d
}

// rows runs a statement and holds its columns to what the panel relies on.
func (w *world) rows(q boards.Query, statement string) [][]any {
	w.t.Helper()
	a := w.ask(statement)
	require.Len(w.t, a.Meta, len(q.Columns), "%s: %v", q.Panel, a.Meta)
	for i, c := range q.Columns {
		require.Equal(w.t, c.Name, a.Meta[i].Name, q.Panel)
		class := classOf(a.Meta[i].Type)
		if c.Class == boards.Money && class == boards.Text {
			w.requireMoney(q, i, a.Rows)
			continue
		}
		require.Equal(w.t, c.Class, class, "%s: column %s is %s", q.Panel, c.Name, a.Meta[i].Type)
	}
	return a.Rows
}

var money = regexp.MustCompile(`^(-?\d+\.\d{2,})?$`)

// requireMoney checks that a column has amounts with two digits at least; nothing where no single amount can be said.
func (w *world) requireMoney(q boards.Query, column int, rows [][]any) {
	w.t.Helper()
	for _, row := range rows {
		require.Regexp(w.t, money, row[column], "%s: %s", q.Panel, q.Columns[column].Name)
	}
}

var wrapped = regexp.MustCompile(`^(?:Nullable|LowCardinality)\((.*)\)$`)

// classOf is what a type of ClickHouse is to a panel. Decimal and Float are nothing: money leaves as text.
func classOf(typ string) boards.Class {
	for wrapped.MatchString(typ) {
		typ = wrapped.ReplaceAllString(typ, "$1")
	}
	switch {
	case strings.HasPrefix(typ, "DateTime"):
		return boards.Time
	case strings.HasPrefix(typ, "UInt"), strings.HasPrefix(typ, "Int"):
		return boards.Number
	case typ == "String":
		return boards.Text
	}
	return boards.Class(typ)
}

var place = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// legend writes out the name of a series as Grafana does.
func legend(text string, labels map[string]string) string {
	return place.ReplaceAllStringFunc(text, func(m string) string { return labels[place.FindStringSubmatch(m)[1]] })
}

func group(text string, points []point) []series {
	var out []series
	at := map[string]int{}
	for _, p := range points {
		if math.IsNaN(p.value) || math.IsInf(p.value, 0) { // a quantile of nothing, a heartbeat that never was: no point
			continue
		}
		key := fmt.Sprint(p.labels)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, series{Name: legend(text, p.labels)})
		}
		out[i].Points = append(out[i].Points, [2]float64{float64(p.at), p.value})
	}
	return out
}

var labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)

// variables runs the queries that fill the lists of choices.
func (w *world) variables() {
	w.t.Helper()
	for _, v := range boards.Variables {
		var got []string
		if v.Kind == boards.ClickHouse {
			statement, err := w.chosen("").SQL(v.Text)
			require.NoError(w.t, err)
			for _, row := range w.ask(statement).Rows {
				got = append(got, fmt.Sprint(row[0]))
			}
		} else {
			part := labelValues.FindStringSubmatch(v.Text)
			require.NotNil(w.t, part, v.Text)
			for _, s := range w.signals.at("group by ("+part[2]+") ("+part[1]+")", w.now()) {
				got = append(got, s.Metric.Get(part[2]))
			}
		}
		w.t.Logf("variable %s: %v", v.Name, got)
		require.Subset(w.t, got, map[string][]string{"job": w.book.Jobs, "currency": {"CNY", "USD", "GBP", "EUR"}}[v.Name], v.Name)
	}
}
