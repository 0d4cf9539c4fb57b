package auditor

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

var (
	day0 = model.NewDay(2026, time.October, 5)
	noon = time.Date(2026, time.October, 10, 12, 0, 0, 0, time.UTC)
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

func pureJob() model.Job {
	return model.Job{
		Name: "wechat", Location: time.UTC, Start: day0, Calendar: model.DailyCalendar(), Order: model.Strict,
		Due: model.Due{AfterDays: 1, At: model.TimeOfDay{Hour: 1}, Patience: 10 * time.Hour}, BackfillDays: 30, CarryDays: 2,
		Rules: model.Rules{Key: []string{"key"}, Mode: model.ModeOne, Tolerance: map[string]decimal.Decimal{"CNY": dec("0.01")}},
	}
}

func TestJudgeStanding(t *testing.T) {
	t.Parallel()
	base := standing{day: day0, first: true, settled: true}
	with := func(w model.Watermark, change ...func(*standing)) standing {
		v := base
		v.mark = &w
		for _, c := range change {
			c(&v)
		}
		return v
	}
	live := func(text string) func(*standing) { return func(v *standing) { v.live = text } }
	blocker := day0 - 1
	fault := `ledger: a.csv:3:7: amount "x": not an exact amount`
	for name, c := range map[string]struct {
		v      standing
		now    time.Time
		status string
		kind   model.AuditKind
		remedy remedy
		known  bool
	}{
		"just due":          {standing{day: day0}, noon, statusDue, "", "", false},
		"missing":           {base, noon, statusMissing, model.AuditMissing, byNudge, true},
		"done":              {with(model.Watermark{Status: model.Done}), noon, statusDone, "", "", true},
		"running, however":  {with(model.Watermark{Status: model.Running}), noon.AddDate(1, 0, 0), statusRunning, "", "", false},
		"running, reclaimd": {with(model.Watermark{Status: model.Running, RunID: "r"}, func(v *standing) { v.reclaimed = true }), noon, statusFailed, model.AuditStuck, byNudge, true},
		"still stuck":       {with(model.Watermark{Status: model.Failed, RunID: "r"}, func(v *standing) { v.stuck = "r" }), noon, statusFailed, model.AuditStuck, byNudge, true},
		"failed later":      {with(model.Watermark{Status: model.Failed, RunID: "s"}, func(v *standing) { v.stuck = "r" }), noon, statusFailed, model.AuditFailed, byNudge, true},
		"failed by engine":  {with(model.Watermark{Status: model.Failed, Error: "connection refused", Sources: "a"}, live("a")), noon, statusFailed, model.AuditFailed, byNudge, true},
		"bad source, same":  {with(model.Watermark{Status: model.Failed, Error: fault, Lasting: true, Sources: "a"}, live("a")), noon, statusFailed, model.AuditFailed, byPerson, true},
		"bad source, new":   {with(model.Watermark{Status: model.Failed, Error: fault, Lasting: true, Sources: "a"}, live("b")), noon, statusFailed, model.AuditFailed, byNudge, true},
		"waiting":           {with(model.Watermark{Status: model.Waiting}), noon.AddDate(0, 0, -4).Add(-2 * time.Hour), statusWaiting, model.AuditWaiting, byWait, true},
		"waiting, forgot":   {with(model.Watermark{Status: model.Waiting}), noon, statusWaiting, model.AuditWaiting, byNudge, true},
		"blocked": {
			with(model.Watermark{Status: model.Blocked}, func(v *standing) { v.first, v.blocker = false, &blocker }),
			noon, statusBlocked, model.AuditBlocked, byWait, true,
		},
		"blocked by none": {with(model.Watermark{Status: model.Blocked}), noon, statusBlocked, model.AuditBlocked, byNudge, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := judgeStanding(pureJob(), c.v, c.now)
			require.Equal(t, c.status, l.status)
			require.Equal(t, c.known, l.known[model.AuditMissing])
			if c.kind == "" {
				require.Empty(t, l.found)
				return
			}
			require.Len(t, l.found, 1)
			require.Equal(t, c.remedy, l.found[c.kind].remedy)
			require.NotEmpty(t, l.found[c.kind].detail)
		})
	}
}

func TestFailedEvidenceChangesWithTheSourceOnly(t *testing.T) {
	t.Parallel()
	v := standing{day: day0, mark: &model.Watermark{Status: model.Failed, Attempt: 1, Error: "x"}, live: "a"}
	first := judgeFailed(v).seen
	v.mark = &model.Watermark{Status: model.Failed, Attempt: 2, RunID: "other", Error: "y at 12:00"}
	require.Equal(t, first, judgeFailed(v).seen, "another vain attempt is no new evidence")
	v.live = "b"
	require.NotEqual(t, first, judgeFailed(v).seen)
}

// life plays the sightings of one finding through, one a pass, and returns the states told.
func life(t *testing.T, p policy, each []*sighting) []string {
	t.Helper()
	var prev *record
	var told []string
	for range each {
		s := each[0]
		each = each[1:]
		for range movesMax {
			m, r := next(prev, s, p)
			if m == moveNone {
				break
			}
			if m == moveOpen {
				r.Episode = 7
			}
			prev = &r
			word := stateOf(r)
			if m == moveNudge {
				word = "NUDGE"
			}
			told = append(told, word)
		}
		p.now = p.now.Add(p.every)
	}
	return told
}

func TestLifeOfAFinding(t *testing.T) {
	t.Parallel()
	all := policy{now: noon, every: time.Minute, inCap: true, mayNow: true}
	outside, later, backlog := all, all, all
	outside.inCap, later.mayNow, backlog.backlog = false, false, true
	cure := func(seen string) *sighting {
		return &sighting{kind: model.AuditMissing, seen: seen, remedy: byNudge, cause: model.CauseNudge}
	}
	wait := func(seen string) *sighting { return &sighting{kind: model.AuditWaiting, seen: seen, remedy: byWait} }
	person := func(seen string) *sighting {
		return &sighting{kind: model.AuditUnbalanced, seen: seen, remedy: byPerson}
	}
	for name, c := range map[string]struct {
		p    policy
		in   []*sighting
		want []string
	}{
		"never there":             {all, []*sighting{nil, nil}, nil},
		"cured":                   {all, []*sighting{cure("a"), nil, nil}, []string{"open", "NUDGE", "resolved"}},
		"not cured":               {all, []*sighting{cure("a"), cure("a"), cure("a"), cure("a")}, []string{"open", "NUDGE", "escalated"}},
		"escalated, then cured":   {all, []*sighting{cure("a"), cure("a"), nil}, []string{"open", "NUDGE", "escalated", "resolved"}},
		"A, B, A":                 {all, []*sighting{cure("a"), nil, cure("b"), nil, cure("a")}, []string{"open", "NUDGE", "resolved", "open", "NUDGE", "resolved", "open", "NUDGE"}},
		"same again after cure":   {all, []*sighting{cure("a"), nil, cure("a")}, []string{"open", "NUDGE", "resolved", "open", "NUDGE"}},
		"new evidence":            {all, []*sighting{cure("a"), cure("b"), cure("b")}, []string{"open", "NUDGE", "NUDGE", "escalated"}},
		"ever new evidence":       {all, []*sighting{cure("a"), cure("b"), cure("c"), cure("d"), cure("e"), cure("f"), cure("g")}, []string{"open", "NUDGE", "NUDGE", "NUDGE", "NUDGE", "NUDGE", "escalated", "escalated"}},
		"waits":                   {all, []*sighting{wait("a"), wait("a"), wait("a"), nil}, []string{"open", "resolved"}},
		"waited too long":         {all, []*sighting{wait("a"), cure("b"), cure("b")}, []string{"open", "NUDGE", "escalated"}},
		"for a person":            {all, []*sighting{person("a"), person("a")}, []string{"open", "escalated"}},
		"outside the cap":         {outside, []*sighting{cure("a"), cure("a")}, []string{"open", "escalated"}},
		"after an earlier day":    {later, []*sighting{cure("a"), cure("a"), cure("a")}, []string{"open"}},
		"recon has much to do":    {backlog, []*sighting{cure("a"), cure("a"), cure("a")}, []string{"open", "NUDGE"}},
		"the source is no remedy": {all, []*sighting{cure("a"), person("b"), person("b"), cure("c")}, []string{"open", "NUDGE", "escalated", "NUDGE"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, life(t, c.p, c.in))
		})
	}
}

// sound is a claim and the rows behind it that agree: 3 ledger and 3 channel entries; one pair within tolerance, one
// diff of two, one ledger entry carried in and on, one channel entry carried on.
func sound() (newest, claim, derived) {
	d := newDerived()
	add := func(m map[model.Side]model.Totals, side model.Side, n uint64, amount string) {
		m[side].Add("CNY", n, dec(amount))
	}
	b := model.NewBalance()
	for side, f := range map[model.Side]struct{ in, matched, diff, carried string }{
		model.Ledger: {"30", "10.01", "19.99", "5"}, model.Channel: {"37", "10", "20", "7"},
	} {
		carriedIn := uint64(0)
		if side == model.Ledger {
			carriedIn = 1
			add(d.carriedIn, side, 1, f.carried)
			b.Side(side).CarriedIn.Add("CNY", 1, dec(f.carried))
		}
		add(d.in, side, 3-carriedIn, f.in)
		add(d.matched, side, 1, f.matched)
		add(d.inDiffs, side, 1, f.diff)
		add(d.diffs, side, 1, f.diff)
		add(d.inPool, side, 1, f.carried)
		add(d.poolOut, side, 1, f.carried)
		s := b.Side(side)
		s.In.Merge(d.in[side])
		s.Matched.Merge(d.matched[side])
		s.Different.Merge(d.diffs[side])
		s.CarriedOut.Merge(d.poolOut[side])
	}
	b.MatchedDelta["CNY"] = dec("0.01")
	d.kinds["amount"], d.digestIn, d.digestOut = 1, "in", "out"
	c := claim{
		Seals:   map[model.Side]model.Seal{model.Ledger: {Totals: b.Ledger.In}, model.Channel: {Totals: b.Channel.In}},
		Balance: *b, Diffs: map[string]uint64{"amount": 1, "status": 0}, OpenDiffs: 1, In: 1, Out: 2,
		Count:  map[model.Side]uint64{model.Ledger: 2, model.Channel: 3},
		Totals: map[model.Side]map[string]decimal.Decimal{model.Ledger: {"CNY": dec("30.00")}, model.Channel: {"CNY": dec("37")}},
	}
	return newest{carryIn: "in", carryOut: "out"}, c, d
}

func TestSoundBalanceHasNoProblem(t *testing.T) {
	t.Parallel()
	n, c, d := sound()
	require.NoError(t, c.Balance.Check(), "the test's own figures")
	require.Empty(t, problems(pureJob(), n, c, d))
}

func TestEveryFigureIsHeldAgainstTheRows(t *testing.T) {
	t.Parallel()
	more := func(t model.Totals) { t.Add("CNY", 1, dec("0")) }
	richer := func(t model.Totals) { t.Add("CNY", 0, dec("0.00000001")) }
	l, ch := model.Ledger, model.Channel
	for name, c := range map[string]struct {
		spoil func(n *newest, c *claim, d *derived)
		says  string
	}{
		"entry gone":            {func(_ *newest, _ *claim, d *derived) { more(d.in[l]) }, "ledger"},
		"carried in":            {func(_ *newest, _ *claim, d *derived) { richer(d.carriedIn[ch]) }, "carried in"},
		"matched":               {func(_ *newest, _ *claim, d *derived) { richer(d.matched[l]) }, "matched"},
		"diff rows":             {func(_ *newest, _ *claim, d *derived) { richer(d.diffs[ch]) }, "in diffs"},
		"entries of diffs":      {func(_ *newest, _ *claim, d *derived) { more(d.inDiffs[ch]) }, "entries of diffs"},
		"pool":                  {func(_ *newest, _ *claim, d *derived) { more(d.poolOut[ch]) }, "carried out"},
		"entries of the pool":   {func(_ *newest, _ *claim, d *derived) { more(d.inPool[ch]) }, "entries of the pool"},
		"seal":                  {func(_ *newest, c *claim, _ *derived) { c.Seals[l] = model.Seal{} }, "seal"},
		"balance":               {func(_ *newest, c *claim, _ *derived) { more(c.Balance.Ledger.Matched) }, "claims"},
		"delta":                 {func(_ *newest, c *claim, _ *derived) { c.Balance.MatchedDelta["CNY"] = dec("0.02") }, "explains 0.02"},
		"count column":          {func(_ *newest, c *claim, _ *derived) { c.Count[ch]++ }, "beside a balance"},
		"totals column":         {func(_ *newest, c *claim, _ *derived) { c.Totals[ch]["CNY"] = dec("37.1") }, "37.1"},
		"currency column":       {func(_ *newest, c *claim, _ *derived) { c.Totals[ch]["USD"] = dec("1") }, "USD"},
		"kinds":                 {func(_ *newest, c *claim, _ *derived) { c.Diffs = map[string]uint64{"status": 1} }, "open diffs"},
		"open_diffs column":     {func(_ *newest, c *claim, _ *derived) { c.OpenDiffs = 2 }, "open diffs"},
		"diff twice":            {func(_ *newest, _ *claim, d *derived) { d.twice = 1 }, "twice"},
		"headline":              {func(_ *newest, _ *claim, d *derived) { d.headlines = 1 }, "not the sums"},
		"carried_in column":     {func(_ *newest, c *claim, _ *derived) { c.In = 0 }, "carried in"},
		"digest out":            {func(n *newest, _ *claim, _ *derived) { n.carryOut = "" }, "handed on"},
		"digest in":             {func(n *newest, _ *claim, _ *derived) { n.carryIn = "x" }, "taken in"},
		"a key that is no pair": {func(_ *newest, _ *claim, d *derived) { d.wrong, d.wrongKey = 1, "k9" }, "k9"},
		"beyond tolerance": {func(_ *newest, c *claim, d *derived) {
			for _, m := range []model.Totals{d.matched[l], c.Balance.Ledger.Matched, d.in[l], c.Balance.Ledger.In} {
				m.Add("CNY", 0, dec("1"))
			}
			c.Balance.MatchedDelta["CNY"] = dec("1.01")
			c.Totals[l]["CNY"] = dec("31")
			c.Seals[l] = model.Seal{Totals: c.Balance.Ledger.In}
		}, "tolerance allows 0.01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, cl, d := sound()
			c.spoil(&n, &cl, &d)
			found := problems(pureJob(), n, cl, d)
			require.NotEmpty(t, found)
			require.Contains(t, join(found), c.says)
		})
	}
}

func join(all []string) string {
	out := ""
	for _, s := range all {
		out += s + "\n"
	}
	return out
}

func TestDifferencesKeepTheAcceptedOnes(t *testing.T) {
	t.Parallel()
	rule := model.AuditRule{Count: 1, Amount: map[string]decimal.Decimal{"CNY": dec("0.5")}}
	of := func(n uint64, amount string) model.Totals {
		return model.Totals{"CNY": {Count: n, Amount: dec(amount)}}
	}
	require.Empty(t, differences(rule, model.Ledger, of(10, "100"), of(9, "100.5")))
	require.Len(t, differences(rule, model.Ledger, of(10, "100"), of(8, "100")), 1)
	require.Equal(t, []string{"ledger CNY: committed 10 entries 100, the source now has 10 entries 99.49"},
		differences(rule, model.Ledger, of(10, "100"), of(10, "99.49")))
	require.Len(t, differences(model.AuditRule{}, model.Channel, of(1, "1"), model.Totals{"USD": {Count: 1, Amount: dec("1")}}), 2)
	require.Empty(t, differences(model.AuditRule{}, model.Channel, nil, model.Totals{}))
}

func TestCountStaysFresh(t *testing.T) {
	t.Parallel()
	v := count{print: "a", at: noon, took: time.Minute}
	require.True(t, v.fresh("a", noon.Add(23*time.Hour)))
	require.False(t, v.fresh("b", noon.Add(time.Hour)))
	require.False(t, v.fresh("a", noon.Add(24*time.Hour)), "once a day whatever the fingerprint says")
	require.False(t, v.fresh("a", noon.Add(-time.Second)), "a clock that was put back proves nothing")
	q := count{at: noon, took: time.Minute}
	require.True(t, q.fresh("", noon.Add(19*time.Minute)))
	require.False(t, q.fresh("", noon.Add(20*time.Minute)))
}
