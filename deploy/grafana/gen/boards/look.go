package boards

import (
	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statushistory"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// look is the kind of a panel: how its answer is drawn.
type look string

// The kinds that are used. The lint holds the dashboards to them.
const (
	lookStat     look = "stat"
	lookGauges   look = "bargauge"
	lookTable    look = "table"
	lookCalendar look = "status-history"
	lookLines    look = "timeseries"
	lookBars     look = "timeseries, stacked bars" // of a figure per day
	lookColumns  look = "timeseries, bars"         // the same, side by side
)

// plugin is the id of Grafana's own panel plugin.
func (l look) plugin() string {
	if l == lookBars || l == lookColumns {
		return string(lookLines)
	}
	return string(l)
}

// dress gives a panel the options of its kind.
func (l look) dress(p *dashboard.Panel, f *dashboard.FieldConfig) {
	switch l {
	case lookStat:
		o := stat.NewOptions()
		o.ReduceOptions, o.Orientation = newest(), common.VizOrientationAuto
		o.ColorMode, o.GraphMode = common.BigValueColorModeBackground, common.BigValueGraphModeNone
		p.Options = o
	case lookGauges:
		o := bargauge.NewOptions()
		o.ReduceOptions, o.Orientation, o.Legend = newest(), common.VizOrientationHorizontal, legend(common.LegendDisplayModeHidden)
		o.DisplayMode = common.BarGaugeDisplayModeBasic
		p.Options = o
	case lookTable:
		o := table.NewOptions()
		o.Footer = nil // the SDK's own default is not valid by the SDK's own schema
		p.Options = o
		fields := table.NewFieldConfig()
		fields.Inspect = true // a long detail opens in full
		f.Custom = fields
	case lookCalendar:
		o := statushistory.NewOptions()
		o.ShowValue, o.Legend, o.Tooltip = common.VisibilityModeNever, legend(common.LegendDisplayModeList), tooltip()
		p.Options, f.Custom = o, statushistory.NewFieldConfig()
	default:
		o := timeseries.NewOptions()
		o.Legend, o.Tooltip = legend(common.LegendDisplayModeList), tooltip()
		p.Options, f.Custom = o, l.graph()
	}
}

// graph says how lines or bars are drawn.
func (l look) graph() *timeseries.FieldConfig {
	g := timeseries.NewFieldConfig()
	g.ShowPoints, g.FillOpacity, g.LineWidth = ptr(common.VisibilityModeNever), ptr(8.0), ptr(1.0)
	g.DrawStyle, g.AxisSoftMin = ptr(common.GraphDrawStyleLine), ptr(0.0)
	if l == lookLines {
		return g
	}
	g.DrawStyle, g.FillOpacity, g.BarWidthFactor = ptr(common.GraphDrawStyleBars), ptr(80.0), ptr(0.7)
	if l == lookBars {
		g.Stacking = &common.StackingConfig{Mode: ptr(common.StackingModeNormal), Group: ptr("A")}
	}
	return g
}

func newest() common.ReduceDataOptions {
	return common.ReduceDataOptions{Calcs: []string{"lastNotNull"}}
}

func legend(mode common.LegendDisplayMode) common.VizLegendOptions {
	return common.VizLegendOptions{
		DisplayMode: mode, Placement: common.LegendPlacementBottom, ShowLegend: mode != common.LegendDisplayModeHidden, Calcs: []string{},
	}
}

func tooltip() common.VizTooltipOptions {
	return common.VizTooltipOptions{Mode: common.TooltipDisplayModeMulti, Sort: common.SortOrderDescending}
}

// step is where a colour begins. The first step of a panel begins below everything.
type step struct {
	from   float64
	colour string
}

func thresholds(steps []step) *dashboard.ThresholdsConfig {
	out := &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute}
	for i, s := range steps {
		t := dashboard.Threshold{Color: s.colour}
		if i > 0 {
			t.Value = ptr(s.from)
		}
		out.Steps = append(out.Steps, t)
	}
	return out
}

// State is one value: what it is called and drawn in. The words stand in tooltip and legend, so that
// nobody has to tell the colours apart.
type State struct{ Value, Word, Colour string }

// States are the values of a calendar, best first. The query computes the numbers.
var States = []State{
	{"0", "clean", "green"}, {"1", "open diffs", "yellow"}, {"2", "late", "blue"}, {"3", "in doubt", "orange"}, {"4", "failed", "red"},
}

func mapping(words []State) []dashboard.ValueMapping {
	m := dashboard.NewValueMap()
	for i, s := range words {
		m.Options[s.Value] = dashboard.ValueMappingResult{Text: ptr(s.Word), Color: ptr(s.Colour), Index: ptr(int32(i))}
	}
	return []dashboard.ValueMapping{{ValueMap: m}}
}
