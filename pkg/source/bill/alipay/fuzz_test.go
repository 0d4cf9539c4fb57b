package alipay_test

import (
	"strings"
	"testing"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/alipay"
	"daybreak/pkg/source/bill/billtest"
)

func fuzz(f *testing.F, name string, seeds ...string) {
	f.Helper()
	for _, s := range seeds {
		f.Add([]byte(s))
		f.Add([]byte(billtest.GB18030(f, s)))
		f.Add([]byte(strings.ReplaceAll(s, ",", ";")))
	}
	f.Add([]byte("\"\"\t,\"\n#\n"))
	of := format(f, name)
	f.Fuzz(func(t *testing.T, content []byte) {
		billtest.Fuzz(t, of, content)
		for _, s := range alipay.Strangers() {
			_ = s.Fits(bill.NewHead(content[:min(len(content), 64<<10)]))
		}
	})
}

func FuzzTrade(f *testing.F)          { fuzz(f, "alipay-trade", tradeGood, tradeHead+trade29+"\n"+tradeFoot) }
func FuzzAccount(f *testing.F)        { fuzz(f, "alipay-signcustomer", accountGood) }
func FuzzTradeSummary(f *testing.F)   { fuzz(f, "alipay-trade-summary", tradeSummaryGood) }
func FuzzAccountSummary(f *testing.F) { fuzz(f, "alipay-signcustomer-summary", accountSummaryGood) }
