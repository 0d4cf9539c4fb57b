package mercadopago

import (
	"strings"

	"daybreak/pkg/source/bill"
)

// Formats are the bills that this package reads.
func Formats() []*bill.Format { return []*bill.Format{settlementFormat} }

var settlementFormat = &bill.Format{
	Name:  "mercadopago-settlement",
	Title: "Mercado Pago settlement report",
	Attrs: attrs,
	Types: types(),
	Fits:  func(h bill.Head) bool { return isSettlement(headerOf(h)) },
	Read:  read,
}

// headerOf reads the first line of a document as a header, whatever it is.
func headerOf(h bill.Head) *bill.Header {
	line := h.FirstLine()
	return bill.NewHeader(strings.Split(line, string(delimiterOf(line))))
}

// delimiterOf chooses what parts the names of a header; none of the names holds any of them.
func delimiterOf(line string) rune {
	best, most := ';', strings.Count(line, ";")
	for _, d := range []rune{'\t', ',', '|'} {
		if n := strings.Count(line, string(d)); n > most {
			best, most = d, n
		}
	}
	return best
}

// isSettlement tells the report by names that it alone has, not by all that are needed, so that one may be missing.
func isSettlement(h *bill.Header) bool {
	n := 0
	for _, name := range []string{"SOURCE_ID", "TRANSACTION_TYPE", "TRANSACTION_AMOUNT", "SETTLEMENT_NET_AMOUNT"} {
		if h.Has(name) {
			n++
		}
	}
	return n >= 3
}

// Strangers are files of the same providers that are no bills.
func Strangers() []bill.Stranger {
	const instead = "use the settlement report (mercadopago-settlement), with the technical names of its columns"
	return []bill.Stranger{
		{
			Title:  "the release report of Mercado Pago (liquidaciones, liberações)",
			Advice: "it shows when money became free, not what was moved; " + instead,
			Fits: func(h bill.Head) bool {
				header := headerOf(h)
				return header.Has("SOURCE_ID", "RECORD_TYPE") || header.Has("NET_CREDIT_AMOUNT", "NET_DEBIT_AMOUNT")
			},
		},
		{
			Title:  "a Mercado Pago report of collections or withdrawals",
			Advice: instead,
			Fits: func(h bill.Head) bool {
				header := headerOf(h)
				return header.Has("operation_id", "mercadopago_fee") || header.Has("operation_id", "net_received_amount")
			},
		},
		{
			Title:  "a report of Mercado Pago whose column names are translated",
			Advice: "the translation varies; switch it off in the settings of the report (header_language, report_translation) and " + instead,
			Fits:   isTranslated,
		},
	}
}

func isTranslated(h bill.Head) bool {
	line := strings.ToUpper(h.FirstLine())
	return strings.ContainsAny(line, ";,\t") && strings.Contains(line, "MERCADO PAGO") && !isSettlement(headerOf(h))
}
