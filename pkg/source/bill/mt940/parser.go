package mt940

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// Bounds on what is held of one file.
const (
	lineBytesMax  = 8 << 10  // of a line
	fieldBytesMax = 32 << 10 // of a tag with the lines that follow it
	statementsMax = 20_000   // of a file: each leaves a control total
	keyBytesMax   = 255      // of a reference
)

// controls are characters around lines that are no part of them: blanks, SOH and ETX.
const controls = " \t\x01\x03"

// trailer are the blocks that follow a message.
var trailer = regexp.MustCompile(`^(?:\{[5S]:[^{}]*(?:\{[^{}]*\}[^{}]*)*\})+`)

// known are the tags of MT940, and of the reports that are mistaken for it.
var known = map[string]bool{
	"20": true, "21": true, "25": true, "25P": true, "28": true, "28C": true, "13D": true, "NS": true,
	"60F": true, "60M": true, "61": true, "86": true, "62F": true, "62M": true, "64": true, "65": true,
	"34F": true, "90C": true, "90D": true,
}

// begins are the tags that may follow :20: at the beginning of a statement.
var begins = []string{"21", "25", "25P", "28", "28C", "13D", "34F", "NS", "60F", "60M"}

// phase of a statement.
type phase int

const (
	outside phase = iota // before :20:, or after the end of a message
	header               // from :20: on
	open                 // from :60: on
	closed               // from :62: on
)

// field is a tag with the lines that follow it.
type field struct {
	tag   string
	line  int
	lines []string // the first without the tag
	bytes int
}

// isText reports whether the field is free text.
func (f *field) isText() bool { return f.tag == "86" || f.tag == "NS" }

// parser takes a file line by line.
type parser struct {
	lines *text.Lines
	out   *bill.Out
	zone  *time.Location
	days  *bill.Days

	line      string // in hand
	number    int
	ahead     string // the line after it
	aheadErr  error
	looked    bool
	phase     phase
	field     field
	st        account
	entry     *entry // :61: whose :86: may still come
	accounts  map[string]*chain
	begun     bool // blocks of a message are there, its text may be missing
	blocked   bool // inside {4:
	ended     bool // the last line ended a message
	endsSeen  bool // some message had an end
	statement int  // how many so far
	zero      int  // movements left out
	expected  int
	clamped   int // dates that no calendar has
}

func (p *parser) run(ctx context.Context) error {
	for {
		switch err := p.next(); {
		case errors.Is(err, io.EOF):
			return p.end()
		case err != nil:
			return err
		}
		if p.number%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.take(p.line); err != nil {
			return err
		}
	}
}

// next brings the next line in hand.
func (p *parser) next() error {
	p.peek()
	p.line, p.looked = p.ahead, false
	if p.aheadErr != nil {
		return p.aheadErr
	}
	p.number++
	if len(p.line) > lineBytesMax {
		return p.fail("a line of more than %d bytes, but lines of a SWIFT message are short: this is something else, or line ends are missing", lineBytesMax)
	}
	return nil
}

// peek returns the line after the one in hand, "" at the end.
func (p *parser) peek() string {
	if !p.looked {
		line, err := p.lines.Next()
		p.ahead, p.aheadErr, p.looked = string(line), err, true
	}
	return p.ahead
}

// fail is an error at the line in hand.
func (p *parser) fail(format string, args ...any) error {
	return &text.Error{Line: p.number, Column: 1, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) take(line string) error {
	bare := strings.Trim(line, controls)
	switch {
	case bare == "":
		return nil
	case bare[0] == '{' && (p.phase != open || strings.HasPrefix(bare, "{1:")):
		return p.block(bare)
	case strings.HasPrefix(bare, "-}"), bare[0] == '-' && p.phase != open:
		return p.endMessage(bare)
	}
	p.ended = false
	line = strings.TrimLeft(line, "\x01")
	if m := tagLine.FindStringSubmatch(line); m != nil && p.isTag(m[1]) {
		return p.begin(m[1], line[len(m[0]):])
	}
	return p.goOn(line, bare)
}

// isTag tells a tag from text that looks like one; see the package comment.
func (p *parser) isTag(tag string) bool {
	if !p.field.isText() || p.phase == header || p.phase == outside {
		return true
	}
	if tag != "20" {
		return known[tag] && !slices.Contains([]string{"21", "25", "25P", "28", "28C", "13D"}, tag)
	}
	after := strings.Trim(p.peek(), controls)
	m := tagLine.FindStringSubmatch(after)
	return after == "" || m != nil && slices.Contains(begins, m[1])
}

// block takes a line of SWIFT blocks: {1:…}{2:…}{4: before a message, {5:…} after it.
func (p *parser) block(bare string) error {
	if err := p.flush(); err != nil {
		return err
	}
	if p.phase == header || p.phase == open {
		return p.cut("the statement that begins in line %d has no closing balance :62F: before the next message, line %d", p.st.line, p.number)
	}
	if p.blocked {
		return p.cut("the message before line %d has no end -}", p.number)
	}
	p.leave()
	p.begun, p.ended = p.begun || trailer.ReplaceAllString(bare, "") != "", true
	if m := blockType.FindStringSubmatch(bare); m != nil && m[1] != "940" && m[1] != "950" {
		return p.fail("a message MT%s, but only MT940 is read: %s", m[1], adviceInterim)
	}
	before, after, found := strings.Cut(bare, "{4:")
	if found && after != "" {
		return p.fail("text after {4: on its line: %q; tags begin lines", text.Clip(before+"{4:"+after, 60))
	}
	p.blocked = p.blocked || found
	return nil
}

// endMessage takes a line that ends a message: -, -}, or what banks make of it.
func (p *parser) endMessage(bare string) error {
	if err := p.flush(); err != nil {
		return err
	}
	if p.phase == header || p.phase == open {
		return p.cut("the statement that begins in line %d ends in line %d without its closing balance :62F:", p.st.line, p.number)
	}
	p.leave()
	p.ended, p.endsSeen, p.blocked, p.begun = true, true, false, false
	if rest, ok := strings.CutPrefix(bare, "-}"); ok && strings.HasPrefix(rest, "{") {
		return p.block(rest)
	}
	return nil
}

// leave ends the statement in hand, which is closed.
func (p *parser) leave() { p.phase, p.field = outside, field{} }

// goOn takes a line without a tag: more of the field in hand, or what banks put before messages.
func (p *parser) goOn(line, bare string) error {
	if p.phase == outside || p.phase == closed && !p.field.isText() {
		if !preamble.MatchString(bare) {
			return p.fail("%q belongs to no statement: a statement is the lines from :20: to :62F:; deliver the file as the bank made it", text.Clip(bare, 60))
		}
		for word := range strings.FieldsSeq(strings.Trim(bare, ":")) {
			if word == "941" || word == "942" {
				return p.fail("a message MT%s, but only MT940 is read: %s", word, adviceInterim)
			}
		}
		if p.phase == closed {
			p.leave()
		}
		return nil
	}
	if p.field.tag == "60F" || p.field.tag == "60M" {
		return p.fail("%q follows a balance, but belongs to no tag", text.Clip(bare, 60))
	}
	return p.add(strings.Trim(line, "\x01\x03"))
}

// add appends a line to the field in hand.
func (p *parser) add(line string) error {
	p.field.lines = append(p.field.lines, line)
	if p.field.bytes += len(line) + 1; p.field.bytes > fieldBytesMax {
		return p.fail("the tag :%s: of line %d holds more than %d bytes", p.field.tag, p.field.line, fieldBytesMax)
	}
	return nil
}

// end is the end of the file.
func (p *parser) end() error {
	if err := p.flush(); err != nil {
		return err
	}
	switch {
	case p.phase == header || p.phase == open:
		return p.cut("the statement that begins in line %d has no closing balance :62F:", p.st.line)
	case p.statement == 0:
		return &text.Error{Line: max(p.number, 1), Column: 1, Msg: "no statement in the file: one begins with :20: and ends with :62F:"}
	case p.blocked || p.begun:
		return p.cut("the last message has no end -}")
	case !p.ended && p.endsSeen:
		return p.cut("the last message has no end, which those before it have")
	case !p.ended && !p.lines.Ended():
		return p.cut("the last line has no line end")
	}
	if err := p.pages(); err != nil {
		return err
	}
	if err := p.days.Check(); err != nil {
		p.out.Problem(1, 1, "%w", err)
	}
	p.remark()
	return nil
}

func (p *parser) cut(format string, args ...any) error { return bill.Cut(fmt.Sprintf(format, args...)) }

func (p *parser) remark() {
	if n := p.zero + p.expected; n > 0 {
		p.out.Remark("%d entries are left out: %d of amount zero, %d only expected (EC, ED)", n, p.zero, p.expected)
	}
	if p.clamped > 0 {
		p.out.Remark("%d dates are not in the calendar (February 29 or 30): they are read as the end of February", p.clamped)
	}
}

// bad notes what cannot be read at a byte of the first line of a field: the sums of the statement mean nothing then.
func (p *parser) bad(f *field, at int, format string, args ...any) {
	p.st.broken = true
	p.problem(f, at, format, args...)
}

// problem notes what is wrong at a byte of the first line of a field.
func (p *parser) problem(f *field, at int, format string, args ...any) {
	column := len(f.tag) + 3 + utf8.RuneCountInString(f.lines[0][:min(at, len(f.lines[0]))])
	p.out.Problem(f.line, column, format, args...)
}
