package mt940

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// entry is a :61: with what follows it.
type entry struct {
	line       int
	mark       string // C, D, RC, RD, EC, ED
	value      time.Time
	booked     time.Time // zero when the line has no entry date
	rawDates   string    // digits as they stand, when a date was clamped
	amount     decimal.Decimal
	kind       string // N, S or F and three characters
	customer   string
	bank       string
	supplement string
	details    []string // lines of :86: and :NS:
	numbered   bool     // of :NS:
	broken     bool
}

// parseEntry reads :61:, and notes what is wrong with it.
func (p *parser) parseEntry(f *field) *entry {
	e := &entry{line: f.line}
	c := &cursor{s: strings.TrimRight(f.lines[0], controls)}
	step := func(read func() error) {
		if at := c.at; !e.broken {
			if err := read(); err != nil {
				e.broken = true
				p.bad(f, at, "%w", err)
			}
		}
	}
	step(func() error { return p.readDates(e, c) })
	step(func() error { return e.readMark(c, p.st.opening.currency) })
	step(func() (err error) {
		if e.amount, err = amountOf(c.take(reAmount), p.st.opening.currency); err != nil {
			return fmt.Errorf("the amount of the movement: %w", err)
		}
		return nil
	})
	step(func() error {
		if e.kind = c.take(reType); e.kind == "" {
			return fmt.Errorf("want the type of the movement, N, S or F and three characters, but this is %q", text.Clip(c.rest(), 40))
		}
		e.kind = strings.TrimRight(e.kind, " ")
		return nil
	})
	step(func() error { return e.readReferences(c.rest(), f.lines[1:]) })
	return e
}

// readDates reads YYMMDD and perhaps MMDD.
func (p *parser) readDates(e *entry, c *cursor) error {
	digits := c.take(reSixDigits)
	day, clamped, err := dateOf(digits)
	if err != nil {
		return fmt.Errorf("the value date of the movement: %w", err)
	}
	e.value = day
	entryDigits := c.take(reFourDigits)
	if entryDigits != "" {
		var too bool
		if e.booked, too, err = entryDate(entryDigits, day, p.st.opening.date); err != nil {
			return fmt.Errorf("the entry date of the movement: %w", err)
		}
		clamped = clamped || too
	}
	if clamped {
		p.clamped++
		e.rawDates = digits + entryDigits
	}
	return nil
}

// readMark reads C, D and their relatives, and the letter of the currency that may follow.
func (e *entry) readMark(c *cursor, currency string) error {
	if e.mark = c.take(reMark); e.mark == "" {
		return fmt.Errorf("want C, D, RC or RD, but this is %q", text.Clip(c.rest(), 40))
	}
	if letter := c.take(reLetter); letter != "" && currency != "" && letter != currency[2:] {
		return fmt.Errorf("the letter %s after %s is not the third one of %s: which currency the amount is in cannot be told", letter, e.mark, currency)
	}
	return nil
}

// readReferences reads the customer's reference, //, the bank's reference and the supplementary line.
func (e *entry) readReferences(rest string, more []string) error {
	customer, bank, both := strings.Cut(rest, "//")
	last := &customer
	if both {
		last = &bank
	}
	switch len(more) {
	case 0:
	case 1:
		e.supplement = strings.Trim(more[0], controls)
	default:
		// One line is what the standard has. ING breaks lines anywhere, but begins the supplement with its code word.
		all := joined(more)
		at := strings.Index(all, "/TRCD/")
		if at < 0 {
			return fmt.Errorf("%d lines follow a :61:, but only one may: where its reference ends cannot be told", len(more))
		}
		*last += all[:at]
		e.supplement = all[at:]
	}
	e.customer, e.bank = strings.Trim(customer, " "), strings.Trim(bank, " ")
	return nil
}

// signed is the amount with its sign: money to us is positive. A reversal turns the direction round.
func (e *entry) signed() decimal.Decimal {
	if strings.HasSuffix(e.mark, "C") == strings.HasPrefix(e.mark, "R") {
		return e.amount.Neg()
	}
	return e.amount
}

// emit counts the movement in hand and hands it on, unless it is none.
func (p *parser) emit() error {
	e, st := p.entry, &p.st
	p.entry = nil
	if e == nil || e.broken {
		return nil
	}
	if strings.HasPrefix(e.mark, "E") {
		p.expected++
		return nil
	}
	st.rows++
	if p.days.Add(e.booked); e.booked.IsZero() {
		p.days.Add(e.value)
	}
	amount := e.signed()
	st.sum = st.sum.Add(amount)
	st.reversals = st.reversals || e.mark[0] == 'R'
	of := &st.sums[0]
	if strings.HasSuffix(e.mark, "C") {
		of = &st.sums[1]
	}
	of.count, of.amount = of.count+1, of.amount.Add(e.amount)
	if amount.IsZero() {
		p.zero++
		return nil
	}
	row, err := p.row(e, amount)
	if err != nil {
		p.out.Problem(e.line, 5, "%w", err)
	}
	return p.out.Row(row)
}

// row makes the row of a movement.
func (p *parser) row(e *entry, amount decimal.Decimal) (*bill.Row, error) {
	st := &p.st
	d := parseDetails(e.details, e.numbered)
	own := st.id + "/" + st.number + "/" + st.opening.date.Format("060102") + "/" + strconv.Itoa(st.base+st.rows)
	bank := reference(e.bank)
	r := &bill.Row{
		Line: e.line, Column: 1,
		Key: cmp.Or(d.endToEnd, d.pointed(e.customer), customerReference(e.customer), bank, own),
		ID:  cmp.Or(bank, own), Type: bill.BankCredit, Amount: amount, Currency: st.opening.currency, Status: e.mark,
		Batch: st.id + "/" + st.sheet(),
		Attrs: []string{
			st.id, e.value.Format(dayLayout), "", e.rawDates, e.kind, e.customer, e.bank,
			cmp.Or(d.account, firstIBAN(e.customer, e.supplement)), d.name, cmp.Or(d.remittance, text.Clip(e.supplement, remittanceMax)),
		},
	}
	if len(r.Key) > keyBytesMax {
		return r, fmt.Errorf("a reference of more than %d bytes: %q", keyBytesMax, text.Clip(r.Key, 40))
	}
	if amount.IsNegative() {
		r.Type = bill.BankDebit
	}
	day := r.Attrs[1]
	if !e.booked.IsZero() {
		day = e.booked.Format(dayLayout)
		r.Attrs[2] = day
	}
	if p.zone == nil {
		return r, nil
	}
	var err error
	r.OccurredAt, err = text.Instants{Zone: p.zone}.Parse(day)
	return r, err
}
