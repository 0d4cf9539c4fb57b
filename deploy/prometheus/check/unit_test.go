package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// unitFile is a file of promtool's unit tests, as far as ours go.
type unitFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []unitTest     `yaml:"tests"`
}

type unitTest struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Series   []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Cases []unitCase `yaml:"alert_rule_test"`
}

type unitCase struct {
	At     model.Duration `yaml:"eval_time"`
	Alert  string         `yaml:"alertname"`
	Firing []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

func unitFiles(t *testing.T) map[string]unitFile {
	t.Helper()
	paths, err := filepath.Glob("../tests/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	out := map[string]unitFile{}
	for _, path := range paths {
		text, err := os.Open(path)
		require.NoError(t, err)
		dec := yaml.NewDecoder(text)
		dec.KnownFields(true)
		var f unitFile
		require.NoError(t, dec.Decode(&f), path)
		require.NoError(t, text.Close())
		require.NotEmpty(t, f.Tests, path)
		out[filepath.Base(path)] = f
	}
	return out
}

func (u unitTest) load() string {
	text := strings.Builder{}
	fmt.Fprintf(&text, "load %s\n", u.Interval)
	for _, s := range u.Series {
		fmt.Fprintf(&text, "  %s %s\n", s.Series, s.Values)
	}
	return text.String()
}

func (u unitTest) end() (last time.Duration) {
	for _, c := range u.Cases {
		last = max(last, time.Duration(c.At))
	}
	return last
}

// run evaluates the rules step by step from time 0 and compares what fires at the instants asked for.
func (u unitTest) run(t *testing.T, every time.Duration, files []string) {
	t.Helper()
	suite, err := promqltest.NewLazyLoader(u.load(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, suite.Close()) }()
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), AppendableV2: suite.Storage(), Context: context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: promslog.NewNopLogger(), Parser: parser.NewParser(parser.Options{}),
	})
	groups, errs := m.LoadGroups(time.Duration(u.Interval), labels.EmptyLabels(), "", nil, false, files...)
	require.Empty(t, errs)
	for at := time.Duration(0); at <= u.end(); at += every {
		suite.WithSamplesTill(time.Unix(0, 0).UTC().Add(at), func(err error) {
			require.NoError(t, err)
			for _, g := range groups {
				g.Eval(suite.Context(), time.Unix(0, 0).UTC().Add(at))
				for _, r := range g.Rules() {
					require.NoError(t, r.LastError(), r.Name())
				}
			}
		})
		for _, c := range u.Cases {
			if got := time.Duration(c.At); at <= got && got < at+every {
				require.ElementsMatch(t, c.want(), firing(groups, c.Alert), "%s at %s", c.Alert, c.At)
			}
		}
	}
}

// want prints what is expected as firing prints what there is.
func (c unitCase) want() []string {
	var out []string
	for _, a := range c.Firing {
		all := map[string]string{labels.AlertName: c.Alert}
		for k, v := range a.Labels {
			all[k] = v
		}
		out = append(out, labels.FromMap(all).String()+" "+labels.FromMap(a.Annotations).String())
	}
	return out
}

func firing(groups map[string]*rules.Group, alert string) []string {
	var out []string
	for _, g := range groups {
		for _, r := range g.Rules() {
			rule, ok := r.(*rules.AlertingRule)
			if !ok || rule.Name() != alert {
				continue
			}
			for _, a := range rule.ActiveAlerts() {
				if a.State == rules.StateFiring {
					out = append(out, a.Labels.String()+" "+a.Annotations.String())
				}
			}
		}
	}
	return out
}

func TestUnitTestsOfTheRules(t *testing.T) {
	t.Parallel()
	for name, f := range unitFiles(t) {
		var files []string
		for _, path := range f.RuleFiles {
			files = append(files, filepath.Join("../tests", path))
		}
		for _, u := range f.Tests {
			t.Run(name+"/"+u.Name, func(t *testing.T) {
				t.Parallel()
				u.run(t, time.Duration(f.EvaluationInterval), files)
			})
		}
	}
}

// Every rule is shown to fire, and to stay silent in each of the three situations that wake people for nothing.
func TestEveryRuleFiresAndStaysSilent(t *testing.T) {
	t.Parallel()
	fires, silent := map[string]bool{}, map[string]map[string]bool{}
	for name, f := range unitFiles(t) {
		for _, u := range f.Tests {
			for _, c := range u.Cases {
				for _, a := range c.Firing {
					fires[c.Alert+" "+a.Labels["severity"]] = true
				}
				if name == "quiet.yml" && len(c.Firing) == 0 {
					if silent[c.Alert] == nil {
						silent[c.Alert] = map[string]bool{}
					}
					silent[c.Alert][u.Name] = true
				}
			}
		}
	}
	for _, r := range ruleList(t) {
		require.True(t, fires[r.Alert+" "+r.Labels["severity"]], "%s %s is nowhere shown to fire", r.Alert, r.Labels["severity"])
		if r.Alert == "DaybreakWatchdog" {
			continue
		}
		for _, when := range []string{"restart", "month end", "quiet hour"} {
			require.True(t, silent[r.Alert][when], "%s is nowhere shown to be silent at: %s", r.Alert, when)
		}
	}
}
