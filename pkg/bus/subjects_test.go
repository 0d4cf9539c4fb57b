package bus_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
)

func TestSubjects(t *testing.T) {
	t.Parallel()
	must := func(s string, err error) string {
		require.NoError(t, err)
		return s
	}
	require.Equal(t, "day.due.wechat.2026-10-30", must(bus.DayDue("wechat", "2026-10-30")))
	require.Equal(t, "day.replay.wechat", must(bus.DayReplay("wechat")))
	require.Equal(t, "day.replay.wechat.2026-10-30", must(bus.DayReplayDay("wechat", "2026-10-30")))
	require.Equal(t, "day.nudge.wechat.2026-10-30", must(bus.DayNudge("wechat", "2026-10-30")))
	require.Equal(t, "diff.wechat.2026-10-30.opened", must(bus.Diff("wechat", "2026-10-30", "opened")))
	require.Equal(t, "batch.wechat.2026-10-30.committed", must(bus.Batch("wechat", "2026-10-30", "committed")))
	require.Equal(t, "audit.wechat.2026-10-30.missing", must(bus.Audit("wechat", "2026-10-30", "missing")))
	require.Equal(t, "dead.day.replay.a.b.c", bus.Dead("day.replay.a.b.c"))
	for _, bad := range []string{"", "a.b", "a b", "*", ">", "a\tb", "a\nb", "x\x7f", "\xff", strings.Repeat("x", 2000)} {
		_, err := bus.DayDue(bad, "2026-10-30")
		require.ErrorIs(t, err, bus.ErrBadSubject, "%q", bad)
		_, err = bus.Diff("wechat", bad, "opened")
		require.ErrorIs(t, err, bus.ErrBadSubject, "%q", bad)
	}
	_, err := bus.DiffFilters("a.b")
	require.ErrorIs(t, err, bus.ErrBadSubject)
}

func TestParseDay(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string][3]string{
		"day.due.wechat.2026-10-30":    {bus.KindDue, "wechat", "2026-10-30"},
		"day.replay.wechat.2026-10-30": {bus.KindReplay, "wechat", "2026-10-30"},
		"day.replay.wechat":            {bus.KindReplayRange, "wechat", ""},
		"day.nudge.wechat.2026-10-30":  {bus.KindNudge, "wechat", "2026-10-30"},
	} {
		kind, job, date, err := bus.ParseDay(subject)
		require.NoError(t, err)
		require.Equal(t, want, [3]string{kind, job, date})
	}
	for _, bad := range []string{
		"", "day", "day.due", "day.due.wechat", "day.nudge.wechat", "day.replay", "day.replay.a.b.c", "day.due.a.b.c",
		"day.replay-range.a", "day.replay.*", "day..a.b", "diff.due.a.b", "day.due.a.", "day.other.a.b",
	} {
		_, _, _, err := bus.ParseDay(bad)
		require.ErrorIs(t, err, bus.ErrBadSubject, "%q", bad)
	}
}

func FuzzSubjects(f *testing.F) {
	f.Add("wechat", "2026-10-30")
	f.Add("a.b", "*")
	f.Fuzz(func(t *testing.T, job, date string) {
		s, err := bus.DayNudge(job, date)
		if err != nil {
			require.ErrorIs(t, err, bus.ErrBadSubject)
			return
		}
		kind, j, d, err := bus.ParseDay(s)
		require.NoError(t, err)
		require.Equal(t, []string{bus.KindNudge, job, date}, []string{kind, j, d})
		stream, ok := bus.StreamOf(bus.Dead(s))
		require.True(t, ok)
		require.Equal(t, bus.StreamDead, stream)
	})
}
