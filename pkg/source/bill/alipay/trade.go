package alipay

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

var tradeList = kind{
	title: "支付宝业务明细查询",
	list:  "业务明细列表",
	needed: []string{
		"支付宝交易号", "商户订单号", "业务类型", "完成时间", "订单金额（元）", "商家实收（元）", "商家优惠（元）", "服务费（元）",
	},
	known: []string{
		"商品名称", "创建时间", "门店编号", "门店名称", "操作员", "终端号", "对方账户", "支付宝红包（元）", "集分宝（元）", "支付宝优惠（元）",
		"券核销金额（元）", "券名称", "商家红包消费金额（元）", "卡消费金额（元）", "退款批次号/请求号", "退款批次号", "分润（元）", "备注",
		"实收净额（元）", "商户识别号", "交易方式", "花呗分期手续费", "花呗分期手续费（元）", "花呗分期数",
	},
	telling: []string{"支付宝交易号", "商户订单号", "业务类型", "订单金额（元）"},
	totals: map[string][]string{
		"交易合计": {"商家实收", "商家优惠"},
		"退款合计": {"商家实收退款", "商家优惠退款"},
	},
}

var tradeAttrs = []string{"trade_no", "refund_no", "provider_type", "received", "net", "shared", "store", "method"}

// tradeFigures are the figures of the total row of a summary that the rows of the list give as well. Which rows the
// others cover is not documented, so they are held against the rows of the summary alone.
var tradeFigures = []figure{
	{"交易订单总笔数", true, false},
	{"退款订单总笔数", true, false},
	{"订单金额（元）", true, false},
	{"商家实收（元）", true, false},
	{"服务费（元）", true, false},
	{"支付宝优惠（元）", false, false},
	{"商家优惠（元）", false, false},
	{"卡消费金额（元）", false, false},
	{"分润（元）", false, false},
	{"实收净额（元）", false, false},
}

// tradeKind is what a word of 业务类型 means: a type, the sign of its amounts, and the controls that count its rows.
type tradeKind struct {
	is                                bill.Type
	sign                              int
	count, received, discount, orders string
}

var tradeKinds = map[string]tradeKind{
	"交易": {bill.Payment, 1, "交易合计 笔数", "交易合计 商家实收", "交易合计 商家优惠", "合计 交易订单总笔数"},
	"退款": {bill.Refund, -1, "退款合计 笔数", "退款合计 商家实收退款", "退款合计 商家优惠退款", "合计 退款订单总笔数"},
}

// The controls of a summary that count all rows.
const (
	sumAmount   = "合计 订单金额（元）"
	sumReceived = "合计 商家实收（元）"
	sumFee      = "合计 服务费（元）"
)

// trade reads rows of a trade bill.
type trade struct {
	*sheet
	row bill.Row

	tradeNo, order, word, done, amount, received, discount, fee int
	refundNo, net, shared, storeNo, storeName, method           int
	granted                                                     []int // columns that explain what of an order the merchant did not receive
}

func readTrade(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	s, err := tradeList.open(ctx, d, out)
	if err != nil {
		return err
	}
	h := s.Header
	t := &trade{
		sheet:   s,
		tradeNo: h.At("支付宝交易号"), order: h.At("商户订单号"), word: h.At("业务类型"), done: h.At("完成时间"),
		amount: h.At("订单金额（元）"), received: h.At("商家实收（元）"), discount: h.At("商家优惠（元）"), fee: h.At("服务费（元）"),
		refundNo: h.At("退款批次号/请求号", "退款批次号"), net: h.At("实收净额（元）"), shared: h.At("分润（元）"),
		storeNo: h.At("门店编号"), storeName: h.At("门店名称"), method: h.At("交易方式"),
	}
	if t.refundNo < 0 {
		return &text.Error{Line: s.lines.Number(), Column: 1, Msg: `columns missing "退款批次号/请求号": without it two refunds of an order cannot be told apart`}
	}
	for _, name := range []string{"支付宝红包（元）", "集分宝（元）", "支付宝优惠（元）", "商家优惠（元）", "券核销金额（元）", "商家红包消费金额（元）", "卡消费金额（元）"} {
		t.granted = append(t.granted, h.At(name))
	}
	t.prepare()
	for {
		if err := s.row(ctx); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := t.read(); err != nil {
			return err
		}
	}
}

// prepare names every figure that the bill may declare, so that those without rows count as zero.
func (t *trade) prepare() {
	for _, word := range []string{"交易", "退款"} {
		k := tradeKinds[word]
		t.counted.add(decimal.Zero, k.count, k.received, k.discount, k.orders)
	}
	t.counted.add(decimal.Zero, sumAmount, sumReceived, sumFee)
}

// read hands the current row on.
func (t *trade) read() error {
	line, column := t.place(0)
	word := t.Text(t.word)
	k, known := tradeKinds[word]
	if !known {
		t.Problem(t.word, fmt.Errorf("%q is not known: 交易 and 退款 are; tell us what it means", text.Clip(word, 40)))
		return nil
	}
	amount, received, fee := t.Money(t.amount), t.Money(t.received), t.MoneyOrNone(t.fee)
	t.checkSign(t.amount, word, amount, k.sign)
	t.checkSign(t.received, word, received, k.sign)
	if k.is == bill.Payment && fee.Decimal.IsPositive() {
		t.Problem(t.fee, fmt.Errorf("the fee %s of a payment is printed above zero: Alipay prints a fee that it takes below zero, so its sign is in doubt", fee.Decimal))
	}
	t.counted.add(one, k.count, k.orders)
	t.counted.add(amount, sumAmount)
	t.counted.add(received, sumReceived, k.received)
	t.counted.add(fee.Decimal, sumFee)
	t.counted.add(t.MoneyOrNone(t.discount).Decimal, k.discount)

	tradeNo, order, refundNo := t.id(t.tradeNo), t.id(t.order), t.id(t.refundNo)
	if tradeNo == "" {
		t.Problem(t.tradeNo, errors.New("the trade number is empty: the row cannot be identified"))
		return nil
	}
	if strings.Trim(tradeNo, "0123456789") != "" {
		t.Problem(t.tradeNo, fmt.Errorf("%q is no trade number of Alipay, which is all digits: are the columns in their places?", text.Clip(tradeNo, 40)))
	}
	t.checkPaid(amount, received, k.sign)
	t.row = bill.Row{
		Line: line, Column: column, Key: order, Order: order, ID: tradeNo, Type: k.is, Amount: amount, Currency: "CNY",
		Fee: decimal.NullDecimal{Decimal: fee.Decimal.Neg(), Valid: fee.Valid}, OccurredAt: t.instant(t.done),
	}
	if k.is == bill.Refund {
		t.row.Key = cmp.Or(refundNo, order)
		if refundNo != "" {
			t.row.ID = tradeNo + "/" + refundNo
		}
	}
	t.row.Attrs = append(t.row.Attrs[:0], tradeNo, refundNo, word, received.String(), printed(t.MoneyOrNone(t.net)),
		printed(t.MoneyOrNone(t.shared)), cmp.Or(t.Text(t.storeNo), t.Text(t.storeName)), t.Text(t.method))
	return t.out.Row(&t.row)
}

var one = decimal.New(1, 0)

// checkSign refuses a payment below zero and a refund above it.
func (t *trade) checkSign(col int, word string, v decimal.Decimal, sign int) {
	if v.Sign() == -sign {
		t.Problem(col, fmt.Errorf("%s of a row with 业务类型 %s has the wrong sign: Alipay prints payments above zero and refunds below", v, word))
	}
}

// checkPaid holds the amount of the order against what the merchant received of it. The difference is what was granted or
// paid otherwise, so that it has the sign of the row and is no more than the columns that say so.
func (t *trade) checkPaid(amount, received decimal.Decimal, sign int) {
	most := decimal.Zero
	for _, col := range t.granted {
		most = most.Add(t.MoneyOrNone(col).Decimal.Abs())
	}
	gap := amount.Sub(received).Mul(decimal.NewFromInt(int64(sign)))
	if gap.IsNegative() || gap.GreaterThan(most) {
		t.Problem(t.amount, fmt.Errorf("the order amount is %s and the merchant received %s, but discounts, vouchers and cards of the row come to %s: "+
			"one of them is damaged; deliver the file as Alipay made it", amount, received, most))
	}
}

// printed is an amount as an attribute, "" when there is none.
func printed(v decimal.NullDecimal) string {
	if !v.Valid {
		return ""
	}
	return v.Decimal.String()
}

// id reads a number that identifies. What spreadsheets put around such numbers is no part of them and refused.
func (s *sheet) id(col int) string {
	v := s.Ident(col)
	if strings.HasPrefix(v, "=") || strings.HasPrefix(v, "'") || strings.HasPrefix(v, "`") {
		s.Problem(col, fmt.Errorf("%q begins with a character that a spreadsheet puts before numbers: deliver the file as Alipay made it", text.Clip(v, 40)))
	}
	return v
}

// instant reads when a row happened, which must lie inside the period.
func (s *sheet) instant(col int) time.Time {
	written := s.Text(col)
	at, err := text.Instants{Format: time.DateTime, Zone: beijing}.Parse(written)
	switch {
	case err != nil:
		s.Problem(col, fmt.Errorf("%w; a spreadsheet may have changed it: deliver the file as Alipay made it", err))
	case at.IsZero():
		s.Problem(col, errors.New("the time is empty"))
	case s.period.known() && !s.period.holds(at):
		s.Problem(col, fmt.Errorf("%s is outside the period of the file, %s", written, s.period))
	}
	return at
}
