package text

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func newJSON(doc string, arrays ...string) *JSON {
	return NewJSON(bufio.NewReaderSize(strings.NewReader(doc), 16), CheckUTF8, arrays...)
}

// all reads every element and prints it with its places.
func all(j *JSON) (out []string, err error) {
	for {
		v, err := j.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, show(v))
	}
}

func show(v *JSONValue) string {
	at := fmt.Sprintf("@%d:%d", v.Line, v.Column)
	var parts []string
	switch v.Kind {
	case JSONArray:
		for i := range v.Items {
			parts = append(parts, show(&v.Items[i]))
		}
		return "[" + strings.Join(parts, " ") + "]" + at
	case JSONObject:
		for i := range v.Items {
			parts = append(parts, v.Names[i]+"="+show(&v.Items[i]))
		}
		return "{" + strings.Join(parts, " ") + "}" + at
	case JSONString:
		return fmt.Sprintf("%q", v.Text) + at
	case JSONNull:
		return "null" + at
	}
	return v.Text + at
}

func TestJSONElements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, doc, envelope string
		want                []string
	}{
		{"an array", " [1, \"ä\" ,\n  {\"a\":[true,null]}]\n", "{}@1:1", []string{"1@1:3", `"ä"@1:6`, "{a=[true@2:9 null@2:14]@2:8}@2:3"}},
		{"no element", "[]", "{}@1:1", nil},
		{"an envelope with members before and after", "{\"n\":2,\n\"data\":[{\"x\":1.10},\n {}],\"more\":false}", "{n=2@1:6 data=[]@2:8 more=false@3:13}@1:1", []string{"{x=1.10@2:14}@2:9", "{}@3:2"}},
		{"an empty envelope", `{"data":[]}`, "{data=[]@1:9}@1:1", nil},
		{"one object", `{"a":{"data":[1]}}`, "{}@1:1", []string{"{a={data=[1@1:15]@1:14}@1:6}@1:1"}},
		{"objects on lines", "{\"a\":1}\r\n\n{\"b\":\"\\u00e9\\ud83d\\ude00\"}\n", "{}@1:1", []string{"{a=1@1:6}@1:1", `{b="é😀"@3:6}@3:1`}},
		{"numbers stay as written", `[1e3,-0,12345678901234567890.000000000000000000001]`, "{}@1:1", []string{"1e3@1:2", "-0@1:6", "12345678901234567890.000000000000000000001@1:9"}},
		{"a name that is no array", `{"data":{"x":1}}`, "{}@1:1", []string{"{data={x=1@1:14}@1:9}@1:1"}},
		{"a replacement character of its own", "[\"\uFFFD\\ufffd\"]", "{}@1:1", []string{"\"\uFFFD\uFFFD\"@1:2"}},
	} {
		j := newJSON(c.doc, "data")
		got, err := all(j)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
		require.Equal(t, c.envelope, show(j.Envelope()), c.name)
	}
}

func TestJSONRefusals(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"":                                  "1:1: the document is empty",
		" \n ":                              "1:1: the document is empty",
		"7":                                 "1:1: neither an object",
		`"x"`:                               "1:1: neither an object",
		"[1\n,":                             "2:2: the document is cut",
		`[{"a":"x`:                          "1:9: the document is cut",
		`[tru`:                              "1:5: the document is cut",
		`{"data":[1]`:                       "1:12: the document is cut",
		`{"data":[1],"more":`:               "1:20: the document is cut",
		`[1]x`:                              "1:4: the document goes on after its end",
		"[1]\n[2]":                          "2:1: the document goes on after its end",
		"[1] \"":                            "1:5: the document goes on after its end",
		"{\"data\":[]}\n{\"data\":[]}":      "2:1: the document goes on after its end",
		"{\"a\":1}\n{\"data\":[]}\n":        "2:2: member \"data\": several pages",
		`{"data":[],"data":[]}`:             `1:12: member "data" is there twice`,
		`{"data":[],"items":[]}`:            `1:12: member "items": the document has a second array`,
		`[{"a":1,"a":2}]`:                   `1:9: member "a" is there twice`,
		`[{"a":1,"\u0061":2}]`:              `1:9: member "a" is there twice`,
		`{"x":1,"data":[],"x":2}`:           `1:18: member "x" is there twice`,
		`{"a":1} {"b":2}`:                   "1:9: an object on the line on which another ends",
		"{\"a\":1}\n{\"b\":2}":              "2:8: the last line has no end",
		"{\"a\":1}\n[1]\n":                  "2:1: neither an object",
		"{\"a\":1}\n\"":                     "2:2: the document is cut",
		"[\"\xff\"]":                        "1:3: byte 0xFF is not UTF-8",
		"[\"ä\xc3\"]":                       "1:4: byte 0xC3 is not UTF-8",
		"[1,\n\"\xe2\x82":                   "2:2: byte 0xE2 is not UTF-8",
		`["\ud83d"]`:                        "1:2: text with half of a surrogate pair",
		`["\ude00\ud83d"]`:                  "1:2: text with half of a surrogate pair",
		`["\ud83dx\ude00"]`:                 "1:2: text with half of a surrogate pair",
		`[1,]`:                              "1:4: not JSON",
		`[1 2]`:                             "1:4: not JSON",
		`[01]`:                              "1:3: not JSON",
		`[NaN]`:                             "1:2: not JSON",
		"[\"a\tb\"]":                        "1:2: not JSON",
		`[{a:1}]`:                           "1:3: not JSON",
		"[\"a\x00\"]":                       "1:2: not JSON",
		strings.Repeat("[", 66):             "1:65: values inside of values, 64 deep",
		"[" + strings.Repeat("[", 1<<16):    "1:65: values inside of values",
		`[{"data":[1],"x":{"y":{},"y":{}}}`: `1:26: member "y" is there twice`,
	} {
		_, err := all(newJSON(doc, "data", "items"))
		require.ErrorContains(t, err, want, doc)
		var at *Error
		require.ErrorAs(t, err, &at, doc)
	}
}

// A document that is cut anywhere is refused, but for loose objects that are cut between lines.
func TestJSONCut(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		`{"n":2,"data":[{"a":"é"},{"b":[1.5,null,{}]}],"more":false}`,
		`[{"a":"\u00e9"},{"b":true}]`,
	} {
		for n := range len(doc) {
			_, err := all(newJSON(doc[:n], "data"))
			require.Error(t, err, doc[:n])
		}
	}
	lines := "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"
	for n := range len(lines) {
		got, err := all(newJSON(lines[:n]))
		switch {
		case n == 7 || n > 0 && lines[n-1] == '\n':
			require.NoError(t, err)
			require.Len(t, got, max(1, strings.Count(lines[:n], "\n")))
		default:
			require.Error(t, err, lines[:n])
		}
	}
}

// Reading that fails is never the end, wherever it happens.
func TestJSONReadError(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{"[1]", "{\"a\":1}\n", "{\"a\":1}\n{\"b\":1}\n", `{"data":[]}`, "", `["x`} {
		for _, fault := range []error{io.ErrUnexpectedEOF, errors.New("broken pipe")} {
			in := io.MultiReader(strings.NewReader(doc), iotest.ErrReader(fault))
			_, err := all(NewJSON(bufio.NewReader(in), CheckUTF8, "data"))
			require.ErrorIs(t, err, fault, doc)
		}
	}
}

// repeated is an endless document whose reading is counted.
type repeated struct {
	head, body string
	read       int
}

func (e *repeated) Read(p []byte) (int, error) {
	for i := range p {
		if e.read < len(e.head) {
			p[i] = e.head[e.read]
		} else {
			p[i] = e.body[(e.read-len(e.head))%len(e.body)]
		}
		e.read++
	}
	return len(p), nil
}

// One element of any size is refused after a few MiB, whatever it is made of.
func TestJSONBounds(t *testing.T) {
	t.Parallel()
	for _, e := range []*repeated{
		{head: `[{"a":"`, body: "x"},
		{head: `[{"`, body: "x"},
		{head: `[`, body: " "},
		{head: `[{"a":[`, body: "1,"},
		{head: `[`, body: "1"},
		{head: `{"n":"`, body: "é"},
		{head: `{"data":[],"n":[`, body: "\"x\",\n"},
	} {
		_, err := all(NewJSON(NewReader(e), CheckUTF8, "data"))
		require.Error(t, err, e.head)
		require.Less(t, e.read, 5<<20, e.head)
	}
	big := `{"a":"` + strings.Repeat("x", jsonElementBytesMax-8-3) + `"}`
	read := func(doc string) ([]string, error) {
		return all(NewJSON(NewReader(strings.NewReader(doc)), CheckUTF8))
	}
	_, err := read("[" + big + "," + big + "]")
	require.NoError(t, err)
	_, err = read("[" + strings.Replace(big, "x", "xxxxxxxxxxxx", 1) + "]")
	require.ErrorContains(t, err, "more than 4 MiB")
	var many strings.Builder
	for i := range jsonMembersMax + 1 {
		fmt.Fprintf(&many, `,"m%d":0`, i)
	}
	_, err = read("[{" + many.String()[1:] + "}]")
	require.ErrorContains(t, err, "more than 4096 members")
	_, err = read("[[" + strings.Repeat("0,", jsonValuesMax) + "0]]")
	require.ErrorContains(t, err, "more than 65536 values")
}

func TestJSONGet(t *testing.T) {
	t.Parallel()
	v, err := newJSON(`{"a":{"b":null,"c":[],"d":[0]}}`).Next()
	require.NoError(t, err)
	require.True(t, v.Get("a", "b").None())
	require.True(t, v.Get("a", "c").None())
	require.False(t, v.Get("a", "d").None())
	require.True(t, v.Get("a", "x", "y").None())
	require.Nil(t, v.Get("a", "c", "y"))
	require.Equal(t, "an array", v.Get("a", "d").Kind.String())
}

func TestPeekJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc  string
		want JSONHead
	}{
		{"x", JSONHead{}},
		{"", JSONHead{}},
		{`[`, JSONHead{}},
		{`[7]`, JSONHead{}},
		{` [{"a":1,"b":{"c":[{}]},"d":"x","e":"cu`, JSONHead{Element: map[string]string{"a": "1", "b": "", "d": "x", "e": ""}}},
		{`{"n":"l","data":[{"a":"1"},{"b":2}],"z":1}`, JSONHead{Top: map[string]string{"n": "l", "data": ""}, Element: map[string]string{"a": "1"}}},
	} {
		got := PeekJSON(c.doc, "data")
		delete(got.Element, "e")
		delete(c.want.Element, "e")
		require.Equal(t, c.want, got, c.doc)
	}
	empty := PeekJSON(`{"data":[],"url":"/v1/x"}`, "data")
	require.Equal(t, map[string]string{"data": "[]", "url": "/v1/x"}, empty.Top)
	loose := PeekJSON("{\"a\":1}\n{\"b\":2}", "data")
	require.Equal(t, map[string]string{"a": "1"}, loose.Element)
}

// FuzzJSON holds the reader against encoding/json: what it accepts is valid and has the same values, and what it refuses
// of an array is invalid, or is something that encoding/json is lenient about or that is out of bounds.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`[{"a":1,"b":[true,null,"x\u00e9"]}]`, `{"data":[1,2],"more":true}`, "{\"a\":1}\n{\"b\":2}\n", `["\ud83d\ude00"]`, `["\ud83d"]`,
		"[\"\xff\"]", `[1e5,-0.1]`, `[1,]`, `[[[[]]]]`, `{"data":[{}],"x":{"y":[]}}`, "[\"\uFFFD\"]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		PeekJSON(doc, "data")
		j := newJSON(doc, "data")
		var got []any
		var err error
		for {
			var v *JSONValue
			if v, err = j.Next(); err != nil {
				break
			}
			got = append(got, plain(v))
		}
		var want any
		dec := json.NewDecoder(strings.NewReader(doc))
		dec.UseNumber()
		if errors.Is(err, io.EOF) {
			if j.Loose() {
				for i := range got {
					require.NoError(t, dec.Decode(&want))
					require.Equal(t, want, got[i])
					want = nil
				}
				require.ErrorIs(t, dec.Decode(&want), io.EOF)
				return
			}
			require.True(t, json.Valid([]byte(doc)))
			require.NoError(t, dec.Decode(&want))
			if j.Enveloped() {
				want = want.(map[string]any)["data"]
			}
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(append([]any{}, got...)))
			return
		}
		var at *Error
		require.ErrorAs(t, err, &at)
		require.Positive(t, at.Line)
		require.Positive(t, at.Column)
		require.LessOrEqual(t, at.Line, strings.Count(doc, "\n")+1)
		lenient := strings.Contains(at.Msg, "UTF-8") || strings.Contains(at.Msg, "twice") || strings.Contains(at.Msg, "surrogate") ||
			strings.Contains(at.Msg, "deep") || strings.Contains(at.Msg, "neither") || strings.Contains(at.Msg, "second array")
		if !lenient && json.Valid([]byte(doc)) {
			t.Fatalf("refused: %v", err)
		}
	})
}

func plain(v *JSONValue) any {
	switch v.Kind {
	case JSONArray:
		out := make([]any, len(v.Items))
		for i := range v.Items {
			out[i] = plain(&v.Items[i])
		}
		return out
	case JSONObject:
		out := map[string]any{}
		for i := range v.Items {
			out[v.Names[i]] = plain(&v.Items[i])
		}
		return out
	case JSONString:
		return v.Text
	case JSONNumber:
		return json.Number(v.Text)
	case JSONBool:
		return v.Text == "true"
	}
	return nil
}

func BenchmarkJSON(b *testing.B) {
	row := `{"id":"txn_1","object":"balance_transaction","amount":5300,"created":1644900000,"currency":"usd","fee":184,"fee_details":[{"amount":184,"type":"stripe_fee"}],"net":5116,"reporting_category":"charge","source":"ch_1","status":"available","type":"charge"}`
	doc := []byte("[" + strings.Repeat(row+",\n", 999) + row + "]")
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		j := NewJSON(NewReader(bytes.NewReader(doc)), CheckUTF8)
		for {
			if _, err := j.Next(); err != nil {
				break
			}
		}
	}
}
