package wechatpay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// Attributes of the trade bill.
const (
	attrTransaction = iota
	attrWord
	attrKind
	attrSettle
	attrBank
	attrApp
	attrMerchant
	attrSub
	tradeAttrCount
)

var tradeAttrs = []string{
	attrTransaction: "transaction_id",  // 微信订单号: of the payment, also on its refunds
	attrWord:        "provider_type",   // 交易状态
	attrKind:        "trade_type",      // 交易类型: JSAPI, NATIVE, …
	attrSettle:      "settle_amount",   // what settles before the fee: 应结订单金额 or −退款金额; empty in old bills
	attrBank:        "bank",            // 付款银行
	attrApp:         "app_id",          // 公众账号ID
	attrMerchant:    "merchant_id",     // 商户号
	attrSub:         "sub_merchant_id", // 特约商户号 or 子商户号
}

// trade reads one trade bill.
type trade struct {
	*sheet
	out     *bill.Out
	columns tradeColumns
	clock   *clock
	figure  [figures]int   // columns of amounts, -1 for those that are not there
	value   [figures]value // of the current row
	all     tally
	failed  tally // refunds that failed, which are part of all
	row     bill.Row
}

func readTrade(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	s, err := openSheet(d, out, tradeMark)
	if err != nil {
		return err
	}
	t := &trade{sheet: s, out: out, clock: newClock(d)}
	if t.columns, err = findColumns(s.header); err != nil {
		return s.fault("%s", err)
	}
	for i := range t.figure {
		t.figure[i] = s.header.At(figureNames[i].columns...)
	}
	t.row.Attrs = make([]string, tradeAttrCount)
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		more, err := s.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := t.read(); err != nil {
			return err
		}
	}
	s.cells.Close()
	return t.finish()
}

// read hands the current row on.
func (t *trade) read() error {
	c := &t.cells
	if len(c.Fields) > t.header.Len() {
		t.anchor()
	}
	if !c.Count(t.line) || !t.amounts() {
		return nil
	}
	word := c.Text(t.columns.status)
	if word != "SUCCESS" && !t.columns.hasRefunds {
		c.Problem(t.columns.status, fmt.Errorf("%q in a bill that has no columns for refunds: its amount is not in the file", text.Clip(word, 40)))
		return nil
	}
	r := &t.row
	r.Line, r.Column = t.lines.Number(), 1
	r.Order = c.Ident(t.columns.order)
	transaction := t.number(t.columns.transaction)
	r.Status, r.Batch, r.Attrs[attrSettle] = word, "", ""
	moves := false
	switch word {
	case "SUCCESS":
		moves = t.payment(transaction)
	case "REFUND":
		moves = t.refund()
	case "REVOKED":
		moves = t.reversal(transaction)
	default:
		c.Problem(t.columns.status, fmt.Errorf("the word %q is not known: known are SUCCESS, REFUND and REVOKED; tell us what the line is", text.Clip(word, 40)))
	}
	if !moves {
		return nil
	}
	t.common(transaction, word)
	return t.out.Row(r)
}

// number is one of WeChat Pay's own numbers, which are all digits and never missing: anything else is another column.
func (t *trade) number(col int) string {
	id := t.ident(col)
	if id == "" || strings.Trim(id, "0123456789") != "" && !text.IsSpreadsheetNumber(id) {
		t.cells.Problem(col, fmt.Errorf("%q is no number of WeChat Pay, which is all digits: are the columns in their places?", text.Clip(id, 40)))
	}
	return id
}

// common fills what all lines have alike.
func (t *trade) common(transaction, word string) {
	c, r := &t.cells, &t.row
	r.Currency = c.Currency(t.columns.currency)
	r.Fee = decimal.NullDecimal{Decimal: t.value[figFee].decimal(), Valid: t.value[figFee].present}
	r.Attrs[attrTransaction], r.Attrs[attrWord] = transaction, word
	r.Attrs[attrKind], r.Attrs[attrBank] = c.Text(t.columns.kind), c.Text(t.columns.bank)
	r.Attrs[attrApp], r.Attrs[attrMerchant] = c.Text(t.columns.app), c.Text(t.columns.merchant)
	r.Attrs[attrSub] = t.ident(t.columns.sub)
	if r.Key == "" {
		r.Key = cmp.Or(r.Order, r.ID)
	}
	if r.Key == "" {
		c.Problem(t.columns.order, errors.New("neither a number of the merchant nor one of WeChat Pay: the line cannot be matched"))
	}
}

func (t *trade) payment(transaction string) bool {
	r := &t.row
	r.Type, r.Key, r.ID = bill.Payment, r.Order, transaction
	if !t.demand(figGross) {
		return false
	}
	r.Amount = t.value[figGross].decimal()
	if t.value[figSettle].present {
		r.Attrs[attrSettle] = t.value[figSettle].decimal().String()
	}
	before := t.out.Problems()
	if r.OccurredAt = t.instant(t.columns.time); !r.OccurredAt.IsZero() {
		if err := t.clock.onDay(); err != nil {
			t.cells.Problem(t.columns.time, err)
		}
	} else if t.out.Problems() == before {
		t.cells.Problem(t.columns.time, fmt.Errorf("%q is no time, and a payment has one", text.Clip(t.cells.Text(t.columns.time), 40)))
	}
	return t.noRefund()
}

// noRefund refuses a payment whose line tells of a refund: one of the two is wrong, and they differ in the sign.
func (t *trade) noRefund() bool {
	for _, col := range []int{t.columns.refundID, t.columns.refundNo} {
		if id := t.ident(col); id != "" {
			t.cells.Problem(col, fmt.Errorf("the number %q of a refund in a line of SUCCESS: whether it is a payment cannot be told", text.Clip(id, 40)))
			return false
		}
	}
	for _, fig := range []int{figRefund, figAsked} {
		if t.value[fig].sign() != 0 {
			t.cells.Problem(t.figure[fig], fmt.Errorf("%s was refunded in a line of SUCCESS: whether it is a payment cannot be told", t.value[fig].decimal()))
			return false
		}
	}
	return true
}

func (t *trade) refund() bool {
	r := &t.row
	r.Type, r.Key, r.ID = bill.Refund, t.ident(t.columns.refundNo), t.ident(t.columns.refundID)
	if t.columns.refundID >= 0 {
		r.ID = t.number(t.columns.refundID)
	}
	r.Status = t.cells.Text(t.columns.refundStatus)
	switch r.Status {
	case "SUCCESS", "PROCESSING", "CHANGE":
	case "FAIL":
		t.failed.add(&t.value)
		return false
	default:
		t.cells.Problem(t.columns.refundStatus, fmt.Errorf("the word %q is not known: known are SUCCESS, PROCESSING, CHANGE and FAIL; tell us whether money was refunded", text.Clip(r.Status, 40)))
		return false
	}
	return t.back()
}

// reversal is a payment that was undone, which has no number of a refund.
func (t *trade) reversal(transaction string) bool {
	r := &t.row
	r.Type, r.Key, r.ID = bill.Reversal, r.Order, cmp.Or(t.ident(t.columns.refundID), transaction)
	if !t.back() {
		return false
	}
	if r.Amount.IsZero() && t.value[figGross].sign() != 0 {
		t.cells.Problem(t.figure[figRefund], fmt.Errorf("a payment of %s was undone, but the line gives nothing back: its amount cannot be told", t.value[figGross].decimal()))
		return false
	}
	return true
}

// back is the amount of money that goes back to a customer.
func (t *trade) back() bool {
	fig := figRefund
	if t.figure[figAsked] >= 0 {
		fig = figAsked
	}
	if !t.demand(fig) {
		return false
	}
	t.row.Amount = t.value[fig].decimal().Neg()
	if t.figure[figAsked] >= 0 && t.value[figRefund].present {
		t.row.Attrs[attrSettle] = t.value[figRefund].decimal().Neg().String()
	}
	for _, col := range []int{t.columns.done, t.columns.requested, t.columns.time} {
		if t.row.OccurredAt = t.instant(col); !t.row.OccurredAt.IsZero() {
			break
		}
	}
	return true
}

// demand notes an amount that must be there and is not.
func (t *trade) demand(fig int) bool {
	if t.value[fig].present {
		return true
	}
	t.cells.Money(t.figure[fig])
	return false
}

func (t *trade) instant(col int) (at time.Time) {
	if col < 0 {
		return at
	}
	at, err := t.clock.parse(t.cells.Fields[col])
	if err != nil {
		t.cells.Problem(col, err)
	}
	return at
}

// amounts reads the amounts of the row and adds them up.
func (t *trade) amounts() bool {
	good := true
	for i, col := range t.figure {
		t.value[i] = value{}
		if col < 0 {
			continue
		}
		v, err := parseValue(t.cells.Fields[col])
		if err == nil && i != figFee && v.sign() < 0 {
			err = fmt.Errorf("%s: %w", v.decimal(), errNegative)
		}
		if err != nil {
			t.cells.Problem(col, err)
			good = false
		}
		t.value[i] = v
	}
	t.all.add(&t.value)
	return good
}

// anchor reads a row with too many fields, whose name of goods or data of the merchant hold comma and backtick. Those two
// stand side by side and are not used, so that it does not matter where between them the row is cut, provided that they are
// what was cut: every column before them is counted from the left and every one after them from the right, and what must be
// an instant, a word, a currency, an amount and a rate is one. Otherwise the row stays as it is and is refused.
func (t *trade) anchor() {
	c, k := &t.cells, t.columns
	extra := len(c.Fields) - t.header.Len()
	if extra > extraMax || k.goods < 0 || k.packet != k.goods+1 || k.rate < k.packet || k.status > k.goods || k.currency > k.goods || k.time > k.goods {
		return
	}
	fields := append(append([][]byte{}, c.Fields[:k.packet]...), c.Fields[k.packet+extra:]...)
	begins := append(append([]int{}, t.begins[:k.packet]...), t.begins[k.packet+extra:]...)
	if !t.plausible(fields) {
		return
	}
	c.Fields, t.begins = fields, begins
}

// extraMax is far less than the columns of any bill, so that two rows on one line are never read as one.
const extraMax = 8

func (t *trade) plausible(fields [][]byte) bool {
	at, err := t.clock.parse(fields[t.columns.time])
	if err != nil || at.IsZero() {
		return false
	}
	switch string(fields[t.columns.status]) {
	case "SUCCESS", "REFUND", "REVOKED":
	default:
		return false
	}
	if _, err := bill.CheckCurrency(string(fields[t.columns.currency])); err != nil {
		return false
	}
	for _, col := range t.figure {
		if col < 0 {
			continue
		}
		if v, err := parseValue(fields[col]); err != nil || !v.present {
			return false
		}
	}
	rate, isRate := bytes.CutSuffix(fields[t.columns.rate], []byte("%"))
	v, err := parseValue(rate)
	return isRate && err == nil && v.present
}
