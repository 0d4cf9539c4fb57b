package camt053

import (
	"encoding/xml"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// entry is the Ntry in hand.
type entry struct {
	place
	amounts    []money
	indicators []string
	reversals  []string
	statuses   []status
	booked     day
	valued     day
	bank       string // AcctSvcrRef
	code       code
	payment    string // PmtInfId of the only batch
	batches    int
	declared   int // transactions that the batches declare
	details    []detail
	text       string // AddtlNtryInf

	figured  bool            // the next ones are read, which needs the beginning of the entry only
	ok       bool            // and could be
	amount   decimal.Decimal // signed
	currency string
	reversal string
	outside  decimal.Decimal // charges of the entry, negative when taken
	charged  bool            // all of them could be read

	date    string
	value   string
	instant time.Time
	nth     int // in the statement
}

// detail is what is kept of a transaction.
type detail struct {
	place
	key        string
	bank       string
	amount     decimal.Decimal // signed
	known      bool            // it has an amount
	charges    decimal.Decimal
	chargesOK  bool
	kind       string
	creditor   string // reference
	account    string
	name       string
	reason     string
	remittance string
}

// entry reads an Ntry and hands its rows on.
func (p *parser) entry(at place) error {
	p.st.entries++
	e := &entry{place: at, nth: p.st.entries, charged: true}
	if err := p.children("Ntry", func(start xml.StartElement, at place) error { return p.entryPart(e, start, at) }); err != nil {
		return err
	}
	if !p.figures(e) || !p.settle(e) {
		return nil
	}
	st := p.st
	st.all.add(e.amount)
	switch word := first(e.statuses[0].Code, e.statuses[0].Word); word {
	case "BOOK":
	case "PDNG", "FUTR":
		p.left.pending++
		return nil
	case "INFO":
		p.left.information++
		return nil
	default:
		st.broken = true
		p.problem(at, "the status %q of the entry is not known: want BOOK, PDNG, FUTR or INFO", text.Clip(word, 40))
		return nil
	}
	st.booked.add(e.amount)
	st.sums[e.currency] = st.sums[e.currency].Add(e.amount)
	return p.emit(e)
}

// entryPart reads a child of Ntry.
func (p *parser) entryPart(e *entry, start xml.StartElement, at place) error {
	switch start.Name.Local {
	case "Amt":
		return decodeMore(p, &e.amounts, start, at)
	case "CdtDbtInd":
		return decodeMore(p, &e.indicators, start, at)
	case "RvslInd":
		return decodeMore(p, &e.reversals, start, at)
	case "Sts":
		return decodeMore(p, &e.statuses, start, at)
	case "BookgDt":
		return p.decode(&e.booked, start, at)
	case "ValDt":
		return p.decode(&e.valued, start, at)
	case "AcctSvcrRef":
		return p.decode(&e.bank, start, at)
	case "BkTxCd":
		return p.decode(&e.code, start, at)
	case "Chrgs":
		return p.charge(e, start, at)
	case "AddtlNtryInf":
		return p.decode(&e.text, start, at)
	case "NtryDtls":
		return p.children("NtryDtls", func(start xml.StartElement, at place) error { return p.detailPart(e, start, at) })
	}
	return p.skip(at)
}

const listMax = 10 // elements of one name in an entry, where the standard has one

// charge adds a charge of the entry.
func (p *parser) charge(e *entry, start xml.StartElement, at place) error {
	var c charges
	if err := p.decode(&c, start, at); err != nil || !p.figures(e) {
		return err
	}
	sum, ok := chargesOf([]charges{c}, e.currency)
	if err := c.check(); err != nil {
		p.problem(at, "a charge of entry %d of the statement: %w", e.nth, err)
	}
	e.outside, e.charged = e.outside.Add(sum), e.charged && ok
	return nil
}

// decodeMore takes another element of a list.
func decodeMore[T any](p *parser, list *[]T, start xml.StartElement, at place) error {
	if len(*list) == listMax {
		return p.fail(at, "more than %d elements %s in one entry", listMax, text.Clip(start.Name.Local, 40))
	}
	var v T
	err := p.decode(&v, start, at)
	*list = append(*list, v)
	return err
}

// detailPart reads a child of NtryDtls.
func (p *parser) detailPart(e *entry, start xml.StartElement, at place) error {
	switch start.Name.Local {
	case "Btch":
		var b batch
		if err := p.decode(&b, start, at); err != nil {
			return err
		}
		e.batches++
		e.payment = reference(b.Payment)
		if n := trim(b.Count); n != "" {
			count, err := strconv.ParseUint(n, 10, 31)
			if err != nil {
				p.problem(at, "NbOfTxs %q: want a number", text.Clip(n, 40))
			}
			e.declared += int(count) //nolint:gosec // 31 bits
		}
		return nil
	case "TxDtls":
		if len(e.details) == detailsMax {
			return p.fail(at, "more than %d transactions in one entry: ask the bank for the entry without them", detailsMax)
		}
		tx := &transaction{}
		if err := p.decode(tx, start, at); err != nil || !p.figures(e) {
			return err
		}
		d, err := keep(tx, e, at)
		if err != nil {
			p.problem(at, "a transaction of entry %d of the statement: %w", e.nth, err)
		}
		e.details = append(e.details, d)
		return nil
	}
	return p.skip(at)
}

// keep takes from a transaction what its row needs, in short. An amount that is not there, or there several times, leaves
// the transaction without one; the error is of one that is there and cannot be read.
func keep(tx *transaction, e *entry, at place) (detail, error) {
	d := detail{place: at, bank: reference(tx.Bank), kind: tx.Code.String(), reason: clip(tx.Reason)}
	d.creditor = only(tx.References)
	d.key = first(reference(tx.EndToEnd), d.creditor, reference(tx.Payment), d.bank)
	d.remittance = joined(append(tx.Text, tx.More...))
	if d.remittance == "" {
		d.remittance = joined([]string{tx.Additional})
	}
	indicators, amounts := tx.Indicator, tx.Amount
	if len(indicators) == 0 {
		indicators = e.indicators
	}
	if len(amounts) == 0 {
		amounts = tx.AmountDeep
	}
	value, currency, err := signed(amounts, indicators)
	d.amount, d.known = value, err == nil && currency == e.currency
	d.charges, d.chargesOK = chargesOf(tx.Charges, e.currency)
	// Money comes from the debtor and goes to the creditor, unless the entry undoes that.
	d.name, d.account = tx.Debtor.String(), tx.DebtorAt.String()
	other, otherAt := tx.Creditor.String(), tx.CreditorAt.String()
	if e.amount.IsNegative() != (e.reversal != "") {
		d.name, d.account, other, otherAt = other, otherAt, d.name, d.account
	}
	if d.name == "" && d.account == "" {
		d.name, d.account = other, otherAt
	}
	if len(amounts) != 1 || len(indicators) != 1 {
		err = nil
	}
	return d, err
}

// only is the reference when all that there are say the same.
func only(references []string) string {
	found := ""
	for _, r := range references {
		r = reference(r)
		if found != "" && r != "" && r != found {
			return ""
		}
		found = first(found, r)
	}
	return found
}

func joined(parts []string) string {
	return text.Clip(strings.Join(strings.Fields(strings.Join(parts, " ")), " "), remittanceMax)
}

// figures reads amount and direction of an entry, which stand at its beginning, and reports whether it could.
func (p *parser) figures(e *entry) bool {
	if e.figured {
		return e.ok
	}
	e.figured = true
	var err error
	if e.amount, e.currency, err = signed(e.amounts, e.indicators); err != nil {
		return p.bad(e, "%w", err)
	}
	if len(e.reversals) > 1 {
		return p.bad(e, "%d elements RvslInd, want one", len(e.reversals))
	}
	if len(e.reversals) == 1 {
		switch word := trim(e.reversals[0]); word {
		case "true", "1":
			e.reversal = "true"
		case "false", "0":
		default:
			return p.bad(e, "RvslInd %q: want true or false", text.Clip(word, 40))
		}
	}
	e.ok = true
	return true
}

// bad notes what cannot be read of an entry: the sums of the statement mean nothing then.
func (p *parser) bad(e *entry, format string, args ...any) bool {
	p.st.broken = true
	p.problem(e.place, "entry %d of the statement: "+format, append([]any{e.nth}, args...)...)
	return false
}

// settle reads the rest of an entry, and reports whether it could.
func (p *parser) settle(e *entry) bool {
	if len(e.amounts) > 1 || len(e.indicators) > 1 || len(e.reversals) > 1 {
		return p.bad(e, "Amt, CdtDbtInd or RvslInd are there more than once")
	}
	if len(e.statuses) != 1 {
		return p.bad(e, "%d elements Sts, want one", len(e.statuses))
	}
	var err error
	if e.date, e.instant, err = e.booked.when(p.zone); err != nil {
		return p.bad(e, "BookgDt: %w", err)
	}
	value, instant, err := e.valued.when(p.zone)
	if err != nil {
		return p.bad(e, "ValDt: %w", err)
	}
	p.isOf(e.date)
	e.value, e.bank = value, reference(e.bank)
	if e.date == "" {
		e.instant = instant
	}
	return true
}

// split reports whether the transactions are the entry, and the charges that are missing to its amount.
func (e *entry) split() (fee decimal.Decimal, ok bool) {
	if len(e.details) == 0 || e.declared > 0 && e.declared != len(e.details) {
		return fee, false
	}
	sum, inside, insideOK := decimal.Zero, decimal.Zero, true
	for i := range e.details {
		d := &e.details[i]
		if !d.known {
			return fee, false
		}
		sum, inside = sum.Add(d.amount), inside.Add(d.charges)
		insideOK = insideOK && d.chargesOK
	}
	fee = e.amount.Sub(sum)
	if fee.IsZero() {
		return fee, true
	}
	return fee, e.charged && fee.Equal(e.outside) || insideOK && fee.Equal(inside) || e.charged && insideOK && fee.Equal(e.outside.Add(inside))
}

// emit hands the rows of a booked entry on.
func (p *parser) emit(e *entry) error {
	id := first(e.bank, p.st.account+"/"+p.st.id+"/"+strconv.Itoa(e.nth))
	fee, ok := e.split()
	if !ok {
		return p.emitWhole(e, id)
	}
	several := len(e.details) > 1 || !fee.IsZero()
	for i := range e.details {
		d := &e.details[i]
		own := id
		if several {
			own += "/" + strconv.Itoa(i+1)
		} else if e.bank == "" {
			own = first(d.bank, id)
		}
		key := d.key
		if key == "" && !several {
			key = e.bank
		}
		if err := p.row(e, d, first(key, own), own, d.amount); err != nil {
			return err
		}
	}
	if fee.IsZero() {
		return nil
	}
	r := p.newRow(e, &detail{place: e.place}, id+"/fee", id+"/fee", fee)
	if len(e.details) == 1 {
		r.Order = first(e.details[0].key, id+"/1")
	}
	r.Type = bill.Fee
	if fee.IsPositive() {
		r.Type = bill.FeeRefund
	}
	return p.out.Row(r)
}

// emitWhole hands an entry on as one row.
func (p *parser) emitWhole(e *entry, id string) error {
	d := detail{place: e.place}
	key := ""
	switch len(e.details) {
	case 0:
	case 1:
		d = e.details[0]
		d.place = e.place
		key = d.key
	default:
		p.left.batches++
	}
	if e.batches == 1 {
		key = first(key, e.payment)
	}
	return p.row(e, &d, first(key, e.bank, id), id, e.amount)
}

// row hands a row on, unless it moves nothing.
func (p *parser) row(e *entry, d *detail, key, id string, amount decimal.Decimal) error {
	if amount.IsZero() {
		p.left.zero++
		return nil
	}
	if len(key) > keyBytesMax {
		p.problem(d.place, "a reference of more than %d bytes: %q", keyBytesMax, text.Clip(key, 40))
	}
	return p.out.Row(p.newRow(e, d, key, id, amount))
}

func (p *parser) newRow(e *entry, d *detail, key, id string, amount decimal.Decimal) *bill.Row {
	r := &bill.Row{
		Line: d.line, Column: d.column, Key: key, ID: id, Type: bill.BankCredit, Amount: amount, Currency: e.currency,
		Status: "BOOK", OccurredAt: e.instant, Batch: p.st.account + "/" + p.st.id,
		Attrs: []string{
			p.st.account, e.value, e.date, first(d.kind, e.code.String()), d.creditor, d.account, d.name, d.reason, e.reversal,
			first(d.remittance, joined([]string{e.text})),
		},
	}
	if amount.IsNegative() {
		r.Type = bill.BankDebit
	}
	return r
}
