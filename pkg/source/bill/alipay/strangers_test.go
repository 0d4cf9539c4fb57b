package alipay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/alipay"
	"daybreak/pkg/source/bill/billtest"
)

// B65 other files of Alipay are known by what they hold, and none of them is a bill.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for content, title := range map[string]string{
		"序号,入账时间,支付宝交易号,支付宝流水号,商户订单号,账务类型,收入（+元）,支出（-元）\n":                               "exported by hand",
		"# 某某\n支付宝交易号,商户订单号,交易创建时间,付款时间,类型,交易对方,金额（元）,收/支,交易状态,资金状态\n":                   "of the old kind",
		`{"alipay_x_response":{"code":"10000","bill_download_url":"http://x.example/"}}`: "names the link",
		"#支付宝营销活动明细查询\n#账号：[1]\n":                                                        "of another kind",
		billtest.GB18030(t, "#支付宝营销活动汇总查询\r\n"):                                          "of another kind",
		tradeGood: "", accountGood: "", tradeSummaryGood: "", accountSummaryGood: "", "": "", "{": "",
	} {
		said := ""
		h := bill.NewHead([]byte(content))
		for _, s := range alipay.Strangers() {
			require.NotEmpty(t, s.Advice)
			if s.Fits(h) && said == "" {
				said = s.Title
			}
		}
		if title == "" {
			require.Empty(t, said, "%.40q", content)
			continue
		}
		require.Contains(t, said, title)
		for _, f := range alipay.Formats() {
			require.False(t, f.Fits(h), "%s fits %.40q", f.Name, content)
		}
	}
}
