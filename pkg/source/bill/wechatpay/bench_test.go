package wechatpay_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
)

// BenchmarkTrade reads one row per iteration, through everything but the container.
func BenchmarkTrade(b *testing.B) {
	f := format(b, "wechatpay-trade")
	in, out := io.Pipe()
	go func() {
		_, err := io.WriteString(out, head27)
		block := make([]byte, 0, 1<<20)
		for i := 0; i < b.N && err == nil; i++ {
			block = fmt.Appendf(block, "`2025-03-02 %02d:%02d:%02d,`wxd000000000000001,`1700000001,`0,`,`4200009001202503%012d,`SO-%d,`oUser%d,`JSAPI,`SUCCESS,`OTHERS,`CNY,`%d.20,`0.00,`0,`0,`0.00,`0.00,`,`,`绿茶, 500g,`,`0.54000,`0.60%%,`%d.20,`0.00,`\n",
				i/3600%24, i/60%60, i%60, i, i, i, i%1000, i%1000)
			if len(block) > 1<<20-1<<10 || i == b.N-1 {
				_, err = out.Write(block)
				block = block[:0]
			}
		}
		out.CloseWithError(err)
	}()
	sink := &counter{}
	o := bill.NewOut(sink)
	b.ReportAllocs()
	err := f.Read(b.Context(), bill.NewDoc(in, f), o)
	require.ErrorIs(b, err, bill.ErrCut)
	require.Equal(b, b.N, sink.rows)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

type counter struct{ rows, problems int }

func (c *counter) Row(*bill.Row) error     { c.rows++; return nil }
func (c *counter) Problem(int, int, error) { c.problems++ }
