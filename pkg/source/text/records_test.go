package text

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// splitAll reads through a buffer so small that most records do not fit it.
func splitAll(in io.Reader, d Dialect) ([][]string, error) {
	r := NewRecords(bufio.NewReaderSize(in, 16), d, CheckUTF8)
	var out [][]string
	for {
		fields, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		rec := make([]string, len(fields))
		for i, f := range fields {
			rec[i] = string(f)
		}
		out = append(out, rec)
	}
}

// TestRecordsAgreeWithEncodingCSV writes random records and reads them by both readers.
func TestRecordsAgreeWithEncodingCSV(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	alphabet := []string{"a", "bc", "支付", "\"", ",", ";", "\t", "\n", "\r\n", " ", "“", ""}
	for round := range 3000 {
		var b strings.Builder
		w := csv.NewWriter(&b)
		w.UseCRLF = round%2 == 0
		d := Dialect{}
		if round%3 == 0 {
			d.Delimiter = []rune{';', '\t', '；'}[round%9/3]
			w.Comma = d.Delimiter
		}
		for range 1 + rng.IntN(5) {
			rec := make([]string, 2+rng.IntN(4))
			for i := range rec {
				for range rng.IntN(5) {
					rec[i] += alphabet[rng.IntN(len(alphabet))]
				}
			}
			require.NoError(t, w.Write(rec))
		}
		w.Flush()
		text := b.String()
		if round%5 == 0 {
			text = strings.TrimRight(text, "\r\n")
		}
		std := csv.NewReader(strings.NewReader(text))
		std.FieldsPerRecord = -1
		if d.Delimiter != 0 {
			std.Comma = d.Delimiter
		}
		want, err := std.ReadAll()
		require.NoError(t, err)
		got, err := splitAll(strings.NewReader(text), d)
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
}

// endless gives the same bytes for ever and counts them.
type endless struct {
	text string
	n    int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.text)
	}
	e.n += int64(n)
	return n, nil
}

// TestRecordsHoldNoMoreThanTheirBounds reads inputs without end: each is refused after a few MiB.
func TestRecordsHoldNoMoreThanTheirBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ head, text, want string }{
		"a line":                 {"", "a,", "1:1: a record of more than 4 MiB: a line end or a closing quote is missing"},
		"a quoted field":         {"\"", "aaaaaaa\n", "1:1: a field of more than 1 MiB: a closing quote is missing"},
		"short lines in a quote": {"\"", "\n", "1:1: a field of more than 1 MiB: a closing quote is missing"},
		"many quoted fields":     {"\"b\n", "b\",\"b\n", "a record of more than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := &endless{text: c.text}
			_, err := splitAll(io.MultiReader(strings.NewReader(c.head), source), Dialect{})
			require.ErrorContains(t, err, c.want)
			require.Less(t, source.n, int64(6<<20))
		})
	}
	_, err := splitAll(strings.NewReader("a,"+strings.Repeat("b", 1<<20+1)+"\n"), Dialect{})
	require.EqualError(t, err, "1:3: a field of more than 1 MiB: a delimiter or a closing quote is missing")
	_, err = splitAll(strings.NewReader("a,\""+strings.Repeat("b", 1<<20+1)+"\"\n"), Dialect{})
	require.EqualError(t, err, "1:3: a field of more than 1 MiB: a closing quote is missing")
	got, err := splitAll(strings.NewReader("a,\""+strings.Repeat("b", 1<<20)+"\"\n"), Dialect{})
	require.NoError(t, err)
	require.Len(t, got[0][1], 1<<20)
}

// usable says whether a character can delimit or quote; 0 stands for the usual one.
func usable(r, usual rune) bool {
	r = cmp.Or(r, usual)
	return utf8.ValidRune(r) && !strings.ContainsRune("\r\n\x00\uFFFD", r)
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"", "a,b\n1,2\n", "\"a\n\"\"b\",c\r\n", "\n\n", "a\"b", "\"a\"b", "\"", "a\rb", "\xff", "\ufeff"} {
		f.Add([]byte(seed), ',', '"')
	}
	f.Add([]byte("a；“b““”\n"), '；', '“')
	f.Fuzz(func(t *testing.T, data []byte, delimiter, quote rune) {
		if !usable(delimiter, ',') || !usable(quote, '"') || cmp.Or(delimiter, ',') == cmp.Or(quote, '"') {
			return
		}
		got, err := splitAll(strings.NewReader(string(data)), Dialect{Delimiter: delimiter, Quote: quote})
		if te := (*Error)(nil); err != nil && (!errors.As(err, &te) || te.Line < 1 || te.Column < 1) {
			t.Fatalf("an error without its place: %v", err)
		}
		bytes := 0
		for _, rec := range got {
			for _, field := range rec {
				bytes += len(field)
			}
		}
		if bytes > len(data) {
			t.Fatalf("%d bytes of fields from %d bytes", bytes, len(data))
		}
		if err == nil && quote == 0 && (delimiter == 0 || delimiter == ',') {
			std := csv.NewReader(strings.NewReader(string(data)))
			std.FieldsPerRecord = -1
			want, err := std.ReadAll()
			if err != nil || len(want) != len(got) {
				t.Fatalf("%q: encoding/csv reads %d records, %v; this one %d", data, len(want), err, len(got))
			}
		}
	})
}

func FuzzInstant(f *testing.F) {
	for _, seed := range []string{"", "2026-10-01", "2026-10-01 00:00:00.123", "2026-10-01T00:00:00+08:00", "0000-00-00 00:00:00", "2026-10-01T00:00:00+", "2026-10-01T00:00:00Z9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := Instants{Zone: shanghai(t)}.Parse(text)
		if err == nil && !at.IsZero() && (at.Before(instantMin) || at.After(instantMax)) {
			t.Fatalf("%q became %s", text, at)
		}
	})
}

func BenchmarkRecords(b *testing.B) {
	line := "20261001000012345678,199.90,CNY,PAID,2026-10-01 12:34:56,\"a, remark\",x\n"
	text := strings.Repeat(line, 10000)
	b.Run("own", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			r := NewRecords(NewReader(strings.NewReader(text)), Dialect{}, CheckUTF8)
			for {
				if _, err := r.Next(); err != nil {
					break
				}
			}
		}
	})
	b.Run("encoding_csv", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			r := csv.NewReader(NewReader(strings.NewReader(text)))
			r.ReuseRecord = true
			for {
				if _, err := r.Read(); err != nil {
					break
				}
			}
		}
	})
}

// A bank that lost letters wrote the replacement character itself: the file is UTF-8 all the same.
func TestReplacementCharacterOfTheFileIsUTF8(t *testing.T) {
	t.Parallel()
	in, check, charset, err := DecodeFirst(bufio.NewReader(strings.NewReader("Illet\uFFFDk\n")), []string{"utf-8", "windows-1252"})
	require.NoError(t, err)
	line, err := NewLines(in, check).Next()
	require.NoError(t, err)
	require.Equal(t, "Illet\uFFFDk", string(line))
	require.Equal(t, "utf-8", charset())
	require.Equal(t, "Illet\uFFFDk", Guess([]byte("Illet\uFFFDk")))
}
