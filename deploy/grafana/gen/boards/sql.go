package boards

import "strings"

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
		text = strings.ReplaceAll(text, "amount('"+place+"')", "if("+amount+" = '', '0', "+amount+")")
	}
	return text
}
