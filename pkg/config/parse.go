package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// sizeMax bounds the file: thousands of jobs fit, a device or a bill named by mistake does not.
const sizeMax = 16 << 20

// walkMax bounds the search for the line of a syntax error, each step of which parses the text again.
const walkMax = 300

// parse turns text into the root node of its only document, or says what is wrong with the text as YAML.
func parse(file string, text []byte) (*yaml.Node, *Problem) {
	if p := checkText(text); p != nil {
		p.File = file
		return nil, p
	}
	in := &byteReader{text: text}
	dec := yaml.NewDecoder(in)
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || (err == nil && emptyDocument(&doc)):
		return nil, &Problem{File: file, Line: 1, Column: 1, What: "the file is empty", Fix: "give it at least jobs:"}
	case err != nil:
		return nil, syntaxProblem(file, text, in.read, err)
	}
	err = dec.Decode(&second)
	switch {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case err != nil:
		return nil, syntaxProblem(file, text, in.read, err)
	}
	return nil, &Problem{
		File: file, Line: second.Line, Column: second.Column,
		What: "a second YAML document begins here", Fix: "one file holds one document: remove the --- or split the file",
	}
}

func emptyDocument(doc *yaml.Node) bool {
	return len(doc.Content) == 0 || (doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Tag == "!!null")
}

// checkText refuses bytes that are no text, with their place, which the parser does not give.
func checkText(text []byte) *Problem {
	if len(text) > sizeMax {
		return &Problem{What: "the file is larger than 16 MiB", Fix: "name the configuration file, not a data file"}
	}
	line, column := 1, 1
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			return &Problem{Line: line, Column: column, What: "not UTF-8 text", Fix: "save the file as UTF-8"}
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f:
			return &Problem{Line: line, Column: column, What: fmt.Sprintf("control character %U", r), Fix: "remove it"}
		}
		i += n
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return nil
}

// byteReader hands the text out byte by byte, so that it is known how far the parser had read when it gave up.
type byteReader struct {
	text []byte
	read int
}

func (r *byteReader) Read(p []byte) (int, error) {
	if r.read == len(r.text) {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p[0] = r.text[r.read]
	r.read++
	return 1, nil
}

var libraryLine = regexp.MustCompile(`^yaml: (line \d+: )?`)

// syntaxProblem says where the text stops being YAML. The parser names the line where the block around the fault begins,
// or none, so the place is found by parsing: the faulty line is the one after the longest run of whole lines, at or
// before the point of failure, that parses by itself. For a bracket or quote that is never closed this is the line that
// opens it.
func syntaxProblem(file string, text []byte, read int, err error) *Problem {
	lines := bytes.SplitAfter(text, []byte("\n"))
	last := bytes.Count(text[:read], []byte("\n")) + 1
	line := last
	for n := last - 1; n >= 0 && last-n <= walkMax; n-- {
		if parses(bytes.Join(lines[:n], nil)) {
			line = n + 1
			break
		}
	}
	bad := string(bytes.TrimRight(lines[line-1], "\r\n"))
	indent := bad[:len(bad)-len(strings.TrimLeft(bad, " \t"))]
	p := &Problem{
		File: file, Line: line, Column: len(indent) + 1,
		What: "not valid YAML: " + libraryLine.ReplaceAllString(err.Error(), ""),
		Fix:  "look at the indentation, colons, quotes and brackets of this line",
	}
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		p.Column, p.What, p.Fix = tab+1, "not valid YAML: a tab in the indentation", "indent with spaces"
	}
	return p
}

// parses reports whether text is YAML; no document at all is.
func parses(text []byte) bool {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
