package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// good is the smallest configuration that loads; # MORE is where a job's other keys go.
const good = `jobs:
  - name: shop
    timezone: Asia/Shanghai
    start: 2026-10-01
    due: { after: 1, at: "01:00" }
    ledger:
      csv: { path: "ledger/{date}.csv", columns: { key: no, amount: a, currency: =CNY } }
    channel:
      csv: { path: "bills/{date}.csv", columns: { key: no, amount: a, currency: =CNY } }
    # MORE
`

// replace gives text with each pair of old and new applied, and panics when there is nothing to replace: a test that
// changes nothing tests nothing.
func replace(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic("nothing to replace: " + pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// with gives good with further keys of the job, which stand on line 10.
func with(more string) string { return replace(good, "# MORE", more) }

// problems loads a wrong configuration and returns its messages without the file name.
func problems(t *testing.T, text string) []string {
	t.Helper()
	path := write(t, text)
	c, err := Load(path)
	require.Nil(t, c, "something was loaded although something is wrong")
	require.ErrorIs(t, err, ErrInvalid)
	var all *Errors
	require.ErrorAs(t, err, &all)
	var out []string
	for line := range strings.SplitSeq(all.Error(), "\n") {
		rest, ok := strings.CutPrefix(line, path+":")
		require.True(t, ok, line)
		out = append(out, rest)
	}
	require.Len(t, all.Problems, len(out))
	return out
}

type wrong struct {
	name, text string
	want       []string
}

func TestWrong(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, tc := range slices.Concat(wrongText, wrongJob, wrongBooks, wrongEngines) {
		require.False(t, names[tc.name], "two cases are called %s", tc.name)
		names[tc.name] = true
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, problems(t, tc.text), "in:\n%s", tc.text)
		})
	}
}

const manyFaults = `nats: { url: "ftp://x" }
htttp: {}
data: [a]
jobs:
  - name: Big Shop
    timezone: Asia/Shangai
    start: 2026-02-30
    due: { after: -1, at: 25:00, patience: 10 }
    order: loose
    ledger:
      csv: { path: "x/{day}.csv", columns: { key: no, amount: a, currency: =cny } }
    match: { tolerance: { CNY: 1e2 } }
`

// One file with many faults: all of them at once, in the order of the file.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		`1:14: nats.url: scheme "ftp" is not known; write embedded or nats://…, tls://…`,
		`2:1: htttp: unknown key; did you mean "http"?`,
		`3:7: data: must be a single value, is a list; give it one, or remove the key`,
		`5:5: jobs[0].channel: missing; say where the entries come from: csv, parquet, xlsx, query or bill`,
		`5:11: jobs[0].name: "Big Shop" is not a job name; use 1 to 63 small letters, digits and hyphens, the first a letter or digit`,
		`6:15: jobs[0].timezone: unknown time zone "Asia/Shangai"; name an IANA zone such as Asia/Shanghai or UTC`,
		`7:12: jobs[0].start: "2026-02-30" is not a calendar date between 1970-01-01 and 2149-06-06; write it as YYYY-MM-DD`,
		`8:19: jobs[0].due.after: "-1" is not a whole number between 0 and 366; write plain digits in that range`,
		`8:27: jobs[0].due.at: "25:00" is not a time of day; write it as HH:MM or HH:MM:SS, 00:00 to 23:59:59`,
		`8:44: jobs[0].due.patience: "10" is not a duration; write a number with its unit, such as 30s, 10m, 10h or 2d`,
		`9:12: jobs[0].order: "loose" is not known; known are strict, independent`,
		`11:20: jobs[0].ledger.csv.path: placeholder {day} is not known; write {date} or, in Go's layout, {date:20060102}`,
		`11:76: jobs[0].ledger.csv.columns.currency: fixed "cny" is not a currency code; write =CNY`,
		`12:32: jobs[0].match.tolerance.CNY: amount "1e2": only digits and one decimal point are allowed; write an exact decimal such as "0.01"`,
	}, problems(t, manyFaults))
}

func TestSyntaxErrorLines(t *testing.T) {
	t.Parallel()
	// The fault stands on line n of a long file; the parser itself would name line 1 or none.
	head := "jobs:\n" + strings.Repeat("  - name: x\n", 40)
	for _, bad := range []string{"  - {a: 1\n", "  - \"x\n", "  - 'x'y\n", "  - @x\n", "  - *nope\n", " oops: 1\n", "  - a: b: c\n"} {
		got := problems(t, head+bad+strings.Repeat("  - name: y\n", 40))
		require.Len(t, got, 1)
		require.Regexp(t, fmt.Sprintf("^%d:[0-9]+: not valid YAML: ", 42), got[0], bad)
	}
}

func TestErrorsNameTheFileAsGiven(t *testing.T) {
	t.Parallel()
	_, err := decode("conf/d.yaml", "/x/conf/d.yaml", []byte("jobs: 1\n"))
	require.EqualError(t, err, "conf/d.yaml:1:7: jobs: must be a list, is a single value; write jobs: and below it one - name: … a job")
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(manyFaults))
	f.Add([]byte(Sample()))
	f.Add([]byte("a: &a [*a]\njobs: *a\n"))
	f.Add([]byte("jobs: &a\n - <<: *a\n"))
	f.Add([]byte("&a <<: *a"))
	f.Add([]byte("\r0"))
	breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n") // as YAML has them
	for _, tc := range slices.Concat(wrongText, wrongJob, wrongBooks, wrongEngines) {
		f.Add([]byte(tc.text))
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := decode("d.yaml", filepath.Join(root, "d.yaml"), text)
		var all *Errors
		switch {
		case err == nil:
			require.NotNil(t, c)
			require.NotEmpty(t, c.Jobs)
		case errors.As(err, &all):
			require.Nil(t, c)
			require.NotEmpty(t, all.Problems)
			for _, p := range all.Problems {
				require.NotEmpty(t, p.What)
				require.GreaterOrEqual(t, p.Line, 1)
				require.GreaterOrEqual(t, p.Column, 1)
				require.LessOrEqual(t, p.Line, strings.Count(breaks.Replace(string(text)), "\n")+1)
			}
		default:
			t.Fatal(err)
		}
	})
}
