package alipay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill/alipay"
	"daybreak/pkg/source/bill/billtest"
)

// The bill of another day is refused, also when it is empty: beside a quiet ledger it would make a wrong day look right.
// A bill of a month serves each of its days.
func TestBillOfAnotherDay(t *testing.T) {
	t.Parallel()
	day := "#支付宝业务明细查询\n#账号：[20881234567890120156]\n#起始日期：[2026年10月01日 00:00:00]   终止日期：[2026年10月02日 00:00:00]\n#-----业务明细列表----\n" +
		"支付宝交易号,商户订单号,业务类型,完成时间,订单金额（元）,商家实收（元）,商家优惠（元）,退款批次号,服务费（元）\n" +
		"#-----业务明细列表结束----\n#交易合计：0笔，商家实收共0.00元，商家优惠共0.00元\n#退款合计：0笔，商家实收退款共0.00元，商家优惠退款共0.00元\n"
	month := strings.Replace(day, "10月02日", "11月01日", 1)
	for _, c := range []struct {
		content string
		day     model.Day
		refused bool
	}{
		{day, model.NewDay(2026, 10, 1), false},
		{day, model.NewDay(2026, 9, 30), true},
		{day, model.NewDay(2026, 10, 2), true},
		{month, model.NewDay(2026, 10, 31), false},
		{month, model.NewDay(2026, 11, 1), true},
	} {
		r := billtest.Read(t, billtest.Doc{Format: alipay.Formats()[0], Content: c.content, Day: c.day})
		require.NoError(t, r.Err)
		require.Equal(t, c.refused, r.Refused(), "%s: %v", c.day, r.Problems)
		if c.refused {
			require.Contains(t, r.Problems[0], "3:0: the file covers")
			require.Contains(t, r.Problems[0], c.day.String())
		}
	}
}
