package text

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func place(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

func shanghai(t testing.TB) *time.Location { return place(t, "Asia/Shanghai") }

func TestInstants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, zone, text, want string }{
		{"", "Asia/Shanghai", "2026-10-01", "2026-09-30T16:00:00Z"},
		{"", "Asia/Shanghai", "2026-10-01 00:30:00", "2026-09-30T16:30:00Z"},
		{"", "Asia/Shanghai", "2026-10-01T00:30:00.123456789", "2026-09-30T16:30:00.123456789Z"},
		{"", "Asia/Shanghai", "2026-10-01T00:30:00Z", "2026-10-01T00:30:00Z"},
		{"", "Asia/Shanghai", "2026-01-06 00:00:30.12+08", "2026-01-05T16:00:30.12Z"},
		{"", "Asia/Shanghai", "2026-10-01T00:30:00-0330", "2026-10-01T04:00:00Z"},
		{"", "Asia/Shanghai", "2026-10-01T00:30:00+05:45", "2026-09-30T18:45:00Z"},
		{"02.01.2006 15:04", "Europe/Berlin", "01.10.2026 09:05", "2026-10-01T07:05:00Z"},
		{"02.01.06", "Europe/Berlin", "01.10.26", "2026-09-30T22:00:00Z"},
		{"2006-01-02 15:04:05 -0700", "Europe/Berlin", "2026-10-01 09:05:00 +0800", "2026-10-01T01:05:00Z"},
		{TimeUnix, "Asia/Shanghai", "1790784000", "2026-09-30T16:00:00Z"},
		{TimeUnixMS, "Asia/Shanghai", "1790784000123", "2026-09-30T16:00:00.123Z"},
		// Clocks that go back show a time twice: the first is taken.
		{"", "America/Los_Angeles", "2024-11-03 01:30:00", "2024-11-03T08:30:00Z"},
		{"", "Australia/Lord_Howe", "2026-04-05 01:45:00", "2026-04-04T14:45:00Z"},
		{"", "Australia/Lord_Howe", "2026-04-05 02:00:00", "2026-04-04T15:30:00Z"},
		{"", "Europe/London", "2026-10-25 01:00:00", "2026-10-25T00:00:00Z"},
		// A date is the first instant of its day, also where midnight is skipped.
		{"", "Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z"},
		{"", "Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"},
	} {
		got, err := Instants{c.format, place(t, c.zone)}.Parse(c.text)
		require.NoError(t, err, "%s in %s", c.text, c.zone)
		require.Equal(t, c.want, got.Format(time.RFC3339Nano), "%s in %s", c.text, c.zone)
		require.Equal(t, time.UTC, got.Location())
	}
}

func TestNoInstant(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "0000-00-00", "0000-00-00 00:00:00", "0000-00-00 00:00:00.000", "0000-00-00T00:00:00Z"} {
		for _, format := range []string{"", TimeUnix, "02.01.2006"} {
			got, err := Instants{format, time.UTC}.Parse(text)
			require.NoError(t, err, text)
			require.True(t, got.IsZero())
		}
	}
}

func TestWrongInstants(t *testing.T) {
	t.Parallel()
	const form = ": not of the forms 2006-01-02, 2006-01-02 15:04:05[.fff] or 2006-01-02T15:04:05[.fff], with or without an offset; name any other with time_format"
	for _, c := range []struct{ format, zone, text, want string }{
		{"", "America/Los_Angeles", "2024-03-10 02:30:00", `instant "2024-03-10 02:30:00": clocks in America/Los_Angeles skip this time: write the offset with it, or name the right zone`},
		{"", "Africa/Cairo", "2026-04-24 00:30:00", `instant "2026-04-24 00:30:00": clocks in Africa/Cairo skip this time: write the offset with it, or name the right zone`},
		{"", "Pacific/Apia", "2011-12-30", `instant "2011-12-30": Pacific/Apia has no such day`},
		{"", "UTC", "2026-02-29", `instant "2026-02-29": no such date or time of day`},
		{"", "UTC", "2026-13-01 00:00:00", `instant "2026-13-01 00:00:00": no such date or time of day`},
		{"", "UTC", "2026-10-01 23:60:00", `instant "2026-10-01 23:60:00": no such date or time of day`},
		{"", "UTC", "2026-10-01 00:00", `instant "2026-10-01 00:00"` + form},
		{"", "UTC", "2026-10-01 00:00:00 PST", `instant "2026-10-01 00:00:00 PST"` + form},
		{"", "UTC", "2026-10-01 00:00:00.", `instant "2026-10-01 00:00:00."` + form},
		{"", "UTC", "2026-10-01 00:00:00.1234567890", `instant "2026-10-01 00:00:00.1234567890"` + form},
		{"", "UTC", "2026-10-01 00:00:00+8", `instant "2026-10-01 00:00:00+8"` + form},
		{"", "UTC", "2026-10-01 00:00:00+08:", `instant "2026-10-01 00:00:00+08:"` + form},
		{"", "UTC", "2026-10-01 00:00:00+0:800", `instant "2026-10-01 00:00:00+0:800"` + form},
		{"", "UTC", "2026-10-01 00:00:00+99:00", `instant "2026-10-01 00:00:00+99:00": no such offset`},
		{"", "UTC", "45123.99", `instant "45123.99"` + form},
		{"", "UTC", "1790784000", `instant "1790784000"` + form},
		{"", "UTC", "0000-00-00 00:00:01", `instant "0000-00-00 00:00:01": no such date or time of day`},
		{"", "UTC", "1970-01-01 00:00:00", `instant "1970-01-01 00:00:00" is in the year 1970: a zero date or a wrong unit (unix or unix_ms?)`},
		{"", "UTC", "2150-01-01", `instant "2150-01-01" is in the year 2150: a zero date or a wrong unit (unix or unix_ms?)`},
		{"02.01.2006", "UTC", "30.02.2026", `instant "30.02.2026": not of the form "02.01.2006", or no such date`},
		{TimeUnix, "UTC", "0", `instant "0" is in the year 1970: a zero date or a wrong unit (unix or unix_ms?)`},
		{TimeUnix, "UTC", "1790784000123", `instant "1790784000123" is in the year 58717: a zero date or a wrong unit (unix or unix_ms?)`},
		{TimeUnixMS, "UTC", "1790784000", `instant "1790784000" is in the year 1970: a zero date or a wrong unit (unix or unix_ms?)`},
		{TimeUnix, "UTC", "1.79e9", `instant "1.79e9": time_format is unix, so only digits are allowed`},
	} {
		got, err := Instants{c.format, place(t, c.zone)}.Parse(c.text)
		require.EqualError(t, err, c.want)
		require.True(t, got.IsZero(), c.text)
	}
}

func TestTimeFormats(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "unix", "unix_ms", "02.01.2006", "20060102150405", "2006-01-02T15:04:05Z07:00", "1/2/06 15:04"} {
		require.Empty(t, CheckTimeFormat(good), good)
	}
	for _, bad := range []string{"YYYY-MM-DD", "15:04:05", "2006-01", "2006-01-02 15:04:05 MST", "epoch"} {
		require.NotEmpty(t, CheckTimeFormat(bad), bad)
	}
}
