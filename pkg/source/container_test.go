package source_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/source"
)

// bill is content that packs to some hundred bytes.
func bill() string {
	var b strings.Builder
	b.WriteString("key,amount\n")
	for i := range 50 {
		fmt.Fprintf(&b, "order-%d,%d.%02d\n", i*7919, i, i)
	}
	return b.String()
}

func gz(t testing.TB, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		w.Name = "../../evil.csv"
		_, err := w.Write([]byte(p))
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return b.String()
}

func zst(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	require.NoError(t, err)
	defer func() { _ = w.Close() }()
	return string(w.EncodeAll([]byte(text), nil))
}

type zipEntry struct{ name, text string }

func zipped(t testing.TB, entries ...zipEntry) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, NonUTF8: strings.Contains(e.name, "\xc3")})
		require.NoError(t, err)
		_, err = f.Write([]byte(e.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

func TestContainersAreToldByTheirBytes(t *testing.T) {
	t.Parallel()
	text := bill()
	for name, content := range map[string]string{
		"plain":           text,
		"gzip":            gz(t, text),
		"gzip of members": gz(t, text[:70], "", text[70:]),
		"zstd":            zst(t, text),
		"zstd of frames":  zst(t, text[:70]) + zst(t, text[70:]),
		"zip":             zipped(t, zipEntry{"../../etc/x.csv", text}),
		"zip from a Mac":  zipped(t, zipEntry{"a/", ""}, zipEntry{"a/x.csv", text}, zipEntry{"__MACOSX/a/._x.csv", "?"}, zipEntry{".DS_Store", "?"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries, seal, err := readCSV(t, content, source.CSV{}, columns())
			require.NoError(t, err)
			require.Len(t, entries, 50)
			require.Equal(t, int64(len(content)), seal.Sources[0].Bytes)
			require.Equal(t, "f.csv", entries[0].File, "names inside a container are not used")
		})
	}
}

// TestCutContainersAreErrors cuts every container at every byte: never is a part taken for the whole.
func TestCutContainersAreErrors(t *testing.T) {
	t.Parallel()
	text := bill()
	for name, content := range map[string]string{
		"gzip": gz(t, text), "zstd": zst(t, text), "zip": zipped(t, zipEntry{"x.csv", text}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range len(content) {
				_, seal, err := readCSV(t, content[:n], source.CSV{}, columns())
				require.ErrorIs(t, err, source.ErrInput, "cut to %d of %d bytes", n, len(content))
				require.Zero(t, seal)
			}
		})
	}
}

// TestDamagedContainersAreErrors flips every byte: whatever a checksum covers shows, and nothing else changes a row.
func TestDamagedContainersAreErrors(t *testing.T) {
	t.Parallel()
	text := bill()
	want, _, err := readCSV(t, text, source.CSV{}, columns())
	require.NoError(t, err)
	for name, content := range map[string]string{
		"gzip": gz(t, text), "zstd": zst(t, text), "zip": zipped(t, zipEntry{"x.csv", text}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range len(content) {
				bad := []byte(content)
				bad[n] ^= 0x55
				entries, _, err := readCSV(t, string(bad), source.CSV{}, columns())
				if err == nil {
					require.Equal(t, want, entries, "byte %d", n)
				}
			}
		})
	}
}

func TestWrongContainers(t *testing.T) {
	t.Parallel()
	text := bill()
	aes := []byte(zipped(t, zipEntry{"x.csv", text}))
	binary.LittleEndian.PutUint16(aes[bytes.LastIndex(aes, []byte("PK\x01\x02"))+10:], 99)
	locked := []byte(zipped(t, zipEntry{"x.csv", text}))
	locked[bytes.LastIndex(locked, []byte("PK\x01\x02"))+8] |= 1
	odd := []byte(zipped(t, zipEntry{"x.csv", text}))
	binary.LittleEndian.PutUint16(odd[bytes.LastIndex(odd, []byte("PK\x01\x02"))+10:], 14)
	bomb := "key,amount\n" + strings.Repeat(strings.Repeat("a", 1<<16)+",1\n", 600)
	many := make([]zipEntry, 1001)
	for i := range many {
		many[i] = zipEntry{fmt.Sprint(i), ""}
	}
	for name, c := range map[string]struct{ content, entry, want string }{
		"gzip then rubbish":  {gz(t, text) + "rubbish and more", "", "f.csv: bytes that are not gzip follow the gzip data: the file is damaged or was put together wrongly"},
		"gzip cut":           {gz(t, text)[:100], "", "f.csv: the gzip data is cut: deliver the whole file again"},
		"zstd cut":           {zst(t, text)[:100], "", "f.csv: the zstd data is cut: deliver the whole file again"},
		"gzip of nothing":    {gz(t, ""), "", "f.csv: the file is empty: an empty day is a file that holds the header"},
		"gzip twice":         {gz(t, gz(t, text)), "", "f.csv: the container holds another container (gzip): pack the file once"},
		"gzip of a zip":      {gz(t, zipped(t, zipEntry{"x", text})), "", "f.csv: the container holds another container (zip): pack the file once"},
		"gzip of a tar":      {gz(t, "x.csv"+strings.Repeat("\x00", 252)+"ustar\x00"), "", "f.csv: the file is a tar archive: deliver the file inside it"},
		"zip cut":            {zipped(t, zipEntry{"x.csv", text})[:200], "", "f.csv: the zip is cut or damaged (zip: not a valid zip file): deliver the whole file again"},
		"empty zip":          {zipped(t), "", "f.csv: the zip holds no file"},
		"zip of two":         {zipped(t, zipEntry{"a.csv", text}, zipEntry{"b.csv", text}), "", `f.csv: 2 entries of the zip could be meant: choose one with entry:; it holds "a.csv", "b.csv"`},
		"zip without fit":    {zipped(t, zipEntry{"a.csv", text}), "*.txt", `f.csv: no entry of the zip matches entry: "*.txt"; it holds "a.csv"`},
		"zip with AES":       {string(aes), "", `f.csv: entry "x.csv" is AES-encrypted (method 99): unpack it with its password first`},
		"zip with password":  {string(locked), "", `f.csv: entry "x.csv" is encrypted: unpack it with its password first`},
		"zip by LZMA":        {string(odd), "", `f.csv: entry "x.csv" is packed with method 14, only stored and deflated ones can be read: pack the zip again`},
		"zip of many":        {zipped(t, many...), "", "f.csv: the zip holds 1001 entries, more than 1000"},
		"an Excel workbook":  {zipped(t, zipEntry{"[Content_Types].xml", "<x/>"}, zipEntry{"xl/workbook.xml", "<x/>"}), "", "f.csv: the file is an Excel workbook, not CSV: describe it under xlsx, or export it as CSV"},
		"entry of no zip":    {text, "*.csv", "f.csv: the file is not a zip, but entry: chooses from one: remove entry, or deliver a zip"},
		"gzip of repetition": {gz(t, bomb), "", "f.csv: the container expands more than 250 times: that is an attack or a file of nothing but repetition; deliver it plain"},
		"zstd of repetition": {zst(t, bomb), "", "f.csv: the container expands more than 250 times: that is an attack or a file of nothing but repetition; deliver it plain"},
		"zip of repetition":  {zipped(t, zipEntry{"x", bomb}), "", "f.csv: the container expands more than 250 times: that is an attack or a file of nothing but repetition; deliver it plain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readCSV(t, c.content, source.CSV{Entry: c.entry}, columns())
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, source.ErrInput)
		})
	}
}

func TestZipEntryIsChosen(t *testing.T) {
	t.Parallel()
	// Chinese archivers write names in GBK: here 明细.csv and 汇总.csv.
	content := zipped(t, zipEntry{"\xc3\xf7\xcf\xb8.csv", bill()}, zipEntry{"\xbb\xe3\xd7\xdc\xc3.csv", "x"})
	entries, _, err := readCSV(t, content, source.CSV{Entry: "*明细*"}, columns())
	require.NoError(t, err)
	require.Len(t, entries, 50)

	content = zipped(t, zipEntry{"2026/detail.csv", bill()}, zipEntry{"2026/summary.csv", "x"})
	for _, pattern := range []string{"detail.*", "2026/detail.csv"} {
		_, _, err = readCSV(t, content, source.CSV{Entry: pattern}, columns())
		require.NoError(t, err)
	}
}
