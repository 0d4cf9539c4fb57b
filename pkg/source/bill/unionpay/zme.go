package unionpay

import (
	"context"

	"daybreak/pkg/source/bill"
)

var zmeAttrs = []string{
	"provider_type", // 交易代码, such as E74
	"reason",        // 差错原因码
	"trace_no",      // 系统跟踪号 of the line
	"orig_trace_no", // 系统跟踪号 of the transaction that the line corrects
	"orig_time",     // its time, MMDDhhmmss as it stands
	"settle_amount", // 结算金额, signed
	"merchant_id",   // 商户代码
}

type zmeFile struct {
	lines
	years *years
	row   bill.Row
}

func readZME(ctx context.Context, d *bill.Doc, out *bill.Out) error {
	f := &zmeFile{
		lines: lines{layout: zme, in: d.Raw, out: out},
		years: newYears(d.Zone, d.Day),
		row:   bill.Row{Attrs: make([]string, len(zmeAttrs)), Type: bill.Adjustment, Currency: "CNY", Column: 1},
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
		if err := out.Row(&f.row); err != nil {
			return err
		}
	}
}

// read fills the row from the line, and notes what is wrong with it. Every line is an adjustment: the codes of disputes are
// not published, so that only the letter of the settlement amount says which way the money went.
func (f *zmeFile) read() bool {
	r := &f.row
	code := f.text(zmeCode)
	if !isCode([]byte(code)) {
		f.problem(zmeCode, "transaction code %q: want a letter and two digits", code)
		return false
	}
	amount, ok1 := f.fen(zmeAmount)
	fee, ok2 := f.lettered(zmeFee)
	settled, ok3 := f.lettered(zmeSettle)
	if !ok1 || !ok2 || !ok3 {
		return false
	}
	settle := settled.Decimal
	if settle.IsZero() {
		f.problem(zmeSettle, "the settlement amount (结算金额) is blank or zero: nothing says which way the money of %s went", code)
		return false
	}
	if settle.IsNegative() {
		amount = amount.Neg()
	}
	if !settles(amount, settle, fee) {
		f.problem(zmeSettle, "the settlement amount %s is neither the amount %s nor that with the fee %s", settle, amount, written(fee))
		return false
	}
	r.Line, r.Amount, r.Fee = f.number, amount, fee
	r.Fee.Decimal = fee.Decimal.Neg()
	f.ids()
	for i, v := range [...]string{
		code, f.text(zmeReason), f.text(zmeTrace), f.ident(zmeOrigTrace), f.ident(zmeOrigTime), settle.String(), f.text(zmeMerchant),
	} {
		r.Attrs[i] = v
	}
	return true
}

// ids fills the number and the time. The file has no order number: a line is known by trace number and time, and finds the
// transaction that it corrects by those of that one.
func (f *zmeFile) ids() {
	at, err := f.years.instant(f.cut(f.line, zmeTime), "")
	if err != nil {
		f.problem(zmeTime, "%w", err)
	}
	f.row.OccurredAt = at
	f.row.ID = f.text(zmeTrace) + "-" + f.text(zmeTime)
	f.row.Key, f.row.Order = f.row.ID, ""
	if !digits(f.cut(f.line, zmeTrace)) {
		f.problem(zmeTrace, "trace number %q: want six digits", f.text(zmeTrace))
	}
}
