package unionpay

import (
	"context"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
)

var zmAttrs = []string{
	"provider_type",   // 交易代码, such as S22
	"txn_type",        // 交易类型, such as 01
	"trace_no",        // 系统跟踪号
	"orig_query_id",   // 原交易查询流水号: the id of the payment that is refunded or undone
	"settle_amount",   // 结算金额, signed
	"net_amount",      // 清算净额, signed
	"method",          // 支付方式
	"business",        // 业务类型
	"merchant_id",     // 商户代码
	"sub_merchant_id", // 二级商户代码
}

// zmTypes are the types of transaction that move a merchant's money, by 交易类型 as the interface for merchants numbers
// them. Any other is a problem.
var zmTypes = map[string]bill.Type{
	"01": bill.Payment,  // 消费
	"03": bill.Payment,  // 预授权完成
	"11": bill.Payment,  // 代收
	"13": bill.Payment,  // 账单支付
	"04": bill.Refund,   // 退货
	"31": bill.Reversal, // 消费撤销
	"33": bill.Reversal, // 预授权完成撤销
}

type zmFile struct {
	lines
	years *years
	row   bill.Row
}

func readZM(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	f := &zmFile{
		lines: lines{layout: zm, in: d.Raw, out: out},
		years: newYears(d.Zone, d.Day),
		row:   bill.Row{Attrs: make([]string, len(zmAttrs))},
	}
	for {
		more, err := f.next(ctx)
		if err != nil {
			return err
		}
		if !more {
			f.years.remark(out)
			return nil
		}
		if !f.read() {
			continue
		}
		out.Once(f.row.ID, f.row.Line, 1)
		if err := out.Row(&f.row); err != nil {
			return err
		}
	}
}

// read fills the row from the line, and notes what is wrong with it.
func (f *zmFile) read() bool {
	r := &f.row
	code, kind := f.text(zmCode), f.text(zmType)
	var known bool
	if r.Type, known = zmTypes[kind]; !known || !isCode([]byte(code)) {
		f.problem(zmType, "transaction code %q with type (交易类型) %q is not known; tell us what the line is", code, kind)
		return false
	}
	settle, good := f.money()
	if !good {
		return false
	}
	net, good := f.lettered(zmNet)
	if !good {
		return false
	}
	f.ids()
	f.when()
	for i, v := range [...]string{
		code, kind, f.text(zmTrace), f.ident(zmOrigQuery), settle.String(), written(net), f.text(zmMethod), f.text(zmBusiness),
		f.text(zmMerchant), f.ident(zmSubMerchant),
	} {
		r.Attrs[i] = v
	}
	return true
}

// money fills amount and fee. The type says which way the money went, and the letter of the settlement amount must agree.
func (f *zmFile) money() (settle decimal.Decimal, good bool) {
	amount, ok1 := f.fen(zmAmount)
	fee, ok2 := f.lettered(zmFee)
	settled, ok3 := f.lettered(zmSettle)
	discount, ok4 := f.lettered(zmDiscount)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return settle, false
	}
	if f.row.Type != bill.Payment {
		amount = amount.Neg()
	}
	settle = settled.Decimal
	switch {
	case !settled.Valid:
		f.problem(zmSettle, "the settlement amount (结算金额) is blank: nothing confirms which way the money of a %s went", f.row.Type)
		return settle, false
	case settle.Sign()*amount.Sign() < 0, amount.IsZero() != settle.IsZero() && !settle.Equal(amount.Add(fee.Decimal)):
		f.problem(zmSettle, "the settlement amount is %s, but the line is a %s of %s (fee %s): which way the money went cannot be told", settle, f.row.Type, amount, written(fee))
		return settle, false
	case discount.Decimal.IsZero() && !settles(amount, settle, fee):
		f.problem(zmSettle, "the settlement amount %s is neither the amount %s nor that with the fee %s", settle, amount, written(fee))
		return settle, false
	}
	f.row.Line, f.row.Column, f.row.Currency, f.row.Amount = f.number, 1, "CNY", amount
	f.row.Fee = decimal.NullDecimal{Decimal: fee.Decimal.Neg(), Valid: fee.Valid}
	return settle, true
}

// ids fills the numbers. A refund has an order number of its own, which is the refund's number for the merchant; newer
// files give that of the payment beside it.
func (f *zmFile) ids() {
	r := &f.row
	r.ID, r.Key, r.Order = f.ident(zmQuery), f.ident(zmOrder), ""
	if r.Type != bill.Payment {
		r.Order = f.ident(zmOrigOrder)
	}
	if r.Key == "" {
		r.Key = r.Order
	}
	if r.Key == "" {
		r.Key = r.ID
	}
	if r.Key == "" {
		f.problem(zmOrder, "neither an order number nor a query number: the line cannot be matched")
	}
}

func (f *zmFile) when() {
	var err error
	if f.row.OccurredAt, err = f.years.instant(f.cut(f.line, zmTime), f.text(zmQuery)); err != nil {
		f.problem(zmTime, "%w", err)
	}
}

func written(d decimal.NullDecimal) string {
	if !d.Valid {
		return ""
	}
	return d.Decimal.String()
}
