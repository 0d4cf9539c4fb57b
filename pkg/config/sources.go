package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"daybreak/pkg/source"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/formats"
	"daybreak/pkg/source/text"
)

// roles are the columns with a meaning of their own.
var roles = []string{
	source.ColKey, source.ColAmount, source.ColCurrency, source.ColStatus, source.ColOccurredAt,
	source.ColFee, source.ColID,
}

// sourceKinds in the order in which messages list them.
var sourceKinds = []string{"csv", "parquet", "xlsx", "query", "bill"}

// readSource reads one side: exactly one kind. It reports whether everything in it was good, so that other parts of the
// file can be held against its columns.
func readSource(at cursor, spec *source.Spec) bool {
	before := len(at.d.problems)
	o, ok := at.object("write csv:, parquet:, xlsx:, query: or bill: below it", sourceKinds...)
	if !ok {
		return false
	}
	var given []string
	for _, kind := range sourceKinds {
		if o.has(kind) {
			given = append(given, kind)
		}
	}
	if len(given) > 1 {
		at.fail("names more than one kind of source: "+strings.Join(given, ", "), "keep one")
	}
	if len(given) == 0 && len(at.d.problems) == before {
		at.fail("names no source", "write csv:, parquet:, xlsx:, query: or bill: below it")
	}
	o.opt("csv", func(c cursor) { readCSV(c, spec) })
	o.opt("parquet", func(c cursor) { readParquet(c, spec) })
	o.opt("xlsx", func(c cursor) { readXLSX(c, spec) })
	o.opt("query", func(c cursor) { readQuery(c, spec) })
	o.opt("bill", func(c cursor) { readBill(c, spec) })
	if len(at.d.problems) == before {
		checkSpec(o.values[string(spec.Kind)], *spec)
	}
	if len(at.d.problems) == before && spec.SameEveryDay() {
		o.values[string(spec.Kind)].fail("every business day would read the same input",
			"put {date} into the path, or {date:Date}, {from:DateTime64(3)} and {to:DateTime64(3)} into the query")
	}
	return len(at.d.problems) == before
}

// checkSpec asks package source whether it can read what was described, so that nothing which loads is refused later.
// Each answer is put to the deepest key that it names.
func checkSpec(at cursor, spec source.Spec) {
	for _, p := range spec.Check() {
		place := at
		for name := range strings.SplitSeq(strings.TrimPrefix(p.Field, string(spec.Kind)+"."), ".") {
			if name == string(source.KindQuery) {
				name = "sql"
			}
			if place.node.Kind != yaml.MappingNode {
				break
			}
			pairs, _ := place.pairs("")
			if i := slices.IndexFunc(pairs, func(p pair) bool { return p.name == name }); i >= 0 {
				place = pairs[i].value
			}
		}
		bad := faultOfSource(p)
		place.fail(bad.what, bad.fix)
	}
}

func readCSV(at cursor, spec *source.Spec) {
	o, ok := at.object("write csv: { path: …, columns: … }", "path", "columns", "entry", "encoding", "delimiter", "quote",
		"comment", "skip", "time_format", "zone")
	if !ok {
		return
	}
	csv := &source.CSV{Encoding: "auto", Delimiter: ',', Quote: '"'}
	spec.Kind, spec.CSV = source.KindCSV, csv
	o.need("path", `name the file of a day, such as "ledger/{date}.csv"`, into(&csv.Path, parsePattern))
	o.opt("entry", into(&csv.Entry, parsePattern))
	o.opt("encoding", into(&csv.Encoding, oneOf(text.Encodings...)))
	o.opt("delimiter", into(&csv.Delimiter, character(source.ParseDelimiter, `write one character, such as ";", or tab`)))
	o.opt("quote", into(&csv.Quote, character(source.ParseQuote, `write one character, or none`)))
	o.opt("comment", into(&csv.Comment, parseText))
	o.opt("skip", into(&csv.Skip, countFrom(0, 1000)))
	if csv.Delimiter == csv.Quote {
		at.fail("delimiter and quote are the same character", "give them different ones, or set quote: none")
	}
	readCommon(o, spec)
}

func readParquet(at cursor, spec *source.Spec) {
	o, ok := at.object("write parquet: { path: …, columns: … }", "path", "columns", "time_format", "zone")
	if !ok {
		return
	}
	spec.Kind, spec.Parquet = source.KindParquet, &source.Parquet{}
	o.need("path", `name the file of a day, such as "ledger/{date}.parquet"`, into(&spec.Parquet.Path, parsePattern))
	readCommon(o, spec)
}

func readXLSX(at cursor, spec *source.Spec) {
	o, ok := at.object("write xlsx: { path: …, columns: … }", "path", "columns", "sheet", "skip", "time_format", "zone")
	if !ok {
		return
	}
	spec.Kind, spec.XLSX = source.KindXLSX, &source.XLSX{}
	o.need("path", `name the file of a day, such as "ledger/{date}.xlsx"`, into(&spec.XLSX.Path, parsePattern))
	o.opt("sheet", into(&spec.XLSX.Sheet, parseSheet))
	o.opt("skip", into(&spec.XLSX.Skip, countFrom(0, 1000)))
	readCommon(o, spec)
}

// parseSheet reads the name of a sheet, which may begin or end with a blank.
func parseSheet(text string) (string, *fault) {
	if text == "" {
		return "", &fault{"is empty", "name the sheet, or remove the key for the only one that is visible"}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", &fault{fmt.Sprintf("%q holds a control character", text), "remove it"}
	}
	return text, nil
}

func readQuery(at cursor, spec *source.Spec) {
	o, ok := at.object("write query: { sql: …, columns: … }", "sql", "columns", "time_format", "zone")
	if !ok {
		return
	}
	spec.Kind, spec.Query = source.KindQuery, &source.Query{}
	o.need("sql", "write one SELECT with {date:Date} or {from:DateTime64(3)} and {to:DateTime64(3)}",
		into(&spec.Query.SQL, parseSQL))
	readCommon(o, spec)
}

// readBill reads a bill of a provider: its format says what means what.
func readBill(at cursor, spec *source.Spec) {
	o, ok := at.object("write bill: { format: …, path: … }", "format", "path", "entry", "types", "zone")
	if !ok {
		return
	}
	spec.Kind, spec.Bill = source.KindBill, &source.Bill{}
	o.need("path", `name the file of a day, such as "bills/{date:20060102}.csv.gz"`, into(&spec.Bill.Path, parsePattern))
	o.need("format", "name the provider's format, or auto", into(&spec.Bill.Format, oneOf(formats.Names()...)))
	o.opt("entry", into(&spec.Bill.Entry, parsePattern))
	o.opt("types", func(c cursor) {
		spec.Bill.Types = readList(c, oneOf(bill.Types...))
		if c.node.Kind == yaml.SequenceNode && len(c.node.Content) == 0 {
			c.fail("names no type of row", "name at least one, or remove the key for all")
		}
	})
	o.opt("zone", into(&spec.Zone, parseZone))
}

// readCommon reads what every kind has.
func readCommon(o object, spec *source.Spec) {
	o.opt("time_format", into(&spec.TimeFormat, parseTimeFormat))
	o.opt("zone", into(&spec.Zone, parseZone))
	o.need("columns", "say which column is which, such as { key: order_no, amount: amount, currency: =CNY }",
		func(c cursor) { readColumns(c, &spec.Columns) })
}

// readColumns reads the meaning of columns. Every name that has no meaning of its own is an attribute, so a misspelt name
// would pass silently: one that is nearly a long name which is not given is refused.
func readColumns(at cursor, cols *source.Columns) {
	pairs, ok := at.pairs("write the meaning and the header, such as { key: order_no, amount: amount, currency: =CNY }")
	if !ok {
		return
	}
	given := map[string]bool{}
	for _, p := range pairs {
		given[p.name] = true
	}
	misspelt := map[string]bool{}
	for _, p := range pairs {
		if _, bad := parseText(p.name); bad != nil {
			p.key.fail("the name of a column "+bad.what, bad.fix)
			continue
		}
		if role := nearRole(p.name, given); role != "" {
			misspelt[role] = true
			p.key.fail(fmt.Sprintf("column %q looks like a misspelt %q", p.name, role),
				"write "+role+", or give the attribute another name")
		}
		if col, ok := scalar(p.value, columnParser(p.name)); ok {
			cols.Put(p.name, col)
		}
	}
	for _, need := range []struct{ role, fix string }{
		{source.ColAmount, "name the column of the amount"},
		{source.ColCurrency, "name its column, or write a fixed one such as currency: =CNY"},
	} {
		if !given[need.role] && !misspelt[need.role] {
			missing := at.child(at.node, "."+need.role)
			missing.fail("missing", need.fix)
		}
	}
}

// nearRole returns the role that name is a slip of the pen away from, "" when there is none.
func nearRole(name string, given map[string]bool) string {
	for _, role := range roles {
		if name != role && !given[role] && !slices.Contains(roles, name) && len(role) >= 6 && edits(plain(name), plain(role)) <= 1 {
			return role
		}
	}
	return ""
}

// columnParser reads the header or fixed value of a column. What is fixed must be what its meaning needs.
func columnParser(role string) parser[source.Column] {
	return func(text string) (source.Column, *fault) {
		col := source.ParseColumn(text)
		switch {
		case !col.Set():
			return col, &fault{"is empty", "name the header of the column, or remove the key"}
		case strings.ContainsAny(text, "\r\n\x00"):
			return col, &fault{fmt.Sprintf("%q holds a line end", text), "remove it"}
		case !col.IsFixed:
			return col, nil
		case col.Fixed == "":
			return col, &fault{"the fixed value is empty", "write it after the =, such as =CNY"}
		case role == source.ColCurrency:
			if _, bad := parseCurrency(col.Fixed); bad != nil {
				return col, &fault{"fixed " + bad.what, strings.Replace(bad.fix, "write ", "write =", 1)}
			}
		case role != source.ColStatus && slices.Contains(roles, role):
			return col, &fault{"cannot be the same for every entry", "name the header of the column"}
		}
		return col, nil
	}
}

// character adapts a parser of one character to this package's.
func character(parse func(string) (rune, error), fix string) parser[rune] {
	return func(text string) (rune, *fault) {
		r, err := parse(text)
		if err != nil || text == "" {
			return 0, &fault{fmt.Sprintf("%q is not one character", text), fix}
		}
		return r, nil
	}
}

// faultIn asks package source about one setting of an otherwise empty spec.
func faultIn(field string, spec source.Spec) *fault {
	for _, p := range spec.Check() {
		if p.Field == field {
			return faultOfSource(p)
		}
	}
	return nil
}

// faultOfSource splits what package source says: what is wrong and, after a colon, what to do.
func faultOfSource(p source.Problem) *fault {
	what, fix, _ := strings.Cut(strings.TrimSuffix(p.Text, ": "+source.ErrSpec.Error()), ": ")
	return &fault{what, fix}
}

func parseSQL(text string) (string, *fault) {
	if strings.TrimSpace(text) == "" {
		return "", &fault{"is empty", "write one SELECT"}
	}
	return text, faultIn("query", source.Spec{Kind: source.KindQuery, Query: &source.Query{SQL: text}})
}

// parseTimeFormat reads how instants are written: unix, unix_ms, or a Go layout.
func parseTimeFormat(text string) (string, *fault) {
	if text == "" {
		return "", &fault{"is empty", "remove the key for the ISO forms"}
	}
	bad := faultIn("time_format", source.Spec{TimeFormat: text})
	if bad != nil && bad.fix == "" {
		bad = &fault{fmt.Sprintf("%q is not a time format", text), bad.what}
	}
	return text, bad
}

// isDateLayout reports whether a layout prints a date and no time of day.
func isDateLayout(layout string) bool {
	a := time.Date(2001, 3, 14, 1, 2, 3, 0, time.UTC)
	otherDay, otherTime := time.Date(2016, 12, 25, 1, 2, 3, 0, time.UTC), time.Date(2001, 3, 14, 14, 45, 56, 0, time.UTC)
	return a.Format(layout) != otherDay.Format(layout) && a.Format(layout) == otherTime.Format(layout)
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// parsePattern reads a path with * ? [] and {date} or {date:20060102}.
func parsePattern(text string) (string, *fault) {
	if _, bad := parseText(text); bad != nil {
		return "", bad
	}
	const fix = "write {date} or, in Go's layout, {date:20060102}"
	var wrong *fault
	plainPath := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		layout, dated := strings.CutPrefix(p[1:len(p)-1], "date:")
		switch {
		case p == "{date}":
		case !dated:
			wrong = cmp.Or(wrong, &fault{fmt.Sprintf("placeholder %s is not known", p), fix})
		case !isDateLayout(layout):
			wrong = cmp.Or(wrong, &fault{fmt.Sprintf("%s is no layout of a date", p), fix})
		}
		return "x"
	})
	if wrong == nil && strings.ContainsAny(plainPath, "{}") {
		wrong = &fault{fmt.Sprintf("%q has a brace without its other half", text), fix}
	}
	if _, err := filepath.Match(plainPath, ""); wrong == nil && err != nil {
		wrong = &fault{fmt.Sprintf("%q is not a valid pattern", text), `close the bracket, or write \[ for the character itself`}
	}
	return text, wrong
}
