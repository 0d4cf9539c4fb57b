package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder collects what is wrong while the tree is walked.
type decoder struct {
	file     string
	problems []Problem
	files    []fileRef
}

// cursor is a node of the tree with its path in words.
type cursor struct {
	d    *decoder
	node *yaml.Node
	path string
}

// fail notes a problem at the node.
func (c cursor) fail(what, fix string) {
	c.d.problems = append(c.d.problems, Problem{
		File: c.d.file, Line: c.node.Line, Column: c.node.Column, Path: c.path, What: what, Fix: fix,
	})
}

// child is a node below this one.
func (c cursor) child(node *yaml.Node, step string) cursor {
	path := c.path + step
	if c.path == "" {
		path = strings.TrimPrefix(step, ".")
	}
	return cursor{d: c.d, node: resolve(node), path: path}
}

// resolve follows an alias to what it stands for. The parser never lets an alias stand for an alias.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// kindNames are what a person calls the kinds of node.
var kindNames = map[yaml.Kind]string{
	yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value",
}

// standardTags may be written out; any other tag would be an instruction that nobody follows.
var standardTags = []string{"!!str", "!!int", "!!float", "!!bool", "!!map", "!!seq", "!!timestamp", "!"}

// is reports whether the node is of the kind, and notes what it is when it is not.
func (c cursor) is(kind yaml.Kind, want, fix string) bool {
	switch {
	case c.node.Kind == yaml.ScalarNode && c.node.Tag == "!!null":
		c.fail("has no value", fix)
	case c.node.Style&yaml.TaggedStyle != 0 && !slices.Contains(standardTags, c.node.Tag):
		c.fail(fmt.Sprintf("tag %s is not known", c.node.Tag), "remove it")
	case c.node.Kind != kind:
		c.fail(fmt.Sprintf("must be %s, is %s", want, kindNames[c.node.Kind]), fix)
	default:
		return true
	}
	return false
}

// text returns the scalar's own text.
func (c cursor) text(fix string) (string, bool) {
	if !c.is(yaml.ScalarNode, "a single value", fix) {
		return "", false
	}
	return c.node.Value, true
}

// list returns the elements of a sequence.
func (c cursor) list(fix string) ([]cursor, bool) {
	if !c.is(yaml.SequenceNode, "a list", fix) {
		return nil, false
	}
	all := make([]cursor, len(c.node.Content))
	for i, n := range c.node.Content {
		all[i] = c.child(n, fmt.Sprintf("[%d]", i))
	}
	return all, true
}

// pair is one key of a mapping with its value. The cursor of the key bears the path of the value, because the path names
// a place and both share it.
type pair struct {
	name       string
	key, value cursor
}

// pairs returns the keys of a mapping in the order of the file, each once: twice the same key is a problem, because which
// of the two was meant cannot be known. A merge (<<) adds the keys that are not given here.
func (c cursor) pairs(fix string) ([]pair, bool) {
	if !c.is(yaml.MappingNode, "a mapping", fix) {
		return nil, false
	}
	var out []pair
	given := map[string]bool{}
	c.gather(map[*yaml.Node]bool{}, given, &out)
	return out, true
}

// gather adds the mapping's own keys, then those of what it merges. visited ends merges that go round in circles.
func (c cursor) gather(visited map[*yaml.Node]bool, given map[string]bool, out *[]pair) {
	if visited[c.node] {
		return
	}
	visited[c.node] = true
	first := map[string]int{}
	var merges []cursor
	for i := 0; i+1 < len(c.node.Content); i += 2 {
		key, value := c.node.Content[i], c.node.Content[i+1]
		if key.Tag == "!!merge" {
			merges = append(merges, c.child(value, ".<<"))
			continue
		}
		name := resolve(key)
		at := cursor{d: c.d, node: key, path: c.path}
		if name.Kind != yaml.ScalarNode {
			at.fail("a key must be a single value, is "+kindNames[name.Kind], "write key: value")
			continue
		}
		at.path = c.child(key, "."+step(name.Value)).path
		if line, twice := first[name.Value]; twice {
			at.fail(fmt.Sprintf("given twice, first on line %d", line), "keep one")
			continue
		}
		first[name.Value] = key.Line
		if !given[name.Value] {
			given[name.Value] = true
			*out = append(*out, pair{name: name.Value, key: at, value: c.child(value, "."+step(name.Value))})
		}
	}
	for _, m := range merges {
		m.merge(c.path, visited, given, out)
	}
}

// merge adds the keys of a merged mapping, or of a list of them, as if they stood at path.
func (c cursor) merge(path string, visited map[*yaml.Node]bool, given map[string]bool, out *[]pair) {
	sources := []cursor{c}
	if c.node.Kind == yaml.SequenceNode {
		sources, _ = c.list("")
	}
	for _, s := range sources {
		if s.is(yaml.MappingNode, "a mapping", "merge an anchor of a mapping, such as <<: *base") {
			s.path = path
			s.gather(visited, given, out)
		}
	}
}

// step makes a key safe to stand in a path: anything but a plain word is quoted.
func step(name string) string {
	plain := strings.TrimFunc(name, func(r rune) bool {
		return r == '_' || r == '-' || r == '<' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}) == ""
	if name != "" && plain {
		return name
	}
	return fmt.Sprintf("%q", name)
}

// object is a mapping whose keys are all known ones.
type object struct {
	cursor
	values map[string]cursor
	meant  map[string]bool // keys that an unknown one was probably meant to be
}

// object reads a mapping that may have the known keys and no others. A node that is no mapping gives an object that is
// not ok and has no keys; asking it for keys notes nothing more.
func (c cursor) object(fix string, known ...string) (object, bool) {
	o := object{cursor: c, values: map[string]cursor{}, meant: map[string]bool{}}
	pairs, ok := c.pairs(fix)
	if !ok {
		return o, false
	}
	for _, p := range pairs {
		if !slices.Contains(known, p.name) {
			p.key.fail("unknown key", suggest(p.name, known))
			o.meant[nearest(p.name, known)] = true
			continue
		}
		o.values[p.name] = p.value
	}
	return o, true
}

// has reports whether the key is given.
func (o object) has(key string) bool {
	_, ok := o.values[key]
	return ok
}

// opt reads the value of a key when it is given.
func (o object) opt(key string, read func(cursor)) {
	if c, ok := o.values[key]; ok {
		read(c)
	}
}

// need reads the value of a key that must be given. One that was misspelt was reported as unknown already.
func (o object) need(key, fix string, read func(cursor)) {
	c, ok := o.values[key]
	if !ok {
		if o.meant[key] {
			return
		}
		missing := o.cursor
		missing.path = o.child(o.node, "."+key).path
		missing.fail("missing", fix)
		return
	}
	read(c)
}

// parser reads a value from its text. Its error says what is wrong and what to do.
type parser[T any] func(text string) (T, *fault)

// fault is what is wrong with a value and what to do about it.
type fault struct{ what, fix string }

// into reads a single value with a parser and sets dst when it is good.
func into[T any](dst *T, parse parser[T]) func(cursor) {
	return func(c cursor) {
		if v, ok := scalar(c, parse); ok {
			*dst = v
		}
	}
}

// scalar reads a single value with a parser.
func scalar[T any](c cursor, parse parser[T]) (T, bool) {
	var none T
	text, ok := c.text("give it one, or remove the key")
	if !ok {
		return none, false
	}
	v, bad := parse(text)
	if bad != nil {
		c.fail(bad.what, bad.fix)
		return none, false
	}
	return v, true
}
