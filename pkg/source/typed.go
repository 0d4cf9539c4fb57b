package source

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/text"
)

// cellClass is what a typed input's column holds, as far as entries care.
type cellClass int

const (
	classOther   cellClass = iota // cannot be used
	classFloat                    // cannot be used: its digits are not those that were written
	classText                     //
	classInteger                  //
	classDecimal                  //
	classInstant                  // a point in time
	classWall                     // a wall clock without zone
	classDate                     //
	classBool                     //
)

// cell is one value of a typed input: text as it stands, numbers exact, at in UTC and for classWall and classDate what
// the clock or calendar shows.
type cell struct {
	class cellClass
	null  bool
	text  string
	num   decimal.Decimal
	at    time.Time
}

// typedRow is the current row of a typed input.
type typedRow struct {
	text.Instants
	file    string
	line    uint64
	headers []string // of the slots
	cells   []cell   // by slot
}

func (r *typedRow) place(slot int) string {
	if slot < 0 {
		return fmt.Sprintf("%s:%d", r.file, r.line)
	}
	return fmt.Sprintf("%s:%d:%s", r.file, r.line, r.headers[slot])
}

func (r *typedRow) text(slot int) (string, error) {
	c := r.cells[slot]
	if c.null {
		return "", nil
	}
	switch c.class {
	case classInteger, classDecimal:
		return c.num.String(), nil
	case classInstant:
		return c.at.Format(time.RFC3339Nano), nil
	case classWall:
		return c.at.Format("2006-01-02 15:04:05.999999999"), nil
	case classDate:
		return c.at.Format(dayLayout), nil
	case classText, classBool, classFloat, classOther:
	}
	if !utf8.ValidString(c.text) || strings.IndexByte(c.text, 0) >= 0 {
		return "", errNotText
	}
	return c.text, nil
}

func (r *typedRow) amount(slot int) (decimal.NullDecimal, error) {
	c := r.cells[slot]
	switch {
	case c.null:
		return decimal.NullDecimal{}, nil
	case c.class == classText:
		return parseMoney(c.text)
	}
	return parseMoney(c.num.String())
}

func (r *typedRow) instant(slot int) (time.Time, error) {
	c := r.cells[slot]
	if c.null {
		return time.Time{}, nil
	}
	switch c.class {
	case classInteger:
		if n := c.num.BigInt(); n.IsInt64() {
			return r.Epoch(n.Int64())
		}
		return time.Time{}, fmt.Errorf("instant %s is out of range", c.num)
	case classInstant:
		return text.Believable(c.at.Format(time.RFC3339), c.at)
	case classWall, classDate:
		resolve := text.ResolveWall
		if c.class == classDate {
			resolve = text.StartOfDay
		}
		t, err := resolve(c.at, r.Zone)
		if err != nil {
			return t, err
		}
		return text.Believable(c.at.Format("2006-01-02 15:04:05"), t)
	case classText, classDecimal, classBool, classFloat, classOther:
	}
	return r.Parse(c.text)
}

// columnType is how a typed input declares one column.
type columnType struct {
	class cellClass
	scale int    // of a decimal
	name  string // as the input calls the type
}

// checkTypes refuses columns whose type cannot give what the plan wants of them, all at once. advice says how a money
// column is made exact in this kind of input.
func (p *plan) checkTypes(types []columnType, format, advice string) error {
	var lines []string
	refuse := func(r ref, role, why string) {
		t := types[r.slot]
		lines = append(lines, fmt.Sprintf("column %q is %s and cannot be %s: %s", r.header, t.name, role, why))
	}
	check := func(r ref, role, why string, allowed ...cellClass) {
		if r.slot < 0 {
			return
		}
		if t := types[r.slot]; t.class == classFloat {
			refuse(r, role, advice)
		} else if !slices.Contains(allowed, t.class) {
			refuse(r, role, why)
		}
	}
	ident := func(r ref, role string) {
		check(r, role, "want text or integers", classText, classInteger, classDecimal)
		if r.slot >= 0 && types[r.slot].class == classDecimal && types[r.slot].scale > 0 {
			refuse(r, role, "want text or integers")
		}
	}
	words := []cellClass{classText, classInteger, classDecimal, classInstant, classWall, classDate, classBool}
	check(p.amount, "an amount", "want a decimal, an integer or text", classText, classInteger, classDecimal)
	check(p.fee, "a fee", "want a decimal, an integer or text", classText, classInteger, classDecimal)
	ident(p.key, "a key")
	ident(p.id, "an id")
	check(p.currency, "a currency", "want text", words...)
	check(p.status, "a status", "want text", words...)
	if epoch := format == text.TimeUnix || format == text.TimeUnixMS; epoch {
		check(p.occurred, "an instant", "time_format is "+format+", so want integers", classText, classInteger)
	} else {
		check(p.occurred, "an instant", "want a timestamp, a date or text; of integers say with time_format whether they are unix or unix_ms",
			classText, classInstant, classWall, classDate)
	}
	for _, a := range p.attrs {
		if a.inKey {
			ident(a.ref, "part of a key")
		} else {
			check(a.ref, "an attribute", "want text, a number or a date", words...)
		}
	}
	if len(lines) > 0 {
		return errors.New(strings.Join(lines, "\n"))
	}
	return nil
}

// wholeNumber is an exact integer cell of a signed value.
func wholeNumber(n int64) cell { return cell{class: classInteger, num: decimal.NewFromInt(n)} }

// boolCell prints booleans as text.
func boolCell(v bool) cell { return cell{class: classBool, text: strconv.FormatBool(v)} }
