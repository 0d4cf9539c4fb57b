package recon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

const noBillAnswer = `{"code": "NO_STATEMENT_EXIST", "message": "the bill does not exist"}`

// billBook is a job whose channel is a provider's bill, days long, with no file yet.
func billBook(t *testing.T, days int) *bundle {
	t.Helper()
	dir := t.TempDir()
	book := &scenario.Book{Config: filepath.Join(dir, "daybreak.yaml"), Jobs: []string{"wechat"}, First: model.NewDay(2026, 10, 1)}
	book.Last = book.First.Add(days - 1)
	require.NoError(t, os.WriteFile(book.Config, []byte(`jobs:
  - name: wechat
    timezone: Asia/Shanghai
    start: 2026-10-01
    calendar: daily
    due: { after: 1, at: "01:00", patience: 240h }
    order: strict
    ledger:
      csv: { path: "ledger-{date}.csv", columns: { key: no, amount: amount, currency: =CNY } }
    channel:
      bill: { format: wechatpay-trade, path: "bill-{date:20060102}.csv" }
`), 0o600))
	return open(t, dir, book)
}

func (b *bundle) put(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(b.dir, name)
	require.NoError(t, os.WriteFile(path+".part", []byte(content), 0o600))
	require.NoError(t, os.Rename(path+".part", path))
}

// nudge publishes a day again, as the auditor does.
func (b *bundle) nudge(t *testing.T, job string, day model.Day) {
	t.Helper()
	subject, err := bus.DayNudge(job, day.String())
	require.NoError(t, err)
	_, err = b.bus.Publish(t.Context(), bus.Message{Subject: subject, ID: "nudge/" + job + "/" + day.String() + "/source/changed"})
	require.NoError(t, err)
}

// wechatBill is the bill of a day with payments, one per order number and amount.
func wechatBill(day model.Day, payments ...string) string {
	var rows strings.Builder
	cents := 0
	for i, p := range payments {
		no, amount, _ := strings.Cut(p, "=")
		var yuan, rest int
		_, _ = fmt.Sscanf(amount, "%d.%d", &yuan, &rest)
		cents += yuan*100 + rest
		fmt.Fprintf(&rows, "`%s 08:00:%02d,`wxa,`1900000001,`0,`,`42000020260000000000%08d,`%s,`oOne,`JSAPI,`SUCCESS,`OTHERS,`CNY,`%s,`0.00,`0,`0,`0.00,`0.00,`,`,`tea,`,`0.00000,`0.60%%,`%s,`0.00,`\n", day, i, i, no, amount, amount)
	}
	total := fmt.Sprintf("%d.%02d", cents/100, cents%100)
	return "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注\n" +
		rows.String() +
		"总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\n" +
		fmt.Sprintf("`%d,`%s,`0.00,`0.00,`0.00000,`%s,`0.00\n", len(payments), total, total)
}

// A provider's answer that there is no bill makes an empty day only when the ledger has nothing either (bug B4). With
// entries in the ledger the day waits, and says why; the bill that comes in its place later is taken without a hand.
func TestNoBill(t *testing.T) {
	t.Parallel()
	b := billBook(t, 2)
	first, second := b.book.First, b.book.Last
	b.put(t, "ledger-2026-10-01.csv", "no,amount\n")
	b.put(t, "bill-20261001.csv", noBillAnswer)
	b.put(t, "ledger-2026-10-02.csv", "no,amount\nA1,10.00\n")
	b.put(t, "bill-20261002.csv", noBillAnswer)
	b.start(t, nil)
	b.dueAll(t)
	marks := b.await(t, "wechat", func(m map[model.Day]model.Watermark) bool { return m[second].Status == model.Waiting })
	require.Equal(t, model.Done, marks[first].Status)
	require.Contains(t, marks[second].Error, `channel: the provider answered "NO_STATEMENT_EXIST", that there is no bill, but the ledger has CNY 1 entry 10`)
	empty, ok, err := b.store.Current(t.Context(), "wechat", first)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "NO_STATEMENT_EXIST", empty.Seals[model.Channel].NoBill)
	require.Zero(t, empty.Seals[model.Channel].Totals.Count())
	_, ok, err = b.store.Current(t.Context(), "wechat", second)
	require.NoError(t, err)
	require.False(t, ok, "nothing is committed on the word of an answer that the ledger contradicts")
	b.put(t, "bill-20261002.csv", wechatBill(second, "A1=10.00"))
	b.awaitDone(t, "wechat")
	require.Empty(t, b.diffs(t, "wechat"))
}

// A bill that is cut never loads, not even in part; the whole one is taken when the auditor sees that the file has changed,
// which it says by a nudge. A re-issued
// bill under the same name is a new snapshot: its version replaces the old one.
func TestCutAndReissuedBill(t *testing.T) {
	t.Parallel()
	b := billBook(t, 1)
	day := b.book.First
	whole := wechatBill(day, "A1=10.00", "A2=20.00", "A3=30.50")
	b.put(t, "ledger-2026-10-01.csv", "no,amount\nA1,10.00\nA2,20.00\nA3,30.50\n")
	b.put(t, "bill-20261001.csv", whole[:strings.Index(whole, "总交易单数")])
	b.start(t, nil)
	b.dueAll(t)
	marks := b.await(t, "wechat", func(m map[model.Day]model.Watermark) bool { return m[day].Status == model.Failed })
	require.Contains(t, marks[day].Error, "bill-20261001.csv")
	_, ok, err := b.store.Current(t.Context(), "wechat", day)
	require.NoError(t, err)
	require.False(t, ok)
	b.put(t, "bill-20261001.csv", whole)
	b.nudge(t, "wechat", day)
	marks = b.awaitDone(t, "wechat")
	require.Empty(t, b.diffs(t, "wechat"))
	before, _, err := b.store.Current(t.Context(), "wechat", day)
	require.NoError(t, err)

	b.put(t, "bill-20261001.csv", wechatBill(day, "A1=10.00", "A2=20.01"))
	w := b.awaitAnswer(t, "wechat", day, b.replay(t, "wechat", day))
	require.Equal(t, model.Done, w.Status, w.Error)
	require.Equal(t, marks[day].Version+1, w.Version)
	after, _, err := b.store.Current(t.Context(), "wechat", day)
	require.NoError(t, err)
	require.NotEqual(t, before.Seals[model.Channel].Sources[0].SHA256, after.Seals[model.Channel].Sources[0].SHA256)
	kinds := map[string]model.Kind{}
	for _, f := range b.diffs(t, "wechat") {
		kinds[f.Key] = f.Kind
	}
	require.Equal(t, map[string]model.Kind{"A2": model.KindAmount, "A3": model.KindMissingInChannel}, kinds)
}
