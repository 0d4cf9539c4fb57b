package text

import "slices"

// JSONKind says what a value is.
type JSONKind uint8

// The kinds of value.
const (
	JSONNull JSONKind = iota
	JSONBool
	JSONNumber
	JSONString
	JSONArray
	JSONObject
)

func (k JSONKind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "an array", "an object"}[k]
}

// JSONValue is a value with its place.
type JSONValue struct {
	Kind         JSONKind
	Text         string      // of a string without its quotes and escapes; a number as it is written, never as a float
	Items        []JSONValue // of an array; values of the members of an object
	Names        []string    // of the members of an object, in step with Items; no name occurs twice
	Line, Column int         // where it begins, from 1; the column counts characters
}

// Get returns the value of the member that a path of names leads to, nil when there is none. It may be called on nil.
func (v *JSONValue) Get(path ...string) *JSONValue {
	for _, name := range path {
		if v == nil || v.Kind != JSONObject {
			return nil
		}
		i := slices.Index(v.Names, name)
		if i < 0 {
			return nil
		}
		v = &v.Items[i]
	}
	return v
}

// None reports whether there is no value: no member, null, or an empty array, which is how PHP writes an empty object.
func (v *JSONValue) None() bool {
	return v == nil || v.Kind == JSONNull || v.Kind == JSONArray && len(v.Items) == 0
}
