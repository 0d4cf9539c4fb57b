package adyen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// table reads the records below a header.
type table struct {
	*bill.Cells
	ctx  context.Context
	rec  *text.Records
	rows int
}

// open reads the header of a document, whose names the given function may change.
func open(ctx context.Context, d *bill.Doc, out *bill.Out, names func([]string) []string) (*table, error) {
	head, err := bill.PeekHead(d.Raw)
	if err != nil {
		return nil, err
	}
	rec, err := d.Records(text.Dialect{Delimiter: delimiterOf(head.FirstLine())})
	if err != nil {
		return nil, err
	}
	fields, err := rec.Next()
	if errors.Is(err, io.EOF) {
		return nil, bill.Cut("the report is empty")
	}
	if err != nil {
		return nil, err
	}
	header := make([]string, len(fields))
	for i, f := range fields {
		header[i] = string(f)
	}
	if names != nil {
		header = names(header)
	}
	return &table{
		Cells: &bill.Cells{Header: bill.NewHeader(header), Trim: " \t", Place: rec.Place, Out: out},
		ctx:   ctx, rec: rec,
	}, nil
}

// each calls do for every record that has as many fields as the header, and checks that the last line was ended.
func (t *table) each(do func() error) error {
	for {
		fields, err := t.rec.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if t.rows++; t.rows%1024 == 0 && t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		t.Fields = fields
		if !t.Count(t.rec.Raw()) {
			continue
		}
		if err := do(); err != nil {
			return err
		}
	}
	t.Close()
	if !t.rec.Ended() {
		return bill.Cut("the last line of the report has no line end")
	}
	return nil
}

const asMade = "deliver the file as Adyen made it"

// money is an exact amount, none where the cell is empty.
func (t *table) money(col int) decimal.NullDecimal {
	if written := t.Text(col); strings.Contains(written, ",") {
		t.Problem(col, fmt.Errorf("amount %q is grouped or localised: %s", text.Clip(written, 40), asMade))
		return decimal.NullDecimal{}
	}
	return t.MoneyOrNone(col)
}

// signed is credit − debit of a pair of columns, of which one is given; none where both are empty. Where a file prints a
// zero for none, the other one counts.
func (t *table) signed(debit, credit int) decimal.NullDecimal {
	d, c := t.money(debit), t.money(credit)
	if d.Decimal.IsNegative() || c.Decimal.IsNegative() {
		t.Problem(debit, fmt.Errorf("debit %s and credit %s: both are positive in a report of Adyen", d.Decimal, c.Decimal))
	}
	if !d.Decimal.IsZero() && !c.Decimal.IsZero() {
		t.Problem(debit, fmt.Errorf("debit %s and credit %s in one row: only one of them can be", d.Decimal, c.Decimal))
	}
	return decimal.NullDecimal{Decimal: c.Decimal.Sub(d.Decimal), Valid: d.Valid || c.Valid}
}

// sum adds up columns; an empty one is zero.
func (t *table) sum(cols []int) decimal.Decimal {
	total := decimal.Zero
	for _, col := range cols {
		total = total.Add(t.money(col).Decimal)
	}
	return total
}

// columns finds all names, -1 for those that are not there.
func (t *table) columns(names ...string) []int {
	out := make([]int, len(names))
	for i, n := range names {
		out[i] = t.Header.At(n)
	}
	return out
}

// printed is an attribute that may have no value.
func printed(d decimal.NullDecimal) string {
	if !d.Valid {
		return ""
	}
	return d.Decimal.String()
}

// real reports whether a reference was given by the merchant, and not left to Adyen.
func real(reference string) bool { return reference != "" && !strings.EqualFold(reference, "<auto>") }
