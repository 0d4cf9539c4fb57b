package mt940_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/mt940"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	good := one("C260106EUR107,", ":61:2601050105C7,NTRFA")
	replace := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	for name, c := range map[string]struct{ content, want string }{
		"sum":                    {replace("107,", "106,99"), "6:0: the bill declares closing balance of ACC1 on 2026-01-06, statement 1 (X) in EUR = 106.99, but its rows give 107"},
		"no currency":            {replace("60105EUR", "60105"), "4:13: the balance has no currency that is known"},
		"unknown currency":       {replace("60105EUR", "60105EUX"), `currency "EUX" is not known`},
		"currencies differ":      {replace("60106EUR", "60106USD"), "6:6: the closing balance is in USD, the opening balance in EUR"},
		"mark of a balance":      {replace(":62F:C", ":62F:X"), "6:6: a balance begins with C or D"},
		"reversed balance":       {replace(":62F:C", ":62F:RC"), "6:6: a balance begins with C or D"},
		"no type":                {replace("NTRFA", "ATRFA"), "5:18: want the type of the movement"},
		"no account":             {replace(":25:ACC1\n", ""), "no account :25:"},
		"no number":              {replace(":28C:1\n", ""), "no number :28C:"},
		"account twice":          {replace(":25:ACC1\n", ":25:ACC1\n:25:ACC2\n"), ":25: for the second time"},
		"no opening balance":     {replace(":60F:C260105EUR100,\n", ""), ":61: before the opening balance"},
		"second opening balance": {replace(":61:", ":60F:C260105EUR100,\n:61:"), "another opening balance"},
		"movement after the end": {good + ":61:2601050105C7,NTRFA\n", ":61: after the closing balance"},
		"description alone":      {replace(":61:2601050105C7,NTRFA\n", ":86:x\n"), "there is no :61: before it"},
		"a tag of the beginning": {replace(":61:", ":21:x\n:61:"), ":21: after the opening balance"},
		"unknown tag":            {replace(":60F:", ":99:x\n:60F:"), "the tag :99: is not known"},
		"text between":           {"Dear customer, see below\n" + good, "belongs to no statement"},
		"text after a balance":   {replace(":61:", "x\n:61:"), "follows a balance"},
		"wrong first line":       {":9401:\n" + good, "belongs to no statement"},
		"MT942 behind":           {good + "-\nTESTNL2A\n942\n", "only MT940 is read"},
		"sums of MT942":          {good + ":90D:1EUR7,\n", "belongs to an interim report"},
		"block of MT942":         {good + "-\n{1:F01X}{2:O942X}{4:\n", "a message MT942, but only MT940 is read"},
		"text behind a block":    {"{1:F01X}{2:O940X}{4::20:X\n" + good, "tags begin lines"},
		"NUL":                    {replace("NTRFA", "NTRF\x00A"), "NUL byte"},
		"long line":              {replace("NTRFA", "NTRF"+strings.Repeat("A", 9000)), "a line of more than"},
		"long reference":         {replace("NTRFA", "NTRF"+strings.Repeat("A", 300)), "a reference of more than 255 bytes"},
	} {
		r := billtest.Read(t, billtest.Doc{Format: format(t), Content: c.content})
		require.True(t, r.Refused(), name)
		said := strings.Join(r.Problems, "\n")
		if r.Err != nil {
			said += r.Err.Error()
		}
		require.Contains(t, said, c.want, name)
	}
}

// B55: a file that was cut anywhere is refused. A cut right behind the end of a statement leaves a file that is whole.
func TestB55CutAnywhere(t *testing.T) {
	t.Parallel()
	blocks := block + strings.TrimSuffix(one("C260106EUR107,", ":61:2601050105C7,NTRFA", ":86:text"), "\n") + "\r\n-}{5:}\r\n"
	for name, whole := range map[string]string{
		"bare": bare, "blocks": blocks + blocks[:strings.Index(blocks, ":61:")] + blocks[strings.Index(blocks, ":62F:"):],
	} {
		whole = strings.ReplaceAll(whole, "EUR107,\r\n-}{5:}\r\n"+block+":20:X\n:25:ACC1\n:28C:1\n:60F:C260105EUR100,", "EUR107,\r\n-}{5:}\r\n"+block+":20:X\n:25:ACC1\n:28C:2\n:60F:C260106EUR107,")
		all := billtest.Read(t, billtest.Doc{Format: format(t), Content: whole})
		require.False(t, all.Refused(), "%s: %v %v", name, all.Err, all.Problems)
		loads := 0
		for n := range len(whole) {
			r := billtest.Read(t, billtest.Doc{Format: format(t), Content: whole[:n]})
			if r.Refused() {
				continue
			}
			loads++
			rest := strings.TrimRight(whole[:n], "\r\n")
			ended := strings.HasSuffix(rest, "-") || strings.HasSuffix(rest, "-}") || strings.Contains(rest[strings.LastIndex(rest, "\n"):], "-}{")
			// The first statement of a file without ends of messages is whole at the line end of its closing balance.
			first := name == "bare" && strings.HasSuffix(whole[:n], "1221,00\r\n") && strings.Count(rest, ":62F:") == 1
			require.True(t, ended || first, "%s: cut at %d loads: %q", name, n, rest[max(0, len(rest)-40):])
		}
		require.Less(t, loads, 30, name)
	}
	r := billtest.One(t, format(t), one("C260106EUR107,", ":61:2601050105C7,NTRFA")+":86:/SUM/0/1/0,/7,/\n:20:Y\n")
	require.ErrorIs(t, r.Err, bill.ErrCut, "only :20: of the next statement is there")
}

// The same file twice in a zip is refused, also when everything was swept away in the evening.
func TestSameStatementTwiceInAZip(t *testing.T) {
	t.Parallel()
	for _, closing := range []string{"0", "7"} {
		swept := billtest.Doc{Format: format(t), Content: ":20:X\n:25:ACC1\n:28C:1\n:60F:C260105EUR0,\n:61:260105C" + closing + ",NTRFA1\n:61:260105C5,NTRFA2\n:61:260105D5,NTRFA3\n:62F:C260105EUR" + closing + ",\n"}
		require.False(t, billtest.Read(t, swept).Refused())
		require.True(t, billtest.Read(t, swept, swept).Refused())
		next := billtest.Doc{Format: format(t), Content: strings.ReplaceAll(swept.Content, "260105", "260106")}
		require.False(t, billtest.Read(t, swept, next).Refused())
	}
}

func TestEmptyDay(t *testing.T) {
	t.Parallel()
	r := billtest.One(t, format(t), ":20:X\n:25:ACC1 EUR\n:28C:1\n:60F:D260105EUR0,\n:62F:C260106EUR0,00\n")
	require.False(t, r.Refused())
	require.Empty(t, r.Rows)
	require.Len(t, r.Controls, 1)
	require.Contains(t, r.Controls[0].Name, "closing balance of ACC1 on")
}

func TestTellingItFromOthers(t *testing.T) {
	t.Parallel()
	report := ":20:X\n:25:ACC1\n:28C:1\n:34F:EUR0,\n:13D:2601051200+0100\n:61:2601050105C7,NTRFA\n:90C:1EUR7,\n"
	balances := ":20:X\n:25:ACC1\n:28:1\n:60F:C260105EUR1,\n:90C:1EUR7,\n:62F:C260105EUR8,\n"
	for content, want := range map[string]string{
		report:                                 "MT942",
		balances:                               "MT941",
		"{1:F01X}{2:O942X}{4:\n:20:X\n:25:Y\n": "MT942",
		"{1:F01X}{2:O941X}{4:\n:20:X\n:25:Y\n": "MT941",
		"1\n2\n3\n":                            "", "a,b\n1,2\n": "", "": "", "\x00:20:": "",
	} {
		head := bill.NewHead([]byte(content))
		require.False(t, format(t).Fits(head), content)
		var titles []string
		for _, s := range mt940.Strangers() {
			if s.Fits(head) {
				titles = append(titles, s.Title)
				require.Contains(t, s.Advice, "MT940 or camt.053")
			}
		}
		if want == "" {
			require.Empty(t, titles, content)
			continue
		}
		require.Len(t, titles, 1, content)
		require.Contains(t, titles[0], want)
	}
	for _, fragment := range []string{":60F:C100318EUR1,\n", ":NS:\n", ":61:110701CN50,00NZ10NONREF\n-"} {
		require.ErrorContains(t, billtest.One(t, format(t), fragment).Err, "deliver the whole")
	}
}
