package mt940

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// balance is a line such as :60F:C260105EUR1200,00.
type balance struct {
	line         int
	tag          string
	intermediate bool
	date         time.Time
	currency     string
	amount       decimal.Decimal // negative for D
}

func (b balance) equal(c balance) bool {
	return b.tag == c.tag && b.date.Equal(c.date) && b.amount.Equal(c.amount)
}

// parseBalance reads a balance, and notes what is wrong with it.
func (p *parser) parseBalance(f *field) balance {
	b := balance{line: f.line, tag: f.tag, intermediate: strings.HasSuffix(f.tag, "M")}
	c := &cursor{s: strings.TrimRight(f.lines[0], controls)}
	mark := c.take(reMark)
	if mark != "C" && mark != "D" {
		p.bad(f, 0, "a balance begins with C or D, but this is %q", text.Clip(c.s, 40))
		return b
	}
	at := c.at
	day, clamped, err := dateOf(c.take(reSixDigits))
	if err != nil {
		p.bad(f, at, "the date of the balance: %w", err)
		return b
	}
	b.date = day
	if clamped {
		p.clamped++
	}
	at = c.at
	if b.currency, err = bill.CheckCurrency(c.take(reThreeLetters)); err != nil {
		p.bad(f, at, "the balance has no currency that is known: %w: ask the bank for the original; a currency stands before the amount", err)
		return b
	}
	at = c.at
	if b.amount, err = amountOf(c.rest(), b.currency); err != nil {
		p.bad(f, at, "%w", err)
	}
	if mark == "D" {
		b.amount = b.amount.Neg()
	}
	return b
}

// cursor takes one part of a line after the other.
type cursor struct {
	s  string
	at int
}

// take returns what the expression, which is anchored, matches here, "" for nothing.
func (c *cursor) take(re *regexp.Regexp) string {
	found := re.FindString(c.s[c.at:])
	c.at += len(found)
	return found
}

func (c *cursor) rest() string { return c.s[c.at:] }

var (
	reMark         = regexp.MustCompile(`^(?:[RE]?[CD])`)
	reSixDigits    = regexp.MustCompile(`^\d{6}`)
	reFourDigits   = regexp.MustCompile(`^\d{4}`)
	reThreeLetters = regexp.MustCompile(`^[A-Z]{3}`)
	reLetter       = regexp.MustCompile(`^[A-Z]`)
	reAmount       = regexp.MustCompile(`^[\d.,']+`)
	reType         = regexp.MustCompile(`^[NSF][A-Z0-9 ]{3}`)
	reAmountForm   = regexp.MustCompile(`^\d+,\d*$`)
)

// amountOf reads an amount with its decimal comma, after which there may be nothing. Decimals that the currency does not
// have are refused: a comma in front of three digits could as well group thousands.
func amountOf(written, currency string) (decimal.Decimal, error) {
	if !reAmountForm.MatchString(written) {
		return decimal.Decimal{}, fmt.Errorf("amount %q: want digits, a decimal comma, and at most the decimals of the currency", text.Clip(written, 40))
	}
	whole, frac, _ := strings.Cut(written, ",")
	exponent, err := bill.ISO.Exponent(currency)
	if err != nil {
		return decimal.Decimal{}, err
	}
	if len(frac) > exponent && (len(frac) > 2 || strings.Trim(frac, "0") != "") {
		return decimal.Decimal{}, fmt.Errorf("amount %q: %s has %d decimals; deliver the file as the bank made it", text.Clip(written, 40), currency, exponent)
	}
	if frac == "" {
		return bill.ParseMoney(whole)
	}
	return bill.ParseMoney(whole + "." + frac)
}

const dayLayout = "2006-01-02"

var errDate = errors.New("no such date")

// dateOf reads YYMMDD of the years 1980 to 2079.
func dateOf(digits string) (day time.Time, clamped bool, err error) {
	if len(digits) != 6 {
		return time.Time{}, false, errors.New("six digits YYMMDD are missing")
	}
	year := 2000 + number(digits[:2])
	if year >= 2080 {
		year -= 100
	}
	day, clamped, err = dayOf(year, digits[2:])
	if err != nil {
		err = fmt.Errorf("%q: %w", digits, err)
	}
	return day, clamped, err
}

// dayOf reads MMDD of a year. February 29 and 30 are its end where they are not in the calendar.
func dayOf(year int, digits string) (day time.Time, clamped bool, err error) {
	month, d := number(digits[:2]), number(digits[2:])
	if month < 1 || month > 12 || d < 1 {
		return time.Time{}, false, errDate
	}
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC)
	switch {
	case d <= last.Day():
		return last.AddDate(0, 0, d-last.Day()), false, nil
	case month == 2 && d <= 30:
		return last, true, nil
	}
	return time.Time{}, false, errDate
}

// number reads two digits.
func number(digits string) int { return int(digits[0]-'0')*10 + int(digits[1]-'0') }

// entryDate gives MMDD the year that the package comment tells.
func entryDate(digits string, value, opening time.Time) (day time.Time, clamped bool, err error) {
	byValue, clampedValue, err := nearest(digits, value)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("%q: %w", digits, err)
	}
	byOpening, clampedOpening, err := nearest(digits, opening)
	if err == nil && byValue.Before(opening) && !byOpening.Before(opening) {
		return byOpening, clampedOpening, nil
	}
	return byValue, clampedValue, nil
}

// nearest gives MMDD the year in which it lies nearest to another day.
func nearest(digits string, to time.Time) (day time.Time, clamped bool, err error) {
	best := time.Duration(-1)
	for year := to.Year() - 1; year <= to.Year()+1; year++ {
		d, c, yearErr := dayOf(year, digits)
		if yearErr != nil {
			return time.Time{}, false, yearErr
		}
		if gap := d.Sub(to).Abs(); best < 0 || gap < best {
			best, day, clamped = gap, d, c
		}
	}
	return day, clamped, nil
}
