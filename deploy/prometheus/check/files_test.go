package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	alertmanager "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const ruleFile = "../rules/daybreak.rules.yml"

func ruleList(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(ruleFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	require.Empty(t, errs)
	var out []rulefmt.Rule
	for _, g := range groups.Groups {
		out = append(out, g.Rules...)
	}
	require.NotEmpty(t, out)
	return out
}

func TestRulesAreInHouseStyle(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range ruleList(t) {
		require.Regexp(t, `^Daybreak[A-Z][A-Za-z]+$`, r.Alert)
		require.Contains(t, []string{"critical", "warning", "info", "none"}, r.Labels["severity"], r.Alert)
		key := r.Alert + " " + r.Labels["severity"]
		require.False(t, seen[key], "%s is there twice", key)
		seen[key] = true
		require.Regexp(t, `^[A-Z][^{]*\.$`, r.Annotations["summary"], "%s: a static sentence", r.Alert)
		require.Regexp(t, `\.(\{\{ end \}\})?$`, r.Annotations["description"], r.Alert)
		page, ok := strings.CutPrefix(r.Annotations["runbook_url"], "https://daybreak.example/")
		require.True(t, ok, r.Alert)
		require.Equal(t, "docs/runbooks/"+r.Alert+".md", page)
		_, err := os.Stat(filepath.Join("../../..", page))
		require.NoError(t, err, "%s: the link leads nowhere", r.Alert)
	}
}

// What is younger than Prometheus 2.42, which Debian 12 has.
func TestRulesStayWithinTheOldestPrometheus(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(ruleFile)
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Name, Interval string
			Rules          []struct {
				Alert, Expr         string
				For                 string
				KeepFiring          string `yaml:"keep_firing_for"`
				Labels, Annotations map[string]string
			}
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	require.NoError(t, dec.Decode(&file))
	younger := regexp.MustCompile(`\b(info|mad_over_time|sort_by_label|sort_by_label_desc|limitk|limit_ratio|ts_of_\w+|double_exponential_smoothing|histogram_(avg|stddev|stdvar)|first_over_time)\(`)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			require.False(t, younger.MatchString(r.Expr), "%s", r.Alert)
		}
	}
}

func TestConfigurationsLoad(t *testing.T) {
	t.Parallel()
	c, err := config.LoadFile("../prometheus.yml", false, promslog.NewNopLogger())
	require.NoError(t, err)
	require.Len(t, c.ScrapeConfigs, 1)
	require.True(t, c.ScrapeConfigs[0].HonorLabels, "else job becomes exported_job and every rule finds nothing")
	require.Equal(t, "daybreak", c.ScrapeConfigs[0].JobName, "DaybreakTargetDown asks for it")
	files, err := filepath.Glob(c.RuleFiles[0])
	require.NoError(t, err)
	require.Len(t, files, 1)

	a, err := alertmanager.LoadFile("../alertmanager.example.yml")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, r := range a.Receivers {
		names[r.Name] = true
	}
	require.Equal(t, map[string]bool{"people": true, "pager": true, "watchdog": true, "nobody": true}, names)
}
