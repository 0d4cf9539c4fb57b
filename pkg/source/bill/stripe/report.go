package stripe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var reportAttrs = []string{
	"order_no", "refund_no", "payment_intent_id", "charge_id", "source_id", "provider_type", "net", "method",
	"customer_amount", "customer_currency",
}

var reportNeeded = []string{"currency", "gross", "fee", "net", "reporting_category"}

// headerOf reads the first line as a header, with the delimiter of which it has most.
func headerOf(h bill.Head) (*bill.Header, rune) {
	line := h.FirstLine()
	delimiter := ','
	for _, d := range []rune{';', '\t'} {
		if strings.Count(line, string(d)) > strings.Count(line, string(delimiter)) {
			delimiter = d
		}
	}
	return bill.NewHeader(strings.Split(line, string(delimiter))), delimiter
}

// fitsReport knows lines of balance transactions by the names that only Stripe's reports have.
func fitsReport(h bill.Head) bool {
	if h.Begins("{") || h.Begins("[") {
		return false
	}
	header, _ := headerOf(h)
	if isPayouts(header) {
		return false
	}
	signs := 0
	for _, name := range append([]string{
		"balance_transaction_id", "source_id", "charge_id", "payment_intent_id", "automatic_payout_id", "created", "created_utc", "available_on",
		"available_on_utc", "automatic_payout_effective_at", "customer_facing_amount", "trace_id_status",
	}, reportNeeded...) {
		if header.Has(name) {
			signs++
		}
	}
	ids := header.Has("balance_transaction_id") || header.Has("reporting_category") && header.At("source_id", "charge_id", "payment_intent_id") >= 0
	return ids && signs >= 4
}

type report struct {
	bill.Cells
	at struct {
		id, source, charge, intent, payout, category, currency, gross, fee, net, method, customer, customerCurrency, created int
	}
	numbers numbers
	zone    *time.Location
	counts  counts
	row     bill.Row
}

func readReport(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	head, err := bill.PeekHead(d.Raw)
	if err != nil {
		return err
	}
	_, delimiter := headerOf(head)
	recs, err := d.Records(text.Dialect{Delimiter: delimiter})
	if err != nil {
		return err
	}
	names, err := recs.Next()
	if err != nil {
		return errors.Join(err, errIfEnd(err))
	}
	r := &report{Cells: bill.Cells{Header: bill.NewHeader(names), Place: recs.Place, Out: out}, counts: counts{}}
	if err := r.columns(d.Zone, out); err != nil {
		line, column := recs.Place(0)
		return &text.Error{Line: line, Column: column, Msg: err.Error()}
	}
	for {
		if r.Fields, err = recs.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if !r.Count(recs.Raw()) {
			continue
		}
		r.row = bill.Row{Line: recs.First(), Column: 1, Attrs: r.row.Attrs[:0]}
		if err := r.line(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	r.Close()
	r.counts.tell(out)
	if !recs.Ended() {
		return bill.Cut("the last line has no line end")
	}
	return nil
}

func errIfEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return bill.Cut("there is not even a header")
	}
	return nil
}

// columns finds the columns, whose set and order the caller of the report chose.
func (r *report) columns(zone *time.Location, out *bill.Out) error {
	h := r.Header
	if err := h.Check(reportNeeded, nil); err != nil {
		return fmt.Errorf("%w; run the report with the missing ones", err)
	}
	a := &r.at
	a.id, a.source = h.At("balance_transaction_id"), h.At("source_id")
	if a.id < 0 && a.source < 0 {
		return fmt.Errorf("columns missing: neither balance_transaction_id nor source_id is there; found: %s", text.QuoteList(h.Names()))
	}
	a.charge, a.intent, a.payout = h.At("charge_id"), h.At("payment_intent_id"), h.At("automatic_payout_id")
	a.category, a.currency, a.gross, a.fee, a.net = h.At("reporting_category"), h.At("currency"), h.At("gross"), h.At("fee"), h.At("net")
	a.method, a.customer, a.customerCurrency = h.At("payment_method_type"), h.At("customer_facing_amount"), h.At("customer_facing_currency")
	r.zone = time.UTC
	if a.created = h.At("created_utc"); a.created < 0 {
		if a.created = h.At("created"); a.created < 0 {
			return fmt.Errorf("columns missing: neither created_utc nor created is there; found: %s", text.QuoteList(h.Names()))
		}
		if r.zone = zone; zone == nil {
			r.zone = time.UTC
			out.Remark("created is a wall clock without a zone and was read as UTC, Stripe's default; if the report was run with another timezone, " +
				"set zone to it or add the column created_utc")
		}
	}
	r.numbers = findNumbers(h)
	return nil
}

// line reads one line. An error ends the reading.
func (r *report) line() error {
	a, row := &r.at, &r.row
	m, err := r.money()
	if err != nil {
		return err
	}
	category := r.Text(a.category)
	if err := m.check(); err != nil {
		r.Problem(a.net, err)
	}
	if err := m.fill(row, category); err != nil {
		r.Problem(a.category, err)
		return nil
	}
	row.Currency = r.Currency(a.currency)
	for _, f := range []struct {
		col int
		d   decimal.Decimal
	}{{a.gross, m.gross}, {a.fee, m.fee}, {a.net, m.net}} {
		if err := bill.CheckDecimals(f.d, row.Currency, exponents); err != nil {
			r.Problem(f.col, err)
		}
	}
	row.OccurredAt = r.Instant(a.created, text.Instants{Zone: r.zone})
	if row.OccurredAt.IsZero() && r.Text(a.created) == "" {
		r.Problem(a.created, errors.New("the instant is empty"))
	}
	row.ID, row.Batch = r.Ident(a.id), r.Ident(a.payout)
	r.Out.Once(row.ID, row.Line, 1)
	if a.id >= 0 && row.ID == "" {
		r.Problem(a.id, errors.New("the id of the balance transaction is empty"))
	}
	source, charge, intent := r.Ident(a.source), r.Ident(a.charge), r.Ident(a.intent)
	order, refund := r.numbers.of(&r.Cells)
	row.Order = cmp.Or(order, intent, charge, source, row.ID)
	row.ID = cmp.Or(row.ID, source)
	if row.Type == bill.Refund {
		row.Key = refund
	}
	if row.Key = cmp.Or(row.Key, row.Order); row.Key == "" {
		r.Problem(max(a.id, a.source), errors.New("the line has no id"))
		return nil
	}
	r.counts.add(row.Currency, m.net)
	customer, customerCurrency := r.customer()
	row.Attrs = append(row.Attrs, order, refund, intent, charge, source, category, m.net.String(), r.Text(a.method), customer, customerCurrency)
	return r.Out.Row(row)
}

// money reads the figures of a line. A comma in one ends the reading: which of its meanings it has is not guessed.
func (r *report) money() (m money, err error) {
	for _, f := range []struct {
		col  int
		into *decimal.Decimal
	}{{r.at.gross, &m.gross}, {r.at.fee, &m.fee}, {r.at.net, &m.net}} {
		if written := r.Text(f.col); strings.Contains(written, ",") {
			line, column := r.Place(f.col)
			return m, &text.Error{Line: line, Column: column, Msg: fmt.Sprintf("column %q: amount %q has a comma: the report was run with decimal_separator comma, "+
				"or a spreadsheet grouped its digits; run it with a decimal point", r.Header.Names()[f.col], text.Clip(written, 40))}
		}
		*f.into = r.Money(f.col)
	}
	return m, nil
}

// customer is what the customer saw, where the column is there.
func (r *report) customer() (amount, currency string) {
	d := r.MoneyOrNone(r.at.customer)
	if !d.Valid {
		return "", ""
	}
	if r.Text(r.at.customerCurrency) != "" {
		currency = r.Currency(r.at.customerCurrency)
	}
	return d.Decimal.String(), currency
}
