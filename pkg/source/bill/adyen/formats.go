package adyen

import (
	"slices"
	"strings"

	"daybreak/pkg/source/bill"
)

// Formats are the bills that this package reads.
func Formats() []*bill.Format { return []*bill.Format{settlementFormat, accountingFormat} }

var settlementFormat = &bill.Format{
	Name:  "adyen-settlement",
	Title: "Adyen settlement details report",
	Attrs: settlementAttrs,
	Types: typesOf(settlementTypes),
	Fits:  func(h bill.Head) bool { return isSettlement(headerOf(h)) },
	Read:  readSettlement,
}

var accountingFormat = &bill.Format{
	Name:  "adyen-accounting",
	Title: "Adyen payments accounting report",
	Attrs: accountingAttrs,
	Types: typesOf(accountingTypes),
	Fits:  func(h bill.Head) bool { return isAccounting(headerOf(h)) },
	Read:  readAccounting,
}

// Strangers are files of the same providers that are no bills.
func Strangers() []bill.Stranger {
	return []bill.Stranger{{
		Title:  "another report of Adyen",
		Advice: "deliver the settlement details report (adyen-settlement) or the payments accounting report (adyen-accounting) instead",
		Fits: func(h bill.Head) bool {
			header := headerOf(h)
			known := header.Has("Company Account", "Merchant Account") || header.Has("Psp Reference") || header.Has("BalancePlatform", "Booking Date")
			return known && !isSettlement(header) && !isAccounting(header)
		},
	}}
}

// headerOf reads the first line of a document as a header, whatever it is.
func headerOf(h bill.Head) *bill.Header {
	line := h.FirstLine()
	return bill.NewHeader(strings.Split(line, string(delimiterOf(line))))
}

// delimiterOf chooses what parts the names of a header; none of the names holds any of them.
func delimiterOf(line string) rune {
	best, most := ',', strings.Count(line, ",")
	for _, d := range []rune{'\t', ';'} {
		if n := strings.Count(line, string(d)); n > most {
			best, most = d, n
		}
	}
	return best
}

// isSettlement tells the report by the columns that no other has, two of them, so that one may be missing or misspelt.
func isSettlement(h *bill.Header) bool {
	return !isAccounting(h) && count(h, "Gross Debit (GC)", "Gross Credit (GC)", "Net Debit (NC)", "Net Credit (NC)") >= 2
}

func isAccounting(h *bill.Header) bool {
	return h.Has("Record Type") && count(h, "Payable (SC)", "Captured (PC)", "Authorised (PC)", "Received (PC)") >= 2
}

func count(h *bill.Header, names ...string) int {
	n := 0
	for _, name := range names {
		if h.Has(name) {
			n++
		}
	}
	return n
}

// typesOf lists what a table of types can yield.
func typesOf(table map[string]direction) []bill.Type {
	var out []bill.Type
	for _, d := range table {
		out = append(out, d.in, d.out)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
