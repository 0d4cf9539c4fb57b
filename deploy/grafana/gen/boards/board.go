package boards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Board is one dashboard.
type Board struct {
	Name, Title, Text string
	From, Refresh     string
	OneJob            bool // the variable job has one value
	Panels            []Panel
}

// Panel is one panel; its queries are those of Name in Queries.
type Panel struct {
	Name  string // without the board's
	Title string
	Text  string // what it shows and when to worry
	Look  look
	Unit  string  // of Grafana
	W, H  uint32  // in cells of Grafana's grid, 24 to a row
	Steps []step  // colours by value
	Words []State // what single values are called
	Usual string  // names of series, joined by |, whose values above 0 are no alarm

	at dashboard.GridPos
}

// Boards are all dashboards.
func Boards() []Board { return []Board{overview(), job(), pipeline()} }

// columnsOfGrid is how wide Grafana's grid is.
const columnsOfGrid = 24

// place lays the panels out from left to right in the order they are listed; a row is as high as its highest panel.
func (b *Board) place() {
	var x, y, high uint32
	for i := range b.Panels {
		p := &b.Panels[i]
		if x+p.W > columnsOfGrid {
			x, y, high = 0, y+high, 0
		}
		p.at = dashboard.GridPos{X: x, Y: y, W: p.W, H: p.H}
		x, high = x+p.W, max(high, p.H)
	}
}

// JSON is the dashboard as Grafana's provisioning reads it.
func (b Board) JSON() ([]byte, error) {
	d, err := b.build()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(d)
	return out.Bytes(), err
}

func (b Board) build() (dashboard.Dashboard, error) {
	b.place()
	built, err := dashboard.NewDashboardBuilder(b.Title).Uid("daybreak-"+b.Name).Description(b.Text).Tags([]string{"daybreak"}).
		Timezone("utc").Readonly().Tooltip(dashboard.DashboardCursorSyncCrosshair).Time(b.From, "now").Refresh(b.Refresh).Build()
	if err != nil {
		return built, err
	}
	built.Links = links()
	built.Templating.List = append(dataSources(), choice(Variables[0], "Job", !b.OneJob), choice(Variables[1], "Currency", true))
	for i := range b.Panels {
		p, err := b.panel(uint32(i + 1)) //nolint:gosec // a few dozen panels
		if err != nil {
			return built, err
		}
		built.Panels = append(built.Panels, dashboard.PanelOrRowPanel{Panel: p})
	}
	return built, built.Validate()
}

func (b Board) panel(id uint32) (*dashboard.Panel, error) {
	p := b.Panels[id-1]
	queries := Of(b.Name + "/" + p.Name)
	if len(queries) == 0 {
		return nil, fmt.Errorf("panel %s/%s has no query", b.Name, p.Name)
	}
	source := queries[0].Kind.source()
	out := &dashboard.Panel{
		Id: &id, Type: p.Look.plugin(), Title: &p.Title, Description: &p.Text, GridPos: &p.at, Datasource: &source,
		FieldConfig: &dashboard.FieldConfigSource{Overrides: append(overrides(queries), p.calm()...)}, Targets: targets(queries),
	}
	f := &out.FieldConfig.Defaults
	f.Unit = &p.Unit
	if p.Unit == unitShare {
		f.Decimals = ptr(1.0)
	}
	if p.Words != nil {
		f.Mappings = mapping(p.Words)
	}
	p.Look.dress(out, f)
	p.colour(f)
	return out, nil
}

func targets(queries []Query) []variants.Dataquery {
	var out []variants.Dataquery
	for i, q := range queries {
		out = append(out, q.target(string(rune('A'+i))))
	}
	return out
}

// colour gives the values their colours: by threshold, by state, or a palette.
func (p Panel) colour(f *dashboard.FieldConfig) {
	switch {
	case p.Look == lookCalendar:
		f.Mappings = mapping(States)
		f.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdThresholds}
		f.Thresholds = thresholds([]step{{colour: "text"}})
	case p.Look == lookGauges && len(p.Steps) == 0: // the length says it; colours would suggest an order of worth
		f.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdFixed, FixedColor: ptr("blue")}
	case len(p.Steps) > 0:
		f.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdThresholds}
		f.Thresholds = thresholds(p.Steps)
	case p.Look != lookTable:
		// By name, so that a kind has the same colour on every panel.
		f.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdPaletteClassicByName}
	}
	if p.Look == lookGauges {
		f.Min = ptr(0.0)
		if p.Unit == unitShare {
			f.Max = ptr(1.0)
		}
	}
}

// calm keeps what is usual every morning from being red next to what is not.
func (p Panel) calm() []dashboard.DashboardFieldConfigSourceOverrides {
	if p.Usual == "" {
		return nil
	}
	return []dashboard.DashboardFieldConfigSourceOverrides{{
		Matcher:    dashboard.MatcherConfig{Id: "byRegexp", Options: "/^(" + p.Usual + ")$/"},
		Properties: []dashboard.DynamicConfigValue{{Id: "thresholds", Value: thresholds([]step{{colour: "green"}, {1, "blue"}})}},
	}}
}

// overrides dress the columns of a table: instants as dates, jobs and days as links.
func overrides(queries []Query) []dashboard.DashboardFieldConfigSourceOverrides {
	out := []dashboard.DashboardFieldConfigSourceOverrides{}
	if queries[0].Kind != ClickHouse || queries[0].Plot() {
		return out
	}
	for _, c := range queries[0].Columns {
		var props []dashboard.DynamicConfigValue
		if c.Class == Money { // text stands left by itself
			props = append(props, dashboard.DynamicConfigValue{Id: "custom.align", Value: "right"})
		}
		if c.Class == Time {
			props = append(props, dashboard.DynamicConfigValue{Id: "unit", Value: "dateTimeAsIso"})
		}
		if title := columnTitle(c.Name); title != c.Name {
			props = append(props, dashboard.DynamicConfigValue{Id: "displayName", Value: title})
		}
		if c.Name == "job" {
			props = append(props, dashboard.DynamicConfigValue{Id: "links", Value: []map[string]any{{
				"title": "This job", "url": "/d/daybreak-job?var-job=${__data.fields.job}&${__url_time_range}&${datasource:queryparam}&${clickhouse:queryparam}",
			}}})
		}
		if props != nil {
			matcher := dashboard.MatcherConfig{Id: "byName", Options: c.Name}
			out = append(out, dashboard.DashboardFieldConfigSourceOverrides{Matcher: matcher, Properties: props})
		}
	}
	return out
}

var underline = regexp.MustCompile(`_+`)

// columnTitle is the name of a column in words.
func columnTitle(name string) string { return underline.ReplaceAllString(strings.TrimSpace(name), " ") }
