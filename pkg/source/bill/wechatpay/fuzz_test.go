package wechatpay_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/wechatpay"
)

func FuzzTrade(f *testing.F) {
	f.Add([]byte(good27))
	f.Add([]byte("\uFEFF" + head24 + pay24("SO-1", "SUCCESS") + sums24 + "`1,`12.30,`0,`0.0,`0.07000"))
	f.Add([]byte(billtest.GB18030(f, good27)))
	f.Add([]byte(head27 + sums27 + "`0,`0.00,`0.00,`0.00,`0.00000,`0.00,`0.00"))
	f.Add([]byte("交易时间"))
	f.Add([]byte(good27[len(head27):]))
	f.Fuzz(func(t *testing.T, content []byte) {
		billtest.Fuzz(t, format(t, "wechatpay-trade"), content)
		billtest.Fuzz(t, format(t, "wechatpay-trade"), append([]byte(head27), content...))
	})
}

func FuzzFundFlow(f *testing.F) {
	f.Add([]byte(goodFund))
	f.Add([]byte(fundHead + fundSums + "`0,`0,`0,`0,`0"))
	f.Add([]byte(billtest.GB18030(f, goodFund)))
	f.Add([]byte(goodFund[len(fundHead):]))
	f.Fuzz(func(t *testing.T, content []byte) {
		billtest.Fuzz(t, format(t, "wechatpay-fundflow"), content)
		billtest.Fuzz(t, format(t, "wechatpay-fundflow"), append([]byte(fundHead), content...))
	})
}

// FuzzSplitRow puts a row together again.
func FuzzSplitRow(f *testing.F) {
	f.Add([]byte("`a,`b,c,``,`,``d"))
	f.Add([]byte("`"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 || line[0] != '`' {
			return
		}
		fields, begins := wechatpay.SplitRow(line)
		require.Equal(t, string(line), "`"+string(bytes.Join(fields, []byte(",`"))))
		require.Len(t, begins, len(fields))
		for i, b := range begins {
			require.True(t, bytes.HasPrefix(line[b:], fields[i]))
			require.NotContains(t, string(fields[i]), ",`")
		}
	})
}

// FuzzValue holds the fast road for amounts against the one for decimals.
func FuzzValue(f *testing.F) {
	for _, s := range []string{"0", "0.00", "-0.02000", "123456789012.12345", "1.123456", "+5", ".5", "5.", "-", "", "1e5", "9999999999999", "00012.30"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, present, err := wechatpay.ParseValue(b)
		if len(b) == 0 {
			require.NoError(t, err)
			require.False(t, present)
			return
		}
		want, wrong := bill.ParseMoney(string(b))
		require.Equal(t, wrong != nil, err != nil, "%q: %v, %v", b, err, wrong)
		if err == nil {
			require.True(t, want.Equal(got), "%q: %s, not %s", b, got, want)
			require.True(t, present)
		}
	})
}

func TestSumsAreExactBeyondInt64(t *testing.T) {
	t.Parallel()
	amounts := make([]string, 1000)
	for i := range amounts {
		amounts[i] = "9999999999999"
	}
	require.Equal(t, "9999999999999000.12345678", wechatpay.Sum(append(amounts, "0.12345678")...).String())
	require.Equal(t, "0", wechatpay.Sum("0.1", "0.2", "-0.30000").String())
}
