package wechatpay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// Columns of the fund flow bill.
const (
	fundTime = iota
	fundBusiness
	fundFlow
	fundName
	fundType
	fundDirection
	fundAmount
	fundBalance
	fundBy
	fundNote
	fundVoucher
	fundColumnCount
)

var fundNeeded = []string{
	fundTime: "记账时间", fundBusiness: "微信支付业务单号", fundFlow: "资金流水单号", fundName: "业务名称", fundType: "业务类型",
	fundDirection: "收支类型", fundAmount: "收支金额(元)", fundBalance: "账户结余(元)", fundBy: "资金变更提交申请人",
	fundNote: "备注", fundVoucher: "业务凭证号",
}

var fundAttrs = []string{
	"transaction_id", // 微信支付业务单号: of the payment or of the refund
	"provider_type",  // 业务类型
	"business",       // 业务名称
	"balance",        // 账户结余(元), after the line
	"operator",       // 资金变更提交申请人
	"note",           // 备注
}

const (
	income  = "收入"
	outgo   = "支出"
	inCNY   = "CNY" // the names of the columns say yuan
	rowsSum = "资金流水总笔数"
	inRows  = "收入笔数"
	inSum   = "收入金额"
	outRows = "支出笔数"
	outSum  = "支出金额"
)

// fundWords says what a line is by 业务类型 and 收支类型. WeChat Pay documents the first five and adds words as its products
// grow: a word that is not here is a problem.
var fundWords = map[[2]string]bill.Type{
	{"交易", income}:      bill.Payment,
	{"扣除交易手续费", outgo}:  bill.Fee,
	{"退款", outgo}:       bill.Refund,
	{"退款关闭", income}:    bill.Reversal,
	{"退还交易手续费", income}: bill.FeeRefund,
	{"退回交易手续费", income}: bill.FeeRefund,
	{"提现", outgo}:       bill.Payout,
	{"充值", income}:      bill.Topup,
	{"分账", outgo}:       bill.Transfer,
}

func fundTypes() []bill.Type {
	var out []bill.Type
	for _, t := range bill.Types {
		for _, of := range fundWords {
			if of == t && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// fund reads one fund flow bill.
type fund struct {
	*sheet
	out    *bill.Out
	clock  *clock
	at     [fundColumnCount]int
	chain  chain
	ins    int64 // lines of income
	outs   int64 // lines of outgo
	inSum  decimal.Decimal
	outSum decimal.Decimal
	row    bill.Row
}

func readFund(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	s, err := openSheet(d, out, rowsSum)
	if err != nil {
		return err
	}
	if err := s.header.Check(fundNeeded, []string{}); err != nil {
		return s.fault("%s", err)
	}
	f := &fund{sheet: s, out: out, clock: newClock(d), row: bill.Row{Attrs: make([]string, len(fundAttrs))}}
	for i, name := range fundNeeded {
		f.at[i] = s.header.At(name)
	}
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
		if err := f.read(); err != nil {
			return err
		}
	}
	s.cells.Close()
	return f.finish()
}

// read hands the current row on.
func (f *fund) read() error {
	c, r := &f.cells, &f.row
	if !c.Count(f.line) {
		return nil
	}
	word, direction := c.Text(f.at[fundType]), c.Text(f.at[fundDirection])
	if direction != income && direction != outgo {
		c.Problem(f.at[fundDirection], fmt.Errorf("the word %q is not known: known are 收入 and 支出", text.Clip(direction, 20)))
		return nil
	}
	var known bool
	if r.Type, known = fundWords[[2]string{word, direction}]; !known {
		c.Problem(f.at[fundType], fmt.Errorf("%q with %s is not known: tell us what the line is", text.Clip(word, 40), direction))
		return nil
	}
	amount, balance := c.Money(f.at[fundAmount]), c.Money(f.at[fundBalance])
	if amount.IsNegative() {
		c.Problem(f.at[fundAmount], fmt.Errorf("%s: %w", amount, errNegative))
	}
	f.count(direction, amount)
	if direction == outgo {
		amount = amount.Neg()
	}
	f.chain.link(balance.Sub(amount), balance, f.lines.Number())
	r.Line, r.Column, r.Amount, r.Currency = f.lines.Number(), 1, amount, inCNY
	var err error
	if r.OccurredAt, err = f.clock.parse(c.Fields[f.at[fundTime]]); err != nil {
		c.Problem(f.at[fundTime], err)
	} else if r.OccurredAt.IsZero() {
		c.Problem(f.at[fundTime], errors.New("the time is empty"))
	} else if err := f.clock.onDay(); err != nil {
		c.Problem(f.at[fundTime], err)
	}
	business := f.ident(f.at[fundBusiness])
	r.ID = cmp.Or(f.ident(f.at[fundFlow]), business)
	r.Key = cmp.Or(f.ident(f.at[fundVoucher]), business, r.ID)
	r.Order = r.Key
	if r.Key == "" {
		c.Problem(f.at[fundVoucher], errors.New("neither a number of the merchant nor one of WeChat Pay: the line cannot be matched"))
	}
	for i, v := range [...]string{business, word, c.Text(f.at[fundName]), balance.String(), c.Text(f.at[fundBy]), c.Text(f.at[fundNote])} {
		r.Attrs[i] = v
	}
	return f.out.Row(r)
}

func (f *fund) count(direction string, amount decimal.Decimal) {
	if direction == income {
		f.ins, f.inSum = f.ins+1, f.inSum.Add(amount)
	} else {
		f.outs, f.outSum = f.outs+1, f.outSum.Add(amount)
	}
}

// finish holds the figures and the balances of the bill against its lines.
func (f *fund) finish() error {
	declared, err := f.totals()
	if err != nil {
		return err
	}
	if what := f.chain.broken(); what != "" {
		f.out.Problem(declared.line, 0, "%s", what)
	}
	counts := map[string]decimal.Decimal{
		rowsSum: decimal.NewFromInt(f.ins + f.outs),
		inRows:  decimal.NewFromInt(f.ins), inSum: f.inSum,
		outRows: decimal.NewFromInt(f.outs), outSum: f.outSum,
	}
	for i, name := range declared.names {
		n, known := counts[name]
		if !known {
			f.out.Problem(declared.line, 0, "the total %q is not known, or is there twice", name)
			continue
		}
		f.out.Declare(name, declared.line, declared.values[i])
		f.out.Count(name, n)
		delete(counts, name)
	}
	for _, name := range []string{rowsSum, inRows, inSum, outRows, outSum} {
		if _, left := counts[name]; left {
			return bill.Cut("the totals do not give " + name)
		}
	}
	return nil
}
