package source

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/formats"
	"daybreak/pkg/source/text"
)

// Problem is what is wrong with a [Spec], by the name of the setting as it stands in a configuration ("csv.path",
// "columns.amount").
type Problem struct {
	Field string
	Text  string // what is wrong and what to do
}

// Check lists everything in a spec that cannot work whatever the input holds; see also [Columns.CheckRules].
func (s Spec) Check() []Problem {
	out := s.checkKind()
	if s.Kind != KindBill {
		out = append(out, s.Columns.check()...)
	}
	if why := text.CheckTimeFormat(s.TimeFormat); why != "" {
		out = append(out, Problem{"time_format", why})
	}
	return out
}

func (s Spec) checkKind() []Problem {
	switch {
	case s.Kind == KindCSV && s.CSV != nil:
		return s.CSV.check()
	case s.Kind == KindParquet && s.Parquet != nil:
		return checkPath("parquet.path", s.Parquet.Path)
	case s.Kind == KindXLSX && s.XLSX != nil:
		return s.XLSX.check()
	case s.Kind == KindBill && s.Bill != nil:
		return s.Bill.check()
	case s.Kind == KindQuery && s.Query != nil:
		if err := checkSelect(s.Query.SQL); err != nil {
			return []Problem{{"query", err.Error()}}
		}
		return nil
	}
	return []Problem{{"", fmt.Sprintf("kind %q is not known or not described: describe one of csv, parquet, xlsx, query, bill", s.Kind)}}
}

func (c *CSV) check() []Problem {
	out := checkPath("csv.path", c.Path)
	add := func(field, format string, args ...any) {
		out = append(out, Problem{"csv." + field, fmt.Sprintf(format, args...)})
	}
	if c.Encoding != "" && !slices.Contains(text.Encodings, c.Encoding) {
		add("encoding", "%q is not known: name one of %s", c.Encoding, strings.Join(text.Encodings, ", "))
	}
	if _, err := path.Match(c.Entry, ""); err != nil {
		add("entry", "%q is no pattern: %v", c.Entry, err)
	}
	delimiter, quote := cmp.Or(c.Delimiter, ','), cmp.Or(c.Quote, '"')
	if strings.ContainsRune("\r\n\x00\uFFFD", delimiter) || delimiter < 0 {
		add("delimiter", "%q cannot be a delimiter", delimiter)
	}
	if quote != NoQuote && (strings.ContainsRune("\r\n\x00\uFFFD", quote) || quote < 0) {
		add("quote", "%q cannot be a quote", quote)
	}
	if delimiter == quote {
		add("quote", "delimiter and quote are the same character %q", quote)
	}
	if c.Skip < 0 {
		add("skip", "%d lines cannot be skipped", c.Skip)
	}
	return out
}

func (b *Bill) check() []Problem {
	out := checkPath("bill.path", b.Path)
	add := func(field, format string, args ...any) {
		out = append(out, Problem{"bill." + field, fmt.Sprintf(format, args...)})
	}
	if _, err := path.Match(b.Entry, ""); err != nil {
		add("entry", "%q is no pattern: %v", b.Entry, err)
	}
	f := formats.ByName(b.Format)
	if f != nil && f.Companion != "" || f == nil && b.Format != formats.Auto {
		add("format", "%q is not known: name one of %s", b.Format, strings.Join(formats.Names(), ", "))
		return out
	}
	known := bill.Types
	if f != nil {
		known = f.Types
	}
	for _, t := range b.Types {
		if !slices.Contains(known, t) {
			add("types", "%q is no type of row of %s: name some of %s", t, b.Format, joinTypes(known))
		}
	}
	return out
}

func joinTypes(types []bill.Type) string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = string(t)
	}
	return strings.Join(out, ", ")
}

// AllColumns are the columns that entries of the source can have: those described, or those of a bill's format. A bill
// whose content chooses its format may have those of any.
func (s Spec) AllColumns() Columns {
	if s.Kind != KindBill || s.Bill == nil {
		return s.Columns
	}
	if f := formats.ByName(s.Bill.Format); f != nil {
		return billColumns(f)
	}
	return billColumns(formats.All...)
}

func checkPath(field, pattern string) []Problem {
	if pattern == "" {
		return []Problem{{field, "is missing: name the file, such as bills/{date}.csv"}}
	}
	expanded, err := expandPath(pattern, 0)
	if err != nil {
		return []Problem{{field, err.Error()}}
	}
	if _, err := path.Match(expanded, ""); err != nil {
		return []Problem{{field, fmt.Sprintf("%q is no pattern: %v", pattern, err)}}
	}
	return nil
}

func (c Columns) check() []Problem {
	var out []Problem
	for _, name := range []string{ColAmount, ColCurrency} {
		if _, set := c.Get(name); !set {
			out = append(out, Problem{"columns." + name, "is missing: name the column of the input" + map[string]string{ColCurrency: ", or a fixed value such as =CNY"}[name]})
		}
	}
	for _, name := range []string{ColKey, ColAmount, ColOccurredAt, ColFee, ColID} {
		if col, _ := c.Get(name); col.IsFixed {
			out = append(out, Problem{"columns." + name, "cannot be the same for every row: only currency, status and attributes may be fixed"})
		}
	}
	if c.Currency.IsFixed {
		if _, err := currencyCode(c.Currency.Fixed); err != nil {
			out = append(out, Problem{"columns." + ColCurrency, err.Error()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Attrs)) {
		if !c.Attrs[name].Set() {
			out = append(out, Problem{"columns." + name, "names no column of the input"})
		}
	}
	return out
}

// CheckRules lists the columns that the match key of the rules needs and that are not there.
func (c Columns) CheckRules(rules model.Rules) []Problem {
	var out []Problem
	for _, name := range keyColumns(rules) {
		if name == ColAmount || name == ColFee || name == ColOccurredAt {
			out = append(out, Problem{"columns." + name, "cannot be part of match.key: a key is text that both sides write alike"})
		} else if col, set := c.Get(name); !set {
			out = append(out, Problem{"columns." + name, "is missing, but match.key needs it"})
		} else if col.IsFixed && strings.TrimSpace(col.Fixed) == "" {
			out = append(out, Problem{"columns." + name, "is fixed to nothing, but match.key needs it"})
		}
	}
	return out
}

// specError makes one error that wraps [ErrSpec] of all problems.
func specError(found []Problem) error {
	lines := make([]string, len(found))
	for i, p := range found {
		lines[i] = strings.TrimPrefix(p.Field+": "+p.Text, ": ")
	}
	return fmt.Errorf("%s: %w", strings.Join(lines, "\n"), ErrSpec)
}
