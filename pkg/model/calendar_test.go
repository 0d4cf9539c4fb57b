package model_test

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

func day(t testing.TB, text string) model.Day {
	t.Helper()
	d, err := model.ParseDay(text)
	require.NoError(t, err)
	return d
}

func TestCalendarWords(t *testing.T) {
	t.Parallel()
	c := model.WeekdayCalendar()
	c.Holidays = map[model.Day]bool{day(t, "2026-10-01"): true, day(t, "2026-10-02"): true}
	fri, mon := day(t, "2026-09-25"), day(t, "2026-09-28")
	require.True(t, c.Is(fri))
	require.False(t, c.Is(fri+1))
	require.False(t, c.Is(day(t, "2026-10-01")))
	require.Equal(t, mon, c.Next(fri))
	require.Equal(t, mon, c.Next(fri+1), "from a Saturday")
	require.Equal(t, fri, c.Previous(mon))
	require.Equal(t, day(t, "2026-10-05"), c.Next(day(t, "2026-09-30")), "over holidays and a weekend")
	require.Equal(t, fri, c.Add(mon, -1))
	require.Equal(t, day(t, "2026-10-05"), c.Add(mon, 3))
	require.Equal(t, fri+1, c.Add(fri+1, 0), "nothing added, nothing moved")
	require.Equal(t, 3, c.Count(fri, day(t, "2026-10-04")), "28, 29 and 30 September")
	require.Equal(t, 0, c.Count(mon, mon))
	require.Equal(t, 0, c.Count(mon, fri))
}

func TestCalendarWithoutBusinessDayIsAnErrorAndEnds(t *testing.T) {
	t.Parallel()
	everyMonday := map[model.Day]bool{}
	for d := model.Day(0); d <= model.MaxDay; d++ {
		everyMonday[d] = d.Weekday() == time.Monday
	}
	for name, c := range map[string]model.Calendar{
		"zero":                     {},
		"only Monday, all of them": {Weekdays: [7]bool{time.Monday: true}, Holidays: everyMonday},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, c.Check(), model.ErrCalendar)
			d := day(t, "2026-01-01")
			require.Greater(t, c.Next(d), model.MaxDay)
			require.Less(t, c.Previous(d), model.Day(0))
			require.Greater(t, c.Add(d, 1<<30), model.MaxDay)
			require.Less(t, c.Add(d, -1<<30), model.Day(0))
			require.Zero(t, c.Count(-1<<31, 1<<31-1))
			j := model.Job{Name: "never", Location: time.UTC, Start: d, Calendar: c, BackfillDays: 1 << 30}
			now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			_, ok := j.NewestDue(now)
			require.False(t, ok)
			require.Empty(t, j.DueDays(0, now))
			require.True(t, j.NextDue(now).IsZero())
		})
	}
	require.NoError(t, model.DailyCalendar().Check())
	require.NoError(t, model.WeekdayCalendar().Check())
}

// randomCalendar has business days on some weekdays and not too many holidays.
func randomCalendar(r *rand.Rand) model.Calendar {
	c := model.Calendar{Holidays: map[model.Day]bool{}}
	for i := range c.Weekdays {
		c.Weekdays[i] = r.IntN(3) > 0
	}
	c.Weekdays[r.IntN(7)] = true
	for range r.IntN(30) {
		c.Holidays[model.Day(20000+r.IntN(400))] = true
	}
	return c
}

func TestCalendarLaws(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		c := randomCalendar(r)
		require.NoError(t, c.Check())
		d := model.Day(20000 + r.IntN(400))
		next, previous := c.Next(d), c.Previous(d)
		require.True(t, c.Is(next) && next > d && c.Is(previous) && previous < d)
		require.Equal(t, 1, c.Count(d, next))
		if c.Is(d) {
			require.Equal(t, d, c.Previous(next))
			require.Equal(t, d, c.Next(previous))
			n := r.IntN(40)
			require.Equal(t, d, c.Add(c.Add(d, n), -n))
			require.Equal(t, n, c.Count(d, c.Add(d, n)))
		}
	}
}

func TestTimeOfDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.TimeOfDay{
		"00:00": {}, "01:00": {Hour: 1}, "23:59": {Hour: 23, Minute: 59}, "23:59:59": {Hour: 23, Minute: 59, Second: 59},
		"02:30:05": {Hour: 2, Minute: 30, Second: 5},
	} {
		got, err := model.ParseTimeOfDay(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "24:00", "24:00:00", "1:00", "01:60", "01:00:60", " 01:00", "01:00 ", "0100", "01:00:00.5", "-1:00", "01.00", "1am", "01:0"} {
		_, err := model.ParseTimeOfDay(text)
		require.ErrorIs(t, err, model.ErrTimeOfDay, "%q", text)
	}
}
