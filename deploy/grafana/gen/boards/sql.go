package boards

import (
	"regexp"
	"strings"
)

func prom(panel, expr, legend string) Query {
	return Query{Panel: panel, Kind: Prometheus, Text: expr, Legend: legend}
}

// now makes the query ask for the newest value only.
func (q Query) now() Query {
	q.Instant = true
	return q
}

func sql(panel, text string, parts ...[]Column) Query {
	return Query{Panel: panel, Kind: ClickHouse, Text: strings.TrimSpace(text), Columns: join(parts...)}
}

// exact writes an amount with all its digits, and with two at least, so that amounts below each other can be compared.
func exact(amount string) string {
	return "if(" + amount + " = round(" + amount + ", 2), toDecimalString(" + amount + ", 2), toString(" + amount + "))"
}

var exactly = regexp.MustCompile(`exact\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)`)

// exacts writes out exact(x) of a statement.
func exacts(text string) string {
	return exactly.ReplaceAllStringFunc(text, func(m string) string { return exact(exactly.FindStringSubmatch(m)[1]) })
}

// places writes out place('x') and amount('x') of a statement: the count of entries of both sides that a balance puts in
// a place, and the exact amount of one side and currency in it. The balance is JSON whose amounts are text, so nothing
// becomes a float on the way.
func places(text string) string {
	for _, place := range []string{"in", "carried_in", "matched", "different", "carried_out"} {
		of := func(side string) string {
			return "arraySum(x -> JSONExtractUInt(x.2, 'count'), JSONExtractKeysAndValuesRaw(balance, '" + side + "', '" + place + "'))"
		}
		text = strings.ReplaceAll(text, "place('"+place+"')", of("ledger")+" + "+of("channel"))
		amount := "JSONExtractString(balance, side, '" + place + "', currency, 'amount')"
		text = strings.ReplaceAll(text, "amount('"+place+"')", exact("toDecimal256(if("+amount+" = '', '0', "+amount+"), 8)"))
	}
	return text
}
