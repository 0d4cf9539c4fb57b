package alipay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var accountList = kind{
	title:  "支付宝账务明细查询",
	list:   "账务明细列表",
	needed: []string{"账务流水号", "商户订单号", "发生时间", "收入金额（+元）", "支出金额（-元）"},
	known: []string{
		"业务流水号", "商品名称", "对方账号", "账户余额（元）", "交易渠道", "业务类型", "备注", "业务描述", "业务账单来源", "业务基础订单号", "业务订单号",
	},
	telling: []string{"账务流水号", "发生时间", "收入金额（+元）", "支出金额（-元）"},
	totals:  map[string][]string{"收入合计": {""}, "支出合计": {""}},
	abs:     map[string]bool{"支出合计": true},
}

var accountAttrs = []string{"trade_no", "provider_type", "balance", "channel", "description", "source", "base_order", "business_order"}

// accountFigures are the figures of the total row of a summary, beside those of the total lines of the list.
var accountFigures = []figure{
	{"收入笔数", true, false}, {"收入金额（+元）", true, false}, {"支出笔数", true, false}, {"支出金额（-元）", true, true}, {"总金额（元）", true, false},
}

// accountKind is what a word of 业务类型 means for money that came and for money that went; "" is a contradiction.
type accountKind struct{ in, out bill.Type }

// accountKinds are the known words, folded as [bill.Fold] does. Money that a merchant pays as a buyer, or gets back as
// one, is a transfer: no customer of the merchant has a part in it.
var accountKinds = map[string]accountKind{
	"在线支付": {bill.Payment, bill.Transfer}, "交易付款": {bill.Payment, bill.Transfer}, "交易": {bill.Payment, bill.Transfer},
	"退款": {bill.Transfer, bill.Refund}, "交易退款": {bill.Transfer, bill.Refund}, "退款(交易退款)": {bill.Transfer, bill.Refund},
	"收费": {"", bill.Fee}, "服务费": {"", bill.Fee},
	"退费": {bill.FeeRefund, ""}, "退收费": {bill.FeeRefund, ""},
	"提现": {bill.Payout, bill.Payout}, "充值": {bill.Topup, ""},
	"转账": {bill.Transfer, bill.Transfer}, "批量代发到账户": {bill.Transfer, bill.Transfer}, "红包退回": {bill.Transfer, bill.Transfer},
	"交易分账": {bill.Transfer, bill.Transfer}, "分账": {bill.Transfer, bill.Transfer},
	"保证金": {bill.Release, bill.Hold},
	"其它":  {bill.Adjustment, bill.Adjustment}, "其他": {bill.Adjustment, bill.Adjustment},
}

func accountTypes() []bill.Type {
	return []bill.Type{
		bill.Payment, bill.Refund, bill.Fee, bill.FeeRefund, bill.Payout, bill.Topup, bill.Transfer, bill.Hold, bill.Release,
		bill.Adjustment, bill.BankCredit, bill.BankDebit,
	}
}

// directions name the controls that count money that came, and money that went: of the total lines and of the summary.
var directions = [2]struct{ count, sum, number, amount string }{
	{"收入合计 笔数", "收入合计 金额", "合计 收入笔数", "合计 收入金额（+元）"},
	{"支出合计 笔数", "支出合计 金额", "合计 支出笔数", "合计 支出金额（-元）"},
}

const sumAll = "合计 总金额（元）"

// account reads rows of an account bill.
type account struct {
	*sheet
	row   bill.Row
	chain chain
	minus int // sign of amounts that went, as this file prints them: 0 until the first

	number, trade, order, at, in, went, balance, word int
	channel, description, source, baseOrder, business int
}

func readAccount(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	s, err := accountList.open(ctx, d, out)
	if err != nil {
		return err
	}
	h := s.Header
	a := &account{
		sheet:  s,
		number: h.At("账务流水号"), trade: h.At("业务流水号"), order: h.At("商户订单号"), at: h.At("发生时间"),
		in: h.At("收入金额（+元）"), went: h.At("支出金额（-元）"), balance: h.At("账户余额（元）"), word: h.At("业务类型"),
		channel: h.At("交易渠道"), description: h.At("业务描述"), source: h.At("业务账单来源"),
		baseOrder: h.At("业务基础订单号"), business: h.At("业务订单号"),
	}
	a.prepare()
	for {
		if err := s.row(ctx); errors.Is(err, io.EOF) {
			a.remarks()
			return nil
		} else if err != nil {
			return err
		}
		if err := a.read(); err != nil {
			return err
		}
	}
}

// prepare names every figure that the bill may declare, so that those without rows count as zero.
func (a *account) prepare() {
	for _, d := range directions {
		a.counted.add(decimal.Zero, d.count, d.sum, d.number, d.amount)
	}
	a.counted.add(decimal.Zero, sumAll)
}

func (a *account) remarks() {
	if a.word < 0 && a.out.Rows() > 0 {
		a.out.Remark("the file has no column 业务类型: its rows are bank_credit and bank_debit, and a filter on other types leaves all of them out")
	}
	a.chain.remark(a.out)
}

// read hands the current row on.
func (a *account) read() error {
	line, column := a.place(0)
	amount, ok := a.amount()
	if !ok {
		return nil
	}
	a.count(amount)
	is, word, ok := a.kindOf(amount)
	if !ok {
		return nil
	}
	id, trade, order := a.id(a.number), a.id(a.trade), a.id(a.order)
	if id == "" {
		a.Problem(a.number, errors.New("the number of the movement is empty: the row cannot be identified"))
		return nil
	}
	balance := a.MoneyOrNone(a.balance)
	if balance.Valid {
		a.chain.follow(link{line, amount, balance.Decimal})
	}
	a.row = bill.Row{
		Line: line, Column: column, Key: order, Order: order, ID: id, Type: is, Amount: amount, Currency: "CNY",
		OccurredAt: a.instant(a.at),
		Attrs: append(a.row.Attrs[:0], trade, word, printed(balance), a.Text(a.channel), a.Text(a.description), a.Text(a.source),
			a.id(a.baseOrder), a.id(a.business)),
	}
	return a.out.Row(&a.row)
}

// amount is what moved, below zero when it went. One of the two columns holds it, the other nothing or zero.
func (a *account) amount() (decimal.Decimal, bool) {
	in, went := a.MoneyOrNone(a.in), a.MoneyOrNone(a.went)
	if !in.Valid && a.Text(a.in) != "" || !went.Valid && a.Text(a.went) != "" {
		return decimal.Zero, false
	}
	switch came, gone := in.Decimal, went.Decimal; {
	case came.IsZero() == gone.IsZero():
		a.Problem(a.in, fmt.Errorf("one of 收入 and 支出 must hold an amount and the other none: they are %q and %q", a.Text(a.in), a.Text(a.went)))
		return decimal.Zero, false
	case came.IsNegative():
		a.Problem(a.in, fmt.Errorf("%s came in, which is below zero", came))
		return decimal.Zero, false
	case gone.IsZero():
		return came, true
	case a.minus == 0:
		a.minus = gone.Sign()
		fallthrough
	case a.minus == gone.Sign():
		return gone.Abs().Neg(), true
	default:
		a.Problem(a.went, fmt.Errorf("%s has another sign than the amounts above it: a file prints money that went either above zero or below, not both", gone))
		return decimal.Zero, false
	}
}

func (a *account) count(amount decimal.Decimal) {
	d := directions[0]
	if amount.IsNegative() {
		d = directions[1]
	}
	a.counted.add(one, d.count, d.number)
	a.counted.add(amount.Abs(), d.sum, d.amount)
	a.counted.add(amount, sumAll)
}

// kindOf is the type of a row by its word and direction.
func (a *account) kindOf(amount decimal.Decimal) (is bill.Type, word string, ok bool) {
	if a.word < 0 {
		if amount.IsNegative() {
			return bill.BankDebit, "", true
		}
		return bill.BankCredit, "", true
	}
	word = a.Text(a.word)
	k, known := accountKinds[bill.Fold(word)]
	if !known {
		a.Problem(a.word, fmt.Errorf("%q is not known, so it is not clear what moved; tell us what it means", text.Clip(word, 40)))
		return "", "", false
	}
	is, direction := k.in, "收入"
	if amount.IsNegative() {
		is, direction = k.out, "支出"
	}
	if is == "" {
		a.Problem(a.word, fmt.Errorf("%q with an amount in %s contradict each other", word, direction))
		return "", "", false
	}
	return is, word, true
}
