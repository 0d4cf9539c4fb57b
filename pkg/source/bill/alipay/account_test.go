package alipay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill/billtest"
)

func TestAccount(t *testing.T) {
	t.Parallel()
	r := loads(t, "alipay-signcustomer", accountGood, accountLines)
	require.Equal(t, map[string]string{"CNY": "-430.58"}, r.Totals())
	require.Equal(t, map[string]string{
		"trade_no": "2024030122001", "provider_type": "退款（交易退款）", "balance": "1570", "channel": "支付宝", "description": "", "source": "",
		"base_order": "", "business_order": "",
	}, r.Rows[3].Attr)
	require.Empty(t, r.Remarks)
	loads(t, "alipay-signcustomer", billtest.GB18030(t, accountGood), accountLines)
}

// Money that went is printed above zero in some files and below in others, never both in one.
func TestAccountSigns(t *testing.T) {
	t.Parallel()
	minus := strings.NewReplacer(",0.00,500.00,", ",0.00,-500.00,", ",0.00,0.60,", ",,-0.60,", ",0.00,30.00,", ",0,-30.00,", "共530.60元", "共-530.60元").Replace(accountGood)
	loads(t, "alipay-signcustomer", minus, accountLines)
	refused(t, "alipay-signcustomer", with(t, accountGood, ",0.00,30.00,", ",0.00,-30.00,"), `column "支出金额（-元）": -30 has another sign than the amounts above it`)
	refused(t, "alipay-signcustomer", with(t, accountGood, ",0.02,0.00,", ",-0.02,0.00,"), "-0.02 came in, which is below zero")
	refused(t, "alipay-signcustomer", with(t, accountGood, ",0.02,0.00,", ",0.02,0.02,"), `they are "0.02" and "0.02"`)
	refused(t, "alipay-signcustomer", with(t, accountGood, ",0.02,0.00,", ",0.00,,"), "one of 收入 and 支出 must hold an amount")
	refused(t, "alipay-signcustomer", with(t, accountGood, ",0.02,0.00,", ",0.02元,0.00,"), `amount "0.02元"`)
}

// B63 the type comes from the word and the direction; unknown words and contradictions are problems.
func TestAccountTypes(t *testing.T) {
	t.Parallel()
	in, out := ",100.00,0.00,", ",0.00,100.00,"
	for _, c := range []struct{ word, in, out string }{
		{"在线支付", "payment", "transfer"},
		{"交易付款", "payment", "transfer"},
		{"交易", "payment", "transfer"},
		{"退款", "transfer", "refund"},
		{"交易退款", "transfer", "refund"},
		{"退款(交易退款)", "transfer", "refund"},
		{"收费", "", "fee"},
		{"服务费", "", "fee"},
		{"退费", "fee_refund", ""},
		{"退收费", "fee_refund", ""},
		{"提现", "payout", "payout"},
		{"充值", "topup", ""},
		{"转账", "transfer", "transfer"},
		{"红包退回", "transfer", "transfer"},
		{"分账", "transfer", "transfer"},
		{"交易分账", "transfer", "transfer"},
		{"批量代发到账户", "transfer", "transfer"},
		{"保证金", "release", "hold"},
		{"其它", "adjustment", "adjustment"},
		{"其他", "adjustment", "adjustment"},
	} {
		for amounts, want := range map[string]string{in: c.in, out: c.out} {
			row := "900001\t,1\t,S1\t,x\t,2024-03-01 09:00:00,\t" + amounts + "1600.00,支付宝," + c.word + ",\n"
			foot := "#--账务明细列表结束--\n#支出合计：0笔，共0.00元\n#收入合计：1笔，共100.00元\n"
			sign := ""
			if amounts == out {
				foot, sign = "#--账务明细列表结束--\n#支出合计：1笔，共100.00元\n#收入合计：0笔，共0.00元\n", "-"
			}
			content := accountHead + account12 + "\n" + row + foot
			if want == "" {
				refused(t, "alipay-signcustomer", content, "contradict each other")
				continue
			}
			loads(t, "alipay-signcustomer", content, []string{want + " S1 S1 900001 " + sign + "100 CNY - - 2024-03-01T01:00:00Z -"})
		}
	}
	refused(t, "alipay-signcustomer", with(t, accountGood, ",支付宝,提现,", ",支付宝,余利宝申购,"), `6:86: column "业务类型": "余利宝申购" is not known`)
	refused(t, "alipay-signcustomer", with(t, accountGood, ",支付宝,提现,", ",支付宝,,"), `"" is not known`)
}

// B2 the export of shops has more columns in another order; the one of eight columns has no types.
func TestAccountHeaderGenerations(t *testing.T) {
	t.Parallel()
	shop := accountHead + "账务流水号,业务流水号,商品名称,发生时间,收入金额(+元),支出金额(-元),账户余额(元),业务类型,备注,商户订单号,对方账号,业务描述,业务基础订单号,业务订单号,业务账单来源\n" +
		"900001\t,2024030122001\t,气球\t,2024-03-01 09:00:00\t,100.00,0.00,1600.00,交易付款\t,\t,T200P51\t,\t,0010001|交易收款-交易收款\t,51\t,M{51}|S{51}\t,商家中心\t\n" +
		"#--账务明细列表结束--\n#支出合计：0笔，共0.00元\n#收入合计：1笔，共100.00元\n#导出时间：[2024年03月02日 13:19:01]\n"
	r := loads(t, "alipay-signcustomer", shop, []string{"payment T200P51 T200P51 900001 100 CNY - - 2024-03-01T01:00:00Z -"})
	require.Equal(t, "51", r.Rows[0].Attr["base_order"])
	require.Equal(t, "0010001|交易收款-交易收款", r.Rows[0].Attr["description"])
	require.Equal(t, "商家中心", r.Rows[0].Attr["source"])

	eight := "#支付宝账务明细查询\n账务流水号,商户订单号,业务流水号,收入金额（+元）,支出金额（-元）,账户余额（元）,发生时间,备注\n" +
		"900002,S1,B1,88.00,,100.00,2024-03-01 10:00:00,订单收款\n900003,S1,B1,,8.00,92.00,2024-03-01 11:00:00,退款\n" +
		"#--账务明细列表结束--,,,,,,,\n#支出合计：1笔，共8.00元,,,,,,,\n#收入合计：1笔，共88.00元,,,,,,,\n#导出时间：[2024年03月02日 12:51:06],,,,,,,\n"
	r = loads(t, "alipay-signcustomer", eight, []string{
		"bank_credit S1 S1 900002 88 CNY - - 2024-03-01T02:00:00Z -", "bank_debit S1 S1 900003 -8 CNY - - 2024-03-01T03:00:00Z -",
	})
	require.Len(t, r.Remarks, 2)
	require.Contains(t, r.Remarks[1], "no column 业务类型")

	refused(t, "alipay-signcustomer", with(t, accountGood, ",备注", ",账户"), `not known "账户"`)
	refused(t, "alipay-signcustomer", with(t, accountGood, "商户订单号", "备注二"), `missing "商户订单号"`, `not known "备注二"`)
}

// The running balance is followed in the direction in which the list runs; a break is a remark with both figures.
func TestAccountBalance(t *testing.T) {
	t.Parallel()
	broken := with(t, accountGood, ",1570.02,", ",1570.03,")
	r := loads(t, "alipay-signcustomer", broken, accountLines)
	require.Equal(t, []string{"the running balance (newest first) does not follow from row to row in 2 of 4 places, first in line 8: 1570.02 is expected, the bill says 1570.03; " +
		"its totals agree with its rows, but money may have moved that it does not list, such as fees"}, r.Remarks)

	forward := ""
	for line := range strings.Lines(accountRows) {
		forward = line + forward
	}
	oldest := accountHead + account12 + "\n" + forward + accountFoot
	r = billtest.One(t, format(t, "alipay-signcustomer"), oldest)
	require.False(t, r.Refused())
	require.Empty(t, r.Remarks)
	r = billtest.One(t, format(t, "alipay-signcustomer"), with(t, oldest, ",1569.42,", ",1569.43,"))
	require.Contains(t, r.Remarks[0], "(oldest first) does not follow from row to row in 2 of 4 places, first in line 9: 1569.42 is expected, the bill says 1569.43")
}

// What was damaged is refused.
func TestAccountDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, put, want string }{
		"B9 an id as a number":     {"2024030100001\t", "2.0240301E+12\t", `column "业务流水号": "2.0240301E+12" is a number as a spreadsheet rounds it`},
		"an empty id":              {"900006\t", "\t", "the number of the movement is empty"},
		"B52 outside":              {"2024-03-01 20:00:00", "2024-03-02 00:00:00", "outside the period"},
		"B64 a comma":              {"茶 A", "茶,A", "13 fields, but the header has 12"},
		"an edited amount":         {",100.00,0.00,", ",100.01,0.00,", "收入合计 金额 = 100.02, but its rows give 100.03"},
		"an edited count":          {"支出合计：3笔", "支出合计：4笔", "支出合计 笔数 = 4, but its rows give 3"},
		"no totals":                {"#支出合计：3笔，共530.60元\n", "", "the line #支出合计 behind the list is missing"},
		"totals of the other list": {"#支出合计：3笔，共530.60元\n", "#交易合计：3笔，商家实收共530.60元，商家优惠共0.00元\n", "is not understood"},
		"totals that differ":       {"#支出合计：3笔，共530.60元\n", "#支出合计：3笔，共530.60元\n#支出合计：3笔，共530.61元\n", "declares 支出合计 金额 twice"},
		"a balance as text":        {",1069.42,", ",?,", `column "账户余额（元）": amount "?"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, "alipay-signcustomer", with(t, accountGood, c.old, c.put), c.want)
		})
	}
}
