package world

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/bench/accept/oracle"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// firstDays are where stories begin: some lead over a weekend on which a zone changes its clocks.
var firstDays = []model.Day{
	model.NewDay(2000, 1, 4), model.NewDay(2000, 3, 23), model.NewDay(2000, 3, 30), model.NewDay(2000, 10, 26),
}

const (
	span      = 4 // business days with books
	orderDays = span + 4
)

// sheet is one side of one day as its source has it. It only ever gains versions.
type sheet struct {
	versions [][]model.Entry
	there    bool
	cut      bool // the file ends in the middle
	atLine   bool // between two lines, so that only its control total tells
	touched  int
}

func (s *sheet) live() []model.Entry { return s.versions[len(s.versions)-1] }

// book is a job and its sources.
type book struct {
	w      *World
	job    model.Job
	sheets map[model.Side]map[model.Day]*sheet
	days   []model.Day // the business days with books
}

func (b *book) sheet(side model.Side, day model.Day) *sheet {
	s := b.sheets[side][day]
	if s == nil {
		s = &sheet{versions: [][]model.Entry{nil}, there: true} // a day after the story: empty, and its source says so
		b.sheets[side][day] = s
	}
	return s
}

// newBook draws a job and what its two sides say.
func newBook(w *World, name string, order model.Order) *book {
	zones := []string{"UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"}
	zone, err := time.LoadLocation(zones[w.rng.IntN(len(zones))])
	if err != nil {
		panic(err)
	}
	b := &book{w: w, sheets: map[model.Side]map[model.Day]*sheet{model.Ledger: {}, model.Channel: {}}}
	b.job = model.Job{
		Name: name, Location: zone, Start: w.first, Calendar: w.calendar(), Order: order, BackfillDays: 30,
		Due: model.Due{AfterDays: 1, At: model.TimeOfDay{Hour: 1}, Patience: w.between(time.Hour, 6*time.Hour)}, CarryDays: w.rng.IntN(3),
		Rules: model.Rules{
			Key: []string{"key"}, Mode: model.ModeOne, Compare: []string{"status"},
			Tolerance: map[string]decimal.Decimal{"default": {}, "CNY": decimal.RequireFromString("0.01")},
		},
		Audit: model.AuditRule{Every: 30 * time.Minute, Amount: map[string]decimal.Decimal{"default": {}}},
	}
	if w.chance(0.3) {
		b.job.Rules.Mode = model.ModeSum
	}
	if w.chance(0.3) {
		b.job.BackfillDays = 1 + w.rng.IntN(3)
	}
	if w.chance(0.3) {
		b.job.Due.At = model.TimeOfDay{Hour: 2, Minute: 30} // some nights do not have this
	}
	for d := b.job.Calendar.Next(w.first - 1); len(b.days) < span; d = b.job.Calendar.Next(d) {
		b.days = append(b.days, d)
		for _, side := range model.Sides {
			b.sheets[side][d] = &sheet{versions: [][]model.Entry{nil}, there: true}
		}
	}
	for i := range span {
		for o := range 2 + w.rng.IntN(4) {
			b.order(i, o)
		}
	}
	return b
}

// calendar draws one: weekends may pass and a day may be a holiday.
func (w *World) calendar() model.Calendar {
	c := model.DailyCalendar()
	if w.chance(0.5) {
		c = model.WeekdayCalendar()
	}
	if w.chance(0.3) {
		c.Holidays = map[model.Day]bool{w.first.Add(1 + w.rng.IntN(4)): true}
	}
	return c
}

// order writes one order into the books, more often than not with something wrong.
func (b *book) order(i, n int) {
	w := b.w
	e := model.Entry{
		Key: fmt.Sprintf("%s-%d-%d", b.job.Name, i, n), Amount: decimal.New(int64(100+w.rng.IntN(900)), -2), Currency: "CNY", Status: "paid",
	}
	ledger, channel := e, e
	lday, cday := i, i
	switch w.rng.IntN(10) {
	case 0:
		channel.Amount = channel.Amount.Add(decimal.New(int64(1+w.rng.IntN(3)), -2))
	case 1:
		channel.Status = "closed"
	case 2:
		channel.Currency = "USD"
	case 3, 4:
		cday += 1 + w.rng.IntN(3)
	case 5:
		lday += 1 + w.rng.IntN(2)
	case 6:
		cday = -1
	case 7:
		b.put(model.Channel, cday, channel)
	}
	b.put(model.Ledger, lday, ledger)
	b.put(model.Channel, cday, channel)
}

func (b *book) put(side model.Side, i int, e model.Entry) {
	if i < 0 || i >= span {
		return
	}
	s := b.sheets[side][b.days[i]]
	e.Side = side
	s.versions[0] = append(s.versions[0], e)
}

// correct gives a file another version.
func (b *book) correct(side model.Side, day model.Day) {
	w, s := b.w, b.sheet(side, day)
	var next []model.Entry
	for _, e := range s.live() {
		switch w.rng.IntN(6) {
		case 0:
			continue
		case 1:
			e.Amount = e.Amount.Add(decimal.New(int64(w.rng.IntN(5)), -2))
		case 2:
			e.Status = "closed"
		}
		next = append(next, e)
	}
	if w.chance(0.5) {
		next = append(next, model.Entry{
			Side: side, Key: fmt.Sprintf("%s-%d-new%d", b.job.Name, day-w.first, len(s.versions)), Amount: decimal.New(500, -2),
			Currency: "CNY", Status: "paid",
		})
	}
	s.versions = append(s.versions, next)
	s.touched++
}

// entries are a version as a source yields it.
func entriesOf(day model.Day, side model.Side, version []model.Entry) []model.Entry {
	out := make([]model.Entry, len(version))
	for i, e := range version {
		e.Origin, e.File, e.Line, e.Compared = day, string(side)+".csv", uint64(i+2), []string{e.Status}
		out[i] = e
	}
	return out
}

// feed is a process's way to one side of a job.
type feed struct {
	p    *process
	b    *book
	side model.Side
}

var errDisk = errors.New("read: input/output error")

func (f *feed) ask(ctx context.Context, what string, day model.Day, apply func(s *sheet) error) error {
	return f.p.n.w.send(ctx, &call{
		by: f.p, label: fmt.Sprintf("%s %s %s %s", what, f.b.job.Name, day, f.side), lost: errDisk, busy: errDisk,
		apply: func() error {
			s := f.b.sheet(f.side, day)
			if !s.there {
				return fmt.Errorf("%s %s: %w", f.side, day, source.ErrNotThere)
			}
			return apply(s)
		},
	})
}

func (f *feed) Peek(ctx context.Context, req source.Request) (print string, err error) {
	err = f.ask(ctx, "peek", req.Day, func(s *sheet) error {
		print = fmt.Sprintf("v%d.%d", len(s.versions), s.touched)
		return nil
	})
	return print, err
}

func (f *feed) Read(ctx context.Context, req source.Request, yield func(model.Entry) error) (model.Seal, error) {
	var all []model.Entry
	cut, atLine, touched := false, false, 0
	err := f.ask(ctx, "read", req.Day, func(s *sheet) error {
		all, cut, atLine, touched = entriesOf(req.Day, f.side, s.live()), s.cut && len(s.live()) > 0, s.atLine, s.touched
		return nil
	})
	if err != nil {
		return model.Seal{}, err
	}
	seal := model.Seal{Totals: model.Totals{}}
	var digest model.ContentsDigest
	for i, e := range all {
		if cut && i == len(all)/2 {
			break
		}
		if err := yield(e); err != nil {
			return model.Seal{}, err
		}
		seal.Totals.Add(e.Currency, 1, e.Amount)
		digest.Add(e)
	}
	seal.Digest = digest.Under(f.b.job.Rules)
	mutant := f.p.n.w.mutant
	if cut && atLine && mutant != NoControl && mutant != HalfLoaded {
		return model.Seal{}, fmt.Errorf("%s.csv: the trailer tells of %d entries, %d were read: %w", f.side, len(all), len(all)/2, source.ErrInput)
	}
	if cut && !atLine && mutant != HalfLoaded {
		return model.Seal{}, fmt.Errorf("%s.csv:%d: the file ends within a line: %w", f.side, len(all)/2+2, source.ErrInput)
	}
	err = f.ask(ctx, "look again at", req.Day, func(s *sheet) error {
		if s.touched != touched {
			return source.ErrChanged
		}
		return nil
	})
	return seal, err
}

// rules are the job's for the oracle.
func (b *book) rules() oracle.Rules {
	return oracle.Rules{
		Sum: b.job.Rules.Mode == model.ModeSum, Carry: b.job.CarryDays, Tolerance: map[string]string{"CNY": "0.01"}, Status: true,
	}
}

// plain gives entries the oracle's form.
func plain(version []model.Entry) []oracle.Entry {
	var out []oracle.Entry
	for _, e := range version {
		amount, _ := new(big.Rat).SetString(e.Amount.String())
		out = append(out, oracle.Entry{Key: e.Key, Currency: e.Currency, Status: e.Status, Means: e.Status, Amount: amount})
	}
	return out
}
