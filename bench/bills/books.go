package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
)

const billHeader = "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额," +
	"微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注"

// writeBooks writes the same payments and refunds as a bill, plain and packed, and as CSV.
func writeBooks(dir string, rows int) error {
	packed, err := os.Create(filepath.Join(dir, "bill.csv.gz"))
	if err != nil {
		return err
	}
	defer func() { _ = packed.Close() }()
	z := gzip.NewWriter(packed)
	bill, err := newBook(filepath.Join(dir, "bill.csv"), z)
	if err != nil {
		return err
	}
	plain, err := newBook(filepath.Join(dir, "plain.csv"))
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(bill, "%s\r\n", billHeader)
	_, _ = fmt.Fprintf(plain, "%s,amount\n", billHeader)
	var t totals
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range rows {
		fields, cents := t.row(i, 1+rng.Int64N(1_000_000), i%20 == 19)
		_, _ = fmt.Fprintf(bill, "`%s\r\n", strings.Join(fields, ",`"))
		_, _ = fmt.Fprintf(plain, "%s,%s\n", strings.Join(fields, ","), yuan(cents))
	}
	_, _ = fmt.Fprintf(bill, "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\r\n")
	_, _ = fmt.Fprintf(bill, "`%d,`%s,`%s,`0.00,`%s,`%s,`%s\r\n", rows, yuan(t.paid), yuan(t.refunded), fees(t.fees), yuan(t.paid), yuan(t.refunded))
	for _, b := range []*book{bill, plain} {
		if err := b.Close(); err != nil {
			return err
		}
	}
	return z.Close()
}

// totals are the sums that the trailer declares, in cents and in hundred-thousandths.
type totals struct{ paid, refunded, fees int64 }

// row is a payment or a refund, and what it moved in cents.
func (t *totals) row(i int, cents int64, refund bool) (fields []string, moved int64) {
	at := fmt.Sprintf("2026-10-01 %02d:%02d:%02d", i/3600%24, i/60%60, i%60)
	fee := cents * 6 // 0.6 % of cents, in units of 0.00001 yuan
	f := []string{
		at, "wx00000000000000b1", "1900000009", "0", "", fmt.Sprintf("4200002026%018d", i), fmt.Sprintf("S20261001%014d", i),
		"oBench0000000000000000000001", "JSAPI", "SUCCESS", "OTHERS", "CNY", yuan(cents), "0.00", "0", "0", "0.00", "0.00", "", "",
		"茶叶 礼盒", "", fees(fee), "0.60%", yuan(cents), "0.00", "",
	}
	if !refund {
		t.paid += cents
		t.fees += fee
		return f, cents
	}
	t.refunded += cents
	t.fees -= fee
	f[9], f[12], f[14], f[15], f[16] = "REFUND", "0.00", fmt.Sprintf("5030002026%018d", i), fmt.Sprintf("R20261001%014d", i), yuan(cents)
	f[18], f[19], f[22], f[24], f[25] = "ORIGINAL", "SUCCESS", fees(-fee), "0.00", yuan(cents)
	return f, -cents
}

func yuan(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

func fees(units int64) string {
	sign := ""
	if units < 0 {
		sign, units = "-", -units
	}
	return fmt.Sprintf("%s%d.%05d", sign, units/100_000, units%100_000)
}

// book is a file that is written through a buffer, and copied to others on the way.
type book struct {
	*bufio.Writer
	file *os.File
}

func newBook(path string, also ...io.Writer) (*book, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &book{bufio.NewWriterSize(io.MultiWriter(append(also, f)...), 1<<20), f}, nil
}

func (b *book) Close() error {
	if err := b.Flush(); err != nil {
		return err
	}
	return b.file.Close()
}
