package main

import (
	"archive/zip"
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/klauspost/compress/gzip"
)

const hugeBytes = 2 << 30

// hostile are files that want more memory or time than any bill. Each is a head, then one character again and again.
var hostile = []struct {
	name, head, fill string
	wrap             func(w io.Writer, content func(io.Writer) error) error
}{
	{"gzip bomb", billHeader + "\n", "`0,", gzipped},
	{"zip bomb", billHeader + "\n", "`0,", zippedTimes(1)},
	{"zip of 200 bombs", billHeader + "\n", "\x00", zippedTimes(200)},
	{"line of a WeChat bill", billHeader + "\n`", "x", nil},
	{"quoted field of CSV", "balance_transaction_id,created_utc,currency,gross,fee,net,reporting_category\n\"", "x", nil},
	{"header line", "", "x", nil},
	{"preamble of an Alipay bill", "#支付宝业务明细查询\n#", "x", nil},
	{"typed row of PayPal", "\"RH\",2026/01/06 00:00:00 -0800,\"A\",\"X\",009,\n\"FH\",01\n\"", "x", nil},
	{"line of MT940", ":20:X\r\n:25:X\r\n:28C:1/1\r\n:60F:C260101EUR0,00\r\n:86:", "x", nil},
	{"lines of one field 86", ":20:X\r\n:25:X\r\n:28C:1/1\r\n:60F:C260101EUR0,00\r\n:61:2601010101D1,00NTRFNONREF\r\n:86:x\r\n", "xxxx\r\n", nil},
	{"text of camt.053", `<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt><Id>`, "x", nil},
	{"nesting of camt.053", `<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02">`, "<a>", nil},
	{"text of JSON", `{"object":"list","data":[{"object":"balance_transaction","id":"`, "x", nil},
	{"nesting of JSON", `{"object":"list","data":[{"object":"balance_transaction","id":`, "[", nil},
	{"number of JSON", `{"object":"list","data":[{"object":"balance_transaction","amount":`, "1", nil},
}

// feed makes every hostile file, lets it be read, and wants it refused within the bound.
func feed(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "daybreak-bills-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "file\tMiB\tseconds\tpeak MiB\trefused because")
	bad := 0
	for _, h := range hostile {
		file := filepath.Join(dir, "f")
		size, err := writeHostile(file, h.head, h.fill, h.wrap)
		if err != nil {
			return err
		}
		r, err := read(ctx, "inspect", file)
		if err != nil {
			return err
		}
		if r.Refused == "" || r.Peak > peakBytesMax {
			bad++
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%d\t%s\n", h.name, size>>20, r.Took.Seconds(), r.Peak>>20, clip(r.Refused))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d files were read, or cost more than %d MiB", bad, peakBytesMax>>20)
	}
	return nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > 110 {
		return string(r[:110]) + "…"
	}
	return s
}

func writeHostile(path, head, fill string, wrap func(io.Writer, func(io.Writer) error) error) (int64, error) {
	f, err := os.Create(path) //nolint:gosec // in a folder of its own
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	content := func(w io.Writer) error { return repeat(w, head, fill) }
	if wrap != nil {
		err = wrap(f, content)
	} else {
		err = content(f)
	}
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), f.Close()
}

func repeat(w io.Writer, head, fill string) error {
	b := bufio.NewWriterSize(w, 1<<20)
	if _, err := b.WriteString(head); err != nil {
		return err
	}
	chunk := strings.Repeat(fill, 1<<16)
	for n := 0; n < hugeBytes; n += len(chunk) {
		if _, err := b.WriteString(chunk); err != nil {
			return err
		}
	}
	return b.Flush()
}

func gzipped(w io.Writer, content func(io.Writer) error) error {
	z := gzip.NewWriter(w)
	if err := content(z); err != nil {
		return err
	}
	return z.Close()
}

// zippedTimes makes a zip whose entries all share the bytes of one: written once, listed often.
func zippedTimes(times int) func(io.Writer, func(io.Writer) error) error {
	return func(w io.Writer, content func(io.Writer) error) error {
		z := zip.NewWriter(w)
		entries := min(times, 4) // four are written whole, the rest are small: many bombs cost the maker too
		for i := range times {
			e, err := z.Create(fmt.Sprintf("bill-%d.csv", i))
			if err != nil {
				return err
			}
			if i >= entries {
				if _, err := io.WriteString(e, billHeader+"\n"); err != nil {
					return err
				}
				continue
			}
			if err := content(e); err != nil {
				return err
			}
		}
		return z.Close()
	}
}
