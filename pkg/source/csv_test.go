package source_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

func TestCSVGivesEntries(t *testing.T) {
	t.Parallel()
	content := "order_no,amt,cur,state,paid_at,cost,rid,shop,remark\r\n" +
		"0070,10.50,cny,PAID,2026-10-01 00:30:00.5,0.06,r1,S1,\"two\r\nlines, \"\"quoted\"\"\"\r\n" +
		"0071,-3, usd ,REFUND,2026-10-01T00:30:00+02:00,,r2,S2,\r\n"
	cols := source.Columns{}
	for name, header := range map[string]string{
		"key": "order_no", "amount": "amt", "currency": "cur", "status": "state", "occurred_at": "paid_at",
		"fee": "cost", "id": "rid", "shop": "shop", "remark": "remark", "source": "=web",
	} {
		cols.Put(name, source.ParseColumn(header))
	}
	req := request()
	req.Rules = model.Rules{
		Key: []string{"shop", "key"}, Compare: []string{"status", "shop", "absent"},
		StatusMap: map[model.Side]map[string]string{model.Ledger: {"PAID": "success"}},
	}
	root := folder(t, map[string]string{"in/2026-10-01.csv": content})

	entries, seal, err := readAll(t, csvSpec(source.CSV{Path: "in/{date}.csv"}, cols), root, req)

	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, model.Entry{
		Side: model.Ledger, Key: "S1|0070", ID: "r1", Amount: decimal.RequireFromString("10.50"), Currency: "CNY",
		Status: "PAID", Compared: []string{"success", "S1", ""}, OccurredAt: time.Date(2026, 9, 30, 16, 30, 0, 5e8, time.UTC),
		Fee:    decimal.NewNullDecimal(decimal.RequireFromString("0.06")),
		Attrs:  map[string]string{"shop": "S1", "remark": "two\nlines, \"quoted\"", "source": "web"},
		Origin: day, File: "2026-10-01.csv", Line: 2,
	}, entries[0])
	require.Equal(t, uint64(4), entries[1].Line, "lines are physical")
	require.Equal(t, "USD", entries[1].Currency)
	require.Equal(t, time.Date(2026, 9, 30, 22, 30, 0, 0, time.UTC), entries[1].OccurredAt)
	require.False(t, entries[1].Fee.Valid, "an empty fee is not zero")
	sum := sha256.Sum256([]byte(content))
	require.Equal(t, []model.FileSeal{{Name: "in/2026-10-01.csv", Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Rows: 2}}, seal.Sources)
	require.Equal(t, "CNY 1 entry 10.5, USD 1 entry -3", seal.Totals.String())
}

func TestCSVHeaderOnlyIsAnEmptyDay(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"key,amount", "key,amount\n", "\ufeffkey,amount\r\n\r\n\n"} {
		entries, seal, err := readCSV(t, content, source.CSV{}, columns())
		require.NoError(t, err)
		require.Empty(t, entries)
		require.Zero(t, seal.Sources[0].Rows)
	}
}

func TestCSVDialects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		csv     source.CSV
		want    []string
	}{
		"tab":              {"key\tamount\na,b\t1\n", source.CSV{Delimiter: '\t'}, []string{"a,b"}},
		"wide delimiter":   {"key；amount\n'a；b'；1\n", source.CSV{Delimiter: '；', Quote: '\''}, []string{"a；b"}},
		"wide quote":       {"key,amount\n“a,““b“,1\n", source.CSV{Quote: '“'}, []string{"a,“b"}},
		"no quote":         {"key,amount\n\"a,1\n", source.CSV{Quote: source.NoQuote}, []string{`"a`}},
		"preamble":         {"Report\nof\nkey,amount\na,1\n", source.CSV{Skip: 2}, []string{"a"}},
		"comments":         {"# made by hand\nkey,amount\n#b,2\na,1\n# 1 row", source.CSV{Comment: "#"}, []string{"a"}},
		"padded header":    {" key , amount\t\na,1\n", source.CSV{}, []string{"a"}},
		"quoted after BOM": {"\ufeff\"key\",\"amount\"\n\"a\",\"1\"\n", source.CSV{}, []string{"a"}},
		"no last newline":  {"key,amount\na,1\nb,2", source.CSV{}, []string{"a", "b"}},
		"key stays text":   {"key,amount\n 007 ,1\n1E5,2\n", source.CSV{}, []string{" 007 ", "1E5"}},
		"CR in quotes":     {"key,amount\n\"a\rb\",1\n", source.CSV{}, []string{"a\rb"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries, _, err := readCSV(t, c.content, c.csv, columns())
			require.NoError(t, err)
			require.Equal(t, c.want, keys(entries))
		})
	}
}

// TestCSVWrongFiles holds every message a wrong file gives, for a reader to judge whether it helps.
func TestCSVWrongFiles(t *testing.T) {
	t.Parallel()
	head := "key,amount,occurred_at,fee\n"
	for _, c := range []struct{ name, content, want string }{
		{"zero bytes", "", "f.csv: the file is empty: an empty day is a file that holds the header"},
		{"only a BOM", "\ufeff", "f.csv: there is no header line"},
		{"only blank lines", "\n\n", "f.csv: there is no header line"},
		{"columns missing", "key,sum\n", `f.csv:1:1: columns missing "amount", "fee", "occurred_at"; found: "key", "sum"`},
		{"column twice", "key,amount,key,occurred_at,fee,amount\n", `f.csv:1:1: columns there more than once "key", "amount"; found: "key", "amount", "key", "occurred_at", "fee", "amount"`},
		{"missing and twice", "key,key,amount,fee\n", `f.csv:1:1: columns missing "occurred_at"; there more than once "key"; found: "key", "key", "amount", "fee"`},
		{"header case", "Key,amount,occurred_at,fee\n", `f.csv:1:1: columns missing "key"; found: "Key", "amount", "occurred_at", "fee"`},
		{"blank line first", "\nkey\n", "f.csv:1:1: a blank line between the records: remove it, or the file was put together wrongly"},
		{"blank line inside", head + "a,1,,\n\nb,2,,\n", "f.csv:3:1: a blank line between the records: remove it, or the file was put together wrongly"},
		{"too few fields", head + "a,1,\n", `f.csv:2:5: 3 fields, but the header has 4; the record is "a,1,"`},
		{"too many fields", head + "a,1,,,thanks\n", `f.csv:2:7: 5 fields, but the header has 4; the record is "a,1,,,thanks"`},
		{"cut inside a row", head + "a,1,,\nb,2", `f.csv:3:4: 2 fields, but the header has 4; the record is "b,2"`},
		{"cut inside quotes", head + "a,1,,\n\"b\nc,2,,\n", "f.csv:3:1: the quoted field that begins here never ends: the file is cut, or a closing quote is missing"},
		{"bare quote", head + "a\"b,1,,\n", "f.csv:2:2: a quote inside an unquoted field: quote the whole field and double the quote, or set quote: none"},
		{"text after quote", head + "\"Box\" Co,1,,\n", "f.csv:2:6: text after the closing quote: a quote inside a field must be doubled"},
		{"tab after quote", head + "\"398500\"\t,1,,\n", "f.csv:2:9: a tab after the closing quote: remove it, or set delimiter and quote to what the file uses"},
		{"old Mac line ends", "key,amount\ra,1\r", "f.csv:1:11: a carriage return inside a line: lines end with LF or CR LF, and a field that holds one must be quoted"},
		{"NUL", head + "a\x00,1,,\n", "f.csv:2:2: a NUL byte: the file is damaged, or it is UTF-16 without a byte order mark (encoding: utf-16le or utf-16be)"},
		{"not UTF-8", head + "支付\xb6\xa9,1,,\n", "f.csv:2:3: byte 0xB6 is not UTF-8: name the file's encoding, one of utf-8, gb18030, utf-16le, utf-16be, windows-1252"},
		{"replacement character", head + "a\ufffd,1,,\n", `f.csv:2:1: column "key": text was damaged before it came here: it holds the replacement character U+FFFD`},
		{"empty key", head + ",1,,\n", `f.csv:2:1: column "key": key is empty, but the match key needs it`},
		{"blank key", head + "\" \t\",1,,\n", `f.csv:2:1: column "key": key is empty, but the match key needs it`},
		{"spreadsheet key", head + "2.02401e+27,1,,\n", `f.csv:2:1: column "key": "2.02401e+27" is a number as a spreadsheet rounds it: its digits are lost; export the column as text`},
		{"empty amount", head + "a,,,\n", `f.csv:2:3: column "amount": the amount is empty: not an exact amount`},
		{"grouped amount", head + "a,\"1,234.50\",,\n", `f.csv:2:3: column "amount": amount "1,234.50": only digits and one decimal point are allowed: not an exact amount`},
		{"comma as point", head + "a,\"1,5\",,\n", `f.csv:2:3: column "amount": amount "1,5": only digits and one decimal point are allowed: not an exact amount`},
		{"padded amount", head + "a, 1,,\n", `f.csv:2:3: column "amount": amount " 1": only digits and one decimal point are allowed: not an exact amount`},
		{"amount with exponent", head + "a,1e3,,\n", `f.csv:2:3: column "amount": amount "1e3": only digits and one decimal point are allowed: not an exact amount`},
		{"amount with a sign of money", head + "a,￥1,,\n", `f.csv:2:3: column "amount": amount "￥1": only digits and one decimal point are allowed: not an exact amount`},
		{"amount too long", head + "a,1234567890123456789,,\n", `f.csv:2:3: column "amount": amount "1234567890123456789": more than 18 integer digits: not an exact amount`},
		{"amount too fine", head + "a,0.123456789,,\n", `f.csv:2:3: column "amount": amount "0.123456789": more than 8 fractional digits: not an exact amount`},
		{"fee is no amount", head + "a,1,,\\N\n", `f.csv:2:6: column "fee": amount "\\N": only digits and one decimal point are allowed: not an exact amount`},
		{"impossible date", head + "a,1,2026-02-30,\n", `f.csv:2:5: column "occurred_at": instant "2026-02-30": no such date or time of day`},
		{"hour 24", head + "a,1,2026-10-01 24:00:00,\n", `f.csv:2:5: column "occurred_at": instant "2026-10-01 24:00:00": no such date or time of day`},
		{"other date form", head + "a,1,01.10.2026,\n", `f.csv:2:5: column "occurred_at": instant "01.10.2026": not of the forms 2006-01-02, 2006-01-02 15:04:05[.fff] or 2006-01-02T15:04:05[.fff], with or without an offset; name any other with time_format`},
		{"epoch date", head + "a,1,1970-01-01 08:00:00,\n", `f.csv:2:5: column "occurred_at": instant "1970-01-01 08:00:00" is in the year 1970: a zero date or a wrong unit (unix or unix_ms?)`},
		{"an Excel workbook by its old kind", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "f.csv: the file is an old Excel workbook (xls), or an encrypted one: export it as CSV"},
		{"an HTML page", "\n<!DOCTYPE html><html>", "f.csv: the file is an HTML page, not CSV: it begins \"<!DOCTYPE html><html>\"; a provider answers so when there is no bill or the request was wrong"},
		{"an XML answer", "<xml><return_code>FAIL</return_code></xml>", "f.csv: the file is an XML document, not CSV: it begins \"<xml><return_code>FAIL</return_code></xml>\"; a provider answers so when there is no bill or the request was wrong"},
		{"a JSON answer", "{ \"code\": \"NO_STATEMENT_EXIST\" }", "f.csv: the file is a JSON document, not CSV: it begins \"{ \\\"code\\\": \\\"NO_STATEMENT_EXIST\\\" }\"; a provider answers so when there is no bill or the request was wrong"},
		{"a JSON list", "[{\"id\":1}]", "f.csv: the file is a JSON document, not CSV: it begins \"[{\\\"id\\\":1}]\"; a provider answers so when there is no bill or the request was wrong"},
		{"a PDF", "%PDF-1.7", "f.csv: the file is a PDF document: ask for the CSV export"},
		{"a parquet file", "PAR1\x15\x04", "f.csv: the file is a parquet file: describe it under parquet"},
		{"several at once", head + ",x,,\nb,1,0,\n", "f.csv:2:2: column \"amount\": amount \"x\": only digits and one decimal point are allowed: not an exact amount\n" +
			"f.csv:3:5: column \"occurred_at\": instant \"0\": not of the forms 2006-01-02, 2006-01-02 15:04:05[.fff] or 2006-01-02T15:04:05[.fff], with or without an offset; name any other with time_format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, seal, err := readCSV(t, c.content, source.CSV{}, columns("occurred_at", "fee"))
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, source.ErrInput)
			require.NotErrorIs(t, err, source.ErrNotThere)
			require.Zero(t, seal)
		})
	}
}

func TestCSVWrongCurrency(t *testing.T) {
	t.Parallel()
	cols := columns()
	cols.Currency = source.ParseColumn("currency")
	for value, want := range map[string]string{
		"":          `f.csv:2:5: column "currency": currency "": want 3 to 8 letters or digits, such as CNY`,
		"¥":         `f.csv:2:5: column "currency": currency "¥": want 3 to 8 letters or digits, such as CNY`,
		"RMB YUAN":  `f.csv:2:5: column "currency": currency "RMB YUAN": want 3 to 8 letters or digits, such as CNY`,
		"CURRENCY1": `f.csv:2:5: column "currency": currency "CURRENCY1": want 3 to 8 letters or digits, such as CNY`,
	} {
		_, _, err := readCSV(t, "key,amount,currency\na,1,"+value+"\n", source.CSV{}, cols)
		require.EqualError(t, err, want)
	}
}

func TestCSVReportsTwentyProblemsAndCountsTheRest(t *testing.T) {
	t.Parallel()
	content := "key,amount\n" + strings.Repeat("a,x\n", 50)
	yields := 0
	s, err := source.Open(csvSpec(source.CSV{}, columns()), source.Env{Root: folder(t, map[string]string{"f.csv": content + "b,1\n"})})
	require.NoError(t, err)
	_, err = s.Read(t.Context(), request(), func(model.Entry) error { yields++; return nil })
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 21)
	require.True(t, strings.HasPrefix(lines[19], "f.csv:21:3: "), lines[19])
	require.Equal(t, "and 30 more", lines[20])
	require.Zero(t, yields, "after a wrong row nothing is yielded")
}

func TestCSVKeyParts(t *testing.T) {
	t.Parallel()
	req := request()
	req.Rules.Key = []string{"id", "status"}
	req.Rules.StatusMap = map[model.Side]map[string]string{model.Ledger: {"OK": "success"}}
	cols := columns("id", "status")
	cols.Key = source.Column{}
	root := folder(t, map[string]string{"f.csv": "id,status,amount\na|b,OK,1\n", "g.csv": "id,status,amount\na,,1\n"})

	entries, _, err := readAll(t, csvSpec(source.CSV{}, cols), root, req)
	require.NoError(t, err)
	require.Equal(t, `a\|b|success`, entries[0].Key)
	require.Equal(t, "OK", entries[0].Status)

	_, _, err = readAll(t, csvSpec(source.CSV{Path: "g.csv"}, cols), root, req)
	require.EqualError(t, err, `g.csv:2:3: column "status": status is empty, but the match key needs it`)

	req.Rules.StatusMap = map[model.Side]map[string]string{model.Ledger: {"OK": ""}}
	fixed := cols
	fixed.Status = source.ParseColumn("=OK")
	_, _, err = readAll(t, csvSpec(source.CSV{}, fixed), root, req)
	require.EqualError(t, err, `f.csv:2:1: the fixed value "OK": status is empty, but the match key needs it`)

	req.Rules.Key = []string{"shop", "amount"}
	_, _, err = readAll(t, csvSpec(source.CSV{}, cols), root, req)
	require.ErrorIs(t, err, source.ErrSpec)
	require.EqualError(t, err, "columns.shop: is missing, but match.key needs it\n"+
		"columns.amount: cannot be part of match.key: a key is text that both sides write alike: the source is not described rightly")
}

func TestCSVYieldErrorEndsTheReading(t *testing.T) {
	t.Parallel()
	s, err := source.Open(csvSpec(source.CSV{}, columns()), source.Env{Root: folder(t, map[string]string{"f.csv": "key,amount\na,1\nb,1\n"})})
	require.NoError(t, err)
	full := fmt.Errorf("disk full")
	n := 0
	_, err = s.Read(t.Context(), request(), func(model.Entry) error { n++; return full })
	require.Equal(t, full, err)
	require.Equal(t, 1, n)
}
