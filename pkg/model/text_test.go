package model_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

func TestEveryDayIsItsTextAndBack(t *testing.T) {
	t.Parallel()
	at := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	for d := model.Day(0); d <= model.MaxDay; d++ {
		text := at.Format("2006-01-02")
		back, err := model.ParseDay(text)
		if err != nil || back != d || d.String() != text || d.Weekday() != at.Weekday() || model.DayOf(at, time.UTC) != d {
			require.FailNow(t, "not itself", "%s read as %s (%v), on a %s", text, back, err, d.Weekday())
		}
		at = at.AddDate(0, 0, 1)
	}
	require.Equal(t, "2149-06-06", model.MaxDay.String())
	require.Equal(t, "2011-12-31", model.DayOf(time.Date(2011, 12, 30, 12, 0, 0, 0, time.UTC), zone(t, "Pacific/Apia")).String())
}

func TestDayJSONIsText(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(map[model.Day]model.Day{1: 2})
	require.NoError(t, err)
	require.JSONEq(t, `{"1970-01-02":"1970-01-03"}`, string(b))
	var d model.Day
	require.NoError(t, json.Unmarshal([]byte(`"2026-10-30"`), &d))
	require.Equal(t, day(t, "2026-10-30"), d)
	require.ErrorIs(t, json.Unmarshal([]byte(`"2026-02-30"`), &d), model.ErrDay)
}

func FuzzParseDay(f *testing.F) {
	for _, s := range []string{"2026-10-30", "2026-02-29", "2024-02-29", "1969-12-31", "2149-06-07", "2026-1-01", " 2026-01-01", "20260101", "2026-10-30T00:00:00Z", "", "２０２６-10-30"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := model.ParseDay(s)
		if err != nil {
			require.ErrorIs(t, err, model.ErrDay)
			return
		}
		require.Equal(t, s, d.String(), "what is read is what is printed")
		require.True(t, d >= 0 && d <= model.MaxDay)
	})
}

func TestParseDayRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"2026-02-29", "1969-12-31", "2149-06-07", "2026-1-01", " 2026-01-01", "2026-01-01 ", "20260101", "", "2026-13-01", "2026-00-10", "0000-00-00"} {
		_, err := model.ParseDay(s)
		require.ErrorIs(t, err, model.ErrDay, "%q", s)
	}
}

// amountText is the rule of ParseAmount in another language.
var amountText = regexp.MustCompile(`^[+-]?0*([0-9]{1,18})(?:\.([0-9]{1,8})0*)?$`)

func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{
		"0", "-0", "+1", "1.5", "-1.50", "12345678901234567.12345678", "123456789012345678", "1234567890123456789", "0.123456789",
		"0.1234567800", "000123456789012345678.0", "1e5", "1,000", " 1", "1 ", "", ".", "1.", ".5", "--1", "+-1", "-+1", "0x1", "1_0",
		"NaN", "Inf", "１", "¥1", "1.2.3", "(5)", "5-", "\x001",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := model.ParseAmount(s)
		if !amountText.MatchString(s) {
			require.ErrorIs(t, err, model.ErrAmount, "%q", s)
			return
		}
		require.NoError(t, err, "%q", s)
		want, ok := new(big.Rat).SetString(s)
		require.True(t, ok)
		require.Zero(t, want.Cmp(got.Rat()), "%q read as %s", s, got)
		again, err := model.ParseAmount(got.String())
		require.NoError(t, err)
		require.True(t, again.Equal(got))
	})
}

func FuzzJoinKey(f *testing.F) {
	f.Add("a", "b", "a|", "b")
	f.Add(`a\`, "|b", `a\|`, "b")
	f.Add("", "", "|", "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		require.Equal(t, a == c && b == d, model.JoinKey(a, b) == model.JoinKey(c, d))
		require.NotEqual(t, model.JoinKey(a, b), model.JoinKey(a, b, c), "another number of parts is another key")
		require.Equal(t, a, model.JoinKey(a))
	})
}

func TestJoinKeyIsInjective(t *testing.T) {
	t.Parallel()
	var parts []string
	for _, a := range []string{"", "a", "|", `\`} {
		for _, b := range []string{"", "|", `\`} {
			for _, c := range []string{"", "|", `\`} {
				parts = append(parts, a+b+c)
			}
		}
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	seen := map[string][3]string{}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				k, in := model.JoinKey(a, b, c), [3]string{a, b, c}
				if other, ok := seen[k]; ok {
					require.Equal(t, other, in, "both make %q", k)
				}
				seen[k] = in
			}
		}
	}
}

func TestTotalsJSONHasNoNumberForMoney(t *testing.T) {
	t.Parallel()
	big, err := model.ParseAmount("123456789012345678.12345678")
	require.NoError(t, err)
	totals := model.Totals{}
	totals.Add("CNY", 2, big)
	totals.Add("CNY", 1, decimal.RequireFromString("0.10"))
	totals.Add("USD", 0, decimal.Zero)
	b, err := json.Marshal(totals)
	require.NoError(t, err)
	require.JSONEq(t, `{"CNY":{"count":3,"amount":"123456789012345678.22345678"},"USD":{"count":0,"amount":"0"}}`, string(b))
	var back model.Totals
	require.NoError(t, json.Unmarshal(b, &back))
	require.True(t, totals.Equal(back))
	b, err = json.Marshal(struct{ T model.Totals }{})
	require.NoError(t, err)
	require.JSONEq(t, `{"T":{}}`, string(b))
}

func TestTotalsAlgebra(t *testing.T) {
	t.Parallel()
	a, b := model.Totals{}, model.Totals{}
	a.Add("CNY", 1, decimal.RequireFromString("1.10"))
	b.Add("USD", 2, decimal.RequireFromString("-3"))
	a.Merge(b)
	require.Equal(t, uint64(3), a.Count())
	require.Equal(t, "CNY 1 entry 1.1, USD 2 entries -3", a.String())
	require.Equal(t, "nothing", model.Totals{}.String())
	require.True(t, model.Totals{"CNY": {}}.Equal(nil), "zero is absent")
	require.False(t, a.Equal(b))
	require.False(t, b.Equal(a))
}

func TestJobNames(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "0", "wechat", "a-b", strings.Repeat("x", 63)} {
		require.NoError(t, model.CheckJobName(s))
	}
	for _, s := range []string{"", "-a", "A", "a.b", "a b", "a*", "a>", "ä", "a\n", strings.Repeat("x", 64)} {
		require.ErrorIs(t, model.CheckJobName(s), model.ErrJobName, "%q", s)
	}
	require.Equal(t, "wechat.2026-10-30", model.BatchID("wechat", day(t, "2026-10-30")))
}

func TestReviewSteps(t *testing.T) {
	t.Parallel()
	all := []model.ReviewState{model.ReviewNone, model.ReviewInvestigating, model.ReviewResolved, model.ReviewWrittenOff, model.ReviewAccepted}
	allowed := map[[2]model.ReviewState]bool{
		{model.ReviewNone, model.ReviewInvestigating}:       true,
		{model.ReviewInvestigating, model.ReviewResolved}:   true,
		{model.ReviewInvestigating, model.ReviewWrittenOff}: true,
		{model.ReviewInvestigating, model.ReviewAccepted}:   true,
		{model.ReviewResolved, model.ReviewInvestigating}:   true,
		{model.ReviewWrittenOff, model.ReviewInvestigating}: true,
		{model.ReviewAccepted, model.ReviewInvestigating}:   true,
	}
	for _, from := range all {
		for _, to := range append(all, "rubbish", "") {
			err := model.CheckReviewStep(from, to)
			if allowed[[2]model.ReviewState{from, to}] {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, model.ErrReviewStep, "%s to %s", from, to)
			}
		}
	}
	require.NoError(t, model.CheckReviewStep("", model.ReviewInvestigating))
	require.ErrorContains(t, model.CheckReviewStep(model.ReviewInvestigating, model.ReviewNone), "resolved, written_off, accepted")
}
