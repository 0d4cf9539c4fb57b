package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"daybreak/pkg/model"
)

// Bounds of the whole numbers of a job. They are far beyond use and keep a slip of the pen from scanning centuries.
const (
	dueAfterMax     = 366
	carryDaysMax    = 366
	backfillDaysMax = 3660
	auditCountMax   = 1 << 30
)

// readJobs reads the list of jobs.
func readJobs(at cursor) []Job {
	all, ok := at.list("write jobs: and below it one - name: … a job")
	if ok && len(all) == 0 {
		at.fail("lists no job", "list at least one")
	}
	names := map[string]cursor{}
	var jobs []Job
	for _, one := range all {
		jobs = append(jobs, readJob(one, names))
	}
	return jobs
}

// readJob reads one job; names are those of the jobs before it.
func readJob(at cursor, names map[string]cursor) Job {
	j := Job{Job: model.Job{
		Calendar: model.DailyCalendar(), Order: model.Strict, BackfillDays: 30,
		Due:   model.Due{Patience: 10 * time.Hour},
		Audit: model.AuditRule{Every: 10 * time.Minute, Amount: zeroByDefault(nil)},
		Rules: model.Rules{Key: []string{"key"}, Mode: model.ModeOne, Tolerance: zeroByDefault(nil)},
	}}
	o, ok := at.object("begin with name:", "name", "timezone", "start", "calendar", "cutoff", "due", "order", "backfill",
		"carry", "ledger", "channel", "audit", "match", "status_map")
	if !ok {
		return j
	}
	o.need("name", "name the job", func(c cursor) { readName(c, names, &j.Name) })
	o.need("timezone", "name the zone of the business days, such as Asia/Shanghai", into(&j.Location, parseZone))
	o.need("start", "give the first business day as YYYY-MM-DD", into(&j.Start, parseDay))
	o.opt("calendar", func(c cursor) { readCalendar(c, &j.Calendar) })
	o.opt("cutoff", into(&j.Cutoff, parseTimeOfDay))
	o.need("due", `say when a day may be reconciled, such as due: { after: 1, at: "01:00" }`, func(c cursor) {
		before := len(c.d.problems)
		if readDue(c, &j.Due); len(c.d.problems) == before {
			checkDueAfterEnd(c, j.Job)
		}
	})
	o.opt("order", into(&j.Order, oneOf(model.Strict, model.Independent)))
	o.opt("backfill", func(c cursor) {
		b, _ := c.object("write backfill: { max_days: 30 }", "max_days")
		b.opt("max_days", into(&j.BackfillDays, countFrom(1, backfillDaysMax)))
	})
	o.opt("carry", func(c cursor) {
		b, _ := c.object("write carry: { days: 3 }", "days")
		b.opt("days", into(&j.CarryDays, countFrom(0, carryDaysMax)))
	})
	o.opt("audit", func(c cursor) { readAudit(c, &j.Audit) })
	readBooks(o, &j)
	return j
}

func readName(c cursor, names map[string]cursor, dst *string) {
	name, ok := scalar(c, parseJobName)
	if !ok {
		return
	}
	if first, twice := names[name]; twice {
		c.fail(fmt.Sprintf("job %q is there already, on line %d", name, first.node.Line), "give each job a name of its own")
		return
	}
	names[name], *dst = c, name
}

func readDue(at cursor, due *model.Due) {
	o, ok := at.object(`write due: { after: 1, at: "01:00" }`, "after", "at", "patience")
	if !ok {
		return
	}
	o.need("after", "give the number of days after the business day", into(&due.AfterDays, countFrom(0, dueAfterMax)))
	o.need("at", `give the time of day in the job's zone, such as "01:00"`, into(&due.At, parseTimeOfDay))
	o.opt("patience", into(&due.Patience, durationFrom(time.Second)))
}

// checkDueAfterEnd refuses a day that would be reconciled before it is over: what is paid in the rest of it would be in no
// snapshot.
func checkDueAfterEnd(at cursor, j model.Job) {
	if j.Location == nil {
		return // the zone is wrong, which was said
	}
	day := j.Calendar.Next(j.Start)
	if _, end := j.Span(day); j.DueAt(day).Before(end) {
		at.fail("a day would be due before it has ended", "raise after, or set at to the cutoff or later")
	}
}

func readAudit(at cursor, a *model.AuditRule) {
	o, ok := at.object("write audit: { every: 10m }", "every", "count", "amount")
	if !ok {
		return
	}
	o.opt("every", into(&a.Every, durationFrom(time.Second)))
	o.opt("count", func(c cursor) {
		if n, ok := scalar(c, countFrom(0, auditCountMax)); ok {
			a.Count = uint64(n)
		}
	})
	o.opt("amount", func(c cursor) { a.Amount = readAmounts(c) })
}

// readAmounts reads an exact amount per currency.
func readAmounts(at cursor) map[string]decimal.Decimal {
	out := map[string]decimal.Decimal{}
	pairs, _ := at.pairs(`write it per currency, such as { default: "0", CNY: "0.01" }`)
	for _, p := range pairs {
		if p.name != model.DefaultCurrency {
			if _, bad := parseCurrency(p.name); bad != nil {
				p.key.fail(bad.what, bad.fix+", or default for every other currency")
				continue
			}
		}
		if v, ok := scalar(p.value, parseAccepted); ok {
			out[p.name] = v
		}
	}
	return zeroByDefault(out)
}

// zeroByDefault accepts no difference in the currencies that are not named.
func zeroByDefault(m map[string]decimal.Decimal) map[string]decimal.Decimal {
	if m == nil {
		m = map[string]decimal.Decimal{}
	}
	if _, ok := m[model.DefaultCurrency]; !ok {
		m[model.DefaultCurrency] = decimal.Zero
	}
	return m
}

// readCalendar reads daily, weekdays, or the weekdays and holidays themselves.
func readCalendar(at cursor, dst *model.Calendar) {
	const fix = "write daily, weekdays, or { weekdays: [mon, …], holidays: [2026-10-01, …] }"
	if at.node.Kind != yaml.MappingNode {
		word, ok := at.text(fix)
		switch {
		case !ok:
		case word == "daily":
			*dst = model.DailyCalendar()
		case word == "weekdays":
			*dst = model.WeekdayCalendar()
		default:
			at.fail(fmt.Sprintf("calendar %q is not known", word), fix)
		}
		return
	}
	o, ok := at.object(fix, "weekdays", "holidays")
	if !ok {
		return
	}
	before := len(at.d.problems)
	cal := model.Calendar{Holidays: map[model.Day]bool{}}
	o.need("weekdays", "list the weekdays, such as [mon, tue, wed, thu, fri]", func(c cursor) {
		for _, d := range readList(c, parseWeekday) {
			cal.Weekdays[d] = true
		}
	})
	o.opt("holidays", func(c cursor) {
		for _, d := range readList(c, parseDay) {
			cal.Holidays[d] = true
		}
	})
	if len(at.d.problems) == before && cal.Check() != nil {
		at.fail("the calendar has no business day", "list at least one weekday that is not always a holiday")
	}
	*dst = cal
}

// readList reads a list of values, none of them twice.
func readList[T comparable](at cursor, parse parser[T]) []T {
	var out []T
	all, _ := at.list("write a list, such as [a, b]")
	for _, one := range all {
		v, ok := scalar(one, parse)
		switch {
		case !ok:
		case slices.Contains(out, v):
			one.fail(fmt.Sprintf("%q is listed twice", one.node.Value), "remove one")
		default:
			out = append(out, v)
		}
	}
	return out
}
