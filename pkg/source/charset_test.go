package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"daybreak/pkg/source"
)

func encode(t testing.TB, e encoding.Encoding, text string) string {
	t.Helper()
	s, err := e.NewEncoder().String(text)
	require.NoError(t, err)
	return s
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	le := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	be := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	// 丂 and 俓 have the bytes of @ and | as their second in GBK, 𠮷 is a character of four bytes in GB18030.
	chinese := "订单号,金额\n丂俓|𠮷,1\n"
	for name, c := range map[string]struct {
		content, encoding, want string
	}{
		"utf-8 auto":             {chinese, "", "丂俓|𠮷"},
		"utf-8 with mark":        {"\ufeff" + chinese, "utf-8", "丂俓|𠮷"},
		"gb18030":                {encode(t, simplifiedchinese.GB18030, chinese), "gb18030", "丂俓|𠮷"},
		"gbk is gb18030":         {encode(t, simplifiedchinese.GB18030, chinese), "gbk", "丂俓|𠮷"},
		"gb18030 with mark":      {encode(t, simplifiedchinese.GB18030, "\ufeff"+chinese), "auto", "丂俓|𠮷"},
		"utf-16le by mark":       {encode(t, le, "\ufeff"+chinese), "auto", "丂俓|𠮷"},
		"utf-16be by mark":       {encode(t, be, "\ufeff"+chinese), "utf-16", "丂俓|𠮷"},
		"utf-16le without mark":  {encode(t, le, chinese), "utf-16le", "丂俓|𠮷"},
		"utf-16be with its mark": {encode(t, be, "\ufeff"+chinese), "utf-16be", "丂俓|𠮷"},
		"windows-1252":           {"cl\xe9,montant\n\x80\xe9,1\n", "windows-1252", "€é"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cols := columns()
			cols.Key, cols.Amount = source.ParseColumn("订单号"), source.ParseColumn("金额")
			if c.encoding == "windows-1252" {
				cols.Key, cols.Amount = source.ParseColumn("clé"), source.ParseColumn("montant")
			}
			entries, _, err := readCSV(t, c.content, source.CSV{Encoding: c.encoding}, cols)
			require.NoError(t, err)
			require.Equal(t, []string{c.want}, keys(entries))
		})
	}
}

func TestWrongEncodings(t *testing.T) {
	t.Parallel()
	const names = "utf-8, gb18030, utf-16le, utf-16be, windows-1252"
	le := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	for name, c := range map[string]struct {
		content, encoding, want string
	}{
		"gbk taken for utf-8":       {"key,amount\n\xb6\xa9,1\n", "auto", "f.csv:2:1: byte 0xB6 is not UTF-8: name the file's encoding, one of " + names},
		"gb18030 cut in a letter":   {"key,amount\na,1\nb\xb6", "gb18030", "f.csv:3:2: bytes here are not gb18030: name the file's encoding, one of " + names},
		"gb18030 with foreign byte": {"key,amount\n\xff\xff,1\n", "gb18030", "f.csv:2:1: bytes here are not gb18030: name the file's encoding, one of " + names},
		"windows-1252 undefined":    {"key,amount\na\x81,1\n", "windows-1252", "f.csv:2:2: bytes here are not windows-1252: name the file's encoding, one of " + names},
		"utf-8 mark, said 1252":     {"\ufeffkey,amount\n", "windows-1252", "f.csv:1:1: the file begins with the byte order mark of utf-8, but encoding is windows-1252: name one of " + names},
		"utf-16le mark, said be":    {"\xff\xfek\x00", "utf-16be", "f.csv:1:1: the file begins with the byte order mark of utf-16le, but encoding is utf-16be: name one of " + names},
		"utf-32":                    {"\xff\xfe\x00\x00k\x00\x00\x00", "auto", "f.csv:1:1: the file begins with the byte order mark of utf-32, but encoding is auto: name one of " + names},
		"utf-16 without mark":       {encode(t, le, "key,amount\n"), "utf-16", "f.csv:1:1: encoding is utf-16, but the file has no byte order mark: name utf-16le or utf-16be"},
		"utf-16 taken for utf-8":    {encode(t, le, "key,amount\n"), "auto", "f.csv:1:2: a NUL byte: the file is damaged, or it is UTF-16 without a byte order mark (encoding: utf-16le or utf-16be)"},
		"utf-16 of odd length":      {encode(t, le, "key,amount\na,1\n") + "b", "utf-16le", "f.csv:3:1: bytes here are not utf-16le: name the file's encoding, one of " + names},
		"utf-16 half a pair":        {encode(t, le, "key,amount\na") + "\x00\xd8" + encode(t, le, ",1\n"), "utf-16le", "f.csv:2:2: bytes here are not utf-16le: name the file's encoding, one of " + names},
		"surrogates in utf-8":       {"key,amount\n\xed\xa0\x80,1\n", "utf-8", "f.csv:2:1: byte 0xED is not UTF-8: name the file's encoding, one of " + names},
		"overlong utf-8":            {"key,amount\n\xc0\xaf,1\n", "utf-8", "f.csv:2:1: byte 0xC0 is not UTF-8: name the file's encoding, one of " + names},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readCSV(t, c.content, source.CSV{Encoding: c.encoding}, columns())
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, source.ErrInput)
		})
	}
}

// TestEveryWindows1252Byte proves that no byte is taken for another letter.
func TestEveryWindows1252Byte(t *testing.T) {
	t.Parallel()
	for b := 0x80; b < 0x100; b++ {
		entries, _, err := readCSV(t, "key,amount\n"+string([]byte{byte(b)})+",1\n", source.CSV{Encoding: "windows-1252"}, columns())
		switch b {
		case 0x81, 0x8d, 0x8f, 0x90, 0x9d:
			require.Error(t, err)
		case 0xa0: // a blank that does not break is a blank key
			require.ErrorContains(t, err, "key is empty")
		default:
			require.NoError(t, err)
			require.Equal(t, string(charmap.Windows1252.DecodeByte(byte(b))), entries[0].Key)
		}
	}
}
