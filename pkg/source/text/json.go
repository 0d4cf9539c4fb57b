package text

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the JSON reader. They bound what it holds: one element, the members beside the array, and read buffers.
const (
	jsonElementBytesMax = 4 << 20
	jsonValuesMax       = 1 << 16
	jsonMembersMax      = 1 << 12
	jsonDepthMax        = 64
)

// JSON reads the elements of an array out of a document, one by one. The document is an array; or an object with such an
// array among its members, the envelope; or one object, which is its only element; or several objects, each beginning on
// a line of its own. It is strict where encoding/json is not: bytes foreign to the charset, half of a surrogate pair, a
// member name that occurs twice, and anything after the end are errors. After an error it is finished.
type JSON struct {
	dec    *json.Decoder
	src    *jsonSource
	arrays []string

	state    jsonState
	envelope JSONValue
	begun    bool
	line     int // of the token read last
	column   int
	ended    int // line on which the last object outside of any array ended
	loose    int // how many of those there were
	values   int // in the element so far
}

type jsonState uint8

const (
	jsonTop    jsonState = iota // between objects that are in no array
	jsonBare                    // inside an array that is the document
	jsonNested                  // inside the array of an envelope
	jsonClosed                  // after the document
)

// NewJSON reads JSON of UTF-8 whose bytes pass the check; [Decode] returns both. The names are those of members that hold
// the array in an envelope.
func NewJSON(in *bufio.Reader, check Check, arrays ...string) *JSON {
	src := &jsonSource{in: in, check: check, line: 1, column: 1}
	dec := json.NewDecoder(src)
	dec.UseNumber()
	return &JSON{dec: dec, src: src, arrays: arrays, envelope: JSONValue{Kind: JSONObject, Line: 1, Column: 1}}
}

// Next returns the next element, or io.EOF after the last, when the document is whole and has ended. An [*Error] says
// where it is broken, cut, or larger than is held: 4 MiB, 65,536 values or 64 levels in an element, 4,096 members in an
// object.
func (j *JSON) Next() (*JSONValue, error) {
	for {
		j.src.mark, j.values = j.src.base, 0
		tok, err := j.token()
		if j.state == jsonTop && j.loose > 0 && errors.Is(err, io.EOF) {
			return nil, j.lastLine()
		}
		if j.state == jsonClosed {
			return nil, j.afterEnd(err)
		}
		if err != nil {
			return nil, j.cut(err)
		}
		v, err := j.step(tok)
		if v != nil || err != nil {
			return v, err
		}
	}
}

// step takes the first token of whatever comes next; it returns nil when that was no element.
func (j *JSON) step(tok json.Token) (*JSONValue, error) {
	switch {
	case j.state == jsonTop:
		return j.top(tok)
	case tok == json.Delim(']') && j.state == jsonBare:
		j.state = jsonClosed
		return nil, nil
	case tok == json.Delim(']'):
		return nil, j.members(&j.envelope)
	}
	v, err := j.value(tok, 1)
	if err != nil {
		return nil, j.cut(err)
	}
	return &v, nil
}

// top begins the document, or goes on with the next of its objects.
func (j *JSON) top(tok json.Token) (*JSONValue, error) {
	switch {
	case tok == json.Delim('[') && j.loose == 0:
		j.state = jsonBare
		return nil, nil
	case tok != json.Delim('{'):
		return nil, &Error{j.line, j.column, "neither an object nor, as the whole document, an array of objects"}
	case j.loose > 0 && j.line == j.ended:
		return nil, &Error{j.line, j.column, "an object on the line on which another ends: the document goes on after its end, or line ends were lost"}
	}
	v := JSONValue{Kind: JSONObject, Line: j.line, Column: j.column}
	if err := j.members(&v); err != nil {
		return nil, err
	}
	if j.state != jsonTop {
		j.envelope = v
		return nil, nil
	}
	j.loose++
	j.ended = j.src.line
	return &v, nil
}

// members reads the members of an object of the top level. It stops inside of the array of an envelope, and otherwise
// after the object.
func (j *JSON) members(v *JSONValue) error {
	nested := j.state == jsonNested // the array has been there
	for {
		name, end, err := j.name(v)
		if err != nil {
			return j.cut(err)
		}
		if end {
			if nested {
				j.state = jsonClosed
			}
			return nil
		}
		line, column := j.line, j.column
		tok, err := j.token()
		if err != nil {
			return j.cut(err)
		}
		if tok == json.Delim('[') && slices.Contains(j.arrays, name) {
			switch {
			case nested:
				return &Error{line, column, fmt.Sprintf("member %q: the document has a second array of elements", name)}
			case j.loose > 0:
				return &Error{line, column, fmt.Sprintf("member %q: several pages in one document; put the elements of all pages into one array", name)}
			}
			v.Names, v.Items = append(v.Names, name), append(v.Items, JSONValue{Kind: JSONArray, Line: j.line, Column: j.column})
			j.state = jsonNested
			return nil
		}
		item, err := j.value(tok, 2)
		if err != nil {
			return j.cut(err)
		}
		v.Names, v.Items = append(v.Names, name), append(v.Items, item)
	}
}

// Envelope is the object around the array: its members except the elements. It has all of them after io.EOF; it has none
// when there is no envelope.
func (j *JSON) Envelope() *JSONValue { return &j.envelope }

// Enveloped reports whether the elements are a member of an object.
func (j *JSON) Enveloped() bool { return j.envelope.Names != nil }

// Loose reports whether the elements read so far are in no array: nothing but their line ends says that they are all.
func (j *JSON) Loose() bool { return j.loose > 0 }

// name reads the name of the next member of an object, or its end.
func (j *JSON) name(of *JSONValue) (name string, end bool, err error) {
	tok, err := j.token()
	if err != nil {
		return "", false, err
	}
	if tok == json.Delim('}') {
		return "", true, nil
	}
	name, _ = tok.(string) // the decoder lets nothing else be there
	if len(of.Names) == jsonMembersMax {
		return "", false, &Error{j.line, j.column, fmt.Sprintf("an object of more than %d members", jsonMembersMax)}
	}
	if slices.Contains(of.Names, name) {
		return "", false, &Error{j.line, j.column, fmt.Sprintf("member %q is there twice", Clip(name, 60))}
	}
	return name, false, nil
}

// value reads the rest of the value that a token begins.
func (j *JSON) value(tok json.Token, depth int) (JSONValue, error) {
	v := JSONValue{Line: j.line, Column: j.column}
	if j.values++; j.values > jsonValuesMax {
		return v, &Error{v.Line, v.Column, fmt.Sprintf("an element of more than %d values", jsonValuesMax)}
	}
	switch t := tok.(type) {
	case json.Delim:
		if depth >= jsonDepthMax {
			return v, &Error{v.Line, v.Column, fmt.Sprintf("values inside of values, %d deep", jsonDepthMax)}
		}
		if t == '[' {
			v.Kind = JSONArray
			return v, j.items(&v, depth)
		}
		v.Kind = JSONObject
		return v, j.fields(&v, depth)
	case string:
		v.Kind, v.Text = JSONString, t
	case json.Number:
		v.Kind, v.Text = JSONNumber, t.String()
	case bool:
		v.Kind, v.Text = JSONBool, strconv.FormatBool(t)
	}
	return v, nil
}

func (j *JSON) items(v *JSONValue, depth int) error {
	for {
		tok, err := j.token()
		if err != nil || tok == json.Delim(']') {
			return err
		}
		item, err := j.value(tok, depth+1)
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
	}
}

func (j *JSON) fields(v *JSONValue, depth int) error {
	for {
		name, end, err := j.name(v)
		if err != nil || end {
			return err
		}
		tok, err := j.token()
		if err != nil {
			return err
		}
		item, err := j.value(tok, depth+1)
		if err != nil {
			return err
		}
		v.Names, v.Items = append(v.Names, name), append(v.Items, item)
	}
}

// token reads the next token and keeps its place.
func (j *JSON) token() (json.Token, error) {
	tok, err := j.dec.Token()
	j.src.skipBlanks()
	j.line, j.column = j.src.line, j.src.column
	if err != nil {
		return nil, j.broken(err)
	}
	j.begun = true
	raw := j.src.take(j.dec.InputOffset())
	if j.src.base-j.src.mark > jsonElementBytesMax {
		return nil, j.src.tooLarge()
	}
	if s, ok := tok.(string); ok && strings.ContainsRune(s, utf8.RuneError) && halfPair(raw) {
		return nil, &Error{j.line, j.column, "text with half of a surrogate pair: the character it stood for is lost"}
	}
	return tok, nil
}

// broken turns an error of the decoder into one with its place.
func (j *JSON) broken(err error) error {
	var syntax *json.SyntaxError
	var at *Error
	switch {
	case j.src.err != nil:
		return j.src.err
	case errors.As(err, &at), errors.Is(err, io.EOF):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF
	case errors.As(err, &syntax):
		return &Error{j.line, j.column, "not JSON: " + syntax.Error()}
	}
	return err
}

// cut says that the end of the input is none of the document.
func (j *JSON) cut(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if !j.begun && len(j.src.window) == 0 {
		return &Error{1, 1, "the document is empty"}
	}
	j.src.take(j.src.end())
	return &Error{j.src.line, j.src.column, "the document is cut: it ends in the middle; deliver the whole file again"}
}

// afterEnd is what comes after a document whose end was read.
func (j *JSON) afterEnd(err error) error {
	if errors.Is(err, io.EOF) && len(j.src.window) == 0 {
		return io.EOF
	}
	var at *Error
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &at) {
		return err
	}
	return &Error{j.line, j.column, "the document goes on after its end: several pages or days in one file, or a broken one"}
}

// lastLine is the end of a document of loose objects: of several, the last must have its line end.
func (j *JSON) lastLine() error {
	if len(j.src.window) > 0 {
		return j.cut(io.EOF)
	}
	if j.loose > 1 && j.src.line == j.ended {
		return &Error{j.src.line, j.src.column, "the last line has no end: the document may be cut; deliver the whole file again"}
	}
	return io.EOF
}

// halfPair reports whether a string as it is written has an escape that is half of a surrogate pair.
func halfPair(raw []byte) bool {
	high := false // the last character was the first half
	for i := 0; i < len(raw); i++ {
		unit := uint64(0)
		if raw[i] == '\\' && i+1 < len(raw) {
			if i++; raw[i] == 'u' && i+4 < len(raw) {
				unit, _ = strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
				i += 4
			}
		}
		low := unit >= 0xDC00 && unit < 0xE000
		if low != high {
			return true
		}
		high = unit >= 0xD800 && unit < 0xDC00
	}
	return high
}
