package alipay

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

var tradeSummary = kind{
	title:   "支付宝业务汇总查询",
	list:    "业务汇总列表",
	needed:  []string{"交易订单总笔数", "退款订单总笔数", "订单金额（元）", "商家实收（元）"},
	known:   []string{"门店编号", "门店名称", "支付宝优惠（元）", "商家优惠（元）", "卡消费金额（元）", "服务费（元）", "分润（元）", "实收净额（元）"},
	telling: []string{"交易订单总笔数", "退款订单总笔数"},
}

var accountSummary = kind{
	title:   "支付宝账务汇总查询",
	list:    "账务汇总列表",
	needed:  []string{"类型", "收入笔数", "收入金额（+元）", "支出笔数", "支出金额（-元）"},
	known:   []string{"总金额（元）"},
	telling: []string{"类型", "收入笔数", "支出笔数"},
}

// figure is a column of a summary.
type figure struct {
	column string
	held   bool // against the rows of the list
	abs    bool // printed with either sign
}

// summaryControl names the figure of a total row among the controls of the bill.
func summaryControl(column string) string { return "合计 " + column }

// summary reads the rows of a summary and holds their sums against its total row, which it declares.
type summary struct {
	*sheet
	figures []figure
	at      []int // columns of the figures
	sums    []decimal.Decimal
	rows    int
	total   int // line of the total row, 0 while there is none
	totals  []decimal.Decimal
}

func readSummary(ctx context.Context, d *bill.Doc, out *bill.Out, k *kind, figures []figure) error {
	s, err := k.open(ctx, d, out)
	if err != nil {
		return err
	}
	y := &summary{sheet: s, figures: figures, sums: make([]decimal.Decimal, len(figures)), totals: make([]decimal.Decimal, len(figures))}
	for _, f := range figures {
		y.at = append(y.at, s.Header.At(f.column))
	}
	for {
		if err := s.row(ctx); errors.Is(err, io.EOF) {
			return y.finish()
		} else if err != nil {
			return err
		}
		y.read()
	}
}

// read takes a row.
func (y *summary) read() {
	if y.total > 0 {
		y.out.Problem(y.lines.Number(), 1, "a row behind the total row of line %d: %q", y.total, text.Clip(string(y.split.line), 120))
		return
	}
	into := y.sums
	if y.isTotal() {
		y.total, into = y.lines.Number(), y.totals
	} else {
		y.rows++
	}
	for i, f := range y.figures {
		v := y.MoneyOrNone(y.at[i]).Decimal
		if f.abs {
			v = v.Abs()
		}
		into[i] = into[i].Add(v)
	}
}

// isTotal reports whether the first cell that holds anything says so. A shop may have such a name in a later one.
func (y *summary) isTotal() bool {
	for i := range y.Header.Len() {
		if cell := y.Text(i); cell != "" {
			return strings.Trim(cell, " ：:") == "合计"
		}
	}
	return false
}

// finish holds the rows against the total row, and hands that over.
func (y *summary) finish() error {
	if y.total == 0 {
		return bill.Cut("the total row 合计 of the summary is missing")
	}
	for i, f := range y.figures {
		if y.at[i] < 0 {
			continue
		}
		if y.rows > 0 && !y.sums[i].Equal(y.totals[i]) {
			y.out.Problem(y.total, 0, "column %q: the total row says %s, but the rows above it sum to %s: the summary is cut or edited",
				f.column, y.totals[i], y.sums[i])
		}
		if f.held {
			y.out.Declare(summaryControl(f.column), y.total, y.totals[i])
		}
	}
	return nil
}
