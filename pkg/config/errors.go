package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrInvalid is what every [*Errors] is: the file cannot be used and nothing of it was loaded.
	ErrInvalid = errors.New("the configuration is not valid")

	// ErrNoFile is returned by [Find] when no place names a configuration file that exists.
	ErrNoFile = errors.New("no configuration file")
)

// Problem is one thing that is wrong in a configuration file.
type Problem struct {
	File   string
	Line   int    // from 1; 0 when the file as a whole is meant
	Column int    // in characters, from 1; 0 when the file as a whole is meant
	Path   string // such as jobs[0].due.at; "" when it is about no key
	What   string // what is wrong
	Fix    string // what to do
}

// String prints file:line:column: path: what is wrong; what to do.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.What)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// Errors are all the problems of one file, by line and column. There is at least one.
type Errors struct {
	Problems []Problem
	cause    error // of a file that could not be read
}

// Error prints one problem a line.
func (e *Errors) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.Is work for [ErrInvalid] and for the cause of a file that could not be read.
func (e *Errors) Unwrap() []error {
	if e.cause != nil {
		return []error{ErrInvalid, e.cause}
	}
	return []error{ErrInvalid}
}

// collect returns the problems as an error: sorted by place, each once (an anchor may be read many times), nil when there
// are none.
func collect(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Errors{Problems: slices.Compact(problems)}
}
