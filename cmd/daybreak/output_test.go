package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

// sampleColumns and sampleRows hold one of everything that rows can hold.
var sampleColumns = []column{
	{name: "biz_date"},
	{name: "key", kind: outside},
	{name: "count", kind: number},
	{name: "amount", kind: money},
	{name: "reasons"},
	{name: "at"},
	{name: "ok"},
	{name: "note", kind: outside, optional: true},
}

func sampleRows() [][]any {
	day := model.NewDay(2026, time.November, 2)
	at := time.Date(2026, 11, 3, 1, 2, 3, 0, time.FixedZone("", 8*3600))
	amount := func(s string) decimal.NullDecimal { return decimal.NewNullDecimal(decimal.RequireFromString(s)) }
	return [][]any{
		{day, "000123", uint64(2), amount("-12345678901234567.10000001"), []string{"duplicate", "amount"}, at, true, nil},
		{&day, `=HYPERLINK("x"),1`, 0, amount("-5"), []string(nil), time.Time{}, false, nil},
		{(*model.Day)(nil), "商户\x1b[2J<&>", nil, decimal.NullDecimal{}, []string{"status"}, (*time.Time)(nil), nil, nil},
	}
}

func printed(t *testing.T, format string, columns []column, values [][]any) string {
	t.Helper()
	var out bytes.Buffer
	c := &cli{environment: &environment{stdout: &out, stderr: &bytes.Buffer{}}, flags: flags{format: format}}
	r := c.rows(columns...)
	for _, v := range values {
		require.NoError(t, r.add(v...))
	}
	require.NoError(t, r.end())
	return out.String()
}

const sampleNDJSON = `{"biz_date":"2026-11-02","key":"000123","count":2,"amount":"-12345678901234567.10000001","reasons":["duplicate","amount"],"at":"2026-11-02T17:02:03Z","ok":true,"note":null}
{"biz_date":"2026-11-02","key":"=HYPERLINK(\"x\"),1","count":0,"amount":"-5","reasons":[],"at":null,"ok":false,"note":null}
{"biz_date":null,"key":"商户\u001b[2J<&>","count":null,"amount":null,"reasons":["status"],"at":null,"ok":null,"note":null}
`

func TestFormats(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.Split(sampleNDJSON, "\n"), strings.Split(printed(t, "ndjson", sampleColumns, sampleRows()), "\n"))
	require.Equal(t, strings.Split(sampleNDJSON, "\n"), strings.Split(printed(t, "", sampleColumns, sampleRows()), "\n"), "no terminal, no table")
	lines := strings.Split(strings.TrimSpace(sampleNDJSON), "\n")
	require.Equal(t, "[\n"+strings.Join(lines, ",\n")+"\n]\n", printed(t, "json", sampleColumns, sampleRows()))
	require.Equal(t, `biz_date,key,count,amount,reasons,at,ok,note
2026-11-02,000123,2,-12345678901234567.10000001,"duplicate,amount",2026-11-02T17:02:03Z,true,
2026-11-02,"'=HYPERLINK(""x""),1",0,-5,,,false,
,商户`+"\x1b"+`[2J<&>,,,status,,,
`, printed(t, "csv", sampleColumns, sampleRows()))
	require.Equal(t, strings.TrimPrefix(`
 biz_date   │ key               │ count │                      amount │ reasons          │ at                   │ ok
────────────┼───────────────────┼───────┼─────────────────────────────┼──────────────────┼──────────────────────┼───────
 2026-11-02 │ 000123            │     2 │ -12345678901234567.10000001 │ duplicate,amount │ 2026-11-02T17:02:03Z │ true
 2026-11-02 │ =HYPERLINK("x"),1 │     0 │                          -5 │                  │                      │ false
            │ 商户\x1b[2J<&>    │       │                             │ status           │                      │
`, "\n"), printed(t, "table", sampleColumns, sampleRows()))
}

func TestFormatsOfNothing(t *testing.T) {
	t.Parallel()
	require.Empty(t, printed(t, "ndjson", sampleColumns, nil))
	require.Empty(t, printed(t, "table", sampleColumns, nil))
	require.Equal(t, "[]\n", printed(t, "json", sampleColumns, nil))
	require.Equal(t, "biz_date,key,count,amount,reasons,at,ok,note\n", printed(t, "csv", sampleColumns, nil))
}

func TestCutShortIsNoWholeArray(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &cli{environment: &environment{stdout: &out, stderr: &bytes.Buffer{}}, flags: flags{format: "json"}}
	r := c.rows(column{name: "a"})
	require.NoError(t, r.add("x"))
	require.NoError(t, r.out.Flush())
	require.False(t, json.Valid(out.Bytes()))
	require.Error(t, r.add("x", "y"), "a value for every column")
}

func TestHarmlessIsReversible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "abc": "abc", "1": "1", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1",
		"\r=1": "'\r=1", "＝1": "'＝1", "'quoted'": "''quoted'", "a=b": "a=b", "中": "中", "\xff=": "\xff=",
	} {
		got := harmless(text)
		require.Equal(t, want, got)
		require.Equal(t, text, strings.TrimPrefix(got, "'"))
	}
}

func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	var out, notes bytes.Buffer
	c := &cli{environment: &environment{stdout: &out, stderr: &notes}, flags: flags{format: "table"}}
	r := c.rows(column{name: "n", kind: number})
	for i := range tableRowsMax + 5 {
		require.NoError(t, r.add(i))
	}
	require.NoError(t, r.end())
	require.Equal(t, tableRowsMax+2, strings.Count(out.String(), "\n"))
	require.Contains(t, notes.String(), "only the first 10000 of 10005 rows")
}

func TestLiveRowsComeAtOnce(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"table": "n          key\n7          a\n", "ndjson": `{"n":7,"key":"a"}` + "\n", "csv": "n,key\n7,a\n",
	} {
		var out bytes.Buffer
		c := &cli{environment: &environment{stdout: &out, stderr: &bytes.Buffer{}}, flags: flags{format: format}}
		r := c.rows(column{name: "n", kind: number}, column{name: "key", kind: outside})
		r.live = true
		require.NoError(t, r.add(7, "a"))
		require.Equal(t, want, out.String(), format)
		require.NoError(t, r.end())
		require.Equal(t, want, out.String(), format)
	}
}

func TestGrid(t *testing.T) {
	t.Parallel()
	day := func(m time.Month, d int) model.Day { return model.NewDay(2026, m, d) }
	open := &model.Batch{Diffs: map[model.Kind]uint64{model.KindAmount: 1}}
	got := drawGrid([]statusRow{
		{job: "cards", day: day(10, 30), text: skippedDay},
		{job: "cards", day: day(10, 31), text: "DONE", batch: &model.Batch{}},
		{job: "cards", day: day(11, 1), text: "DONE", batch: open},
		{job: "cards", day: day(11, 2), text: "FAILED"},
		{job: "cards", day: day(11, 6), text: missingDay},
		{job: "longer-name", day: day(11, 1), text: "WAITING"},
		{job: "longer-name", day: day(11, 2), text: "BLOCKED"},
		{job: "longer-name", day: day(11, 3), text: "RUNNING"},
	})
	require.Equal(t, strings.TrimPrefix(`
job          month    1     6     11    16    21    26    31
cards        2026-10  ..... ..... ..... ..... ..... ....s D
cards        2026-11  dF... M.... ..... ..... ..... ..... .
longer-name  2026-11  WBR.. ..... ..... ..... ..... ..... .
`, "\n")+gridLegend, got)
}
