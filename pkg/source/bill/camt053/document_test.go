package camt053_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/billtest"
	"daybreak/pkg/source/bill/camt053"
)

// B46: what the document says of its charset is a hint; the bytes decide.
func TestB46Charsets(t *testing.T) {
	t.Parallel()
	utf8 := document("02", stmt("0", "7", ntry("7", "CRDT", "<AddtlNtryInf>Jürgen</AddtlNtryInf>")))
	wide := make([]byte, 0, 2*len(utf8)+2)
	for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(utf8))...) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	for name, content := range map[string]string{
		"utf-8":                      utf8,
		"utf-8 that says latin":      strings.Replace(utf8, "UTF-8", "ISO-8859-1", 1),
		"utf-8 that says nonsense":   strings.Replace(utf8, "UTF-8", "8859-x", 1),
		"utf-8 with byte order mark": "\uFEFF" + utf8,
		"windows-1252":               strings.Replace(utf8, "ü", "\xFC", 1),
		"latin that says so":         strings.NewReplacer("ü", "\xFC", "UTF-8", "ISO-8859-15").Replace(utf8),
		"utf-16":                     string(wide),
	} {
		r := billtest.One(t, format(t), content)
		require.NoError(t, r.Err, name)
		require.Equal(t, "Jürgen", r.Rows[0].Attr["remittance"], name)
	}
	r := billtest.One(t, format(t), strings.Replace(utf8, "ü", "\xFC\x81", 1))
	require.ErrorContains(t, r.Err, "windows-1252")
	r = billtest.One(t, format(t), strings.Replace(utf8, "ü", "ü\xFC", 1))
	require.NoError(t, r.Err, "all of it can be windows-1252")
}

func TestVersionsAndEnvelopes(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"02", "03", "04", "06", "08", "13"} {
		loads(t, document(v, stmt("0", "7", ntry("7", "CRDT", ""))))
	}
	good := document("08", stmt("0", "7", ntry("7", "CRDT", "")))
	body := good[strings.Index(good, "<Document"):]
	loads(t, `<E:Envelope xmlns:E="urn:x"><E:Head><a>b</a></E:Head><E:Body>`+body+`</E:Body></E:Envelope>`)
	prefixed := strings.NewReplacer("</", "</n:", "<", "<n:", "xmlns=", "xmlns:n=").Replace(body)
	loads(t, prefixed)
	loads(t, strings.Replace(good, "<Sts>", `<!-- c --><X xmlns="urn:y"><Amt>1</Amt></X><?p i?><Sts>`, 1))
	loads(t, strings.Replace(good, "<Sts>BOOK</Sts>", "<Sts><![CDATA[BOOK]]></Sts>", 1))
	for name, c := range map[string]struct{ content, want string }{
		"version 01":      {document("01", stmt("0", "0")), "version \"01\" of camt.053 is not known"},
		"no namespace":    {"<Document><BkToCstmrStmt></BkToCstmrStmt></Document>", "the namespace of the document"},
		"no Document":     {"<BkToCstmrStmt></BkToCstmrStmt>", "without a Document around it"},
		"DOCTYPE":         {"<!DOCTYPE Document [<!ENTITY a \"b\">]>" + body, "1:1: a DOCTYPE"},
		"entity":          {strings.Replace(good, "BOOK", "&a;", 1), "not XML"},
		"two roots":       {body + body, "a second root element"},
		"text behind":     {body + "x", "text outside of the document"},
		"text inside":     {strings.Replace(good, "<Sts>", "x<Sts>", 1), `text "x" between the elements of Ntry`},
		"wrong nesting":   {strings.Replace(good, "</Sts>", "</Stz>", 1), "not XML"},
		"a long text":     {strings.Replace(good, "BOOK", strings.Repeat("B", 1<<20), 1), "more than 1048576 bytes"},
		"deep":            {strings.Replace(good, "<Sts>", strings.Repeat("<a>", 200), 1), "more than 100 deep"},
		"deep outside":    {strings.Repeat("<a>", 20) + "<!-- <BkToCstmrStmt> -->", "more than 10 elements around"},
		"NUL":             {strings.Replace(good, "BOOK", "BO\x00OK", 1), "not XML"},
		"another message": {strings.ReplaceAll(good, "BkToCstmrStmt", "BkToCstmrAcctRpt"), "<BkToCstmrAcctRpt> in a document of camt.053"},
		"long reference":  {strings.Replace(good, "</Sts>", "</Sts><AcctSvcrRef>"+strings.Repeat("A", 256)+"</AcctSvcrRef>", 1), "more than 255 bytes"},
	} {
		r := billtest.Read(t, billtest.Doc{Format: format(t), Content: c.content})
		require.True(t, r.Refused(), name)
		require.Contains(t, fmt.Sprint(r.Err, r.Problems), c.want, name)
	}
}

// B55: a document that was cut anywhere is refused.
func TestB55CutAnywhere(t *testing.T) {
	t.Parallel()
	whole := document("04", stmt("0", "15", ntry("7", "CRDT", "<AddtlNtryInf>ü</AddtlNtryInf>"), ntry("8", "CRDT", details(tx("3", "A", ""), tx("5", "B", "")))))
	end := strings.LastIndex(whole, "</Document>") + len("</Document>")
	for n := range len(whole) {
		r := billtest.Read(t, billtest.Doc{Format: format(t), Content: whole[:n]})
		require.Equal(t, n < end, r.Refused(), "cut at %d", n)
		if n > 60 && n < end {
			require.ErrorIs(t, r.Err, bill.ErrCut, "cut at %d: %v", n, r.Err)
		}
	}
}

// Sums are worked out anew from the document by a decoder into a tree.
func TestSumsByAnotherWay(t *testing.T) {
	t.Parallel()
	var entries []string
	want := decimal.Zero
	for i := range 50 {
		amount := decimal.New(int64(i*i*37+1), -2)
		ind := []string{"CRDT", "DBIT"}[i%2]
		if ind == "DBIT" {
			want = want.Sub(amount)
		} else {
			want = want.Add(amount)
		}
		half := amount.Div(decimal.NewFromInt(2)).Truncate(2)
		more := ""
		if i%3 == 0 {
			more = details(tx(half.String(), fmt.Sprint("A", i), ""), tx(amount.Sub(half).String(), fmt.Sprint("B", i), ""))
		}
		entries = append(entries, ntry(amount.String(), ind, more))
	}
	content := document("04", stmt("0", want.String(), entries...))
	r := loads(t, content)
	var tree struct {
		Entries []struct {
			Amt string `xml:"Amt"`
			Ind string `xml:"CdtDbtInd"`
		} `xml:"BkToCstmrStmt>Stmt>Ntry"`
	}
	require.NoError(t, xml.Unmarshal([]byte(content), &tree))
	sum := decimal.Zero
	for _, e := range tree.Entries {
		d := decimal.RequireFromString(e.Amt)
		if e.Ind == "DBIT" {
			d = d.Neg()
		}
		sum = sum.Add(d)
	}
	require.Equal(t, sum.String(), r.Totals()["EUR"])
}

func TestTellingItFromOthers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"camt.052": "account report", "camt.054": "notification", "pain.001": "an order", "pain.002": "answer", "pain.008": "collection"} {
		head := bill.NewHead([]byte(`<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:` + name + `.001.02">`))
		require.False(t, format(t).Fits(head), name)
		fits := 0
		for _, s := range camt053.Strangers() {
			if s.Fits(head) {
				fits++
				require.Contains(t, s.Title, want)
				require.Contains(t, s.Advice, "camt.053 or MT940")
			}
		}
		require.Equal(t, 1, fits, name)
	}
	for _, other := range []string{"", "<html>", "<", "camt.053.001.02", "<x>urn:iso:std:iso:20022:tech:xsd:camt.053.001.02</x>"} {
		require.False(t, format(t).Fits(bill.NewHead([]byte(other))), other)
	}
}
