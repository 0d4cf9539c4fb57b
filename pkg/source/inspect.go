package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/formats"
	"daybreak/pkg/source/text"
)

// inspectProblemsMax is how many problems of a file are told in words.
const inspectProblemsMax = 1000

// InspectOptions say how a file is looked at.
type InspectOptions struct {
	Format string         // a name of the registry, [formats.Auto] or ""
	Zone   *time.Location // of wall clocks whose zone the bill does not say; may be nil
	Rows   int            // how many first rows are kept
}

// Inspection says what one file is and whether it would be read as a bill.
type Inspection struct {
	File      string              `json:"file"`
	Refused   bool                `json:"refused"`
	Format    string              `json:"format,omitempty"` // of its rows
	Title     string              `json:"title,omitempty"`
	NoBill    string              `json:"no_bill,omitempty"` // the provider's words for a day without a bill
	Container string              `json:"container,omitempty"`
	Bytes     int64               `json:"bytes"`
	SHA256    string              `json:"sha256,omitempty"`
	Documents []InspectedDocument `json:"documents,omitempty"`
	Rows      uint64              `json:"rows"`
	Totals    model.Totals        `json:"totals"`
	Sums      []InspectedSum      `json:"sums,omitempty"` // by type and currency
	From      string              `json:"from,omitempty"` // first and last instant of the rows, RFC 3339, UTC
	To        string              `json:"to,omitempty"`
	Controls  []InspectedControl  `json:"controls,omitempty"`
	Remarks   []string            `json:"remarks,omitempty"`
	First     []InspectedRow      `json:"first,omitempty"`
	Problems  []InspectedProblem  `json:"problems,omitempty"`
	More      int                 `json:"more_problems,omitempty"` // that are not among Problems
}

// InspectedDocument is one document of a file.
type InspectedDocument struct {
	Name    string `json:"name,omitempty"` // of the entry of a zip
	Format  string `json:"format,omitempty"`
	Charset string `json:"charset,omitempty"`
	Rows    uint64 `json:"rows"`
	Left    bool   `json:"left,omitempty"` // of another format than the one asked for, and not read
}

// InspectedSum is what the rows of one type and currency amount to.
type InspectedSum struct {
	Type     string          `json:"type"`
	Currency string          `json:"currency"`
	Count    uint64          `json:"count"`
	Amount   decimal.Decimal `json:"amount"`
	Fee      string          `json:"fee,omitempty"` // of the rows that say one, "" when none does
	fee      decimal.NullDecimal
}

// InspectedControl is a figure that the bill declares beside what its rows give; either may be missing.
type InspectedControl struct {
	Name     string `json:"name"`
	Declared string `json:"declared,omitempty"`
	Counted  string `json:"counted,omitempty"`
	Agrees   bool   `json:"agrees"`
	Line     int    `json:"line,omitempty"`
}

// InspectedRow is a row as an entry would have it.
type InspectedRow struct {
	Line       int               `json:"line"`
	Type       string            `json:"type"`
	Key        string            `json:"key"`
	ID         string            `json:"id,omitempty"`
	Amount     decimal.Decimal   `json:"amount"`
	Currency   string            `json:"currency"`
	Fee        string            `json:"fee,omitempty"`
	Status     string            `json:"status,omitempty"`
	OccurredAt string            `json:"occurred_at,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"` // those that are not empty
}

// InspectedProblem is what is wrong at a place; line and column are 0 where the fault has none.
type InspectedProblem struct {
	Document string `json:"document,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	What     string `json:"what"`
}

// Inspect reads a file as a bill and says everything about it. It needs no configuration and leaves nothing behind. What
// is wrong with the file is in the inspection; the error is one of the options or of opening the file.
func Inspect(ctx context.Context, path string, opts InspectOptions) (Inspection, error) {
	format := opts.Format
	if format == "" {
		format = formats.Auto
	}
	if f := formats.ByName(format); format != formats.Auto && f == nil {
		return Inspection{}, fmt.Errorf("format %q is not known: name one of %s: %w", format, text.QuoteList(formats.Names()), ErrSpec)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Inspection{}, fmt.Errorf("%s: no such file: %w", path, ErrNotThere)
	}
	if err != nil {
		return Inspection{}, err
	}
	if !info.Mode().IsRegular() {
		return Inspection{}, fmt.Errorf("%s is a %s, not a file: %w", path, kindOf(info), ErrInput)
	}
	in, err := openInput(found{path, info}, "")
	if err != nil {
		return Inspection{}, err
	}
	defer in.close()
	i := &inspector{rows: opts.Rows, result: Inspection{File: path, Bytes: info.Size(), Totals: model.Totals{}}}
	report, err := (&billFile{in: in, format: format, zone: opts.Zone, lim: usualLimits, sink: i}).read(ctx)
	if ctx.Err() != nil {
		return Inspection{}, context.Cause(ctx)
	}
	i.take(report, err)
	if seal, err := in.seal(i.result.Rows); err == nil {
		i.result.SHA256 = seal.SHA256
	} else {
		i.problem(0, 0, err)
	}
	return i.result, nil
}

// inspector takes what is found in a file.
type inspector struct {
	result   Inspection
	rows     int
	doc      string
	format   *bill.Format
	from, to time.Time
}

func (i *inspector) begin(_ context.Context, doc string, f *bill.Format) error {
	i.doc, i.format = doc, f
	return nil
}

func (i *inspector) Row(r *bill.Row) error {
	i.result.Rows++
	i.result.Totals.Add(r.Currency, 1, r.Amount)
	i.sum(r)
	if at := r.OccurredAt; !at.IsZero() {
		if i.from.IsZero() || at.Before(i.from) {
			i.from = at
		}
		if at.After(i.to) {
			i.to = at
		}
	}
	if len(i.result.First) < i.rows {
		i.result.First = append(i.result.First, i.row(r))
	}
	return nil
}

func (i *inspector) sum(r *bill.Row) {
	at := slices.IndexFunc(i.result.Sums, func(s InspectedSum) bool { return s.Type == string(r.Type) && s.Currency == r.Currency })
	if at < 0 {
		at = len(i.result.Sums)
		i.result.Sums = append(i.result.Sums, InspectedSum{Type: string(r.Type), Currency: r.Currency})
	}
	s := &i.result.Sums[at]
	s.Count++
	s.Amount = s.Amount.Add(r.Amount)
	if r.Fee.Valid {
		s.fee = decimal.NewNullDecimal(s.fee.Decimal.Add(r.Fee.Decimal))
		s.Fee = s.fee.Decimal.String()
	}
}

func (i *inspector) row(r *bill.Row) InspectedRow {
	out := InspectedRow{
		Line: r.Line, Type: string(r.Type), Key: r.Key, ID: r.ID, Amount: r.Amount, Currency: r.Currency, Status: r.Status,
		OccurredAt: instantText(r.OccurredAt), Attributes: map[string]string{},
	}
	if r.Fee.Valid {
		out.Fee = r.Fee.Decimal.String()
	}
	put := func(name, value string) {
		if value != "" {
			out.Attributes[name] = value
		}
	}
	put(bill.AttrOrder, r.Order)
	put(bill.AttrBatch, r.Batch)
	for n, name := range i.format.Attrs {
		put(name, r.Attrs[n])
	}
	return out
}

func instantText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (i *inspector) Problem(line, column int, err error) { i.problem(line, column, err) }

func (i *inspector) problem(line, column int, err error) {
	i.result.Refused = true
	if len(i.result.Problems) == inspectProblemsMax {
		i.result.More++
		return
	}
	i.result.Problems = append(i.result.Problems, InspectedProblem{i.doc, line, column, err.Error()})
}

// take adds what the whole file turned out to be.
func (i *inspector) take(report billReport, err error) {
	r := &i.result
	r.Container, r.NoBill, r.Remarks = report.Container, report.NoBill, report.Remarks
	r.From, r.To = instantText(i.from), instantText(i.to)
	if r.Rows > 0 && i.from.IsZero() {
		r.Remarks = append(r.Remarks, "no row has an instant: the bill says dates or clocks without offset, of which a zone makes instants (--zone, or zone: in the configuration)")
	}
	if report.Format != nil {
		r.Format, r.Title = report.Format.Name, report.Format.Title
	} else if report.NoBill != "" {
		r.Title = "a provider's answer that there is no bill"
	}
	for _, d := range report.Documents {
		doc := InspectedDocument{Name: d.Name, Charset: d.Charset, Rows: d.Rows, Left: d.Left}
		if d.Format != nil {
			doc.Format = d.Format.Name
		}
		r.Documents = append(r.Documents, doc)
	}
	for _, c := range report.Controls {
		r.Controls = append(r.Controls, InspectedControl{c.Name, textOf(c.Declared), textOf(c.Counted), c.Agrees(), c.Line})
	}
	if err == nil {
		return
	}
	line, column, what := 0, 0, err
	if in, ok := errors.AsType[*docError](err); ok {
		i.doc = in.doc
		line, column, what = in.place()
	}
	i.problem(line, column, what)
}

func textOf(d decimal.NullDecimal) string {
	if !d.Valid {
		return ""
	}
	return d.Decimal.String()
}
