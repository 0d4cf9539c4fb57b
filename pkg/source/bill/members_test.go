package bill_test

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	const doc = `{"id":"x1","n":2500,"f":25.0,"e":1e3,"cur":"jpy","bad":"XQQ","o":{"value":"-3.10"},"none":[],"null":null,"at":1644900000,` +
		`"iso":"2025-12-19T02:02:11.000000Z","sheet":"4.2E+27"}`
	v, err := text.NewJSON(bufio.NewReader(strings.NewReader(doc)), text.CheckUTF8).Next()
	require.NoError(t, err)
	n := &notes{}
	m := bill.Members{Out: bill.NewOut(n)}
	require.Equal(t, "x1", m.Word(v, "id"))
	require.Equal(t, "2500", m.Minor(v, "stripe-api", m.Currency(v, "cur"), "n").String())
	require.Equal(t, "-3.1", m.Major(v, "o", "value").String())
	require.Empty(t, m.Text(v, "none", "x")+m.Text(v, "null")+m.Text(v, "nowhere"))
	require.Equal(t, time.Unix(1644900000, 0).UTC(), m.Unix(v, "at"))
	require.Equal(t, time.Date(2025, 12, 19, 2, 2, 11, 0, time.UTC), m.Instant(v, "iso"))
	require.True(t, m.Instant(v, "null").IsZero())
	require.Empty(t, n.problems)

	m.Word(v, "null")
	m.Text(v, "n")
	m.Integer(v, "nowhere")
	m.Integer(v, "id")
	m.Integer(v, "f")
	m.Minor(v, bill.ISO, "USD", "e")
	m.Currency(v, "bad")
	m.Major(v, "id")
	m.Ident(v, "sheet")
	m.Instant(v, "id")
	want := []string{
		`member "null": is missing`, `member "n": want text, this is a number`, `member "nowhere": is missing`, `member "id": want a whole number, this is text`,
		`member "f": "25.0": want a whole number`, `member "e": "1e3": want a whole number`, `member "bad": currency "XQQ" is not known`,
		`member "id": amount "x1": only digits`, `member "sheet": "4.2E+27" is a number as a spreadsheet`, `member "id": instant "x1": not of the forms`,
	}
	require.Len(t, n.problems, len(want))
	for i := range want {
		require.Contains(t, n.problems[i], want[i])
	}
}

func TestEmptyArray(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]bool{"[]": true, " [\r\n]\n": true, "\uFEFF[]": true, "[[]]": false, "{}": false, "": false, "[] []": false} {
		require.Equal(t, want, bill.NewHead([]byte(content)).IsEmptyArray(), content)
	}
}
