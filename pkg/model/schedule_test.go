package model_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

func tod(t testing.TB, text string) model.TimeOfDay {
	t.Helper()
	v, err := model.ParseTimeOfDay(text)
	require.NoError(t, err)
	return v
}

// jobIn is a daily job whose days are due on the same day at the given time.
func jobIn(t testing.TB, loc, at string) model.Job {
	t.Helper()
	return model.Job{
		Name: "j", Location: zone(t, loc), Start: day(t, "2000-01-01"), Calendar: model.DailyCalendar(),
		Due: model.Due{At: tod(t, at)}, BackfillDays: 30,
	}
}

func TestDueAtTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, what, day, at, want string }{
		{"America/New_York", "winter", "2026-01-15", "02:30", "2026-01-15T07:30:00Z"},
		{"America/New_York", "gap", "2026-03-08", "02:30", "2026-03-08T07:00:00Z"},
		{"America/New_York", "first of gap", "2026-03-08", "02:00", "2026-03-08T07:00:00Z"},
		{"America/New_York", "end of gap", "2026-03-08", "03:00", "2026-03-08T07:00:00Z"},
		{"America/New_York", "overlap", "2026-11-01", "01:30", "2026-11-01T05:30:00Z"},
		{"America/New_York", "end of overlap", "2026-11-01", "02:00", "2026-11-01T07:00:00Z"},
		{"Europe/London", "gap", "2026-03-29", "01:30", "2026-03-29T01:00:00Z"},
		{"Europe/London", "overlap", "2026-10-25", "01:30", "2026-10-25T00:30:00Z"},
		{"Africa/Cairo", "midnight gap", "2026-04-24", "00:00", "2026-04-23T22:00:00Z"},
		{"Africa/Cairo", "overlap before midnight", "2026-10-29", "23:30", "2026-10-29T20:30:00Z"},
		{"Africa/Cairo", "midnight after overlap", "2026-10-30", "00:00", "2026-10-29T22:00:00Z"},
		{"Australia/Lord_Howe", "half an hour gap", "2026-10-04", "02:15", "2026-10-03T15:30:00Z"},
		{"Australia/Lord_Howe", "half an hour overlap", "2026-04-05", "01:45", "2026-04-04T14:45:00Z"},
		{"Pacific/Apia", "day before", "2011-12-29", "01:00", "2011-12-29T11:00:00Z"},
		{"Pacific/Apia", "skipped day", "2011-12-30", "01:00", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "day after", "2011-12-31", "01:00", "2011-12-30T11:00:00Z"},
		{"Asia/Shanghai", "no DST", "2026-10-30", "01:00", "2026-10-29T17:00:00Z"},
		{"America/Sao_Paulo", "midnight gap", "2018-11-04", "00:00", "2018-11-04T03:00:00Z"},
		{"America/Sao_Paulo", "inside midnight gap", "2018-11-04", "00:30", "2018-11-04T03:00:00Z"},
		{"Asia/Beirut", "midnight gap", "2026-03-29", "00:00", "2026-03-28T22:00:00Z"},
		{"America/St_Johns", "clock put back over midnight", "2009-11-01", "00:00", "2009-11-01T02:30:00Z"},
	} {
		got := jobIn(t, c.zone, c.at).DueAt(day(t, c.day))
		require.Equal(t, c.want, got.UTC().Format(time.RFC3339), "%s: %s", c.zone, c.what)
		require.Equal(t, c.zone, got.Location().String())
	}
}

func TestDueAtCountsCalendarDaysAfter(t *testing.T) {
	t.Parallel()
	j := jobIn(t, "Asia/Shanghai", "01:00")
	j.Calendar, j.Due.AfterDays = model.WeekdayCalendar(), 1
	require.Equal(t, "2026-10-30T17:00:00Z", j.DueAt(day(t, "2026-10-30")).UTC().Format(time.RFC3339), "Friday, due on Saturday")
	j.Location = nil
	require.Equal(t, "2026-10-31T01:00:00Z", j.DueAt(day(t, "2026-10-30")).Format(time.RFC3339), "no zone is UTC")
}

// hardZones names zones with the years in which they did something worth testing.
var hardZones = map[string][]int{
	"America/New_York": {2026}, "Europe/London": {2026}, "Africa/Cairo": {2026}, "Australia/Lord_Howe": {2026},
	"Pacific/Apia": {2011, 2012}, "Asia/Shanghai": {2026}, "America/Sao_Paulo": {2018}, "Asia/Beirut": {2026},
	"America/St_Johns": {2009, 2010}, "Pacific/Kwajalein": {1993}, "Africa/Casablanca": {2026}, "Antarctica/Troll": {2026},
}

var hardTimes = []string{"00:00", "00:30", "01:00", "01:45", "02:00", "02:15", "02:30", "03:00", "12:00", "23:30", "23:59"}

// byMinute is an oracle for the first instant of every day of a year at which the zone's clock shows at or later: it
// looks at every minute.
func byMinute(loc *time.Location, year int, at model.TimeOfDay) map[model.Day]time.Time {
	out := map[model.Day]time.Time{}
	next := model.NewDay(year, 1, 1)
	for t := time.Date(year-1, 12, 29, 0, 0, 0, 0, time.UTC); next <= model.NewDay(year, 12, 31); t = t.Add(time.Minute) {
		y, m, d := t.In(loc).Date()
		shown := model.NewDay(y, m, d)
		clock := t.In(loc).Hour()*60 + t.In(loc).Minute()
		for shown > next || (shown == next && clock >= at.Hour*60+at.Minute) {
			out[next] = t
			next++
		}
	}
	return out
}

func TestDueAtAgainstEveryMinuteOfTheYear(t *testing.T) {
	t.Parallel()
	for name, years := range hardZones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, at := range []string{"00:00", "02:15", "23:30"} {
				j := jobIn(t, name, at)
				for d, want := range byMinute(j.Location, years[0], j.Due.At) {
					require.Truef(t, j.DueAt(d).Equal(want), "%s at %s: %s, want %s", d, at, j.DueAt(d), want)
				}
			}
		})
	}
}

func TestOneDueInstantPerBusinessDayGrowing(t *testing.T) {
	t.Parallel()
	skipped := map[string]bool{"Pacific/Apia 2011-12-30": true, "Pacific/Kwajalein 1993-08-21": true}
	for name, years := range hardZones {
		for _, year := range years {
			for _, at := range hardTimes {
				j := jobIn(t, name, at)
				j.Start = 0
				for d := model.NewDay(year, 1, 1); d <= model.NewDay(year, 12, 31); d++ {
					a, b := j.DueAt(d), j.DueAt(d+1)
					if !b.After(a) {
						require.True(t, b.Equal(a), "%s %s at %s", name, d, at)
						require.True(t, skipped[name+" "+d.String()], "%s: %s and the day after are both due at %s", name, d, a)
					}
				}
			}
		}
	}
}

func TestSpansPartitionTime(t *testing.T) {
	t.Parallel()
	weekdays := model.WeekdayCalendar()
	for name, years := range hardZones {
		for _, cutoff := range append([]string{"11:59", "17:00", "12:30"}, hardTimes...) {
			for _, calendar := range []model.Calendar{model.DailyCalendar(), weekdays} {
				j := jobIn(t, name, "00:00")
				j.Cutoff, j.Calendar = tod(t, cutoff), calendar
				d := calendar.Next(model.NewDay(years[0], 1, 1))
				_, end := j.Span(d)
				for d = calendar.Next(d); d <= model.NewDay(years[0], 12, 31); d = calendar.Next(d) {
					from, to := j.Span(d)
					if !from.Equal(end) || to.Before(from) {
						require.FailNow(t, "hole or overlap", "%s %s at %s: after %s comes %s to %s", name, d, cutoff, end, from, to)
					}
					end = to
				}
			}
		}
	}
}

func TestSpanTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, cutoff, calendar, day, from, to string }{
		{"Asia/Shanghai", "00:00", "daily", "2026-10-30", "2026-10-29T16:00:00Z", "2026-10-30T16:00:00Z"},
		{"Asia/Shanghai", "17:00", "daily", "2026-10-30", "2026-10-29T09:00:00Z", "2026-10-30T09:00:00Z"},
		{"Asia/Shanghai", "12:00", "daily", "2026-10-30", "2026-10-29T04:00:00Z", "2026-10-30T04:00:00Z"},
		{"Asia/Shanghai", "11:59", "daily", "2026-10-30", "2026-10-30T03:59:00Z", "2026-10-31T03:59:00Z"},
		{"Asia/Shanghai", "02:30", "daily", "2026-10-30", "2026-10-29T18:30:00Z", "2026-10-30T18:30:00Z"},
		{"Asia/Shanghai", "00:00", "weekdays", "2026-11-02", "2026-10-30T16:00:00Z", "2026-11-02T16:00:00Z"},
		{"America/New_York", "02:30", "daily", "2026-03-07", "2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z"},
		{"America/New_York", "00:00", "daily", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		{"Pacific/Apia", "00:00", "daily", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "00:00", "daily", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "00:00", "daily", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		j := jobIn(t, c.zone, "01:00")
		j.Cutoff = tod(t, c.cutoff)
		if c.calendar == "weekdays" {
			j.Calendar = model.WeekdayCalendar()
		}
		from, to := j.Span(day(t, c.day))
		require.Equal(t, c.from, from.UTC().Format(time.RFC3339), "%+v", c)
		require.Equal(t, c.to, to.UTC().Format(time.RFC3339), "%+v", c)
	}
}

// TestDueDaysAgainstAWalk holds NewestDue, NextDue and DueDays against a plain walk over the days, at every due instant
// of the year, a nanosecond before it, three quarters of an hour after it (the clock may have been put back over midnight
// meanwhile), and at random instants.
func TestDueDaysAgainstAWalk(t *testing.T) {
	t.Parallel()
	for name, years := range hardZones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, uint64(years[0])))
			for _, at := range []string{"00:00", "00:30", "02:15", "23:30"} {
				j := jobIn(t, name, at)
				j.Calendar, j.Due.AfterDays = randomCalendar(r), r.IntN(3)
				first := model.NewDay(years[0], 1, 1)
				j.Start = first.Add(r.IntN(20))
				var days []model.Day
				var dues []time.Time
				for d := j.Calendar.Next(j.Start - 1); d <= first.Add(380); d = j.Calendar.Next(d) {
					days, dues = append(days, d), append(dues, j.DueAt(d))
				}
				for d := first; d < first.Add(360); d++ {
					due := j.DueAt(d)
					for _, now := range []time.Time{due, due.Add(-1), due.Add(45 * time.Minute), due.Add(time.Duration(r.Int64N(int64(30 * time.Hour))))} {
						checkDue(t, j, days, dues, now)
					}
				}
			}
		})
	}
}

func checkDue(t *testing.T, j model.Job, days []model.Day, dues []time.Time, now time.Time) {
	t.Helper()
	n := 0
	for n < len(days) && !dues[n].After(now) {
		n++
	}
	newest, ok := j.NewestDue(now)
	require.Equal(t, n > 0, ok, "at %s", now)
	if n > 0 {
		require.Equal(t, days[n-1], newest, "at %s", now)
	}
	require.True(t, dues[n].Equal(j.NextDue(now)), "at %s", now)
	if n > 3 {
		require.True(t, slices.Equal(days[3:n], j.DueDays(days[3], now)), "at %s", now)
	} else {
		require.Len(t, j.DueDays(0, now), n)
	}
}

func TestFloorCapAndOrder(t *testing.T) {
	t.Parallel()
	j := jobIn(t, "Asia/Shanghai", "01:00")
	j.Calendar, j.Due.AfterDays, j.BackfillDays = model.WeekdayCalendar(), 1, 5
	j.Start = day(t, "2026-10-03") // a Saturday
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, day(t, "2026-10-05"), j.FirstDay())
	_, ok := j.FirstFloor(at("2026-10-06T00:59:59+08:00"))
	require.False(t, ok, "nothing is due yet")
	floor, ok := j.FirstFloor(at("2026-10-06T01:00:00+08:00"))
	require.True(t, ok)
	require.Equal(t, day(t, "2026-10-05"), floor)
	floor, _ = j.FirstFloor(at("2026-11-30T12:00:00+08:00"))
	require.Equal(t, day(t, "2026-11-20"), floor, "five business days before Friday 27 November")
	require.Equal(t, day(t, "2026-10-05"), j.CapStart(day(t, "2026-10-08")), "never before the start")
	require.Equal(t, day(t, "2026-10-08"), j.CapStart(day(t, "2026-10-15")))

	require.Equal(t, []model.Day{day(t, "2026-10-05"), day(t, "2026-10-06")}, j.DueDays(0, at("2026-10-07T02:00:00+08:00")))
	p, ok := j.PreviousDay(day(t, "2026-10-12"))
	require.True(t, ok)
	require.Equal(t, day(t, "2026-10-09"), p)
	_, ok = j.PreviousDay(day(t, "2026-10-05"))
	require.False(t, ok, "the first day has none")
}

func TestWindowClosedCountsBusinessDays(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		j := model.Job{Calendar: randomCalendar(r), CarryDays: r.IntN(6)}
		d := model.Day(20000 + r.IntN(400))
		closed := j.WindowClosed(d)
		for origin := d - 40; origin <= d; origin++ {
			require.Equal(t, j.Calendar.Count(origin, d) >= j.CarryDays, closed(origin), "%s of %s, carry %d", origin, d, j.CarryDays)
		}
	}
}

func TestCheckDaySaysWhatToDo(t *testing.T) {
	t.Parallel()
	j := jobIn(t, "Asia/Shanghai", "01:00")
	j.Name, j.Calendar, j.Due.AfterDays, j.Start = "wechat", model.WeekdayCalendar(), 1, day(t, "2026-10-01")
	now := j.DueAt(day(t, "2026-10-30"))
	require.NoError(t, j.CheckDay(day(t, "2026-10-30"), now))
	for _, c := range []struct {
		day  string
		err  error
		says string
	}{
		{"2026-10-31", model.ErrNotBusinessDay, "2026-10-30 and 2026-11-02"},
		{"2026-09-30", model.ErrBeforeStart, "2026-10-01"},
		{"2026-11-02", model.ErrNotDue, "2026-11-03T01:00:00+08:00"},
	} {
		err := j.CheckDay(day(t, c.day), now)
		require.ErrorIs(t, err, c.err)
		require.ErrorContains(t, err, "job wechat, day "+c.day)
		require.ErrorContains(t, err, c.says)
	}
	require.ErrorIs(t, j.CheckDay(day(t, "2026-10-30"), now.Add(-1)), model.ErrNotDue)
}
