package config

import (
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// readBooks reads the two sources of a job and the rules by which they are compared, then checks the rules against the
// columns that the sources have. A source that was not read well is not checked against: its columns are not known.
func readBooks(o object, j *Job) {
	known := map[model.Side]*source.Columns{}
	for _, s := range []struct {
		side model.Side
		spec *source.Spec
	}{{model.Ledger, &j.Ledger}, {model.Channel, &j.Channel}} {
		o.need(string(s.side), "say where the entries come from: csv, parquet, xlsx, query or bill", func(c cursor) {
			if readSource(c, s.spec) {
				columns := s.spec.AllColumns()
				known[s.side] = &columns
			}
		})
	}
	if len(known) == len(model.Sides) && reflect.DeepEqual(j.Ledger, j.Channel) {
		o.values[string(model.Channel)].fail("reads the same input as ledger, in the same way", "name the provider's bill: books agree with themselves every day")
	}
	named := false
	o.opt("match", func(c cursor) { named = readMatch(c, &j.Rules, known) })
	if !named {
		checkDefaultKey(o, known)
	}
	o.opt("status_map", func(c cursor) { j.Rules.StatusMap = readStatusMap(c, known) })
}

// checkDefaultKey wants the column key on both sides where match.key does not name other columns.
func checkDefaultKey(o object, known map[model.Side]*source.Columns) {
	for _, side := range model.Sides {
		if cols := known[side]; cols != nil && !cols.Key.Set() {
			at := o.values[string(side)]
			at.fail("columns has no key, by which entries are matched", "add key to columns, or name other columns in match.key")
		}
	}
}

// readMatch reads the rules of comparing and reports whether it names the columns of the match key.
func readMatch(at cursor, r *model.Rules, known map[model.Side]*source.Columns) (keyNamed bool) {
	o, ok := at.object("write match: { key: [key] }", "key", "mode", "tolerance", "compare")
	if !ok {
		return false
	}
	o.opt("key", func(c cursor) {
		r.Key = readColumnNames(c, known, notInKey)
		if c.node.Kind == yaml.SequenceNode && len(c.node.Content) == 0 {
			c.fail("names no column", "name at least one, or remove the key")
		}
	})
	o.opt("mode", into(&r.Mode, oneOf(model.ModeOne, model.ModeSum)))
	o.opt("tolerance", func(c cursor) { r.Tolerance = readAmounts(c) })
	o.opt("compare", func(c cursor) { r.Compare = readCompare(c, r.Mode, known) })
	return o.has("key")
}

// notInKey refuses what two sides write in different ways for the same thing.
func notInKey(name string) *fault {
	switch name {
	case source.ColAmount, source.ColFee, source.ColOccurredAt:
		return &fault{fmt.Sprintf("%s cannot be part of the match key", name), "name columns whose text is the same on both sides"}
	}
	return nil
}

// notCompared refuses what the rules compare anyhow, by value: as text, 1.0 and 1.00 would differ.
func notCompared(name string) *fault {
	if name == source.ColAmount || name == source.ColCurrency {
		return &fault{name + " is always compared, by its value", "remove it"}
	}
	return nil
}

// readCompare reads the columns that must agree.
func readCompare(at cursor, mode model.MatchMode, known map[model.Side]*source.Columns) []string {
	names := readColumnNames(at, known, notCompared)
	if mode == model.ModeSum && len(names) > 0 {
		at.fail("columns are compared only in mode one", "remove compare, or set mode: one")
	}
	return names
}

// readColumnNames reads a list of columns that both sides have: one that a side lacks would never match, or never be
// compared. unfit says which cannot be in the list at all.
func readColumnNames(at cursor, known map[model.Side]*source.Columns, unfit func(string) *fault) []string {
	return readList(at, func(text string) (string, *fault) {
		if _, bad := parseText(text); bad != nil {
			return "", bad
		}
		if bad := unfit(text); bad != nil {
			return "", bad
		}
		return text, checkOnBothSides(text, known)
	})
}

// checkOnBothSides wants a column in both sides whose columns are known.
func checkOnBothSides(name string, known map[model.Side]*source.Columns) *fault {
	var lacking []model.Side
	var names []string
	for _, side := range model.Sides {
		if cols := known[side]; cols != nil {
			names = append(names, columnNames(*cols)...)
			if _, ok := cols.Get(name); !ok {
				lacking = append(lacking, side)
			}
		}
	}
	switch len(lacking) {
	case 0:
		return nil
	case 1:
		return &fault{
			fmt.Sprintf("%s has no column %q", lacking[0], name),
			fmt.Sprintf("add it to %s's columns, or remove it here", lacking[0]),
		}
	}
	slices.Sort(names)
	return &fault{fmt.Sprintf("neither side has a column %q", name), suggest(name, slices.Compact(names))}
}

// columnNames lists the columns that are set.
func columnNames(c source.Columns) []string {
	var out []string
	for _, role := range roles {
		if _, ok := c.Get(role); ok {
			out = append(out, role)
		}
	}
	for name := range c.Attrs {
		out = append(out, name)
	}
	return out
}

// readStatusMap reads what the statuses of each side mean in common words.
func readStatusMap(at cursor, known map[model.Side]*source.Columns) map[model.Side]map[string]string {
	out := map[model.Side]map[string]string{}
	o, _ := at.object("write status_map: { ledger: { PAID: success } }", "ledger", "channel")
	for _, side := range model.Sides {
		o.opt(string(side), func(c cursor) {
			if cols := known[side]; cols != nil && !cols.Status.Set() {
				c.fail(string(side)+" has no column \"status\"", "add status to its columns, or remove the map")
			}
			words := map[string]string{}
			pairs, _ := c.pairs("write the side's own word and the common one, such as { PAID: success }")
			for _, p := range pairs {
				if v, ok := scalar(p.value, parseText); ok {
					words[p.name] = v
				}
			}
			out[side] = words
		})
	}
	return out
}
