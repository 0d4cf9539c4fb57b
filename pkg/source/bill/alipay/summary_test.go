package alipay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill/billtest"
)

const (
	tradeSummaryGood = "#支付宝业务汇总查询\n#账号：[20880000000000010156]\n" +
		"#起始日期：[2024年03月01日 00:00:00]   终止日期：[2024年03月02日 00:00:00]\n" +
		"#-----------------------------------------业务汇总列表----------------------------------------\n" +
		"门店编号,门店名称,交易订单总笔数,退款订单总笔数,订单金额（元）,商家实收（元）,支付宝优惠（元）,商家优惠（元）,卡消费金额（元）,服务费（元）,分润（元）,实收净额（元）\n" +
		"sh01\t,一号店\t,1,2,40.10,40.00,0.00,0.10,0.00,-0.24,0.00,39.76\n" +
		"\t,\t,1,0,7.00,7.00,0.00,0.00,0.00,-0.04,-1.00,5.96\n" +
		"合计\t,\t,2,2,47.10,47.00,0.00,0.10,0.00,-0.28,-1.00,45.72\n" +
		"#----------------------------------------业务汇总列表结束-------------------------------------\n" +
		"#导出时间：[2024年03月02日 05:46:49]\n"
	accountSummaryGood = "#支付宝账务汇总查询\n#账号：[20880000000000010156]\n" +
		"#起始日期：[2024年03月01日 00:00:00]   终止日期：[2024年03月02日 00:00:00]\n" +
		"#-----------------------------------------账务汇总列表----------------------------------------\n" +
		"类型,收入笔数,收入金额（+元）,支出笔数,支出金额（-元）,总金额（元）\n" +
		"在线支付\t,1,100.00,0,0.00,100.00\n收费\t,1,0.02,1,-0.60,-0.58\n提现\t,0,0.00,2,-530.00,-530.00\n" +
		"合计\t,2,100.02,3,-530.60,-430.58\n" +
		"#----------------------------------------账务汇总列表结束-------------------------------------\n" +
		"#导出时间：[2024年03月02日 05:46:49]\n"
)

// zipped reads a list and its summary as two entries of one file.
func zipped(t testing.TB, name, list, summary string) billtest.Result {
	t.Helper()
	a := billtest.Doc{Format: format(t, name), Content: list}
	b := billtest.Doc{Format: format(t, name+"-summary"), Content: summary}
	require.Equal(t, name, b.Format.Companion)
	r, other := billtest.Read(t, a, b), billtest.Read(t, b, a)
	require.Equal(t, r.Refused(), other.Refused(), "the order of the entries")
	return r
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	for _, r := range []billtest.Result{
		zipped(t, "alipay-trade", tradeGood, tradeSummaryGood),
		zipped(t, "alipay-trade", billtest.GB18030(t, tradeGood), billtest.GB18030(t, tradeSummaryGood)),
		zipped(t, "alipay-signcustomer", accountGood, accountSummaryGood),
		zipped(t, "alipay-signcustomer", accountGood, strings.NewReplacer("-530.60,", "530.60,", "-0.60,", "0.60,", "-530.00,-", "530.00,-").Replace(accountSummaryGood)),
	} {
		require.NoError(t, r.Err)
		require.Empty(t, r.Problems)
		require.NotEmpty(t, r.Rows)
		for _, c := range r.Controls {
			require.True(t, c.Agrees(), "%s", c.Name)
		}
	}
}

func TestSummaryOfAnotherDay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ format, list, summary, old, put, want string }{
		"trade count":   {"alipay-trade", tradeGood, tradeSummaryGood, "2,2,47.10", "2,2,47.10", ""},
		"refund count":  {"alipay-trade", tradeGood, tradeSummaryGood, "1,0,7.00", "1,1,7.00", `column "退款订单总笔数": the total row says 2, but the rows above it sum to 3`},
		"total row":     {"alipay-trade", tradeGood, tradeSummaryGood, "2,2,47.10,47.00", "2,2,47.10,48.00", "declares 合计 商家实收（元） = 48, but its rows give 47"},
		"unheld column": {"alipay-trade", tradeGood, tradeSummaryGood, "45.72", "45.73", `column "实收净额（元）": the total row says 45.73, but the rows above it sum to 45.72`},
		"account":       {"alipay-signcustomer", accountGood, accountSummaryGood, "合计\t,2,100.02", "合计\t,2,100.03", "declares 合计 收入金额（+元） = 100.03, but its rows give 100.02"},
		"type row":      {"alipay-signcustomer", accountGood, accountSummaryGood, "收费\t,1,0.02,1", "收费\t,1,0.02,2", `column "支出笔数": the total row says 3, but the rows above it sum to 4`},
		"no total row":  {"alipay-trade", tradeGood, tradeSummaryGood, "合计\t,", "合计店\t,", "the total row 合计 of the summary is missing"},
		"row behind":    {"alipay-trade", tradeGood, tradeSummaryGood, "#----------------------------------------业务汇总列表结束", "x,,1,2,3,4,5,6,7,8,9,1\n#---业务汇总列表结束", "a row behind the total row of line 8"},
		"a new column":  {"alipay-trade", tradeGood, tradeSummaryGood, "卡消费金额（元）", "卡（元）", `not known "卡（元）"`},
		"a word":        {"alipay-trade", tradeGood, tradeSummaryGood, "1,0,7.00", "1,零,7.00", `amount "零"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := zipped(t, c.format, c.list, with(t, c.summary, c.old, c.put))
			if c.want == "" {
				require.False(t, r.Refused())
				return
			}
			said := strings.Join(r.Problems, "\n")
			if r.Err != nil {
				said += r.Err.Error()
			}
			require.Contains(t, said, c.want)
		})
	}
}

// A shop whose name says total is a row of its own.
func TestSummaryShopNames(t *testing.T) {
	t.Parallel()
	r := zipped(t, "alipay-trade", tradeGood, with(t, tradeSummaryGood, "sh01\t,一号店", "sh01\t,合计"))
	require.False(t, r.Refused(), "%v", r.Problems)
}

// B55 a summary that is cut before the end of its list is refused together with the list.
func TestCutSummaries(t *testing.T) {
	t.Parallel()
	end := strings.Index(tradeSummaryGood, "业务汇总列表结束") + len("业务汇总列表结束")
	for n := range end {
		r := billtest.Read(t, billtest.Doc{Format: format(t, "alipay-trade"), Content: tradeGood}, billtest.Doc{Format: format(t, "alipay-trade-summary"), Content: tradeSummaryGood[:n]})
		require.True(t, r.Refused(), "cut at %d", n)
	}
}
