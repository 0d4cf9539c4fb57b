package boards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Variable is a query that fills a list of choices.
type Variable struct {
	Name string
	Kind Kind
	Text string
}

// Variables are the queries of the variables of all boards.
var Variables = []Variable{
	{Name: "job", Kind: Prometheus, Text: jobVariable},
	{Name: "currency", Kind: ClickHouse, Text: currencyVariable},
}

func sourceVariable(name, label, plugin string) dashboard.VariableModel {
	return dashboard.VariableModel{
		Type: dashboard.VariableTypeDatasource, Name: name, Label: &label, Query: &dashboard.StringOrMap{String: &plugin},
		Refresh: ptr(dashboard.VariableRefreshOnDashboardLoad), Hide: ptr(dashboard.VariableHideDontHide),
	}
}

// choice is a variable whose values a query tells, asked again when the range changes.
func choice(v Variable, label string, many bool) dashboard.VariableModel {
	source := v.Kind.source()
	out := dashboard.VariableModel{
		Type: dashboard.VariableTypeQuery, Name: v.Name, Label: &label, Datasource: &source, Definition: &v.Text,
		Refresh: ptr(dashboard.VariableRefreshOnTimeRangeChanged), Sort: ptr(dashboard.VariableSortAlphabeticalAsc),
		Hide: ptr(dashboard.VariableHideDontHide), Multi: &many, IncludeAll: &many,
	}
	if v.Kind == ClickHouse {
		out.Query = &dashboard.StringOrMap{String: &v.Text}
	} else {
		out.Query = &dashboard.StringOrMap{Map: map[string]any{"query": v.Text, "refId": "variable-" + v.Name, "qryType": 1}}
	}
	if many {
		all := dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}}
		out.Current = &dashboard.VariableOption{Selected: ptr(true), Text: dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}}, Value: all}
	}
	return out
}

// dataSources are the two variables that every board has.
func dataSources() []dashboard.VariableModel {
	return []dashboard.VariableModel{
		sourceVariable("datasource", "Data source", "prometheus"),
		sourceVariable("clickhouse", "Books", clickHousePlugin),
	}
}

// links lead to the other boards with the same variables and range.
func links() []dashboard.DashboardLink {
	return []dashboard.DashboardLink{{
		Title: "Daybreak", Type: dashboard.DashboardLinkTypeDashboards, Icon: "external link", Tags: []string{"daybreak"},
		IncludeVars: true, KeepTime: true,
	}}
}
