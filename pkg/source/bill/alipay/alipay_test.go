package alipay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/alipay"
	"daybreak/pkg/source/bill/billtest"
)

func format(t testing.TB, name string) *bill.Format {
	t.Helper()
	for _, f := range alipay.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no format %s", name)
	return nil
}

const (
	trade25 = "支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,商家实收（元）,支付宝红包（元）,集分宝（元）," +
		"支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注"
	trade29 = "支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,商家实收（元）,支付宝红包（元）,集分宝（元）," +
		"支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,卡消费金额（元）,退款批次号,服务费（元）,实收净额（元）,商户识别号,交易方式,备注,花呗分期手续费,花呗分期数"
	account12 = "账务流水号,业务流水号,商户订单号,商品名称,发生时间,对方账号,收入金额（+元）,支出金额（-元）,账户余额（元）,交易渠道,业务类型,备注"

	// A day with a payment of 100.30 in which the shop bore 0.30, two refunds of it, and a payment of 7.
	tradeRows = "2024030122001400000000000101\t,S0070\t,交易\t,茶 A,2024-03-01 00:00:00,2024-03-01 00:00:00,sh01\t,一号店\t,\t,\t,**某(138****00)\t,100.30,100.00,0.00,0.00,0.00,0.30,0.00,,0.00\t,0.00,\t,-0.60,0.00,\n" +
		"2024030122001400000000000101\t,S0070\t,退款\t,茶 A,2024-03-01 00:00:00,2024-03-01 09:10:11,sh01\t,一号店\t,\t,\t,**某(138****00)\t,-30.10,-30.00,0.00,0.00,0.00,-0.10,0.00,,0.00\t,0.00,R1\t,0.18,0.00,\n" +
		"2024030122001400000000000101\t,S0070\t,退款\t,茶 A,2024-03-01 00:00:00,2024-03-01 09:10:12,sh01\t,一号店\t,\t,\t,**某(138****00)\t,-30.10,-30.00,0.00,0.00,0.00,-0.10,0.00,,0.00\t,0.00,R2\t,0.18,0.00,\n" +
		"2024030122001400000000000102\t,0071\t,交易\t,茶 B,2024-02-29 23:59:58,2024-03-01 23:59:59,\t,\t,\t,\t,**某(138****00)\t,7.00,7.00,0.00,0.00,0.00,0.00,0.00,,0.00\t,0.00,\t,-0.04,-1.00,\n"
	tradeFoot = "#-----------------------------------------业务明细列表结束------------------------------------\n" +
		"#交易合计：2笔，商家实收共107.00元，商家优惠共0.30元\n" +
		"#退款合计：2笔，商家实收退款共-60.00元，商家优惠退款共-0.20元\n" +
		"#导出时间：[2024年03月02日 05:46:49]\n"
	tradeHead = "#支付宝业务明细查询\n#账号：[20880000000000010156]\n" +
		"#起始日期：[2024年03月01日 00:00:00]   终止日期：[2024年03月02日 00:00:00]\n" +
		"#-----------------------------------------业务明细列表----------------------------------------\n"
	tradeGood = tradeHead + trade25 + "\n" + tradeRows + tradeFoot

	accountHead = "#支付宝账务明细查询\n#账号：[20880000000000010156]\n" +
		"#起始日期：[2024年03月01日 00:00:00]   终止日期：[2024年03月02日 00:00:00]\n" +
		"#-----------------------------------------账务明细列表----------------------------------------\n"
	accountRows = "900006\t,2024030100001\t,\t,提现\t,2024-03-01 20:00:00,招商银行(1234)\t,0.00,500.00,1069.42,支付宝,提现,\n" +
		"900005\t,2024030122001\t,S0070\t,服务费\t,2024-03-01 10:00:02,支付宝\t,0.00,0.60,1569.42,支付宝,收费,\n" +
		"900004\t,2024030122001\t,S0070\t,退服务费\t,2024-03-01 10:00:01,支付宝\t,0.02,0.00,1570.02,支付宝,退费,\n" +
		"900003\t,2024030122001\t,S0070\t,茶 A\t,2024-03-01 10:00:00,某某 (a***@example.com)\t,0.00,30.00,1570.00,支付宝,退款（交易退款）,\n" +
		"900002\t,2024030122001\t,S0070\t,茶 A\t,2024-03-01 09:00:00,某某 (a***@example.com)\t,100.00,0.00,1600.00,支付宝,在线支付,\n"
	accountFoot = "#----------------------------------------账务明细列表结束-------------------------------------\n" +
		"#支出合计：3笔，共530.60元\n#收入合计：2笔，共100.02元\n#导出时间：[2024年03月02日 13:19:01]\n"
	accountGood = accountHead + account12 + "\n" + accountRows + accountFoot
)

var tradeLines = []string{
	"payment S0070 S0070 2024030122001400000000000101 100.3 CNY 0.6 - 2024-02-29T16:00:00Z -",
	"refund R1 S0070 2024030122001400000000000101/R1 -30.1 CNY -0.18 - 2024-03-01T01:10:11Z -",
	"refund R2 S0070 2024030122001400000000000101/R2 -30.1 CNY -0.18 - 2024-03-01T01:10:12Z -",
	"payment 0071 0071 2024030122001400000000000102 7 CNY 0.04 - 2024-03-01T15:59:59Z -",
}

var accountLines = []string{
	"payout 900006 900006 900006 -500 CNY - - 2024-03-01T12:00:00Z -",
	"fee S0070 S0070 900005 -0.6 CNY - - 2024-03-01T02:00:02Z -",
	"fee_refund S0070 S0070 900004 0.02 CNY - - 2024-03-01T02:00:01Z -",
	"refund S0070 S0070 900003 -30 CNY - - 2024-03-01T02:00:00Z -",
	"payment S0070 S0070 900002 100 CNY - - 2024-03-01T01:00:00Z -",
}

// loads checks that a document loads with those rows.
func loads(t *testing.T, name, content string, lines []string) billtest.Result {
	t.Helper()
	r := billtest.One(t, format(t, name), content)
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	require.Equal(t, lines, r.Lines())
	for _, c := range r.Controls {
		require.True(t, c.Counted.Valid, "%s is counted", c.Name)
		require.True(t, !c.Declared.Valid || c.Agrees(), "%s agrees", c.Name)
	}
	return r
}

// refused checks that a document does not load, and that what is said holds those words.
func refused(t *testing.T, name, content string, words ...string) {
	t.Helper()
	r := billtest.One(t, format(t, name), content)
	require.True(t, r.Refused(), "it loads: %v", r.Lines())
	said := strings.Join(r.Problems, "\n")
	if r.Err != nil {
		said += "\n" + r.Err.Error()
	}
	for _, w := range words {
		require.Contains(t, said, w)
	}
}

// with replaces a text that must be there, once.
func with(t testing.TB, content, old, put string) string {
	t.Helper()
	require.Contains(t, content, old)
	return strings.Replace(content, old, put, 1)
}
