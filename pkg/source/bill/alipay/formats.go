package alipay

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"daybreak/pkg/source/bill"
)

var charsets = []string{"utf-8", "gb18030"}

// Formats are the bills that this package reads.
func Formats() []*bill.Format {
	return []*bill.Format{
		{
			Name: "alipay-trade", Title: "Alipay trade bill (业务明细)", Charsets: charsets, Attrs: tradeAttrs,
			Types: []bill.Type{bill.Payment, bill.Refund}, Fits: tradeList.fits, Read: readTrade,
		},
		{
			Name: "alipay-trade-summary", Title: "Alipay trade summary (业务明细汇总)", Charsets: charsets,
			Companion: "alipay-trade", Fits: tradeSummary.fits, Read: reader(&tradeSummary, tradeFigures),
		},
		{
			Name: "alipay-signcustomer", Title: "Alipay account bill (账务明细)", Charsets: charsets, Attrs: accountAttrs,
			Types: accountTypes(), Fits: accountList.fits, Read: readAccount,
		},
		{
			Name: "alipay-signcustomer-summary", Title: "Alipay account summary (账务明细汇总)", Charsets: charsets,
			Companion: "alipay-signcustomer", Fits: accountSummary.fits, Read: reader(&accountSummary, accountFigures),
		},
	}
}

func reader(k *kind, figures []figure) func(context.Context, *bill.Doc, *bill.Out) error {
	return func(ctx context.Context, d *bill.Doc, out *bill.Out) error {
		return readSummary(ctx, d, out, k, figures)
	}
}

// Strangers are files of Alipay that are no bills.
func Strangers() []bill.Stranger {
	return []bill.Stranger{
		{
			Title: "an account list that was exported by hand from Alipay's merchant pages (入账时间, 账务类型)",
			Advice: "download the account bill (账务明细, bill type signcustomer) and read it as alipay-signcustomer, " +
				"or describe this file with csv: and its columns",
			Fits: hasHeader("支付宝流水号", "账务类型", "入账时间"),
		},
		{
			Title: "an Alipay trade list of the old kind (交易创建时间, 收/支, 资金状态)",
			Advice: "download the trade bill (业务明细, bill type trade) and read it as alipay-trade, " +
				"or describe this file with csv: and its columns",
			Fits: hasHeader("交易创建时间", "收/支", "资金状态"),
		},
		{
			Title:  "the answer of Alipay that names the link of a bill",
			Advice: "download what bill_download_url points to within half a minute, and give that file",
			Fits:   func(h bill.Head) bool { return h.Begins("{") && strings.Contains(h.Text, `"bill_download_url"`) },
		},
		{
			Title:  "a list of Alipay of another kind than trade (业务明细) and account (账务明细)",
			Advice: "download the trade or the account bill, or describe this file with csv: and its columns",
			Fits:   isOtherList,
		},
	}
}

var otherTitle = regexp.MustCompile(`^支付宝\p{Han}+(?:明细|汇总|账单)查询$`)

// isOtherList tells a title of Alipay that is of none of the formats.
func isOtherList(h bill.Head) bool {
	for _, line := range h.Lines(headLines) {
		if t := bare(line); strings.HasPrefix(strings.TrimLeft(line, ",;\t\" "), "#") && otherTitle.MatchString(t) {
			return !slices.Contains(titles(), t)
		}
	}
	return false
}

// hasHeader tells a document by names of columns near its beginning. The first is looked for as it stands, to be quick.
func hasHeader(names ...string) func(bill.Head) bool {
	return func(h bill.Head) bool {
		var s splitter
		for _, line := range h.Lines(headLines) {
			if !strings.Contains(line, names[0]) {
				continue
			}
			for _, delim := range delimiters {
				s.delim = delim
				if bill.NewHeader(s.split([]byte(line), 0)).Has(names...) {
					return true
				}
			}
		}
		return false
	}
}
