package wechatpay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill/billtest"
)

// goodFund is a payment with its fee, a refund with the fee given back, and a withdrawal, on an account that held 50.00.
const goodFund = fundHead +
	"`2025-03-02 09:15:01,`4200009001202503020000000001,`F1,`交易,`交易,`收入,`100.00,`150.00,`system,`,`SO-1001\n" +
	"`2025-03-02 09:15:01,`4200009001202503020000000001,`F2,`交易,`扣除交易手续费,`支出,`0.60,`149.40,`system,`结算手续费,`SO-1001\n" +
	"`2025-03-02 10:20:30,`50300009002025030200000001,`F3,`退款,`退款,`支出,`29.82,`119.58,`1700000001API,`退款总金额30.00元;含手续费0.18元,`RF-1\n" +
	"`2025-03-02 12:00:00,`,`F4,`充值/提现,`提现,`支出,`119.58,`0.00,`admin@1700000001,`,`\n" +
	fundSums + "`4,`1,`100.00,`3,`150.00\n"

func TestFundRows(t *testing.T) {
	t.Parallel()
	r := loads(t, fund(t, goodFund))
	require.Equal(t, []string{
		"payment SO-1001 SO-1001 F1 100 CNY - - 2025-03-02T01:15:01Z -",
		"fee SO-1001 SO-1001 F2 -0.6 CNY - - 2025-03-02T01:15:01Z -",
		"refund RF-1 RF-1 F3 -29.82 CNY - - 2025-03-02T02:20:30Z -",
		"payout F4 F4 F4 -119.58 CNY - - 2025-03-02T04:00:00Z -",
	}, r.Lines())
	require.Equal(t, map[string]string{
		"transaction_id": "50300009002025030200000001", "provider_type": "退款", "business": "退款", "balance": "119.58",
		"operator": "1700000001API", "note": "退款总金额30.00元;含手续费0.18元",
	}, r.Rows[2].Attr)
	require.Len(t, r.Controls, 5)
}

func TestFundTypes(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"`退款关闭,`收入": "reversal", "`退还交易手续费,`收入": "fee_refund", "`退回交易手续费,`收入": "fee_refund", "`充值,`收入": "topup",
	} {
		content := fundHead + "`2025-03-02 09:15:01,`42,`F1,`x," + words + ",`1.00,`1.00,`,`,`K\n" + fundSums + "`1,`1,`1.00,`0,`0\n"
		require.Equal(t, want, string(loads(t, fund(t, content)).Rows[0].Type), words)
	}
	content := fundHead + "`2025-03-02 09:15:01,`42,`F1,`分账,`分账,`支出,`1.00,`0,`,`,`K\n" + fundSums + "`1,`0,`0,`1,`1.00\n"
	require.Equal(t, "transfer", string(loads(t, fund(t, content)).Rows[0].Type))
}

func TestFundFullWidthBracketsAndCountsWithDecimals(t *testing.T) {
	t.Parallel()
	old := strings.NewReplacer("(元)", "（元）", "`4,`1,`100.00,`3,", "`4.0,`1.0,`100.00,`3.0,").Replace(goodFund)
	require.Equal(t, fund(t, goodFund).Lines(), loads(t, fund(t, old)).Lines())
}

func TestFundB63UnknownWords(t *testing.T) {
	t.Parallel()
	for words, content := range map[string]string{
		`"营销补贴" with 收入`:      strings.Replace(goodFund, "`交易,`收入", "`营销补贴,`收入", 1),
		`"退款" with 收入`:        strings.Replace(goodFund, "`退款,`支出", "`退款,`收入", 1),
		"known are 收入 and 支出": strings.Replace(goodFund, "`退款,`支出", "`退款,`不计", 1),
		"资金总额":                strings.Replace(goodFund, "收入金额,支出笔数", "资金总额,支出笔数", 1),
		"twice":               strings.Replace(goodFund, "收入金额,支出笔数", "收入笔数,支出笔数", 1),
		`not known "流水"`:      strings.NewReplacer("备注,", "流水,").Replace(goodFund),
	} {
		refused(t, fund(t, content), words)
	}
}

func TestFundChainOfBalances(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(goodFund, "\n")
	shuffled := func(order ...int) string {
		out := lines[0]
		for _, i := range order {
			out += lines[i]
		}
		return out + strings.Join(lines[5:], "")
	}
	loads(t, fund(t, shuffled(4, 3, 2, 1)))
	loads(t, fund(t, shuffled(2, 1, 3, 4)))
	edited := strings.Replace(goodFund, "`149.40", "`149.30", 1)
	refused(t, fund(t, edited), "do not form one chain, first near line 2")
	swapped := strings.NewReplacer("`0.60,", "`29.82,", "`29.82,", "`0.60,").Replace(goodFund)
	refused(t, fund(t, swapped), "do not form one chain")
}

func TestFundTwins(t *testing.T) {
	t.Parallel()
	twin := "`2025-03-02 09:15:01,`42,`F1,`交易,`交易,`收入,`5.00,`"
	content := fundHead + twin + "5.00,`,`,`K\n" + twin + "10.00,`,`,`K\n" + fundSums + "`2,`2,`10.00,`0,`0.00\n"
	require.Len(t, loads(t, fund(t, content)).Rows, 2, "B35: equal lines are two lines")
}

func TestFundDamage(t *testing.T) {
	t.Parallel()
	for words, content := range map[string]string{
		"E+27":                                   strings.Replace(goodFund, "50300009002025030200000001", "5.03E+27", 1),
		"12 fields, but the header has 11":       strings.Replace(goodFund, "结算手续费", "结算,`手续费", 1),
		"negative":                               strings.Replace(goodFund, "`29.82", "`-29.82", 1),
		"收入金额 = 100.01":                          strings.Replace(goodFund, "`1,`100.00,`3", "`1,`100.01,`3", 1),
		"the amount is empty":                    strings.Replace(goodFund, "`149.40", "`", 1),
		"no such date":                           strings.Replace(goodFund, "2025-03-02 12:00:00", "2025-03-32 12:00:00", 1),
		"cannot be matched":                      strings.Replace(goodFund, "`F4", "`", 1),
		"3 figures, but the totals have 4 names": strings.NewReplacer(",支出金额", "", ",`3,`150.00", "").Replace(goodFund),
		"do not give 支出金额":                       strings.NewReplacer(",支出金额", "", ",`150.00", "").Replace(goodFund),
	} {
		refused(t, fund(t, content), words)
	}
}

func TestFundEmptyDay(t *testing.T) {
	t.Parallel()
	require.Empty(t, loads(t, fund(t, fundHead+fundSums+"`0,`0,`0.00,`0,`0.00\n")).Rows)
}

func TestFundB55CutAnywhere(t *testing.T) {
	t.Parallel()
	whole := fund(t, goodFund).Lines()
	for n := range len(goodFund) {
		r := billtest.Read(t, billtest.Doc{Format: format(t, "wechatpay-fundflow"), Content: goodFund[:n]})
		if !r.Refused() {
			require.GreaterOrEqual(t, n, strings.LastIndex(goodFund, "`150")+4, "cut at byte %d it loads", n)
			require.Equal(t, whole, r.Lines())
		}
	}
}
