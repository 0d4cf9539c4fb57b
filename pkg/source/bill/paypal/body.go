package paypal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var attrs = []string{
	"provider_type", "transaction_id", "reference_id", "reference_id_type", "custom_field", "account",
	"net_amount", "fee_amount", "fee_currency", "store_id",
}

var needed = []string{
	"Transaction ID", "Invoice ID", "PayPal Reference ID", "Transaction Event Code",
	"Transaction Initiation Date", "Transaction Completion Date",
	"Transaction Debit or Credit", "Gross Transaction Amount", "Gross Transaction Currency",
	"Fee Debit or Credit", "Fee Amount", "Fee Currency",
}

var instants = text.Instants{Format: "2006/01/02 15:04:05 -0700"}

// slack is how far from its section's period a transaction may complete.
const slack = 24 * time.Hour

// columns reads the fields of transactions by the names of a CH record.
type columns struct {
	*bill.Cells
	id, invoice, reference, referenceType, code, began, done  int
	side, amount, currency, feeSide, fee, feeCurrency, status int
	custom, store                                             int
}

// columnHeader takes CH; nil when columns are missing, of which it notes the names.
func (r *report) columnHeader(fields [][]byte) *columns {
	if r.columns != nil {
		r.columns.Close()
	}
	h := columnsOf(fields)
	want := needed
	if r.kind == detail {
		want = append(slices.Clone(needed), "Transactional Status")
	}
	if err := h.Check(want, nil); err != nil {
		r.problem("%w; %s", err, asMade)
		return nil
	}
	at := h.At
	return &columns{
		Cells: &bill.Cells{Header: h, Trim: " ", Place: r.rec.Place, Out: r.out},
		id:    at("Transaction ID"), invoice: at("Invoice ID"), reference: at("PayPal Reference ID"), referenceType: at("PayPal Reference ID Type"),
		code: at("Transaction Event Code"), began: at("Transaction Initiation Date"), done: at("Transaction Completion Date"),
		side: at("Transaction Debit or Credit"), amount: at("Gross Transaction Amount"), currency: at("Gross Transaction Currency"),
		feeSide: at("Fee Debit or Credit"), fee: at("Fee Amount"), feeCurrency: at("Fee Currency"), status: at("Transactional Status"),
		custom: at("Custom Field"), store: at("Store ID"),
	}
}

// transaction takes SB.
func (r *report) transaction(fields [][]byte) error {
	c := r.columns
	if r.inside == nil && r.section > 0 {
		r.problem("a transaction (SB) outside a section: %s", asMade)
		return nil
	}
	if c == nil {
		if r.seen["CH"] == 0 {
			r.problem("a transaction (SB) before the names of the columns (CH): %s", asMade)
		}
		return nil
	}
	c.Fields = fields
	if !c.Count(r.rec.Raw()) {
		return nil
	}
	code := strings.ToUpper(c.Text(c.code))
	e, known := events[code]
	if !known {
		c.Problem(c.code, fmt.Errorf("the event code %q is not known: tell us what it means", clip(code)))
		return nil
	}
	m, fee := c.money()
	m.converts = e.credit == bill.Conversion
	why := r.stays(c, code, e)
	for _, l := range []*ledger{r.inside, r.whole} {
		if l != nil {
			l.add(m, why == "")
		}
	}
	if why != "" {
		r.left[why]++
		return nil
	}
	r.fill(c, code, e, m)
	r.row.Fee = fee
	return r.out.Row(&r.row)
}

// stays says why a transaction moved no money, "" when it did.
func (r *report) stays(c *columns, code string, e event) string {
	status := strings.ToUpper(c.Text(c.status))
	if e.still {
		if r.kind == settlement && strings.HasPrefix(code, "T13") {
			c.Problem(c.code, fmt.Errorf("%s is an authorisation, which no settlement report has: %s", code, asMade))
		}
		return "of code " + code + ", which moves no money"
	}
	if r.kind == settlement {
		return ""
	}
	did, known := moved[status]
	if !known {
		c.Problem(c.status, fmt.Errorf("the status %q is not known: tell us what it means", clip(status)))
		return "of a status that is not known"
	}
	if did && code == uncategorised {
		c.Problem(c.code, fmt.Errorf("%s is an event that PayPal has not put in any category, a void of an authorisation among others: "+
			"whether it moved money cannot be told from this report; use the settlement report (paypal-stl), which has only what did", code))
	}
	if !did {
		return "of status " + status + ", not done"
	}
	return ""
}

// fill makes the row of a transaction, all but its fee.
func (r *report) fill(c *columns, code string, e event, m movement) {
	id, invoice := c.Ident(c.id), c.Ident(c.invoice)
	if id == "" {
		c.Problem(c.id, fmt.Errorf("the transaction id is empty"))
	}
	r.row = bill.Row{
		Line: r.rec.First(), Column: 1, Key: cmp.Or(invoice, id), Order: invoice, ID: id, Type: e.debit,
		Amount: m.amount, Currency: m.currency, Status: c.Text(c.status), OccurredAt: r.completed(c), Attrs: r.attrs[:],
	}
	if m.amount.IsPositive() {
		r.row.Type = e.credit
	}
	if r.period.day != "" {
		r.row.Batch = r.period.day + " " + m.currency
	}
	r.attrs = [10]string{
		code, id, c.Ident(c.reference), c.Text(c.referenceType), c.Text(c.custom), r.period.account,
		"", "", "", c.Text(c.store),
	}
	if m.feeCurrency != "" {
		r.attrs[7], r.attrs[8] = m.fee.Neg().String(), m.feeCurrency
	}
	if m.feeCurrency == "" || m.feeCurrency == m.currency {
		r.attrs[6] = m.amount.Add(m.fee).String()
	}
}

// completed is when a transaction was done, else when it began. It lies in the period of the section.
func (r *report) completed(c *columns) time.Time {
	col := c.done
	if c.Text(col) == "" {
		col = c.began
	}
	t := c.Instant(col, instants)
	if t.IsZero() {
		if c.Text(col) == "" {
			c.Problem(col, fmt.Errorf("neither date of the transaction is given"))
		}
		return t
	}
	p := r.period
	if !p.from.IsZero() && (t.Before(p.from.Add(-slack)) || t.After(p.to.Add(slack))) {
		c.Problem(col, fmt.Errorf("the transaction was done %s, but its section is of %s to %s: the file was put together wrongly; %s",
			c.Text(col), p.from.Format(time.RFC3339), p.to.Format(time.RFC3339), asMade))
	}
	return t
}

// money reads gross and fee of a transaction. The fee of the row is none where it is in another currency.
func (c *columns) money() (movement, decimal.NullDecimal) {
	m := movement{currency: c.Currency(c.currency)}
	m.amount = c.signed(c.side, c.amount, m.currency)
	if c.Text(c.fee) == "" {
		return m, decimal.NullDecimal{}
	}
	m.feeCurrency = m.currency
	if c.Text(c.feeCurrency) != "" {
		m.feeCurrency = c.Currency(c.feeCurrency)
	}
	m.fee = c.signed(c.feeSide, c.fee, m.feeCurrency)
	return m, decimal.NullDecimal{Decimal: m.fee.Neg(), Valid: m.feeCurrency == m.currency}
}

// signed reads an unsigned amount whose direction is in another column. A zero needs none.
func (c *columns) signed(side, col int, currency string) decimal.Decimal {
	amount, err := minor(c.Text(col), currency)
	if err != nil {
		if currency != "" { // else that was noted
			c.Problem(col, err)
		}
		return amount
	}
	switch word := strings.ToUpper(c.Text(side)); {
	case word == "CR", word == "" && amount.IsZero():
		return amount
	case word == "DR":
		return amount.Neg()
	default:
		c.Problem(side, fmt.Errorf("%q is neither CR nor DR", clip(word)))
		return amount
	}
}

// minor reads an unsigned integer with two implied decimals.
func minor(written, currency string) (decimal.Decimal, error) {
	if written == "" || strings.Trim(written, "0123456789") != "" {
		return decimal.Zero, fmt.Errorf("amount %q: want digits alone, with two implied decimals; %s: %w", clip(written), asMade, model.ErrAmount)
	}
	return bill.Exponents("paypal-report").Minor(written, currency)
}
