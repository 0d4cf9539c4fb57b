package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

func TestWrongSpecs(t *testing.T) {
	t.Parallel()
	fixed := columns()
	fixed.Key, fixed.Amount = source.ParseColumn("=x"), source.ParseColumn("=1")
	money := columns()
	money.Currency = source.ParseColumn("=€")
	for name, c := range map[string]struct {
		spec source.Spec
		want []source.Problem
	}{
		"nothing":         {source.Spec{}, []source.Problem{{"", `kind "" is not known or not described: describe one of csv, parquet, xlsx, query, bill`}, {"columns.amount", "is missing: name the column of the input"}, {"columns.currency", "is missing: name the column of the input, or a fixed value such as =CNY"}}},
		"no path":         {source.Spec{Kind: source.KindCSV, CSV: &source.CSV{}, Columns: columns()}, []source.Problem{{"csv.path", "is missing: name the file, such as bills/{date}.csv"}}},
		"path word":       {csvSpec(source.CSV{Path: "{day}.csv"}, columns()), []source.Problem{{"csv.path", `path "{day}.csv": {day} is not known: write {date}, or {date:20060102} with the layout of 2 January 2006`}}},
		"path layout":     {csvSpec(source.CSV{Path: "{date:YYYYMMDD}.csv"}, columns()), []source.Problem{{"csv.path", `path "{date:YYYYMMDD}.csv": {date:YYYYMMDD} is not known: write {date}, or {date:20060102} with the layout of 2 January 2006`}}},
		"path open":       {csvSpec(source.CSV{Path: "{date.csv"}, columns()), []source.Problem{{"csv.path", `path "{date.csv": {date.csv} is not known: write {date}, or {date:20060102} with the layout of 2 January 2006`}}},
		"path pattern":    {csvSpec(source.CSV{Path: "[a.csv"}, columns()), []source.Problem{{"csv.path", `"[a.csv" is no pattern: syntax error in pattern`}}},
		"dialect":         {csvSpec(source.CSV{Encoding: "latin1", Delimiter: '|', Quote: '|', Skip: -1, Entry: "["}, columns()), []source.Problem{{"csv.encoding", `"latin1" is not known: name one of auto, utf-8, gb18030, gbk, utf-16, utf-16le, utf-16be, windows-1252`}, {"csv.entry", `"[" is no pattern: syntax error in pattern`}, {"csv.quote", "delimiter and quote are the same character '|'"}, {"csv.skip", "-1 lines cannot be skipped"}}},
		"fixed":           {csvSpec(source.CSV{}, fixed), []source.Problem{{"columns.key", "cannot be the same for every row: only currency, status and attributes may be fixed"}, {"columns.amount", "cannot be the same for every row: only currency, status and attributes may be fixed"}}},
		"currency":        {csvSpec(source.CSV{}, money), []source.Problem{{"columns.currency", `currency "€": want 3 to 8 letters or digits, such as CNY`}}},
		"time format":     {source.Spec{Kind: source.KindCSV, CSV: &source.CSV{Path: "x"}, Columns: columns(), TimeFormat: "hh:mm"}, []source.Problem{{"time_format", "want unix, unix_ms or a Go layout that holds year, month and day, such as 2006-01-02 15:04:05"}}},
		"a query's write": {source.Spec{Kind: source.KindQuery, Query: &source.Query{SQL: "DROP TABLE x"}, Columns: columns()}, []source.Problem{{"query", "the statement begins with DROP: only SELECT, or WITH … SELECT, may be run"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.spec.Check())
			_, err := source.Open(c.spec, source.Env{})
			require.ErrorIs(t, err, source.ErrSpec)
		})
	}
}

func TestQueryNeedsAConnection(t *testing.T) {
	t.Parallel()
	_, err := source.Open(source.Spec{Kind: source.KindQuery, Query: &source.Query{SQL: "SELECT 1"}, Columns: columns()}, source.Env{})
	require.EqualError(t, err, "query: there is no ClickHouse to ask: the source is not described rightly")
}

func TestSettingsAsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rune{"": ',', ";": ';', `\t`: '\t', "tab": '\t', "；": '；'} {
		got, err := source.ParseDelimiter(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for text, want := range map[string]rune{"": '"', "'": '\'', "none": source.NoQuote} {
		got, err := source.ParseQuote(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"ab", "\n", "\xff", "\x00"} {
		_, err := source.ParseDelimiter(bad)
		require.ErrorIs(t, err, source.ErrSpec, "%q", bad)
	}
	require.Equal(t, source.Column{Fixed: "CNY", IsFixed: true}, source.ParseColumn("=CNY"))
	require.Equal(t, source.Column{Header: "币种"}, source.ParseColumn("币种"))
}

func TestColumnsByName(t *testing.T) {
	t.Parallel()
	var c source.Columns
	for _, name := range []string{"key", "amount", "currency", "status", "occurred_at", "fee", "id", "shop"} {
		_, set := c.Get(name)
		require.False(t, set)
		c.Put(name, source.Column{Header: "x" + name})
		got, set := c.Get(name)
		require.True(t, set)
		require.Equal(t, "x"+name, got.Header)
	}
	require.Len(t, c.Attrs, 1)
	require.Empty(t, c.CheckRules(model.Rules{Key: []string{"key", "shop"}}))
}
