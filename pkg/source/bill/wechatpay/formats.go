package wechatpay

import (
	"strings"
	"time"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// beijing is the zone of every wall clock in the bills. The country has had no summer time since before WeChat Pay.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// charsets of the interfaces and of the merchant platform.
var charsets = []string{"utf-8", "gb18030"}

// Formats are the bills that this package reads.
func Formats() []*bill.Format {
	return []*bill.Format{
		{
			Name: "wechatpay-trade", Title: "WeChat Pay trade bill", Charsets: charsets,
			Attrs: tradeAttrs, Types: []bill.Type{bill.Payment, bill.Refund, bill.Reversal},
			Fits: fitsTrade, Read: readTrade,
		},
		{
			Name: "wechatpay-fundflow", Title: "WeChat Pay fund flow bill", Charsets: charsets,
			Attrs: fundAttrs, Types: fundTypes(),
			Fits: fitsFund, Read: readFund,
		},
	}
}

// Strangers are files of the same provider that are no bills.
func Strangers() []bill.Stranger {
	return []bill.Stranger{
		{
			Title:  "a bill of WeChat Pay for merchants outside mainland China",
			Advice: "its columns of two or three currencies per line are not supported yet; give the payments by csv or query",
			Fits:   func(h bill.Head) bool { n := firstNames(h); return isTradeLike(n) && isGlobal(n) },
		},
		{
			Title:  "a bill in the layout of WeChat Pay that an aggregator made",
			Advice: "read it with csv and name its columns, or ask for the bill of WeChat Pay itself",
			Fits:   func(h bill.Head) bool { n := firstNames(h); return isTradeLike(n) && isAggregator(n) },
		},
		{
			Title:  "the answer of WeChat Pay that names the link of a bill",
			Advice: "download what download_url points to, within five minutes, and give that file",
			Fits:   func(h bill.Head) bool { return h.Begins("{") && has(h, `"download_url"`) && has(h, `"hash_value"`) },
		},
		{
			Title:  "an error answer of WeChat Pay",
			Advice: "the request for the bill was refused: read its message and ask again",
			Fits: func(h bill.Head) bool {
				return h.Begins("<xml>") && has(h, "<return_code>") && has(h, "<return_msg>")
			},
			Explain: func(h bill.Head) string {
				_, says, _ := strings.Cut(h.Text, "<return_msg>")
				says, _, _ = strings.Cut(says, "</return_msg>")
				says = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(says), "<![CDATA["), "]]>")
				return text.Clip(says, 100)
			},
		},
	}
}

func has(h bill.Head, words string) bool { return strings.Contains(h.Text, words) }

// fitsTrade claims every document whose first line is nearly a header of trade bills, whichever delimiter it has by now.
func fitsTrade(h bill.Head) bool {
	n := firstNames(h)
	return isTradeLike(n) && !isGlobal(n) && !isAggregator(n)
}

func fitsFund(h bill.Head) bool {
	return known(firstNames(h), fundNeeded) >= 6
}

// isTradeLike asks for a third of the names, those of the personal export not among them.
func isTradeLike(names []string) bool {
	return known(names, tradeKnown()) >= 8 && known(names, []string{"微信订单号", "商户订单号", "公众账号ID"}) > 0
}

func isGlobal(names []string) bool {
	return known(names, []string{"标价币种", "标价金额", "用户支付币种", "用户支付金额", "结算币种", "结算币种金额", "退款结算币种"}) > 0
}

func isAggregator(names []string) bool {
	return known(names, []string{"第三方商户号", "第三方订单号", "平台订单号", "平台退款单号"}) > 0
}

// firstNames are the cells of the first line, folded. No header of a bill has more than 60.
func firstNames(h bill.Head) []string {
	line := h.FirstLine()
	if len(line) > 8<<10 || !strings.ContainsAny(line, ",;\t") {
		return nil
	}
	var out []string
	for cell := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == ';' || r == '\t' }) {
		if len(out) == 60 {
			break
		}
		out = append(out, bill.Fold(cell))
	}
	return out
}

// known counts the names that are on the list.
func known(names, list []string) int {
	n := 0
	for _, l := range list {
		for _, name := range names {
			if name == bill.Fold(l) {
				n++
				break
			}
		}
	}
	return n
}
