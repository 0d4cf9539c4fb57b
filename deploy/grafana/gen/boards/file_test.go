package boards

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statushistory"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const deployed = "../../"

func TestMain(m *testing.M) {
	RegisterTypes()
	os.Exit(m.Run())
}

func committed(t *testing.T, b Board) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployed, "dashboards", b.Name+".json"))
	require.NoError(t, err)
	return text
}

func TestCommittedFilesAreWhatIsGenerated(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(deployed + "dashboards/*")
	require.NoError(t, err)
	require.Len(t, files, len(Boards()), "a file that no board makes")
	for _, b := range Boards() {
		text, err := b.JSON()
		require.NoError(t, err)
		require.Equal(t, string(text), string(committed(t, b)), "run: go run . (in deploy/grafana/gen)")
	}
}

func TestPageIsWhatIsGenerated(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(deployed + "../../docs/dashboards.md")
	require.NoError(t, err)
	require.Equal(t, Page(), string(text), "run: go run . (in deploy/grafana/gen)")
	for _, b := range Boards() {
		picture, err := os.Stat(deployed + "../../docs/dashboards/" + b.Name + ".svg")
		require.NoError(t, err)
		require.Less(t, picture.Size(), int64(300_000), b.Name)
	}
}

// The SDK's strict decoder knows Grafana's schema: an unknown key, a missing one or a wrong type is an error. What it made
// of the file, written again, is the file: nothing was passed over.
func TestFilesDecodeStrictly(t *testing.T) {
	t.Parallel()
	for _, b := range Boards() {
		require.NoError(t, strict(committed(t, b)), b.Name)
	}
}

// strict decodes the frame and each panel by itself: in a whole dashboard the SDK drops its panels without an error. It
// also returns an empty list of errors, which is not nil, for none.
func strict(text []byte) error {
	var frame map[string]json.RawMessage
	if err := json.Unmarshal(text, &frame); err != nil {
		return err
	}
	var panels []json.RawMessage
	if err := json.Unmarshal(frame["panels"], &panels); err != nil {
		return err
	}
	frame["panels"] = json.RawMessage("[]")
	rest, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	var d dashboard.Dashboard
	all := []error{listed(d.UnmarshalJSONStrict(rest)), listed(d.Validate()), same(rest, d, `"panels":[],`)}
	for _, raw := range panels {
		all = append(all, strictPanel(raw))
	}
	return errors.Join(all...)
}

// strictPanel decodes a panel and, each by itself, its options, its custom fields and its queries, for the same reason.
func strictPanel(raw json.RawMessage) error {
	var p dashboard.Panel
	var parts struct {
		Type        string
		Options     json.RawMessage
		Targets     []json.RawMessage
		FieldConfig struct {
			Defaults struct{ Custom json.RawMessage }
		}
	}
	all := []error{json.Unmarshal(raw, &parts), listed(p.UnmarshalJSONStrict(raw)), listed(p.Validate())}
	options := map[string]strictly{
		"stat": &stat.Options{}, "bargauge": &bargauge.Options{}, "table": &table.Options{}, "status-history": &statushistory.Options{}, "timeseries": &timeseries.Options{},
	}[parts.Type]
	custom := map[string]strictly{"table": &table.FieldConfig{}, "status-history": &statushistory.FieldConfig{}, "timeseries": &timeseries.FieldConfig{}}[parts.Type]
	if options == nil {
		return fmt.Errorf("a panel of type %s", parts.Type)
	}
	all = append(all, listed(options.UnmarshalJSONStrict(parts.Options)), same(parts.Options, options, ""))
	if custom != nil {
		c := parts.FieldConfig.Defaults.Custom
		all = append(all, listed(custom.UnmarshalJSONStrict(c)), same(c, custom, ""))
	}
	for _, t := range parts.Targets {
		if bytes.Contains(t, []byte(`"rawSql"`)) {
			s, err := decodeStatement(t)
			all = append(all, err, same(t, s, ""))
			continue
		}
		var q prometheus.Dataquery
		all = append(all, listed(q.UnmarshalJSONStrict(t)), same(t, q, ""))
	}
	return errors.Join(all...)
}

type strictly interface{ UnmarshalJSONStrict(raw []byte) error }

func listed(err error) error {
	var list cog.BuildErrors
	if errors.As(err, &list) && len(list) == 0 {
		return nil
	}
	return err
}

// same reports whether a decoded value says what the text says, but for what is left out.
func same(text []byte, v any, without string) error {
	again, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var x, y any
	if err := errors.Join(json.Unmarshal(bytes.Replace(text, []byte(without), nil, 1), &x), json.Unmarshal(again, &y)); err != nil {
		return err
	}
	if !reflect.DeepEqual(x, y) {
		return fmt.Errorf("lost on the way: %.200s", text)
	}
	return nil
}

func TestStrictDecodingFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(d plain, panel map[string]any){
		"an unknown key of the dashboard":      func(d plain, _ map[string]any) { d["titel"] = "x" },
		"an unknown key of a panel":            func(_ plain, p map[string]any) { p["titel"] = "x" },
		"an unknown key of a Prometheus query": func(_ plain, p map[string]any) { targetsOf(p)[0]["exprs"] = "up" },
		"an unknown option":                    func(_ plain, p map[string]any) { p["options"].(map[string]any)["colourMode"] = "x" },
		"a wrong type":                         func(_ plain, p map[string]any) { p["title"] = 1 },
	} {
		d := decoded(t, committed(t, Boards()[0]))
		change(d, d.panels()[0])
		text, err := json.Marshal(d)
		require.NoError(t, err)
		require.Error(t, strict(text), name)
	}
}

func TestEveryQueryHasAPanel(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, b := range Boards() {
		for _, p := range b.Panels {
			there[b.Name+"/"+p.Name] = true
		}
	}
	for _, q := range Queries {
		require.True(t, there[q.Panel], "%s: no board has that panel", q.Panel)
	}
}

// Provisioning: what it names exists, uids are fixed, and no secret is in the files.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool              `yaml:"isDefault"`
			Editable                     bool              `yaml:"editable"`
			JSONData                     map[string]any    `yaml:"jsonData"`
			SecureJSONData               map[string]string `yaml:"secureJsonData"`
		}
	}
	strictYAML(t, "provisioning/datasources/daybreak.yml", &sources)
	uids := map[string]string{}
	for _, s := range sources.Datasources {
		uids[s.Type] = s.UID
		require.False(t, s.Editable, s.Name)
		for key, secret := range s.SecureJSONData {
			require.Regexp(t, `^\$`, secret, "%s: %s must come from outside", s.Name, key)
		}
	}
	require.Equal(t, map[string]string{"prometheus": "daybreak-prometheus", clickHousePlugin: "daybreak-clickhouse"}, uids)
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type    string
			DisableDeletion       bool `yaml:"disableDeletion"`
			AllowUIUpdates        bool `yaml:"allowUiUpdates"`
			UpdateIntervalSeconds int  `yaml:"updateIntervalSeconds"`
			Options               map[string]string
		}
	}
	strictYAML(t, "provisioning/dashboards/daybreak.yml", &boards)
	require.Len(t, boards.Providers, 1)
	require.False(t, boards.Providers[0].AllowUIUpdates)
	compose, err := os.ReadFile(deployed + "../compose/compose.yaml")
	require.NoError(t, err)
	require.Contains(t, string(compose), "../grafana/dashboards:"+boards.Providers[0].Options["path"])
}

func strictYAML(t *testing.T, name string, into any) {
	t.Helper()
	f, err := os.Open(deployed + name)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	dec := yaml.NewDecoder(f)
	dec.KnownFields(true)
	require.NoError(t, dec.Decode(into), name)
}
