package text

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// A declared charset that the file does not have is refused, whatever the reads cut (bug B46), and a file that has it passes.
func TestUTF8UnderAnotherName(t *testing.T) {
	t.Parallel()
	gb := func(s string) string {
		out, err := simplifiedchinese.GB18030.NewEncoder().String(s)
		require.NoError(t, err)
		return out
	}
	for name, c := range map[string]struct {
		text    string
		long    int
		refused bool
	}{
		"utf-8 as gb18030":                {"订单号,金额\n0070,1.00\n", 3, true},
		"gb18030":                         {gb("订单号,金额\n0070,1.00\n"), 3, false},
		"gb18030, one ambiguous pair":     {gb("支,1\n"), 3, false},
		"plain ASCII":                     {"no,amount\n1,2\n", 3, false},
		"utf-8 as windows-1252":           {"caf\u00e9,1\n", 2, true},
		"windows-1252":                    {"caf\xe9,1\n", 2, false},
		"utf-8 cut in its last character": {"订单号,金额\n支付\xe5\xae", 3, false},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
			got, err := io.ReadAll(&utf8Watch{in: in, charset: "x", long: c.long})
			require.Equal(t, c.text, string(got), name)
			if c.refused {
				require.ErrorContains(t, err, "name utf-8", name)
			} else {
				require.NoError(t, err, name)
			}
		}
	}
}
