package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

func newBook(t *testing.T) *scenario.Book {
	t.Helper()
	book, err := scenario.Write(t.TempDir(), scenario.Options{
		Seed: 11, First: model.NewDay(2026, time.November, 2), Days: 3, Entries: 20,
	})
	require.NoError(t, err)
	return book
}

// Every wrong command line ends with its own code and message before any engine is opened or anything is written.
func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	book := newBook(t)
	now := "2026-11-05T12:00:00Z"
	id := strings.Repeat("a", 32)
	for line, want := range map[string]string{
		"nonsense":                 `"nonsense" is no command`,
		"statu":                    "did you mean status?",
		"status --nope":            "unknown flag: --nope",
		"status a b":               "accepts at most 1 arg(s)",
		"status nope":              `job "nope" is not in`,
		"status --format yaml":     `--format "yaml": want table, json, ndjson, csv`,
		"version --format yaml":    `--format "yaml"`,
		"version more":             `unknown command "more"`,
		"status --from 2026-02-30": "--from: ",
		"status --to tomorrow":     "--to: ",
		"status --from 2026-11-03 --to 2026-11-02":                                     "--from 2026-11-03 is after --to 2026-11-02",
		"status --now noon":                                                            "--now",
		"status --log-level loud":                                                      "--log-level",
		"diffs":                                                                        "accepts between 1 and 2 arg(s)",
		"diffs cards 2026-11-3":                                                        "want YYYY-MM-DD",
		"diffs cards 2026-11-03..":                                                     "want YYYY-MM-DD",
		"diffs cards 2026-11-03..2026-11-02":                                           "2026-11-03 is after 2026-11-02",
		"diffs cards --kind amounts":                                                   `--kind "amounts": want duplicate, missing_in_channel`,
		"diffs cards --state closed":                                                   `--state "closed": want open, cleared`,
		"diffs cards --review maybe":                                                   `--review "maybe": want none, investigating`,
		"diffs cards --carried --kind amount":                                          "--carried lists entries",
		"diffs cards 2026-11-02..2026-11-03 --carried":                                 "one day is wanted",
		"review cards 2026-11-02":                                                      "accepts 3 arg(s)",
		"review cards 2026-11-02 " + id + " --to open --by a --note b":                 `--to "open": want investigating`,
		"review cards 2026-11-02 " + id + " --to none --by a --note b":                 `--to "none"`,
		"review cards 2026-11-02 " + id + " --to resolved --note b":                    "--by is empty",
		"review cards 2026-11-02 " + id + " --to resolved --by a":                      "--note is empty",
		"review cards 2026-11-02 abc --to resolved --by a --note b":                    `diff id "abc"`,
		"review cards 2026-11-02 zzzzzzzz --to resolved --by a --note b":               `diff id "zzzzzzzz"`,
		"review cards 2026-11-02..2026-11-03 " + id + " --to resolved --by a --note b": "one day is wanted",
		"replay cards":                         "accepts 2 arg(s)",
		"replay nope 2026-11-02":               `job "nope" is not in`,
		"replay cards last-week":               "want YYYY-MM-DD",
		"replay cards 2026-11-03..2026-11-02":  "write the earlier day first",
		"replay cards 2026-11-09":              "not due yet",
		"replay cards 2026-11-03..2026-11-09":  "nothing was asked for",
		"replay cards 2026-10-31":              "before the job's start",
		"replay cards 2026-11-02 --timeout 0s": "--timeout",
		"drill":                                "accepts 1 arg(s)",
		"drill cards --days 0":                 "--days 0",
		"audit nope":                           `job "nope" is not in`,
		"events --job nope":                    `job "nope" is not in`,
		"events --since lately":                `--since "lately"`,
		"events --date 2026-13-01":             "--date",
		"events --schema entries":              `--schema "entries": want diff or batch`,
		"events --follow --format json":        "use ndjson with --follow",
		"check -f /does/not/exist.yaml":        "cannot be read",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(line)
			if args[0] != "nonsense" && args[0] != "statu" && args[0] != "version" && args[0] != "events" && !strings.Contains(line, "--now") {
				args = append(args, "--now", now)
			}
			r := command(t.Context(), map[string]string{"DAYBREAK_CONFIG": book.Config}, args...)
			require.Equal(t, exitUsage, r.code, r.err)
			require.Contains(t, r.err, want)
			require.Empty(t, r.out)
		})
	}
	t.Cleanup(func() { require.NoDirExists(t, filepath.Join(filepath.Dir(book.Config), "data")) })
}

func TestNoConfiguration(t *testing.T) {
	t.Parallel()
	r := command(t.Context(), nil, "status")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "DAYBREAK_CONFIG")
}

// Everything that is wrong in a file is said at once, with its place.
func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "daybreak.yaml")
	require.NoError(t, os.WriteFile(file, []byte("jobs:\n  - name: A\n    zone: x\n"), 0o600))
	r := command(t.Context(), nil, "check", "-f", file)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, file+":2:")
	require.Contains(t, r.err, file+":3:")
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	t.Parallel()
	root := newRoot(testEnvironment(nil, nil, nil))
	for _, cmd := range root.Commands() {
		require.NotEmpty(t, cmd.Short, cmd.Name())
		require.Contains(t, cmd.Example, "daybreak "+cmd.Name(), cmd.Name())
		r := command(t.Context(), nil, cmd.Name(), "--help")
		require.Equal(t, exitFine, r.code)
		require.Contains(t, r.out, "Examples:")
	}
	r := command(t.Context(), nil)
	require.Equal(t, exitFine, r.code)
	require.Contains(t, r.out, "replay")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		require.Equal(t, exitFine, command(t.Context(), nil, "completion", shell).code)
	}
	vars := map[string]string{"DAYBREAK_CONFIG": newBook(t).Config}
	for line, want := range map[string][]string{
		"status ": {"cards", "wallet", "split"}, "diffs cards --kind ": {"amount"}, "status --format ": {"ndjson"},
		"audit cards ": {"wallet"}, "events --job ": {"split"},
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		r := command(t.Context(), vars, args...)
		for _, w := range want {
			require.Contains(t, r.out, w+"\n", line)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	r := command(t.Context(), nil, "version", "--format", "csv")
	require.Equal(t, exitFine, r.code)
	for _, want := range []string{"what,version\n", "\nchdb library,", "\ngo,go1."} {
		require.Contains(t, r.out, want)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	r := command(t.Context(), nil, "events", "--schema", "diff")
	require.Equal(t, exitFine, r.code)
	require.JSONEq(t, string(model.Schema("diff")), r.out)
}

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 9, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "24h": now.Add(-24 * time.Hour), "7d": now.AddDate(0, 0, -7), "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"2026-11-01T08:00:00+08:00": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
	} {
		got, err := parseSince(text, now)
		require.NoError(t, err)
		require.True(t, want.Equal(got), text)
	}
	for _, text := range []string{"d", "-1h", "7", "2026-11-31", "-3d"} {
		_, err := parseSince(text, now)
		require.Error(t, err, text)
	}
}

// yesterday is the date before the one that the clock shows in the job's own zone.
func TestYesterdayIsInTheZoneOfTheJob(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 5, 20, 0, 0, 0, time.UTC)
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	for _, c := range []struct {
		zone *time.Location
		want string
	}{{shanghai, "2026-11-05"}, {time.UTC, "2026-11-04"}} {
		got, err := parseSpan("2026-11-01..yesterday", model.Job{Location: c.zone}, now)
		require.NoError(t, err)
		require.Equal(t, "2026-11-01", got.from.String())
		require.Equal(t, c.want, got.to.String())
	}
}

// A range takes the business days in it and refuses the whole when one of them may not be recomputed.
func TestReplayableDays(t *testing.T) {
	t.Parallel()
	job := model.Job{
		Name: "j", Location: time.UTC, Start: model.NewDay(2026, 11, 2), Calendar: model.WeekdayCalendar(),
		Due: model.Due{AfterDays: 1, At: model.TimeOfDay{Hour: 1}},
	}
	now := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	day := func(d int) model.Day { return model.NewDay(2026, 11, d) }
	days, err := replayable(job, span{day(6), day(9)}, now)
	require.NoError(t, err)
	require.Equal(t, []model.Day{day(6), day(9)}, days)
	for want, s := range map[error]span{
		model.ErrNotBusinessDay: {day(7), day(7)}, model.ErrBeforeStart: {day(2).Add(-4), day(3)}, model.ErrNotDue: {day(10), day(11)},
	} {
		_, err := replayable(job, s, now)
		require.ErrorIs(t, err, want)
	}
	_, err = replayable(job, span{day(7), day(8)}, now)
	require.ErrorContains(t, err, "no business day")
}
