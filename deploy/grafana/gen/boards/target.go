package boards

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// clickHousePlugin is the id of the data source plugin.
const clickHousePlugin = "grafana-clickhouse-datasource"

// The formats of an answer. The plugin's server side needs the number; the editor shows the word.
const (
	formatTimeSeries = 0
	formatTable      = 1
)

// Statement is a query of the ClickHouse plugin, for which the SDK has no type.
type Statement struct {
	Datasource common.DataSourceRef `json:"datasource"`
	EditorType string               `json:"editorType"`
	RawSQL     string               `json:"rawSql"`
	QueryType  string               `json:"queryType"`
	Format     int                  `json:"format"`
	RefID      string               `json:"refId"`
}

// ImplementsDataqueryVariant marks the type for the SDK.
func (s Statement) ImplementsDataqueryVariant() {}

// DataqueryType is the plugin's id.
func (s Statement) DataqueryType() string { return clickHousePlugin }

// Validate fails when the plugin could not run the statement.
func (s Statement) Validate() error {
	if s.RawSQL == "" || s.RefID == "" || s.EditorType != "sql" || (s.QueryType == "table") != (s.Format == formatTable) {
		return errors.New("not a statement: it needs rawSql, refId, editorType sql, and a format that is its queryType")
	}
	return nil
}

// Equals compares two queries.
func (s Statement) Equals(other variants.Dataquery) bool {
	switch o := other.(type) {
	case Statement:
		return s.same(o)
	case *Statement:
		return o != nil && s.same(*o)
	}
	return false
}

func (s Statement) same(o Statement) bool {
	x, xErr := json.Marshal(s)
	y, yErr := json.Marshal(o)
	return xErr == nil && yErr == nil && bytes.Equal(x, y)
}

// RegisterTypes teaches the SDK every type of panel and query that it knows, and ours. Decoding needs it.
func RegisterTypes() {
	plugins.RegisterDefaultPlugins()
	cog.NewRuntime().RegisterDataqueryVariant(variants.DataqueryConfig{
		Identifier: clickHousePlugin, DataqueryUnmarshaler: decodeStatement, StrictDataqueryUnmarshaler: decodeStatement,
	})
}

func decodeStatement(raw []byte) (variants.Dataquery, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var s Statement
	err := dec.Decode(&s)
	return s, err
}

// target makes the query of a panel. Its data source is a variable, so that one file serves every installation.
func (q Query) target(refID string) variants.Dataquery {
	if q.Kind == ClickHouse {
		s := Statement{Datasource: q.Kind.source(), EditorType: "sql", RawSQL: q.Text, QueryType: "table", Format: formatTable, RefID: refID}
		if q.Plot() {
			s.QueryType, s.Format = "timeseries", formatTimeSeries
		}
		return s
	}
	source, format := q.Kind.source(), prometheus.PromQueryFormatTimeSeries
	instant, over := q.Instant, !q.Instant
	return prometheus.Dataquery{
		Datasource: &source, EditorMode: ptr(prometheus.QueryEditorModeCode), Expr: q.Text, Format: &format, LegendFormat: &q.Legend,
		Instant: &instant, Range: &over, RefId: &refID,
	}
}

// source is the data source variable that answers.
func (k Kind) source() common.DataSourceRef {
	if k == ClickHouse {
		return common.DataSourceRef{Type: ptr(clickHousePlugin), Uid: ptr("${clickhouse}")}
	}
	return common.DataSourceRef{Type: ptr("prometheus"), Uid: ptr("${datasource}")}
}

func ptr[T any](v T) *T { return &v }
