package paypal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

const (
	sectionsMax = 300 // bounds what is held: sums per section and currency
	periodMax   = 32 * 24 * time.Hour
	asMade      = "deliver the file as PayPal made it"
)

// report is a document on its way through its records.
type report struct {
	ctx  context.Context
	rec  *text.Records
	out  *bill.Out
	kind kind

	seen    map[string]int // records by type
	records int
	body    int            // SB records so far
	whole   *ledger        // of the report
	left    map[string]int // SB records left out, by why

	section  int
	inside   *ledger // of the section; nil between sections
	bodyFrom int     // body when the section began
	period   period
	days     *bill.Days
	columns  *columns // nil before CH

	row   bill.Row
	attrs [10]string
}

// period is what a section header says.
type period struct {
	from, to time.Time // zero when the header says none
	day      string    // the first day, in the zone that the header prints
	account  string
}

func read(ctx context.Context, d *bill.Doc, out *bill.Out, k kind) error {
	head, err := bill.PeekHead(d.Raw)
	if err != nil {
		return err
	}
	rec, err := d.Records(text.Dialect{Delimiter: delimiterOf(head.FirstLine())})
	if err != nil {
		return err
	}
	r := &report{ctx: ctx, rec: rec, out: out, kind: k, seen: map[string]int{}, whole: newLedger(), days: d.NewDays(), left: map[string]int{}}
	for {
		fields, err := rec.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if r.records++; r.records%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.take(fields); err != nil {
			return err
		}
	}
	return r.end()
}

// take reads one record by its type.
func (r *report) take(fields [][]byte) error {
	word := recordType(string(fields[0]))
	if r.seen["FF"] > 0 {
		r.problem("a record after the end of the file (FF): the file was put together wrongly; %s", asMade)
	}
	r.seen[word]++
	switch word {
	case "RH":
	case "FH":
		r.fileHeader(trimmed(fields))
	case "SH":
		return r.sectionHeader(trimmed(fields))
	case "CH":
		r.columns = r.columnHeader(fields)
	case "SB":
		r.body++
		return r.transaction(fields)
	case "SF":
		if r.inside == nil {
			r.problem("a section footer (SF) outside a section: %s", asMade)
			return nil
		}
		r.footer(r.inside, r.sectionName(), trimmed(fields))
	case "SC":
		r.sectionCount(trimmed(fields))
	case "RF":
		r.footer(r.whole, "report", trimmed(fields))
	case "RC":
		r.count("report records", trimmed(fields), r.body)
	case "FF":
		r.fileFooter(trimmed(fields))
	default:
		r.problem("the record type %q is not known: tell us what it means", clip(word))
	}
	return nil
}

// trimmed drops the empty fields that spreadsheets add at the end of short records.
func trimmed(fields [][]byte) []string {
	n := len(fields)
	for n > 1 && len(fields[n-1]) == 0 {
		n--
	}
	out := make([]string, n)
	for i, f := range fields[:n] {
		out[i] = strings.TrimSpace(string(f))
	}
	return out
}

func (r *report) problem(format string, args ...any) {
	r.out.Problem(r.rec.First(), 1, format, args...)
}

func (r *report) sectionName() string { return "section " + strconv.Itoa(r.section) }

func (r *report) fileHeader(fields []string) {
	if len(fields) > 1 && strings.TrimLeft(fields[1], "0") != "1" {
		r.problem("file %q of a report that PayPal split over several files: its totals run over all of them, so that none can be checked alone; "+
			"split reports are not read", clip(fields[1]))
	}
}

func (r *report) sectionHeader(fields []string) error {
	r.leaveSection()
	r.section++
	if r.section > sectionsMax {
		return &text.Error{Line: r.rec.First(), Column: 1, Msg: fmt.Sprintf("more than %d sections in one report", sectionsMax)}
	}
	r.inside, r.bodyFrom, r.columns, r.period = newLedger(), r.body, nil, period{}
	if len(fields) < 4 {
		r.problem("a section header (SH) of %d fields: want the begin and end of its period and the account", len(fields))
		return nil
	}
	var err error
	if r.period.from, err = instants.Parse(fields[1]); err == nil {
		r.period.to, err = instants.Parse(fields[2])
	}
	if err != nil {
		r.problem("the period of the section: %w; %s", err, asMade)
		return nil
	}
	if r.period.from.IsZero() || r.period.to.Before(r.period.from) {
		r.problem("the period of the section, %q to %q, is none: %s", clip(fields[1]), clip(fields[2]), asMade)
		r.period = period{}
		return nil
	}
	r.period.day = strings.ReplaceAll(fields[1][:len("2006/01/02")], "/", "-")
	r.period.account = fields[3]
	if r.period.to.Sub(r.period.from) > periodMax {
		r.problem("the period of the section, %q to %q, is longer than a month: %s", clip(fields[1]), clip(fields[2]), asMade)
		return nil
	}
	r.covers(fields[1], fields[2])
	return nil
}

// leaveSection notes a section that another one or the end of the file follows before its count.
func (r *report) leaveSection() {
	if r.inside != nil {
		r.problem("section %d ends without its count (SC): %s", r.section, asMade)
		r.inside = nil
	}
}

// covers notes the days from one instant to another as they are printed, in the zone of the report.
func (r *report) covers(from, to string) {
	const layout = "2006/01/02"
	first, err := time.Parse(layout, from[:len(layout)])
	last, lastErr := time.Parse(layout, to[:len(layout)])
	for at := first; err == nil && lastErr == nil && !at.After(last); at = at.AddDate(0, 0, 1) {
		r.days.Add(at)
	}
}

func (r *report) sectionCount(fields []string) {
	if r.inside == nil {
		r.problem("a section count (SC) outside a section: %s", asMade)
		return
	}
	r.count(r.sectionName()+" records", fields, r.body-r.bodyFrom)
	r.footersFor(r.inside, "section footer (SF)")
	r.inside = nil
}

// footersFor notes rows in a currency that a settlement report has no footer for.
func (r *report) footersFor(l *ledger, what string) {
	if r.kind != settlement {
		return
	}
	for _, currency := range l.without() {
		r.problem("rows in %s, but no %s in %s: the report is cut or damaged; deliver the whole file again", currency, what, currency)
	}
}

// count sets a declared number of records beside the counted one.
func (r *report) count(name string, fields []string, counted int) {
	n, err := number(fields)
	if err != nil {
		r.problem("%w", err)
		return
	}
	r.out.Declare(name, r.rec.First(), decimal.NewFromInt(int64(n)))
	r.out.Count(name, decimal.NewFromInt(int64(counted)))
}

func number(fields []string) (int, error) {
	if len(fields) != 2 {
		return 0, fmt.Errorf("a record of %d fields: want its type and a count", len(fields))
	}
	n, err := strconv.ParseUint(fields[1], 10, 31)
	if err != nil {
		return 0, fmt.Errorf("the count %q is not a number: %s", clip(fields[1]), asMade)
	}
	return int(n), nil //nolint:gosec // 31 bits
}

// fileFooter takes FF, which counts the transactions of the file, or all its records.
func (r *report) fileFooter(fields []string) {
	counted := r.body
	if n, err := number(fields); err == nil && n == r.records {
		counted = n
	}
	r.count("file records", fields, counted)
}

// footer takes SF or RF: currency, four sums, pairs of CR or DR and a balance, and the number of transactions.
func (r *report) footer(l *ledger, where string, fields []string) {
	const least = 7
	if len(fields) < least || len(fields)%2 == 0 {
		if r.kind == detail {
			r.left["footers of a form that is not known, not checked"]++
			return
		}
		r.problem("a footer of %d fields: want the currency, four sums, balances and a count", len(fields))
		return
	}
	currency, err := bill.CheckCurrency(fields[1])
	if err != nil {
		r.problem("%w", err)
		return
	}
	if l.footers[currency] {
		r.problem("a second footer for %s: %s", currency, asMade)
		return
	}
	var declared figures
	for i := range declared.sums {
		if declared.sums[i], err = minor(fields[2+i], currency); err != nil {
			r.problem("%s: %w", sumNames[i], err)
			return
		}
	}
	n, err := number([]string{fields[0], fields[len(fields)-1]})
	if err != nil {
		r.problem("%w", err)
		return
	}
	declared.n = n
	l.declare(r.out, where, r.rec.First(), currency, declared)
}

// end checks that the report is whole.
func (r *report) end() error {
	if r.columns != nil {
		r.columns.Close()
	}
	r.remark()
	var missing []string
	for _, word := range []string{"SC", "RC", "FF"} {
		if r.seen[word] == 0 {
			missing = append(missing, word)
		}
	}
	if r.kind == settlement && r.seen["RF"] == 0 && len(r.whole.without()) > 0 {
		missing = append(missing, "RF")
	}
	switch {
	case len(missing) > 0:
		return bill.Cut("the report ends without " + strings.Join(missing, ", "))
	case !r.rec.Ended():
		return bill.Cut("the last line of the report has no line end")
	}
	r.leaveSection()
	if err := r.days.Check(); err != nil {
		r.out.Problem(1, 1, "%w", err)
	}
	for _, word := range []string{"RH", "FH", "SH"} {
		if r.seen[word] == 0 {
			r.out.Problem(1, 1, "the report has no %s record: its beginning is missing; %s", word, asMade)
		}
	}
	r.footersFor(r.whole, "report footer (RF)")
	return nil
}

// remark tells what was left out.
func (r *report) remark() {
	var parts []string
	for why, n := range r.left {
		parts = append(parts, fmt.Sprintf("%d %s", n, why))
	}
	if len(parts) > 0 {
		slices.Sort(parts)
		r.out.Remark("left out: %s", strings.Join(parts, "; "))
	}
}
