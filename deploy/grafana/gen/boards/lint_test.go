package boards

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// plain is a dashboard as it lies in the file, without the SDK's eyes.
type plain map[string]any

func decoded(t *testing.T, text []byte) plain {
	t.Helper()
	var d plain
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

func (d plain) panels() []map[string]any {
	var out []map[string]any
	for _, p := range d["panels"].([]any) {
		out = append(out, p.(map[string]any))
	}
	return out
}

func (d plain) variables() map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, v := range d["templating"].(map[string]any)["list"].([]any) {
		out[v.(map[string]any)["name"].(string)] = v.(map[string]any)
	}
	return out
}

func texts(in map[string]any, path ...string) string {
	for _, key := range path[:len(path)-1] {
		in, _ = in[key].(map[string]any)
	}
	s, _ := in[path[len(path)-1]].(string)
	return s
}

func targetsOf(p map[string]any) []map[string]any {
	var out []map[string]any
	list, _ := p["targets"].([]any)
	for _, t := range list {
		out = append(out, t.(map[string]any))
	}
	return out
}

// The rules are those of Grafana's dashboard-linter as far as they fit, and some of our own. Not taken over:
//   - exactly one data source variable, called "Data Source": these boards have two sources, and a second variable.
//   - template-job, template-instance, target-job, target-instance: the label job is the reconciliation here, and a
//     series per process is what nobody asks for on these boards.
var rules = map[string]func(d plain) []string{
	"no import form":      ruleImports,
	"kept in files":       ruleDashboard,
	"variables":           ruleVariables,
	"titles":              rulePanel(func(p map[string]any) bool { return len(texts(p, "title")) > 2 && len(texts(p, "description")) > 20 }),
	"units":               rulePanel(func(p map[string]any) bool { return texts(p, "fieldConfig", "defaults", "unit") != "" }),
	"queries":             rulePanel(func(p map[string]any) bool { return len(targetsOf(p)) > 0 }),
	"kinds of panels":     rulePanel(func(p map[string]any) bool { return panelTypes[texts(p, "type")] }),
	"data sources":        rulePanel(templated),
	"ids":                 ruleIDs,
	"no overlap":          ruleOverlap,
	"rate interval":       ruleExpr(rateInterval),
	"counters":            ruleExpr(counters),
	"catalogue":           ruleExpr(known),
	"replicas":            ruleExpr(aggregated),
	"the chosen job":      ruleExpr(chosenJob),
	"tables for Grafana":  ruleSQL(granted),
	"no float in money":   ruleSQL(noFloat),
	"the chosen range":    ruleSQL(ranged),
	"fields are no typos": ruleFields,
}

var panelTypes = map[string]bool{"stat": true, "bargauge": true, "table": true, "status-history": true, "timeseries": true}

func TestLint(t *testing.T) {
	t.Parallel()
	for _, b := range Boards() {
		d := decoded(t, committed(t, b))
		for name, rule := range rules {
			require.Empty(t, rule(d), "%s: %s", b.Name, name)
		}
	}
}

// Every rule finds what it is for: a linter that never complains is as good as none.
func TestLintFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	expr := func(text string) func(d plain) { return func(d plain) { targetsOf(d.panels()[0])[0]["expr"] = text } }
	statement := func(text string) func(d plain) {
		return func(d plain) {
			for _, p := range d.panels() {
				if targetsOf(p)[0]["rawSql"] != nil {
					targetsOf(p)[0]["rawSql"] = text
				}
			}
		}
	}
	first := func(key string, value any) func(d plain) { return func(d plain) { d.panels()[0][key] = value } }
	for name, harm := range map[string]func(d plain){
		"no import form": func(d plain) { d["__inputs"] = []any{} }, "kept in files": func(d plain) { d["editable"] = true },
		"variables": func(d plain) { d["templating"] = map[string]any{"list": []any{}} }, "titles": first("description", ""),
		"units": first("fieldConfig", map[string]any{}), "queries": first("targets", []any{}), "kinds of panels": first("type", "timeserie"),
		"data sources": first("datasource", map[string]any{"type": "prometheus", "uid": "abc"}), "ids": first("id", 2.0),
		"no overlap":    first("gridPos", map[string]any{"x": 0.0, "y": 3.0, "w": 24.0, "h": 9.0}),
		"rate interval": expr(`sum(rate(daybreak_runs_total{job=~"$job"}[5m]))`), "counters": expr(`sum(daybreak_runs_total{job=~"$job"})`),
		"catalogue": expr(`max(daybreak_batch{job=~"$job"})`), "replicas": expr(`sum(daybreak_batches{job=~"$job"})`),
		"the chosen job": expr(`max(daybreak_batches)`), "tables for Grafana": statement("SELECT 1 FROM entries WHERE $__dateFilter(biz_date)"),
		"no float in money": statement("SELECT toFloat64(delta) FROM diffs_current WHERE $__dateFilter(biz_date)"),
		"the chosen range":  statement("SELECT 1 FROM batches"),
		"fields are no typos": func(d plain) {
			d.panels()[0]["fieldConfig"].(map[string]any)["defaults"].(map[string]any)["unti"] = "s"
		},
	} {
		d := decoded(t, committed(t, Boards()[0]))
		harm(d)
		require.NotEmpty(t, rules[name](d), name)
	}
}

func TestEveryRuleIsProved(t *testing.T) {
	t.Parallel()
	require.Len(t, rules, 19, "a new rule needs a line in TestLintFindsWhatIsWrong")
}

func ruleImports(d plain) (out []string) {
	text, _ := json.Marshal(d)
	for _, bad := range []string{"__inputs", "__requires", "${DS_"} {
		if strings.Contains(string(text), bad) {
			out = append(out, bad+" is the form of an export by hand, which provisioning can not read")
		}
	}
	return out
}

func ruleDashboard(d plain) (out []string) {
	if d["editable"] != false || d["id"] != nil || !strings.HasPrefix(texts(d, "uid"), "daybreak-") || d["timezone"] != "utc" {
		out = append(out, "editable, an id of one Grafana, no uid of ours, or not in UTC")
	}
	if v, _ := d["schemaVersion"].(float64); v < 36 || v > 42 {
		out = append(out, "a schema that Grafana 9 to 13 does not read")
	}
	return out
}

func ruleVariables(d plain) (out []string) {
	for name, typ := range map[string]string{"datasource": "datasource", "clickhouse": "datasource", "job": "query", "currency": "query"} {
		if v := d.variables()[name]; v == nil || v["type"] != typ || texts(v, "label") == "" {
			out = append(out, "variable "+name)
		} else if typ == "query" && v["refresh"] != 2.0 {
			out = append(out, "variable "+name+" is not asked again when the range changes")
		}
	}
	return out
}

func rulePanel(good func(p map[string]any) bool) func(d plain) []string {
	return func(d plain) (out []string) {
		for _, p := range d.panels() {
			if !good(p) {
				out = append(out, texts(p, "title"))
			}
		}
		return out
	}
}

func templated(p map[string]any) bool {
	uids := map[string]string{"prometheus": "${datasource}", clickHousePlugin: "${clickhouse}"}
	typ := texts(p, "datasource", "type")
	good := uids[typ] != "" && texts(p, "datasource", "uid") == uids[typ]
	for _, t := range targetsOf(p) {
		good = good && texts(t, "datasource", "type") == typ && texts(t, "datasource", "uid") == uids[typ]
	}
	return good
}

func ruleIDs(d plain) (out []string) {
	seen := map[any]bool{}
	for _, p := range d.panels() {
		if p["id"] == nil || seen[p["id"]] {
			out = append(out, texts(p, "title"))
		}
		seen[p["id"]] = true
		refs := map[any]bool{}
		for _, t := range targetsOf(p) {
			if refs[t["refId"]] {
				out = append(out, "refId in "+texts(p, "title"))
			}
			refs[t["refId"]] = true
		}
	}
	return out
}

func ruleOverlap(d plain) (out []string) {
	taken := map[[2]int]string{}
	for _, p := range d.panels() {
		g := p["gridPos"].(map[string]any)
		at := func(k string) int { v, _ := g[k].(float64); return int(v) }
		for x := at("x"); x < at("x")+at("w"); x++ {
			for y := at("y"); y < at("y")+at("h"); y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= columnsOfGrid {
					out = append(out, texts(p, "title")+" lies on "+other)
				}
				taken[[2]int{x, y}] = texts(p, "title")
			}
		}
	}
	return out
}

// ruleFields knows the keys of fieldConfig.defaults, where the SDK's strict decoder lets anything pass.
func ruleFields(d plain) (out []string) {
	for _, p := range d.panels() {
		defaults, _ := p["fieldConfig"].(map[string]any)["defaults"].(map[string]any)
		if _, list := p["fieldConfig"].(map[string]any)["overrides"].([]any); !list {
			out = append(out, texts(p, "title")+": overrides is no list, which Grafana stumbles over")
		}
		for key := range defaults {
			if !strings.Contains(" unit color thresholds mappings custom min max decimals noValue links ", " "+key+" ") {
				out = append(out, texts(p, "title")+": "+key)
			}
		}
	}
	return out
}

func ruleExpr(check func(board, text string, e parser.Expr) string) func(d plain) []string {
	return func(d plain) (out []string) {
		for _, p := range d.panels() {
			for _, t := range targetsOf(p) {
				text := texts(t, "expr")
				if text == "" {
					continue
				}
				e, err := parser.NewParser(parser.Options{}).ParseExpr(strings.NewReplacer("$__rate_interval", "7m", "$__range", "13m").Replace(text))
				if err != nil {
					out = append(out, fmt.Sprintf("%s: %v", text, err))
				} else if problem := check(texts(d, "uid"), text, e); problem != "" {
					out = append(out, text+": "+problem)
				}
			}
		}
		return out
	}
}

var window = regexp.MustCompile(`\[([^\]]*)\]`)

func rateInterval(_, text string, _ parser.Expr) string {
	for _, m := range window.FindAllStringSubmatch(text, -1) {
		if m[1] != "$__rate_interval" && m[1] != "$__range" {
			return "a fixed window is too short for some scrape interval"
		}
	}
	return ""
}

// each calls f for every selector with the names of the functions and aggregations around it.
func each(e parser.Expr, f func(s *parser.VectorSelector, around string)) {
	parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		around := ""
		for _, p := range path {
			switch p := p.(type) {
			case *parser.Call:
				around += " " + p.Func.Name
			case *parser.AggregateExpr:
				around += " " + p.Op.String()
			}
		}
		f(s, around+" ")
		return nil
	})
}

func counters(_, _ string, e parser.Expr) (problem string) {
	each(e, func(s *parser.VectorSelector, around string) {
		counter := catalogue()[s.Name].kind == "counter" || strings.HasSuffix(s.Name, "_bucket")
		windowed := strings.Contains(around, " rate ") || strings.Contains(around, " increase ")
		if counter != windowed && !strings.HasPrefix(s.Name, "process_") {
			problem = "counters, and only they, are shown by rate or increase: " + s.Name
		}
	})
	return problem
}

func aggregated(_, _ string, e parser.Expr) (problem string) {
	each(e, func(s *parser.VectorSelector, around string) {
		if catalogue()[s.Name].kind == "gauge" && !strings.Contains(around, " max ") && !strings.Contains(around, " min ") && s.Name != "daybreak_build_info" {
			problem = "several auditors show the same: max by its labels first: " + s.Name
		}
		if !strings.Contains(around, " max ") && !strings.Contains(around, " min ") && !strings.Contains(around, " sum ") && !strings.Contains(around, " count ") {
			problem = "a series per process: " + s.Name
		}
	})
	return problem
}

func chosenJob(uid, _ string, e parser.Expr) (problem string) {
	each(e, func(s *parser.VectorSelector, _ string) {
		if uid != "daybreak-pipeline" && catalogue()[s.Name].labels["job"] && !strings.Contains(s.String(), `"$job`) {
			problem = "shows jobs that were not chosen"
		}
	})
	return problem
}

// foreign are metrics of others: Prometheus' own, and those that every Go process has.
var foreign = map[string]bool{"up": true, "process_resident_memory_bytes": true, "process_cpu_seconds_total": true}

func known(_, _ string, e parser.Expr) (problem string) {
	each(e, func(s *parser.VectorSelector, _ string) {
		if m := catalogue()[strings.TrimSuffix(s.Name, "_bucket")]; m.kind == "" && !foreign[s.Name] {
			problem = s.Name + " is not in docs/metrics.md"
		}
		for _, l := range s.LabelMatchers {
			m := catalogue()[strings.TrimSuffix(s.Name, "_bucket")]
			if m.kind != "" && l.Name != "__name__" && l.Name != "service" && !m.labels[l.Name] {
				problem = s.Name + " has no label " + l.Name
			}
		}
	})
	return problem
}

type metric struct {
	kind   string
	labels map[string]bool
}

var row = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| ([^|]*)\\|")

// catalogue is docs/metrics.md, which a test of the main module holds against the code.
func catalogue() map[string]metric {
	text, err := os.ReadFile("../../../../docs/metrics.md")
	if err != nil {
		panic(err)
	}
	out := map[string]metric{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		labels := map[string]bool{}
		for _, l := range strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' || r == '`' }) {
			labels[l] = true
		}
		out[m[1]] = metric{kind: m[2], labels: labels}
	}
	return out
}

func ruleSQL(check func(text string) string) func(d plain) []string {
	return func(d plain) (out []string) {
		for _, p := range d.panels() {
			for _, t := range targetsOf(p) {
				if text := texts(t, "rawSql"); text != "" && check(text) != "" {
					out = append(out, texts(p, "title")+": "+check(text))
				}
			}
		}
		return out
	}
}

var (
	tables = regexp.MustCompile(`(?:FROM|(?:LEFT|INNER) JOIN)\s+(\w+)`)
	grant  = regexp.MustCompile(`GRANT SELECT ON daybreak\.(\w+)`)
)

// granted holds the statements to what the user of the dashboards may read: never the entries, which are the payments.
func granted(text string) string {
	users, err := os.ReadFile(deployed + "../clickhouse/users.d/daybreak.xml")
	if err != nil {
		return err.Error()
	}
	_, after, _ := strings.Cut(string(users), "<daybreak_grafana>\n            <password")
	may := map[string]bool{}
	for _, m := range grant.FindAllStringSubmatch(after, -1) {
		may[m[1]] = true
	}
	for _, m := range tables.FindAllStringSubmatch(text, -1) {
		if !may[m[1]] {
			return "Grafana may not read " + m[1]
		}
	}
	return ""
}

func noFloat(text string) string {
	if strings.Contains(text, "Float") {
		return "money is Decimal and leaves as text"
	}
	return ""
}

func ranged(text string) string {
	if !strings.Contains(text, "$__dateFilter(biz_date)") && !strings.Contains(text, "$__timeFilter(") {
		return "reads all days there ever were"
	}
	return ""
}
