package source

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/formats"
	"daybreak/pkg/source/text"
)

// KindBill reads a payment provider's own bill, see package bill.
const KindBill Kind = "bill"

// Bill describes bills of a provider.
type Bill struct {
	Path   string      // that of [CSV]
	Entry  string      // pattern that chooses entries of a zip; "" takes all that are of the format
	Format string      // a name of the registry, or [formats.Auto]
	Types  []bill.Type // of the rows that are reconciled; none means all
}

// readBill reads one file of a provider into entries.
func readBill(ctx context.Context, in *input, spec Spec, to *sink) error {
	b := &billEntries{to: to, types: spec.Bill.Types}
	report, err := (&billFile{in: in, entry: spec.Bill.Entry, format: spec.Bill.Format, zone: spec.Zone, day: to.req.Day, lim: usualLimits, sink: b}).read(ctx)
	switch {
	case to.failed != nil:
		return to.failed
	case err != nil:
		return errors.Join(to.wrong.err(), billError(in.base(), err))
	}
	if report.NoBill != "" {
		to.noBill = append(to.noBill, report.NoBill)
	}
	return to.wrong.err()
}

// billEntries is the row of the bill that is being made an entry of.
type billEntries struct {
	to    *sink
	ctx   context.Context //nolint:containedctx // of the document being read, for rows that its format hands on
	types []bill.Type
	doc   string
	row   *bill.Row
	of    []billField // by slot of the plan
}

// billField says which part of a row a slot is.
type billField struct {
	name string
	attr int // into Row.Attrs, -1 for the others
}

// begin starts a document. The columns of a format are known only now, when its content chooses it.
func (b *billEntries) begin(ctx context.Context, doc string, f *bill.Format) error {
	b.doc = doc
	p, err := newPlan(billColumns(f), b.to.req)
	if err != nil {
		return fmt.Errorf("a %s, whose rows have %s: %w", f.Name, text.QuoteList(slices.Sorted(maps.Keys(billColumns(f).Attrs))), err)
	}
	b.to.plan, b.ctx = p, ctx
	b.of = b.of[:0]
	for _, name := range p.headers {
		b.of = append(b.of, billField{name, slices.Index(f.Attrs, name)})
	}
	return nil
}

// billColumns maps every column of a bill to itself.
func billColumns(fs ...*bill.Format) Columns {
	var c Columns
	for _, name := range []string{ColKey, ColAmount, ColCurrency, ColStatus, ColOccurredAt, ColFee, ColID} {
		c.Put(name, Column{Header: name})
	}
	for _, f := range fs {
		for _, name := range f.Attributes() {
			c.Put(name, Column{Header: name})
		}
	}
	return c
}

func (b *billEntries) Row(r *bill.Row) error {
	if len(b.types) > 0 && !slices.Contains(b.types, r.Type) {
		return b.to.leave(b.ctx, string(r.Type))
	}
	b.row = r
	return b.to.take(b.ctx, b, uint64(r.Line)) //nolint:gosec // lines are positive
}

func (b *billEntries) Problem(line, column int, err error) {
	b.to.wrong.add(func() string { return b.placeOf(line, column) }, err)
}

func (b *billEntries) placeOf(line, column int) string {
	return placeIn(b.to.file, b.doc, line, column)
}

// placeIn is "file", "file!entry", "…:line" or "…:line:column".
func placeIn(file, doc string, line, column int) string {
	if doc != "" {
		file += "!" + doc
	}
	switch {
	case line <= 0:
		return file
	case column <= 0:
		return fmt.Sprintf("%s:%d", file, line)
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

func (b *billEntries) place(int) string { return b.placeOf(b.row.Line, b.row.Column) }

func (b *billEntries) text(slot int) (string, error) {
	f, r := b.of[slot], b.row
	if f.attr >= 0 {
		return r.Attrs[f.attr], nil
	}
	switch f.name {
	case ColKey:
		return r.Key, nil
	case ColID:
		return r.ID, nil
	case ColCurrency:
		return r.Currency, nil
	case ColStatus:
		return r.Status, nil
	case bill.AttrType:
		return string(r.Type), nil
	case bill.AttrOrder:
		return r.Order, nil
	}
	return r.Batch, nil
}

func (b *billEntries) amount(slot int) (decimal.NullDecimal, error) {
	if b.of[slot].name == ColFee {
		return b.row.Fee, checkScale(b.row.Fee.Decimal)
	}
	return decimal.NewNullDecimal(b.row.Amount), checkScale(b.row.Amount)
}

// checkScale refuses what the tables cannot hold; a format that multiplies could make it.
func checkScale(d decimal.Decimal) error {
	_, err := model.ParseAmount(d.String())
	return err
}

func (b *billEntries) instant(int) (time.Time, error) {
	if b.row.OccurredAt.IsZero() {
		return time.Time{}, nil
	}
	return text.Believable(b.row.OccurredAt.Format(time.RFC3339), b.row.OccurredAt)
}

// billSink takes what a [billFile] finds.
type billSink interface {
	bill.Sink
	begin(ctx context.Context, doc string, f *bill.Format) error
}

// billFile reads the documents of one file.
type billFile struct {
	in     *input
	entry  string
	format string // name, or auto
	zone   *time.Location
	day    model.Day
	lim    limits
	sink   billSink
}

// billReport says what one file turned out to be.
type billReport struct {
	Container string
	Documents []billDocument
	Format    *bill.Format // of its rows, nil when there are none
	Controls  []bill.Control
	Remarks   []string
	NoBill    string // the provider's words for a day without a bill
}

type billDocument struct {
	Name    string
	Format  *bill.Format // nil for a provider's answer and for an empty entry
	Charset string
	Rows    uint64
	Left    bool // of another format than the one asked for, or empty, and not read
}

// read peels and reads every document. The error is what ended the reading; problems went to the sink.
func (f *billFile) read(ctx context.Context) (billReport, error) {
	var report billReport
	all, err := unpackAll(f.in, f.entry, f.lim)
	if office := (*officeFile)(nil); errors.As(err, &office) {
		return report, office.asBill(ctx, f.in.info.Size())
	}
	if err != nil {
		return report, err
	}
	report.Container = all.container
	out := bill.NewOut(f.sink)
	for _, doc := range all.list {
		err := f.document(ctx, doc, len(all.list) > 1, &report, out)
		report.Controls, report.Remarks = out.Controls(), out.Remarks()
		if err != nil {
			return report, &docError{doc.name, err}
		}
	}
	if err := report.check(f.format); err != nil {
		return report, err
	}
	out.Finish()
	report.Controls = out.Controls()
	return report, f.checkInstants(out.Instants())
}

// How far the lines of a bill may be from its business day: zones and late postings after it, whatever a payout gathers
// before it.
const (
	daysAfterMax  = 2
	daysBeforeMax = 45
)

// checkInstants refuses a bill that cannot be of the day because all of it happened later, or long before. Most formats do
// not say of what day they are; one day more or less is not told by this.
func (f *billFile) checkInstants(first, last time.Time) error {
	if f.day == 0 || first.IsZero() {
		return nil
	}
	if first.After(f.day.Add(1+daysAfterMax).UTC()) || last.Before(f.day.Add(-daysBeforeMax).UTC()) {
		return fmt.Errorf("the lines of the file are of %s to %s, but business day %s was asked for: deliver the bill of that day",
			first.Format(time.DateOnly), last.Format(time.DateOnly), f.day)
	}
	return nil
}

// docError is what ended the reading of a document.
type docError struct {
	doc string
	err error
}

func (e *docError) Error() string { return e.err.Error() }
func (e *docError) Unwrap() error { return e.err }

// place returns where the error is, and what it says beyond that.
func (e *docError) place() (line, column int, err error) {
	var at *text.Error
	if errors.As(e.err, &at) && at.Error() == e.err.Error() {
		return at.Line, at.Column, errors.New(at.Msg)
	}
	return 0, 0, e.err
}

// billError is what ended the reading of a file, with file, entry and place.
func billError(file string, err error) error {
	var in *docError
	if !errors.As(err, &in) {
		return unusable("%s: %w", file, err)
	}
	line, column, what := in.place()
	return unusable("%s: %w", placeIn(file, in.doc, line, column), what)
}

// check says whether what was found makes a bill.
func (r *billReport) check(format string) error {
	switch {
	case r.Format != nil && r.NoBill != "":
		return fmt.Errorf("a bill and the provider's answer %q that there is none: deliver one of them", r.NoBill)
	case r.Format == nil && r.NoBill == "":
		var names []string
		for _, d := range r.Documents {
			name := "an empty entry"
			if d.Format != nil {
				name = d.Format.Name
			}
			names = append(names, name)
		}
		if len(names) == 1 && r.Documents[0].Format != nil && r.Documents[0].Format.Companion != "" {
			return fmt.Errorf("only the %s: it holds no rows; deliver the %s", r.Documents[0].Format.Title, r.Documents[0].Format.Companion)
		}
		return fmt.Errorf("no document is of format %s; the zip holds %s", format, strings.Join(names, ", "))
	}
	return nil
}

// document reads one document, or finds out that it is not asked for.
func (f *billFile) document(ctx context.Context, doc document, several bool, report *billReport, out *bill.Out) error {
	r, err := doc.open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	raw := bufio.NewReaderSize(r, 64<<10)
	head, err := bill.PeekHead(raw)
	if err != nil {
		return err
	}
	if len(head.Raw) == 0 && several {
		report.Documents = append(report.Documents, billDocument{Name: doc.name, Left: true})
		return nil // no day's bill by itself: one of the others must be
	}
	if len(head.Raw) == 0 {
		return errors.New("the file is empty: an empty day is a bill without rows, or the provider's answer that there is none")
	}
	if err := refuseStranger(head.Raw); err != nil {
		return err
	}
	if words, ok := bill.NoBill(head); ok {
		report.NoBill = words
		report.Documents = append(report.Documents, billDocument{Name: doc.name, Charset: "utf-8"})
		_, err := io.Copy(io.Discard, raw)
		return err
	}
	format, err := f.tell(head, several)
	if err != nil {
		return err
	}
	return f.readDocument(ctx, bill.NewDoc(raw, format), doc.name, format, report, out)
}

// tell settles the format of a document. In a zip with several, those of other formats are left alone when one was named.
func (f *billFile) tell(head bill.Head, several bool) (*bill.Format, error) {
	wanted := formats.ByName(f.format)
	if wanted == nil {
		return formats.Tell(head)
	}
	if wanted.Fits(head) {
		return wanted, nil
	}
	other, err := formats.Tell(head)
	if several || other != nil && other.Companion == wanted.Name {
		return other, err
	}
	return nil, formats.Strange(wanted, other, err)
}

func (f *billFile) readDocument(ctx context.Context, d *bill.Doc, name string, format *bill.Format, report *billReport, out *bill.Out) error {
	found := billDocument{Name: name, Format: format}
	companion := format.Companion != "" && (f.format == formats.Auto || format.Companion == f.format)
	if f.format != formats.Auto && format.Name != f.format && !companion {
		found.Left = true
		report.Documents = append(report.Documents, found)
		return nil
	}
	if !companion {
		if report.Format != nil && report.Format != format {
			return fmt.Errorf("a %s, but the file holds a %s too: name one with format", format.Name, report.Format.Name)
		}
		report.Format = format
	}
	if err := f.sink.begin(ctx, name, format); err != nil {
		return err
	}
	d.Zone, d.Day = f.zone, f.day
	out.Begin(name)
	before := out.Rows()
	err := format.Read(ctx, d, out)
	found.Rows, found.Charset = out.Rows()-before, cmp.Or(d.Charset(), "bytes")
	report.Documents = append(report.Documents, found)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, d.Raw) // a container is whole only when it was read to its end
	return err
}
