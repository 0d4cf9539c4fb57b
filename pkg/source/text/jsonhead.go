package text

import (
	"encoding/json"
	"slices"
	"strings"
)

// JSONHead is what the beginning of a document shows of its shape, for telling what it is and for nothing else. Values
// are the text of strings and numbers, and "" otherwise.
type JSONHead struct {
	Top     map[string]string // members of the document when it is an object, as far as they were seen
	Element map[string]string // members of its first element, see [JSON]; of the document when it is the element
}

// PeekJSON looks at the beginning of a document, which may be cut anywhere. The names are those of members that hold the
// array of elements. It looks no further than the first element, and both maps are nil for what is no JSON.
func PeekJSON(head string, arrays ...string) JSONHead {
	var h JSONHead
	if t := strings.TrimLeft(head, " \t\r\n"); t == "" || t[0] != '{' && t[0] != '[' {
		return h
	}
	p := &jsonPeek{dec: json.NewDecoder(strings.NewReader(head))}
	p.dec.UseNumber()
	switch tok, _ := p.dec.Token(); tok {
	case json.Delim('['):
		h.Element = p.element()
	case json.Delim('{'):
		h.Top = map[string]string{}
		if h.Element = p.members(h.Top, arrays); h.Element == nil {
			h.Element = h.Top
		}
	}
	return h
}

type jsonPeek struct{ dec *json.Decoder }

// element reads the members of an object inside of an array; nil when there is none.
func (p *jsonPeek) element() map[string]string {
	tok, _ := p.dec.Token()
	if tok != json.Delim('{') {
		return nil
	}
	out := map[string]string{}
	p.members(out, nil)
	return out
}

// members reads members until their end, an error, or the first element of an array of that name, which it returns. An
// array without elements is passed by: what the document is may stand after it.
func (p *jsonPeek) members(into map[string]string, arrays []string) map[string]string {
	for {
		tok, err := p.dec.Token()
		name, ok := tok.(string)
		if err != nil || !ok {
			return nil
		}
		tok, err = p.dec.Token()
		if err != nil {
			return nil
		}
		into[name] = ""
		switch v := tok.(type) {
		case string:
			into[name] = v
		case json.Number:
			into[name] = v.String()
		case json.Delim:
			if v == '[' && slices.Contains(arrays, name) {
				if first := p.element(); first != nil {
					return first
				}
				into[name] = "[]"
				continue
			}
			if !p.skip() {
				return nil
			}
		}
	}
}

// skip passes by the rest of an array or object whose opening token was read.
func (p *jsonPeek) skip() bool {
	for depth := 1; depth > 0; {
		tok, err := p.dec.Token()
		if err != nil {
			return false
		}
		switch tok {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return true
}
