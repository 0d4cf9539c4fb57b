package mercadopago

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var attrs = []string{
	"provider_type", "source_id", "net_amount", "net_currency", "taxes", "payment_method", "payment_method_type",
	"order_id", "transaction_date", "money_release_date",
}

var needed = []string{"SOURCE_ID", "TRANSACTION_TYPE", "TRANSACTION_AMOUNT", "SETTLEMENT_NET_AMOUNT"}

// report is a document on its way through its records.
type report struct {
	*bill.Cells
	rec   *text.Records
	zone  *time.Location // of times without offset, nil when the configuration names none
	style style

	word, source, external, order             int
	gross, net, fee, marketplace, taxes       int
	currency, netCurrency                     int
	settled, made, released, method, methodOf int

	row   bill.Row
	attrs [10]string
}

func read(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	head, err := bill.PeekHead(d.Raw)
	if err != nil {
		return err
	}
	delim := delimiterOf(head.FirstLine())
	rec, err := d.Records(text.Dialect{Delimiter: delim})
	if err != nil {
		return err
	}
	fields, err := rec.Next()
	if errors.Is(err, io.EOF) {
		return bill.Cut("the report is empty")
	}
	if err != nil {
		return err
	}
	r, err := newReport(fields, rec, out)
	if err != nil {
		return &text.Error{Line: rec.First(), Column: 1, Msg: err.Error()}
	}
	r.zone, r.style = d.Zone, r.lookAhead(head, delim)
	for n := 1; ; n++ {
		if r.Fields, err = rec.Next(); errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !r.Count(rec.Raw()) {
			continue
		}
		if err := r.take(); err != nil {
			return err
		}
	}
	r.Close()
	if !rec.Ended() {
		return bill.Cut("the last line of the report has no line end")
	}
	return nil
}

func newReport(fields [][]byte, rec *text.Records, out *bill.Out) (*report, error) {
	h := bill.NewHeader(fields)
	if err := h.Check(needed, nil); err != nil {
		return nil, fmt.Errorf("%w; add them to the columns of the report in the settings of Mercado Pago", err)
	}
	at := h.At
	r := &report{
		Cells: &bill.Cells{Header: h, Trim: " \t", Place: rec.Place, Out: out}, rec: rec,
		word: at("TRANSACTION_TYPE"), source: at("SOURCE_ID"), external: at("EXTERNAL_REFERENCE"), order: at("ORDER_ID"),
		gross: at("TRANSACTION_AMOUNT"), net: at("SETTLEMENT_NET_AMOUNT"), fee: at("FEE_AMOUNT"),
		marketplace: at("MKP_FEE_AMOUNT"), taxes: at("TAXES_AMOUNT"),
		currency: at("TRANSACTION_CURRENCY", "SETTLEMENT_CURRENCY"), netCurrency: at("SETTLEMENT_CURRENCY", "TRANSACTION_CURRENCY"),
		settled: at("SETTLEMENT_DATE", "TRANSACTION_DATE"), made: at("TRANSACTION_DATE"), released: at("MONEY_RELEASE_DATE"),
		method: at("PAYMENT_METHOD"), methodOf: at("PAYMENT_METHOD_TYPE"),
	}
	if r.currency < 0 {
		return nil, errors.New("the report has no column of a currency: add TRANSACTION_CURRENCY or SETTLEMENT_CURRENCY to the columns of the report " +
			"in the settings of Mercado Pago; it is never guessed")
	}
	if r.fee < 0 {
		out.Remark("the report has no column FEE_AMOUNT: whether amount, fees and taxes give the net cannot be checked")
	}
	return r, nil
}

// lookAhead finds how the file writes numbers in as much of it as is at hand, 0 when no number there tells. What is wrong
// there is said when the rows are read.
func (r *report) lookAhead(head bill.Head, delim rune) style {
	whole := head.Text
	if at := strings.LastIndexByte(whole, '\n'); at >= 0 {
		whole = whole[:at+1]
	}
	rec := text.NewRecords(bufio.NewReader(strings.NewReader(whole)), text.Dialect{Delimiter: delim}, text.CheckUTF8)
	if _, err := rec.Next(); err != nil {
		return 0
	}
	for {
		fields, err := rec.Next()
		if err != nil {
			return 0
		}
		for _, col := range []int{r.gross, r.net, r.fee, r.marketplace, r.taxes} {
			if col < 0 || col >= len(fields) {
				continue
			}
			if s, err := styleOf(strings.TrimSpace(string(fields[col]))); err == nil && s != 0 {
				return s
			}
		}
	}
}

// money is an exact amount, none where the cell is empty or the report has no such column.
func (r *report) money(col int) decimal.NullDecimal {
	written := r.Text(col)
	if written == "" {
		return decimal.NullDecimal{}
	}
	d, err := r.style.parse(written)
	if err != nil {
		r.Problem(col, err)
	}
	return decimal.NullDecimal{Decimal: d, Valid: err == nil}
}

// instant reads a time with its offset; one without is a wall clock of the zone that the configuration names.
func (r *report) instant(col int) time.Time {
	written, zone := r.Text(col), r.zone
	const date = len("2006-01-02")
	if zone == nil {
		zone = time.UTC
		if len(written) >= date && !strings.ContainsAny(written[date:], "Zz+-") {
			r.Problem(col, fmt.Errorf("the time %q has no offset: name its zone in the configuration (bill: zone:)", text.Clip(written, 40)))
			return time.Time{}
		}
	}
	return r.Instant(col, text.Instants{Zone: zone})
}

// take reads one record.
func (r *report) take() error {
	word := strings.ToUpper(r.Text(r.word))
	kind, known := words[word]
	if !known {
		r.Problem(r.word, fmt.Errorf("the transaction type %q is not known: tell us what it means", text.Clip(word, 40)))
	}
	source, external := r.Ident(r.source), r.Ident(r.external)
	if source == "" {
		r.Problem(r.source, errors.New("the number of the operation is empty"))
	}
	r.row = bill.Row{
		Line: r.rec.First(), Column: 1, Key: cmp.Or(external, source), Order: external, ID: source,
		Type: kind.out, Status: word, OccurredAt: r.instant(r.settled), Attrs: r.attrs[:],
	}
	r.attrs = [10]string{
		word, source, "", "", "", r.Text(r.method), r.Text(r.methodOf), r.Ident(r.order), r.Text(r.made), r.Text(r.released),
	}
	r.amounts(&r.row)
	if r.row.Amount.IsPositive() {
		r.row.Type = kind.in
	}
	return r.Out.Row(&r.row)
}

// amounts sets amount, currency, fee and their attributes.
func (r *report) amounts(row *bill.Row) {
	gross, net, taxes := r.money(r.gross), r.money(r.net), r.money(r.taxes)
	for _, col := range []int{r.gross, r.net} {
		if r.Text(col) == "" {
			r.Problem(col, errors.New("the amount is empty"))
		}
	}
	row.Amount, row.Currency = gross.Decimal, r.Currency(r.currency)
	netCurrency := row.Currency
	if r.netCurrency != r.currency {
		netCurrency = r.Currency(r.netCurrency)
	}
	r.attrs[2], r.attrs[3] = net.Decimal.String(), netCurrency
	if taxes.Valid {
		r.attrs[4] = taxes.Decimal.String()
	}
	fee, marketplace := r.money(r.fee), r.money(r.marketplace)
	if netCurrency != row.Currency || !gross.Valid || !net.Valid {
		return
	}
	row.Fee = decimal.NewNullDecimal(gross.Decimal.Sub(net.Decimal))
	if r.fee < 0 {
		return
	}
	with := gross.Decimal.Add(fee.Decimal).Add(taxes.Decimal)
	apart := with.Add(marketplace.Decimal)
	if !with.Equal(net.Decimal) && !apart.Equal(net.Decimal) {
		r.Problem(r.net, fmt.Errorf("amount %s + fee %s + taxes %s = %s, with the marketplace's fee %s it is %s, but the net is %s%s",
			gross.Decimal, fee.Decimal, taxes.Decimal, with, marketplace.Decimal, apart, net.Decimal, r.absent()))
	}
}

// absent says which columns could explain a difference.
func (r *report) absent() string {
	var names []string
	for name, col := range map[string]int{"TAXES_AMOUNT": r.taxes, "MKP_FEE_AMOUNT": r.marketplace} {
		if col < 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ": a figure is damaged; deliver the file as Mercado Pago made it"
	}
	slices.Sort(names)
	return ": the report lacks " + text.QuoteList(names) + ", add what is missing to its columns"
}
