package fire

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	scale    = 60              // what waiting times are divided by
	interval = 2 * time.Second // of scrapes and evaluations, instead of the shipped 15 s
)

// place is a target of the shipped prometheus.yml and where its process listens here.
type place struct{ service, shipped, address string }

// places gives every target of the shipped file a free port of this machine.
func places(t *testing.T) []*place {
	t.Helper()
	c, err := config.LoadFile("../prometheus.yml", false, promslog.NewNopLogger())
	require.NoError(t, err)
	require.Len(t, c.ScrapeConfigs, 1)
	var file struct {
		Scrapes []struct {
			Static []struct {
				Targets []string          `yaml:"targets"`
				Labels  map[string]string `yaml:"labels"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(read(t, "../prometheus.yml"), &file))
	var out []*place
	for _, group := range file.Scrapes[0].Static {
		for _, target := range group.Targets {
			out = append(out, &place{service: group.Labels["service"], shipped: target})
		}
	}
	for i, port := range freePorts(t, len(out)) {
		out[i].address = fmt.Sprintf("127.0.0.1:%d", port)
	}
	return out
}

// prometheusFiles writes the shipped configuration and rules into dir and returns the configuration's path.
func prometheusFiles(t *testing.T, dir string, at []*place, alertmanager string) string {
	t.Helper()
	text := swap(t, string(read(t, "../prometheus.yml")),
		"scrape_interval: 15s", "scrape_interval: "+interval.String(), "evaluation_interval: 15s", "evaluation_interval: "+interval.String(),
		"alertmanager:9093", alertmanager)
	for _, p := range at {
		text = swap(t, text, `"`+p.shipped+`"`, `"`+p.address+`"`)
	}
	rules := faster(string(read(t, "../rules/daybreak.rules.yml")), regexp.MustCompile(`(?m)(for: |\[)(\d+[smhd])(\]|$)`))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "rules"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules", "daybreak.rules.yml"), []byte(rules), 0o600))
	path := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// alertmanagerFile writes the shipped example with the webhooks of this test.
func alertmanagerFile(t *testing.T, dir, hook string) string {
	t.Helper()
	text := swap(t, string(read(t, "../alertmanager.example.yml")), "http://127.0.0.1:9099/", hook+"/",
		"  - name: nobody\n", "  - name: nobody\n    webhook_configs:\n      - url: "+hook+"/nobody\n")
	text = faster(text, regexp.MustCompile(`(?m)(group_wait: |group_interval: |repeat_interval: )(\d+[smhd])($)`))
	path := filepath.Join(dir, "alertmanager.yml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// faster divides every duration that the pattern finds in its second group.
func faster(text string, where *regexp.Regexp) string {
	return where.ReplaceAllStringFunc(text, func(m string) string {
		part := where.FindStringSubmatch(m)
		d, err := model.ParseDuration(part[2])
		if err != nil {
			panic(err) // the pattern is ours
		}
		short := max(time.Duration(d)/scale, time.Duration(min(d, 1))*time.Millisecond)
		return part[1] + model.Duration(short).String() + part[3]
	})
}

// swap replaces pairs of old and new; each old must be there once.
func swap(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(t, text, pairs[i])
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// shippedRules are the alerts of the shipped file, as "name severity".
func shippedRules(t *testing.T) (out []string) {
	t.Helper()
	groups, errs := rulefmt.ParseFile("../rules/daybreak.rules.yml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	require.Empty(t, errs)
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			out = append(out, r.Alert+" "+r.Labels["severity"])
		}
	}
	require.NotEmpty(t, out)
	return out
}

// The substitution touches waiting times and ranges, and no threshold.
func TestOnlyWaitingIsShorter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prometheusFiles(t, dir, nil, "x:1")
	shipped, short := strings.Split(string(read(t, "../rules/daybreak.rules.yml")), "\n"), strings.Split(string(read(t, filepath.Join(dir, "rules", "daybreak.rules.yml"))), "\n")
	require.Len(t, short, len(shipped))
	changed := regexp.MustCompile(`for: \S+|\[\w+\]`)
	for i := range shipped {
		require.Equal(t, changed.ReplaceAllString(shipped[i], "~"), changed.ReplaceAllString(short[i], "~"))
		require.Equal(t, changed.MatchString(shipped[i]), shipped[i] != short[i], shipped[i])
	}
}
