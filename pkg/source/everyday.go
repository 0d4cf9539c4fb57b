package source

import (
	"strings"

	"daybreak/pkg/model"
)

// SameEveryDay reports whether the source is described so that every business day would read the very same input: a
// path without the date, a query without date, from and to. Entries are not filtered by day, so such a job would compare
// the same books again and again and look green.
func (s Spec) SameEveryDay() bool {
	switch {
	case s.CSV != nil:
		return samePath(s.CSV.Path)
	case s.Parquet != nil:
		return samePath(s.Parquet.Path)
	case s.XLSX != nil:
		return samePath(s.XLSX.Path)
	case s.Bill != nil:
		return samePath(s.Bill.Path)
	case s.Query != nil:
		named := func(name string) bool { return strings.Contains(s.Query.SQL, "{"+name+":") }
		return !named("date") && !named("from") && !named("to")
	}
	return false
}

func samePath(pattern string) bool {
	a, errA := expandPath(pattern, model.Day(0))
	b, errB := expandPath(pattern, model.Day(1))
	return errA == nil && errB == nil && a == b
}
