package wechatpay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/wechatpay"
)

func format(t testing.TB, name string) *bill.Format {
	t.Helper()
	for _, f := range wechatpay.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no format %s", name)
	return nil
}

func trade(t testing.TB, content string) billtest.Result {
	t.Helper()
	return billtest.One(t, format(t, "wechatpay-trade"), content)
}

func fund(t testing.TB, content string) billtest.Result {
	t.Helper()
	return billtest.One(t, format(t, "wechatpay-fundflow"), content)
}

// loads asks for a bill without any problem.
func loads(t *testing.T, r billtest.Result) billtest.Result {
	t.Helper()
	require.NoError(t, r.Err)
	require.Empty(t, r.Problems)
	return r
}

// refused asks for a refusal that says so.
func refused(t *testing.T, r billtest.Result, words ...string) {
	t.Helper()
	require.True(t, r.Refused(), "it loads: %v", r.Lines())
	said := strings.Join(r.Problems, "\n")
	if r.Err != nil {
		said += "\n" + r.Err.Error()
	}
	for _, w := range words {
		require.Contains(t, said, w)
	}
}

// Headers of the generations.
const (
	head24 = "交易时间,公众账号ID,商户号,子商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,总金额,代金券或立减优惠金额,微信退款单号,商户退款单号,退款金额,代金券或立减优惠退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率\n"
	sums24 = "总交易单数,总交易额,总退款金额,总代金券或立减优惠退款金额,手续费总金额\n"
	head27 = "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注\n"
	sums27 = "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\n"
	head20 = "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,商品名称,商户数据包,手续费,费率,订单金额,费率备注\n"
	head29 = "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,退款申请时间,退款成功时间,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注\n"
	head18 = "交易时间,公众账号ID,商户号,子商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,总金额,代金券或立减优惠金额,商品名称,商户数据包,手续费,费率\n"

	fundHead = "记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额(元),账户结余(元),资金变更提交申请人,备注,业务凭证号\n"
	fundSums = "资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额\n"
)

// row writes a line of the dialect.
func row(cells ...string) string { return "`" + strings.Join(cells, ",`") + "\n" }

// good27 is a bill with a payment of 100.00 on which a merchant's coupon of 10.00 was used, two refunds of it of 30.00
// that settle with 27.00, and a payment of 8.20.
const good27 = head27 +
	"`2025-03-02 09:15:00,`wxd000000000000001,`1700000001,`0,`,`4200009001202503020000000001,`SO-1001,`oUser1,`JSAPI,`SUCCESS,`OTHERS,`CNY,`90.00,`10.00,`0,`0,`0.00,`0.00,`,`,`绿茶, 500g,`,`0.54000,`0.60%,`100.00,`0.00,`\n" +
	"`2025-03-02 10:20:30,`wxd000000000000001,`1700000001,`0,`,`4200009001202503020000000001,`SO-1001,`oUser1,`JSAPI,`REFUND,`OTHERS,`CNY,`0.00,`0.00,`50300009002025030200000001,`RF-1,`27.00,`3.00,`ORIGINAL,`SUCCESS,`绿茶, 500g,`,`-0.16000,`0.60%,`0.00,`30.00,`\n" +
	"`2025-03-02 10:20:31,`wxd000000000000001,`1700000001,`0,`,`4200009001202503020000000001,`SO-1001,`oUser1,`JSAPI,`REFUND,`OTHERS,`CNY,`0.00,`0.00,`50300009002025030200000002,`RF-2,`27.00,`3.00,`ORIGINAL,`PROCESSING,`绿茶, 500g,`,`-0.16000,`0.60%,`0.00,`30.00,`\n" +
	"`2025-03-02 23:59:59,`wxd000000000000001,`1700000001,`1700000009,`,`4200009001202503020000000002,`SO-1002,`oUser2,`NATIVE,`SUCCESS,`ICBC_DEBIT,`CNY,`8.20,`0.00,`0,`0,`0.00,`0.00,`,`,`\"红茶\",`k=v,`0.04920,`0.60%,`8.20,`0.00,`\n" +
	sums27 + "`4,`98.20,`54.00,`6.00,`0.26920,`108.20,`60.00\n"
