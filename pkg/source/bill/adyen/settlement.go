package adyen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var settlementAttrs = []string{
	"provider_type", "psp_reference", "modification_reference", "payment_method", "merchant_account",
	"net_currency", "net_amount", "fees_net", "exchange_rate", "booking_date",
}

var settlementNeeded = []string{
	"Psp Reference", "Merchant Reference", "Creation Date", "Type", "Modification Reference",
	"Gross Currency", "Gross Debit (GC)", "Gross Credit (GC)", "Exchange Rate", "Net Currency", "Net Debit (NC)", "Net Credit (NC)",
	"Commission (NC)", "Markup (NC)", "Scheme Fees (NC)", "Interchange (NC)", "Batch Number",
}

// settlementKnown are the other columns of the standard report. Payment Fees and Gross Fees repeat the fees above as sums.
var settlementKnown = []string{
	"Company Account", "Merchant Account", "TimeZone", "Payment Method", "Payment Method Variant", "Modification Merchant Reference",
	"Reserved*", "Booking Date", "Booking Date TimeZone", "Metadata", "Balance Currency", "Net Debit (BC)", "Net Credit (BC)",
	"Payment Fees (NC)", "DCC Markup (NC)", "Gross Fees (NC)", "Funds Destination", "Balance Platform Debit", "Balance Platform Credit",
	"Shopper Country", "Clearing Network", "Merchant Order Reference", "Dispute Reference", "ARN", "Settlement Flow", "Authorisation Code",
}

// batchesMax bounds what is held of a file: a sum per batch and net currency.
const batchesMax = 10_000

type batch struct{ number, currency string }

type settlement struct {
	*table
	clocks  clocks
	fees    []int
	nets    map[batch]decimal.Decimal
	order   []batch
	psp     int
	ref     int
	modRef  int
	modOwn  int
	created int
	zoneCol int
	row     bill.Row
	attrs   [10]string
}

func readSettlement(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	t, err := open(ctx, d, out, nil)
	if err != nil {
		return err
	}
	if err := checkSettlementHeader(t.Header, d.Zone != nil, out); err != nil {
		return &text.Error{Line: t.rec.First(), Column: 1, Msg: err.Error()}
	}
	at := t.Header.At
	s := &settlement{
		table: t, clocks: clocks{zone: d.Zone}, nets: map[batch]decimal.Decimal{},
		fees: t.columns("Commission (NC)", "Markup (NC)", "Scheme Fees (NC)", "Interchange (NC)"),
		psp:  at("Psp Reference"), ref: at("Merchant Reference"), modRef: at("Modification Reference"),
		modOwn: at("Modification Merchant Reference"), created: at("Creation Date"), zoneCol: at("TimeZone"),
	}
	if err := t.each(s.take); err != nil {
		return err
	}
	for _, b := range s.order {
		name := fmt.Sprintf("batch %s %s nets to", b.number, b.currency)
		out.Declare(name, 0, decimal.Zero)
		out.Count(name, s.nets[b])
	}
	return nil
}

// checkSettlementHeader says what is wrong with a header. Columns that the standard report does not have are told in a
// remark, except those that may hold money that settles.
func checkSettlementHeader(h *bill.Header, zoned bool, out *bill.Out) error {
	needed := settlementNeeded
	if !zoned {
		needed = append([]string{"TimeZone"}, needed...)
	}
	standard := append(slices.Clone(needed), settlementKnown...)
	var extra []string
	for _, name := range h.Names() {
		upper := strings.ToUpper(name)
		settling := strings.HasSuffix(upper, "(NC)") || strings.HasSuffix(upper, "(GC)")
		if name != "" && !settling && bill.NewHeader([]string{name}).Check(nil, standard) != nil {
			extra = append(extra, name)
		}
	}
	if err := h.Check(needed, append(standard, extra...)); err != nil {
		return fmt.Errorf("%w; choose the standard columns of the settlement details report in the Customer Area", err)
	}
	if len(extra) > 0 {
		out.Remark("columns that are not in the standard report, not read: %s", text.QuoteList(extra))
	}
	return nil
}

// take reads one record.
func (s *settlement) take() error {
	at := s.Header.At
	word := s.Text(at("Type"))
	folded := strings.ToLower(word)
	kind, known := settlementTypes[folded]
	if !known {
		s.Problem(at("Type"), fmt.Errorf("the type %q is not known: tell us what it means", text.Clip(word, 40)))
	}
	number := s.Ident(at("Batch Number"))
	if number == "" {
		s.Problem(at("Batch Number"), fmt.Errorf("the batch number is empty"))
	}
	r := &s.row
	*r = bill.Row{Line: s.rec.First(), Column: 1, Status: word, Batch: number, Attrs: s.attrs[:]}
	_, paid := paymentTypes[folded]
	net := s.amounts(r, paid, settlesElsewhere[folded])
	r.Type = kind.out
	if r.Amount.IsPositive() {
		r.Type = kind.in
	}
	s.references(r, kind.in == bill.Payment)
	if err := s.settle(batch{number, s.attrs[5]}, net); err != nil {
		return err
	}
	s.attrs[0], s.attrs[3], s.attrs[4] = word, s.Text(at("Payment Method")), s.Text(at("Merchant Account"))
	s.attrs[9] = s.Text(at("Booking Date"))
	var err error
	if r.OccurredAt, err = s.clocks.parse(s.Text(s.created), s.Text(s.zoneCol)); err != nil {
		s.Problem(s.created, err)
	}
	return s.Out.Row(r)
}

// amounts sets amount, currency, fee and their attributes, and returns the net. The events of payments (paid) have a gross.
func (s *settlement) amounts(r *bill.Row, paid, elsewhere bool) decimal.Decimal {
	at := s.Header.At
	gross := s.signed(at("Gross Debit (GC)"), at("Gross Credit (GC)"))
	net := s.signed(at("Net Debit (NC)"), at("Net Credit (NC)"))
	taken, rate := s.sum(s.fees), s.Text(at("Exchange Rate"))
	netCurrency := ""
	if net.Valid || !elsewhere || s.Text(at("Net Currency")) != "" {
		netCurrency = s.Currency(at("Net Currency"))
	}
	s.attrs[5], s.attrs[6], s.attrs[7], s.attrs[8] = netCurrency, printed(net), taken.String(), rate
	if !net.Valid && !elsewhere {
		s.Problem(at("Net Debit (NC)"), fmt.Errorf("neither net debit nor net credit is given"))
	}
	if !gross.Valid {
		if paid {
			s.Problem(at("Gross Debit (GC)"), fmt.Errorf("neither gross debit nor gross credit is given, but a line of type %s has one: %s", text.Clip(r.Status, 40), asMade))
		}
		r.Amount, r.Currency = net.Decimal, netCurrency
		return net.Decimal
	}
	r.Amount, r.Currency = gross.Decimal, s.Currency(at("Gross Currency"))
	if err := bill.CheckDecimals(r.Amount, r.Currency, "adyen-api"); err != nil {
		s.Problem(at("Gross Currency"), err)
	}
	m := settles{gross.Decimal, r.Currency, rate, taken, net.Decimal, netCurrency, elsewhere}
	if !net.Valid {
		return net.Decimal
	}
	if m.oneCurrency() {
		r.Fee = decimal.NewNullDecimal(taken)
	}
	if err := m.check(); err != nil {
		s.Problem(at("Net Debit (NC)"), err)
	}
	return net.Decimal
}

// references sets key, order and id.
func (s *settlement) references(r *bill.Row, payment bool) {
	psp, modification := s.Ident(s.psp), s.Ident(s.modRef)
	r.Order, r.Key = s.Ident(s.ref), ""
	if own := s.Ident(s.modOwn); !payment && real(own) {
		r.Key = own
	}
	r.Key = cmp.Or(r.Key, r.Order, modification, psp, r.Status+" of batch "+r.Batch)
	r.ID = psp + "/" + modification
	if psp == "" || modification == "" {
		r.ID = psp + modification
	}
	s.attrs[1], s.attrs[2] = psp, modification
}

// settle adds to what a batch nets to.
func (s *settlement) settle(b batch, net decimal.Decimal) error {
	if b.currency == "" && net.IsZero() {
		return nil
	}
	sum, seen := s.nets[b]
	if !seen {
		if len(s.order) == batchesMax {
			return &text.Error{Line: s.rec.First(), Column: 1, Msg: fmt.Sprintf("more than %d batches in one report", batchesMax)}
		}
		s.order = append(s.order, b)
	}
	s.nets[b] = sum.Add(net)
	return nil
}
