package camt053

import (
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// statement is the Stmt in hand.
type statement struct {
	place
	id        string
	account   string
	page      pagination
	balances  map[string]*balances // by currency
	count     int                  // balances
	sums      map[string]decimal.Decimal
	entries   int
	booked    sides
	all       sides // also those not booked
	summary   summary
	summaryAt place
	broken    bool // some figure could not be read: sums mean nothing
}

// title is the id of the statement, with the page when there are several.
func (st *statement) title() string {
	number, last := trim(st.page.Number), trim(st.page.Last)
	if number == "" || number == "1" && last != "false" && last != "0" {
		return st.id
	}
	return st.id + " page " + text.Clip(number, 10)
}

// balances are those of one currency that count.
type balances struct {
	opening, previous, closing decimal.NullDecimal
	line                       int // of the closing one
	date                       string
}

// sides are how many entries there are and what they sum to: credits, and debits as positive numbers.
type sides struct {
	credits, debits int
	credit, debit   decimal.Decimal
}

func (s *sides) add(amount decimal.Decimal) {
	if amount.IsNegative() {
		s.debits, s.debit = s.debits+1, s.debit.Sub(amount)
		return
	}
	s.credits, s.credit = s.credits+1, s.credit.Add(amount)
}

// statement reads a Stmt.
func (p *parser) statement(ctx context.Context, at place) error {
	if p.statements++; p.statements > statementsMax {
		return p.fail(at, "more than %d statements in one document: deliver them in several", statementsMax)
	}
	p.st = &statement{place: at, page: p.page, balances: map[string]*balances{}, sums: map[string]decimal.Decimal{}}
	err := p.children("Stmt", func(start xml.StartElement, at place) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return p.statementPart(start, at)
	})
	if err != nil {
		return err
	}
	if p.st.id == "" || p.st.account == "" {
		return p.fail(at, "the statement has no Id, or no account (Acct/Id)")
	}
	p.balance()
	p.summed()
	p.paged()
	p.first = false
	return nil
}

// statementPart reads a child of Stmt.
func (p *parser) statementPart(start xml.StartElement, at place) error {
	st := p.st
	switch start.Name.Local {
	case "Id":
		if st.id != "" {
			return p.fail(at, "a second Id of the statement")
		}
		var s string
		err := p.decode(&s, start, at)
		st.id = clip(s)
		return err
	case "StmtPgntn":
		return p.decode(&st.page, start, at)
	case "Acct":
		if st.account != "" {
			return p.fail(at, "a second account of the statement")
		}
		var n number
		err := p.decode(&n, start, at)
		st.account = n.String()
		return err
	case "Bal":
		return p.takeBalance(start, at)
	case "TxsSummry":
		st.summaryAt = at
		return p.decode(&st.summary, start, at)
	case "Ntry":
		if st.id == "" || st.account == "" {
			return p.fail(at, "an entry before the Id and the account (Acct/Id) of the statement")
		}
		return p.entry(at)
	}
	return p.skip(at)
}

// takeBalance keeps the balances that count: before and after what was booked.
func (p *parser) takeBalance(start xml.StartElement, at place) error {
	var b balance
	if err := p.decode(&b, start, at); err != nil {
		return err
	}
	if p.st.count++; p.st.count > balancesMax {
		return p.fail(at, "more than %d balances in one statement", balancesMax)
	}
	kind := ""
	if len(b.Code) == 1 {
		kind = trim(b.Code[0])
	}
	if kind != "OPBD" && kind != "PRCD" && kind != "CLBD" {
		return nil
	}
	value, currency, err := signed(b.Amount, b.Indicator)
	if err != nil {
		p.st.broken = true
		p.problem(at, "balance %s: %w", kind, err)
		return nil
	}
	of := p.st.balances[currency]
	if of == nil {
		of = &balances{}
		p.st.balances[currency] = of
	}
	into := map[string]*decimal.NullDecimal{"OPBD": &of.opening, "PRCD": &of.previous, "CLBD": &of.closing}[kind]
	if into.Valid && !into.Decimal.Equal(value) {
		p.problem(at, "a second balance %s in %s: %s, but %s before", kind, currency, value, into.Decimal)
	}
	*into = decimal.NewNullDecimal(value)
	if kind == "CLBD" {
		of.line = at.line
		if of.date, _, err = b.Date.when(nil); err != nil {
			p.problem(at, "balance %s: %w", kind, err)
		}
		p.isOf(of.date)
	}
	return nil
}

// isOf notes a date on which the statement has something, for telling that of another day.
func (p *parser) isOf(date string) {
	if t, err := time.Parse(time.DateOnly, date); err == nil {
		p.days.Add(t)
	}
}

// balance holds the closing balances against the opening ones and what was booked.
func (p *parser) balance() {
	st := p.st
	if st.broken {
		return
	}
	if len(st.balances) == 0 {
		p.problem(st.place, "statement %s of %s has no opening and closing balance (OPBD or PRCD, and CLBD): it is no statement of a whole day, or it was cut down", st.id, st.account)
		return
	}
	currencies := maps.Clone(st.sums)
	for c := range st.balances {
		currencies[c] = st.sums[c]
	}
	for _, c := range slices.Sorted(maps.Keys(currencies)) {
		b := st.balances[c]
		if b == nil {
			b = &balances{}
		}
		if !b.opening.Valid {
			b.opening = b.previous
		}
		if !b.opening.Valid || !b.closing.Valid {
			p.problem(st.place, "statement %s of %s has no opening (OPBD or PRCD) and closing (CLBD) balance in %s: it is no statement of a whole day, or it was cut down",
				st.id, st.account, c)
			continue
		}
		name := fmt.Sprintf("closing balance of %s on %s, statement %s in %s", st.account, b.date, st.title(), c)
		p.out.Declare(name, b.line, b.closing.Decimal)
		p.out.Count(name, b.opening.Decimal.Add(st.sums[c]))
		if _, moved := st.sums[c]; moved && b.closing.Decimal.IsZero() {
			// The same statement again, in this document or another of the file, doubles any other figure.
			p.out.Declare("copies of the "+name, b.line, decimal.NewFromInt(1))
			p.out.Count("copies of the "+name, decimal.NewFromInt(1))
		}
	}
}

// summed holds the counts and sums of TxsSummry against the entries. Sums mean nothing across currencies.
func (p *parser) summed() {
	st := p.st
	if st.broken {
		return
	}
	total := func(s sides) (int, decimal.Decimal) { return s.credits + s.debits, s.credit.Add(s.debit) }
	credit := func(s sides) (int, decimal.Decimal) { return s.credits, s.credit }
	debit := func(s sides) (int, decimal.Decimal) { return s.debits, s.debit }
	for _, t := range []struct {
		what string
		of   totals
		by   func(sides) (int, decimal.Decimal)
	}{{"entries", st.summary.All, total}, {"credit entries", st.summary.Credit, credit}, {"debit entries", st.summary.Debit, debit}} {
		if t.of.empty() {
			continue
		}
		bookedCount, bookedSum := t.by(st.booked)
		allCount, allSum := t.by(st.all)
		name := fmt.Sprintf("%s of %s, statement %s", t.what, st.account, st.title())
		p.declared("number of "+name, t.of.Count, decimal.NewFromInt(int64(bookedCount)), decimal.NewFromInt(int64(allCount)))
		if len(st.sums) < 2 {
			net := bookedSum
			if t.what == "entries" { // some banks give the difference
				net = st.booked.credit.Sub(st.booked.debit).Abs()
			}
			p.declared("sum of "+name, t.of.Sum, bookedSum, allSum, net)
		}
	}
}

// declared declares a figure of the summary, and counts the one of the candidates that it means.
func (p *parser) declared(name, written string, candidates ...decimal.Decimal) {
	if trim(written) == "" {
		return
	}
	want, err := bill.ParseMoney(trim(written))
	if err != nil {
		p.problem(p.st.summaryAt, "%s: %w", name, err)
		return
	}
	got := candidates[0]
	for _, c := range candidates {
		if c.Equal(want) {
			got = c
			break
		}
	}
	p.out.Declare(name, p.st.summaryAt.line, want)
	p.out.Count(name, got)
}

// paged notes a statement that goes on in another page, and one that has its last page here.
func (p *parser) paged() {
	st := p.st
	number, last := trim(st.page.Number), trim(st.page.Last)
	p.open.id = ""
	if number == "" && last == "" {
		return
	}
	id := fmt.Sprintf("of %s, statement %s", st.account, st.id)
	switch last {
	case "true", "1":
		n, err := bill.ParseMoney(number)
		if err != nil {
			p.problem(st.place, "PgNb %q: want a number", text.Clip(number, 40))
		} else if n.GreaterThan(decimal.NewFromInt(1)) && p.first {
			p.out.Count("last page "+id, decimal.NewFromInt(1))
			p.out.Declare("pages "+id, st.line, n)
			p.out.Count("pages "+id, decimal.NewFromInt(1))
		}
	case "false", "0":
		p.open.id, p.open.line = id, st.line
	default:
		p.problem(st.place, "LastPgInd %q: want true or false", text.Clip(last, 40))
	}
}

// closePage declares that the last statement of a message has a last page, when this one is not it.
func (p *parser) closePage() {
	if p.open.id == "" {
		return
	}
	one := decimal.NewFromInt(1)
	p.out.Declare("last page "+p.open.id, p.open.line, one)
	p.out.Count("last page "+p.open.id, decimal.Zero)
	p.out.Count("pages "+p.open.id, one)
	p.open.id = ""
}
