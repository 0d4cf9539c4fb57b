package boards

// Kind is who answers a query.
type Kind string

// The two sources.
const (
	Prometheus Kind = "prometheus"
	ClickHouse Kind = "clickhouse"
)

// Class is what a column must be for the panel to draw it.
type Class string

// The classes of columns.
const (
	Time   Class = "time"   // DateTime or DateTime64: the axis of a plot, or an instant in a table
	Number Class = "number" // drawn or compared as a number; never exact money
	Text   Class = "text"   // names and days
	Money  Class = "money"  // exact money, as text
)

// Column is one column that a panel relies on.
type Column struct {
	Name  string
	Class Class
}

// Query is one query of one panel.
type Query struct {
	Panel   string // board/panel
	Kind    Kind
	Text    string
	Legend  string   // Prometheus: how a series is called
	Instant bool     // Prometheus: only the newest value
	Columns []Column // ClickHouse: what comes back, in this order
}

// Plot reports whether the answer is drawn over time: a ClickHouse query whose first column is the time axis.
func (q Query) Plot() bool { return len(q.Columns) > 0 && q.Columns[0].Name == "time" }

// Of lists the queries of a panel.
func Of(panel string) []Query {
	var out []Query
	for _, q := range Queries {
		if q.Panel == panel {
			out = append(out, q)
		}
	}
	return out
}

func columns(class Class, names ...string) []Column {
	out := make([]Column, 0, len(names))
	for _, name := range names {
		out = append(out, Column{Name: name, Class: class})
	}
	return out
}

func join(parts ...[]Column) []Column {
	var out []Column
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
