package paypal

import (
	"context"
	"slices"
	"strings"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// Formats are the bills that this package reads.
func Formats() []*bill.Format { return []*bill.Format{settlementFormat, detailFormat} }

var settlementFormat = &bill.Format{
	Name:  "paypal-stl",
	Title: "PayPal settlement report (STL)",
	Attrs: attrs,
	Types: types(),
	Fits:  func(h bill.Head) bool { return kindOf(h) == settlement },
	Read: func(ctx context.Context, d *bill.Doc, out *bill.Out) error {
		return read(ctx, d, out, settlement)
	},
}

var detailFormat = &bill.Format{
	Name:  "paypal-trr",
	Title: "PayPal transaction detail report (TRR)",
	Attrs: attrs,
	Types: types(),
	Fits:  func(h bill.Head) bool { return kindOf(h) == detail },
	Read: func(ctx context.Context, d *bill.Doc, out *bill.Out) error {
		return read(ctx, d, out, detail)
	},
}

// kind is which report of PayPal a document is.
type kind int

const (
	none kind = iota
	other
	settlement
	detail
)

const headLinesMax = 50

// kindOf tells a report by its columns. One without columns is a settlement report when it has footers with balances.
func kindOf(h bill.Head) kind {
	delim := delimiterOf(h.FirstLine())
	k := none
	for i, line := range h.Lines(headLinesMax) {
		fields := strings.Split(line, string(delim))
		word := recordType(fields[0])
		if i == 0 && !slices.Contains([]string{"RH", "FH", "SH", "CH"}, word) {
			return none
		}
		switch {
		case word == "CH":
			return kindOfColumns(columnsOf(fields))
		case (word == "SF" || word == "RF") && len(fields) >= balanceFieldsMin:
			k = settlement
		case k == none && i > 0:
			k = other
		}
	}
	return k
}

const balanceFieldsMin = 11

func kindOfColumns(h *bill.Header) kind {
	switch {
	case !h.Has("Transaction ID") && !h.Has("Transaction Event Code"), h.Has("Subscription ID"):
		return other
	case h.Has("Transactional Status"), h.Has("Insurance Amount"), h.Has("Payer's Account ID"):
		return detail
	}
	return settlement
}

// recordType is the first field of a record in one form.
func recordType(field string) string { return strings.ToUpper(strings.Trim(field, " \"\uFEFF\r")) }

// delimiterOf chooses what parts the fields of the first line.
func delimiterOf(line string) rune {
	best, most := ',', strings.Count(line, ",")
	for _, d := range []rune{'\t', ';'} {
		if n := strings.Count(line, string(d)); n > most {
			best, most = d, n
		}
	}
	return best
}

// columnsOf makes a header of a CH record; the first column is the type of record. Early versions of the reports write names
// without blanks or with two of them.
func columnsOf[T string | []byte](fields []T) *bill.Header {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = string(f)
		if canonical, ok := canonicalNames[squeeze(names[i])]; ok {
			names[i] = canonical
		}
	}
	return bill.NewHeader(names)
}

func squeeze(name string) string { return strings.ReplaceAll(bill.Fold(name), " ", "") }

// canonicalNames are the columns that are read, by their names without blanks.
var canonicalNames = func() map[string]string {
	out := map[string]string{}
	for _, n := range append(slices.Clone(needed), "Transactional Status", "PayPal Reference ID Type", "Custom Field", "Store ID", "Subscription ID") {
		out[squeeze(n)] = n
	}
	return out
}()

// Strangers are files of the same providers that are no bills.
func Strangers() []bill.Stranger {
	const instead = "use the settlement report (paypal-stl) or the transaction detail report (paypal-trr) from PayPal's SFTP server"
	return []bill.Stranger{
		{
			Title:  "a PayPal report on agreements or subscriptions (SAR, PPA), or another report without transactions",
			Advice: "it moves no money; " + instead,
			Fits:   func(h bill.Head) bool { return kindOf(h) == other },
		},
		{
			Title:  "a PayPal activity or statement download",
			Advice: "its language, numbers, dates and columns change with the person who downloads it; " + instead,
			Fits:   isDownload,
		},
	}
}

// downloadWords are the names of gross and net in the languages of the web site.
var downloadWords = [][2]string{
	{"gross", "net"},
	{"bruto", "neto"},
	{"brutto", "netto"},
	{"brut", "net"},
	{"avant commission", "net"},
	{"lordo", "netto"},
	{"bruto", "netto"},
	{"bruto", "líquido"},
	{"总额", "净额"},
	{"合計", "正味"},
}

const downloadColumnsMin = 9

// isDownload knows the downloads of the web site: date, time, zone, and gross and net, in any language.
func isDownload(h bill.Head) bool {
	line := h.FirstLine()
	header := bill.NewHeader(strings.Split(line, string(delimiterOf(line))))
	if header.Len() < downloadColumnsMin || header.Has("Gross Sales") {
		return false
	}
	return slices.ContainsFunc(downloadWords, func(w [2]string) bool { return header.Has(w[0], w[1]) }) &&
		slices.ContainsFunc(header.Names()[:4], func(n string) bool { return slices.Contains(zoneWords, bill.Fold(n)) })
}

var zoneWords = []string{"timezone", "time zone", "zona horaria", "zeitzone", "fuseau horaire", "fuso orario", "fuso horário", "tijdzone", "时区", "時間帯"}

// clip keeps a word short in a message.
func clip(s string) string { return text.Clip(s, 40) }
