package source_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source"
)

func gzipped(t testing.TB, name, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = name
	_, err := w.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// zipped packs one entry, of which header may change what is said.
func zippedAs(t testing.TB, content string, header zip.FileHeader) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	e, err := w.CreateRaw(&header)
	require.NoError(t, err)
	_, err = e.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func stored(name, content string) zip.FileHeader {
	return zip.FileHeader{Name: name, CompressedSize64: uint64(len(content)), UncompressedSize64: uint64(len(content))}
}

// Reports of others' bugs (B…) about containers, through Inspect: the right rows, or the reason of a refusal.
func TestReportedBugsOfContainers(t *testing.T) {
	t.Parallel()
	good := tradeBill()
	aes, weak := stored("bill.csv", "xxxxxxxx"), stored("bill.csv", "xxxxxxxx")
	aes.Method, weak.Flags = 99, 1
	for _, c := range []struct{ name, content, refused string }{
		{"B3 B6 gzip, with a name that is a path", gzipped(t, "../../x.csv", good), ""},
		{"B3 gzip of gzip", gzipped(t, "", gzipped(t, "", good)), "pack the file once"},
		{"B7 B8 GB18030", gb(t, strings.ReplaceAll(good, "茶", "\U00020087")), ""},
		{"B16 AES", zippedAs(t, "xxxxxxxx", aes), "AES-encrypted (method 99)"},
		{"B16 the old cipher", zippedAs(t, "xxxxxxxx", weak), "is encrypted"},
		{"B21 a zip that is no bill", zippedAs(t, "hello", stored("readme.txt", "hello")), "not a bill of a known format"},
		{"B55 gzip cut by nine bytes", gzipped(t, "", good)[:len(gzipped(t, "", good))-9], "gzip data is cut"},
		{"B55 cut inside a row", good[:strings.Index(good, "A2")], "or the row is cut"},
		{"B56 two thousand times its size", gzipped(t, "", good+strings.Repeat("\n", 64<<20)), "expands more than"},
	} {
		file := filepath.Join(t.TempDir(), "bill")
		require.NoError(t, os.WriteFile(file, []byte(c.content), 0o600), c.name)
		got, err := source.Inspect(context.Background(), file, source.InspectOptions{})
		require.NoError(t, err, c.name)
		if c.refused == "" {
			require.False(t, got.Refused, "%s: %v", c.name, got.Problems)
			require.Equal(t, uint64(3), got.Rows, c.name)
			require.Equal(t, "26.5", got.Totals["CNY"].Amount.String(), c.name)
			continue
		}
		require.True(t, got.Refused, c.name)
		require.Contains(t, got.Problems[0].What, c.refused, c.name)
	}
}

// The same of delimited books: B24 zeros in front stay, B25 a line end in a remark is no record, B48 a zero date is none,
// B52 the instant before midnight of another zone, B30 no binary fraction, B59 a quote that never ends.
func TestReportedBugsOfBooks(t *testing.T) {
	t.Parallel()
	cols := columns("note", "occurred_at")
	got, _, err := readCSV(t, "key,amount,note,occurred_at\n0070,8.20,\"a\nb\",0000-00-00 00:00:00\n70,19.99,,2026-10-02T00:30:00+08:00\n", source.CSV{}, cols)
	require.NoError(t, err)
	require.Equal(t, []string{"0070", "70"}, keys(got))
	require.Equal(t, "8.2", got[0].Amount.String())
	require.Equal(t, "19.99", got[1].Amount.String())
	require.Equal(t, "a\nb", got[0].Attrs["note"])
	require.True(t, got[0].OccurredAt.IsZero())
	require.Equal(t, "2026-10-01T16:30:00Z", got[1].OccurredAt.UTC().Format(time.RFC3339))
	for name, content := range map[string]string{
		"B59": "key,amount,note,occurred_at\na,1,\"Box,\nb,2,,\n", "B14": "key,amount,note,occurred_at\na,1,\"n\"\t,\n",
		"B9": "key,amount,note,occurred_at\n4.2E+27,1,,\n", "B17": "key,amount,note,occurred_at\na,\"2,340.50\",,\n",
		"B41": "key,amount,note,occurred_at,key\na,1,,,b\n",
	} {
		_, _, err := readCSV(t, content, source.CSV{}, cols)
		require.ErrorIs(t, err, source.ErrInput, name)
	}
}

// A bill whose format does not say of what day it is, and all of whose lines are of another month, is that of another day.
func TestBillOfAnotherMonth(t *testing.T) {
	t.Parallel()
	const head = "balance_transaction_id,created_utc,currency,gross,fee,net,reporting_category,source_id\n"
	spec := source.Bill{Format: "stripe-report"}
	for at, refused := range map[string]bool{
		"2026-10-01": false, "2026-10-03": false, "2026-08-20": false, "2026-10-05": true, "2026-08-01": true, "2025-10-01": true,
	} {
		_, _, err := readBill(t, map[string]string{"bill.csv": head + "txn_1," + at + " 08:00:00,usd,50.00,1.75,48.25,charge,ch_1\n"}, spec)
		if !refused {
			require.NoError(t, err, at)
			continue
		}
		require.ErrorContains(t, err, "but business day 2026-10-01 was asked for", at)
	}
}

// A copy of a file beside it would count every row twice, whatever the kind of the source. Two files without rows may be
// alike.
func TestCopyOfAFile(t *testing.T) {
	t.Parallel()
	_, _, err := readBill(t, map[string]string{"bill-a": tradeBill(), "bill-b": tradeBill()}, source.Bill{})
	require.ErrorIs(t, err, source.ErrInput)
	require.ErrorContains(t, err, "bill-b holds the same bytes as bill-a")
	spec := csvSpec(source.CSV{Path: "*.csv"}, columns())
	_, _, err = readAll(t, spec, folder(t, map[string]string{"a.csv": "key,amount\na,1\n", "b.csv": "key,amount\na,1\n"}), request())
	require.ErrorContains(t, err, "b.csv holds the same bytes as a.csv")
	_, _, err = readAll(t, spec, folder(t, map[string]string{"a.csv": "key,amount\n", "b.csv": "key,amount\n"}), request())
	require.NoError(t, err)
}

// What match.key asks of a bill whose content chooses its format is told with what that format has.
func TestKeyThatTheChosenFormatLacks(t *testing.T) {
	t.Parallel()
	_, _, err := readBill(t, map[string]string{"bill": tradeBill()}, source.Bill{Format: "auto"}, "charge_id")
	require.ErrorContains(t, err, "charge_id")
	require.ErrorContains(t, err, `a alipay-trade, whose rows have "batch"`)
}
