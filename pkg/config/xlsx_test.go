package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source"
)

const goodXLSX = `xlsx: { path: "books/{date}.xlsx", columns: { key: no, amount: a, currency: =CNY } }`

// asXLSX is the good configuration with a workbook on the side of the channel, whose description stands on line 9.
func asXLSX(pairs ...string) string {
	csv := `csv: { path: "bills/{date}.csv", columns: { key: no, amount: a, currency: =CNY } }`
	return replace(good, csv, replace(goodXLSX, pairs...))
}

func TestWorkbookAsSource(t *testing.T) {
	t.Parallel()
	c, err := Load(write(t, asXLSX(`xlsx",`, `xlsx", sheet: "账单 ", skip: 3, time_format: "02.01.2006", zone: UTC,`)))
	require.NoError(t, err)
	spec := c.Jobs[0].Channel
	require.Equal(t, source.KindXLSX, spec.Kind)
	require.Equal(t, &source.XLSX{Path: "books/{date}.xlsx", Sheet: "账单 ", Skip: 3}, spec.XLSX)
	require.Equal(t, "02.01.2006", spec.TimeFormat)
	require.Equal(t, "UTC", spec.Zone.String())
	require.Equal(t, "no", spec.Columns.Key.Header)
}

func TestWrongWorkbooks(t *testing.T) {
	t.Parallel()
	for _, c := range []wrong{
		{"no mapping", asXLSX(goodXLSX, "xlsx: a.xlsx"), []string{
			`9:13: jobs[0].channel.xlsx: must be a mapping, is a single value; write xlsx: { path: …, columns: … }`,
		}},
		{"no path", asXLSX(`path: "books/{date}.xlsx", `, ``), []string{
			`9:13: jobs[0].channel.xlsx.path: missing; name the file of a day, such as "ledger/{date}.xlsx"`,
		}},
		{"unknown key", asXLSX(`xlsx",`, `xlsx", shet: S, encoding: gbk,`), []string{
			`9:42: jobs[0].channel.xlsx.shet: unknown key; did you mean "sheet"?`,
			`9:51: jobs[0].channel.xlsx.encoding: unknown key; known are path, columns, sheet, skip, time_format, zone`,
		}},
		{"sheet and skip", asXLSX(`xlsx",`, `xlsx", sheet: "", skip: -1,`), []string{
			`9:49: jobs[0].channel.xlsx.sheet: is empty; name the sheet, or remove the key for the only one that is visible`,
			`9:59: jobs[0].channel.xlsx.skip: "-1" is not a whole number between 0 and 1000; write plain digits in that range`,
		}},
		{"sheet of control characters", asXLSX(`xlsx",`, `xlsx", sheet: "a\tb",`), []string{
			`9:49: jobs[0].channel.xlsx.sheet: "a\tb" holds a control character; remove it`,
		}},
		{"the same every day", asXLSX(`{date}`, `today`), []string{
			`9:13: jobs[0].channel.xlsx: every business day would read the same input; put {date} into the path, or {date:Date}, {from:DateTime64(3)} and {to:DateTime64(3)} into the query`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, problems(t, c.text))
		})
	}
}
