package mt940

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// account is the statement in hand: one page of one account.
type account struct {
	line      int // of :20:
	seen      []string
	reference string // :20:
	id        string // :25:
	number    string // :28C:, with its page
	opening   balance
	closing   balance
	sum       decimal.Decimal
	rows      int // movements, also those left out
	base      int // movements of the pages and statements before it that have its number and opening date
	sums      [2]side
	reversals bool
	broken    bool // some figure could not be read: sums mean nothing
}

// side are the movements of one direction.
type side struct {
	count  int
	amount decimal.Decimal
}

// chain is what the next statement of the same account must follow.
type chain struct {
	last   account
	name   string
	repeat int
}

// begin takes the first line of a tag.
func (p *parser) begin(tag, rest string) error {
	if err := p.flush(); err != nil {
		return err
	}
	if tag != "20" && p.phase == outside {
		return p.fail(":%s: outside of a statement: a statement begins with :20:; this is a part of a file, deliver the whole", tag)
	}
	p.field = field{tag: tag, line: p.number}
	if err := p.add(strings.TrimRight(rest, "\x01\x03")); err != nil {
		return err
	}
	switch tag {
	case "20":
		return p.beginStatement()
	case "21", "25", "25P", "28", "28C", "13D":
		return p.once(tag)
	case "NS":
		return nil
	case "60F", "60M":
		return p.openStatement()
	case "61":
		if err := p.needOpen(tag); err != nil {
			return err
		}
		return p.emit()
	case "86":
		if p.phase == open && p.entry == nil || p.phase == header {
			return p.fail(":86: describes a movement, but there is no :61: before it")
		}
		return nil
	case "62F", "62M":
		return p.closeStatement()
	case "64", "65":
		if p.phase != closed {
			return p.fail(":%s: before the closing balance :62F:", tag)
		}
		return nil
	case "34F", "90C", "90D":
		return p.fail(":%s: belongs to an interim report (MT942) or a balance report (MT941), not to a statement: %s", tag, adviceInterim)
	}
	return p.fail("the tag :%s: is not known in a statement", tag)
}

func (p *parser) beginStatement() error {
	if p.phase == header || p.phase == open {
		return p.cut("the statement that begins in line %d has no closing balance :62F: before the next one in line %d", p.st.line, p.number)
	}
	if p.statement++; p.statement > statementsMax {
		return p.fail("more than %d statements in one file: deliver them in several", statementsMax)
	}
	p.phase, p.st = header, account{line: p.number}
	return nil
}

// once refuses a tag of the header out of its place or for the second time.
func (p *parser) once(tag string) error {
	kind := strings.TrimRight(tag, "PC")
	if p.phase != header {
		return p.fail(":%s: after the opening balance: it belongs to the beginning of a statement", tag)
	}
	if slices.Contains(p.st.seen, kind) {
		return p.fail(":%s: for the second time in the statement that begins in line %d", tag, p.st.line)
	}
	p.st.seen = append(p.st.seen, kind)
	return nil
}

func (p *parser) needOpen(tag string) error {
	switch p.phase {
	case header:
		return p.fail(":%s: before the opening balance :60F: of the statement that begins in line %d", tag, p.st.line)
	case closed:
		return p.fail(":%s: after the closing balance of the statement that begins in line %d", tag, p.st.line)
	case outside, open:
	}
	return nil
}

// flush takes the field in hand as a whole, and the movement before it when this field is no part of it.
func (p *parser) flush() error {
	f := p.field
	p.field = field{}
	switch f.tag {
	case "20":
		p.st.reference = joined(f.lines)
	case "25", "25P":
		p.st.id = strings.Trim(f.lines[0], controls)
	case "28", "28C":
		p.st.number = joined(f.lines)
	case "61":
		p.entry = p.parseEntry(&f)
	case "86", "NS":
		if p.phase == closed && f.tag == "86" {
			p.declared(f.line, joined(f.lines))
		}
		if p.entry != nil {
			p.entry.details = append(p.entry.details, f.lines...)
			p.entry.numbered = p.entry.numbered || f.tag == "NS"
		}
	}
	return nil
}

// joined is short text that a bank may have wrapped.
func joined(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.Trim(l, controls))
	}
	return b.String()
}

func (p *parser) openStatement() error {
	if p.phase == open || p.phase == closed {
		return p.cut("the statement that begins in line %d has another opening balance in line %d: the part between two statements is missing", p.st.line, p.number)
	}
	if p.st.id == "" {
		return p.fail("the statement that begins in line %d has no account :25: before its opening balance", p.st.line)
	}
	if p.st.number == "" {
		return p.fail("the statement that begins in line %d has no number :28C: before its opening balance", p.st.line)
	}
	p.phase = open
	p.st.opening = p.parseBalance(&p.field)
	p.st.id = withoutCurrency(p.st.id, p.st.opening.currency)
	if p.st.broken {
		return nil
	}
	if c := p.accounts[p.st.key()]; c != nil && c.last.number == p.st.number && c.last.opening.date.Equal(p.st.opening.date) {
		p.st.base = c.last.base + c.last.rows
	}
	p.follow()
	return nil
}

// withoutCurrency is an account number without the currency that some banks append. IBANs of Mauritius and the Seychelles
// end in a currency by themselves.
func withoutCurrency(id, currency string) string {
	short, ok := strings.CutSuffix(id, currency)
	if !ok || currency == "" || short == "" || strings.HasPrefix(id, "MU") || strings.HasPrefix(id, "SC") {
		return id
	}
	return strings.TrimRight(short, " ")
}

// follow holds the opening balance against the statement before it of the same account.
func (p *parser) follow() {
	st, before := &p.st, p.accounts[p.st.key()]
	switch {
	case before == nil && st.opening.intermediate:
		p.problem(&p.field, 0, "statement %s of %s begins with an intermediate balance :60M:, but the page before it is not in the file: deliver all pages in one file",
			st.number, st.id)
	case before == nil || before.last.broken:
	case before.last.closing.intermediate != st.opening.intermediate:
		p.problem(&p.field, 0, "statement %s of %s begins with :%s:, but the one before it ends with :%s: in line %d: a page is missing",
			st.number, st.id, st.opening.tag, before.last.closing.tag, before.last.closing.line)
	case !before.last.closing.amount.Equal(st.opening.amount):
		p.problem(&p.field, 0, "statement %s of %s begins with %s, but statement %s before it ends with %s in line %d: a statement is missing, or they are not in order",
			st.number, st.id, st.opening.amount, before.last.number, before.last.closing.amount, before.last.closing.line)
	}
}

// key tells accounts apart.
func (a *account) key() string { return a.id + "\x00" + a.opening.currency }

// sheet is the number of the statement without its page.
func (a *account) sheet() string {
	sheet, _, _ := strings.Cut(a.number, "/")
	return sheet
}

func (p *parser) closeStatement() error {
	if err := p.emit(); err != nil {
		return err
	}
	if err := p.needOpen(p.field.tag); err != nil {
		return err
	}
	p.phase = closed
	st := &p.st
	st.closing = p.parseBalance(&p.field)
	p.days.Add(st.closing.date)
	if st.closing.currency != st.opening.currency && !st.broken {
		p.bad(&p.field, 0, "the closing balance is in %s, the opening balance in %s", st.closing.currency, st.opening.currency)
	}
	c := p.accounts[st.key()]
	if c == nil {
		c = &chain{}
		p.accounts[st.key()] = c
	}
	twice := c.last.same(st)
	before := c.last.line
	c.last = *st
	c.last.seen = nil
	if st.broken {
		return nil
	}
	if twice {
		p.problem(&p.field, 0, "statement %s of %s is in the file twice, also in line %d: deliver it once", st.number, st.id, before)
	}
	name := fmt.Sprintf("closing balance of %s on %s, statement %s (%s) in %s", st.id, st.closing.date.Format(dayLayout), st.number, st.reference, st.opening.currency)
	if c.repeat++; c.name != name {
		c.name, c.repeat = name, 1
	} else {
		name += fmt.Sprintf(", no. %d of that name", c.repeat)
	}
	p.out.Declare(name, p.field.line, st.closing.amount)
	p.out.Count(name, st.opening.amount.Add(st.sum))
	if st.rows > 0 && st.closing.amount.IsZero() {
		// The same statement again, in another document of the file, doubles any other figure.
		p.out.Declare("copies of the "+name, p.field.line, decimal.NewFromInt(1))
		p.out.Count("copies of the "+name, decimal.NewFromInt(1))
	}
	return nil
}

// same reports whether another statement says the same in all that names it and has movements.
func (a *account) same(b *account) bool {
	return a.rows > 0 && !a.broken && !b.broken && a.rows == b.rows && a.number == b.number && a.reference == b.reference &&
		a.opening.equal(b.opening) && a.closing.equal(b.closing)
}

// pages refuses a file whose last page of an account ends with an intermediate balance.
func (p *parser) pages() error {
	first := account{}
	for _, c := range p.accounts {
		if c.last.closing.intermediate && (first.line == 0 || c.last.line < first.line) {
			first = c.last
		}
	}
	if first.line == 0 {
		return nil
	}
	return p.cut("statement %s of %s ends with an intermediate balance :62M: in line %d, but its next page is not in the file",
		first.number, first.id, first.closing.line)
}

var (
	sumsING    = regexp.MustCompile(`^/SUM/(\d{1,9})/(\d{1,9})/(\d+,\d*)/(\d+,\d*)/?$`)
	sumsOldING = regexp.MustCompile(`^D(\d{6})C(\d{6})D(\d+,\d*)C(\d+,\d*)$`)
)

// declared holds the sums that a bank adds after the closing balance against the movements. Whether reversals count on
// their own side is not known, so statements with one are left to their balances.
func (p *parser) declared(line int, written string) {
	m := sumsING.FindStringSubmatch(written)
	if m == nil {
		m = sumsOldING.FindStringSubmatch(written)
	}
	if m == nil || p.st.broken || p.st.reversals {
		return
	}
	for i, what := range []string{"debits", "credits"} {
		amount, err := amountOf(m[3+i], p.st.opening.currency)
		count, countErr := bill.ParseMoney(m[1+i])
		if err != nil || countErr != nil {
			p.out.Problem(line, 5, "the sums after the closing balance, %q, cannot be read", text.Clip(written, 60))
			return
		}
		got := p.st.sums[i]
		if !got.amount.Equal(amount) || !decimal.NewFromInt(int64(got.count)).Equal(count) {
			p.out.Problem(line, 5, "the bank counts %s %s of %s in statement %s of %s, but the file holds %d of %s: it is cut, damaged or edited; deliver the whole file again",
				count, what, amount, p.st.number, p.st.id, got.count, got.amount)
		}
	}
}
