package consumer

import (
	"bytes"
	"regexp"
	"strings"

	"daybreak/pkg/source/bill"
)

// documents are files of office programs. Package source refuses most of them before anybody asks here.
func documents() []bill.Stranger {
	return []bill.Stranger{
		{
			Title:  "an old Excel workbook (xls)",
			Advice: "save it as CSV (UTF-8), or ask for the bill as text; some sites name text .xls, which is read as it is",
			Fits:   magic("\xD0\xCF\x11\xE0"),
		},
		{
			Title:  "an Excel workbook (xlsx)",
			Advice: "ask for the bill as text, or describe the sheet with xlsx: and its columns",
			Fits: func(h bill.Head) bool {
				return magic("PK\x03\x04")(h) && (bytes.Contains(h.Raw, []byte("[Content_Types].xml")) || bytes.Contains(h.Raw, []byte("xl/workbook.xml")))
			},
		},
		{
			Title:  "a PDF document",
			Advice: "it is made for people: ask for the bill as CSV or text",
			Fits:   magic("%PDF"),
		},
	}
}

var (
	bai2 = regexp.MustCompile(`^01,[^,/]*,[^,/]*,\d{6},\d{0,4},[^/]*/`)
	qif  = regexp.MustCompile(`^!(?:Type|Account|Option):?\S*`)
)

// statements are formats of bank statements that nothing here reads.
func statements() []bill.Stranger {
	const advice = "it is not read: ask the bank for MT940 (format mt940) or camt.053 (format camt053), or convert it to CSV and describe that with csv:"
	return []bill.Stranger{
		{
			Title:  "an OFX or QFX statement",
			Advice: advice,
			Fits: func(h bill.Head) bool {
				return begins(h, "OFXHEADER") || begins(h, "<") && (strings.Contains(firstKB(h.Text), "<OFX>") || strings.Contains(firstKB(h.Text), "<?OFX "))
			},
		},
		{
			Title:  "a QIF statement",
			Advice: advice,
			Fits:   func(h bill.Head) bool { return qif.MatchString(strings.TrimLeft(h.Text, " \r\n")) },
		},
		{
			Title:  "a BAI2 statement",
			Advice: advice,
			Fits:   func(h bill.Head) bool { return bai2.MatchString(h.Text) },
		},
	}
}

// tables are lists of which nothing but the shape is known.
func tables() []bill.Stranger {
	return []bill.Stranger{
		{
			Title:  `a tab-separated list that was made for Excel (cells such as ="0070")`,
			Advice: "describe it with csv: and its columns, with delimiter: tab, after taking the =\"…\" away; or ask for the bill as text",
			Fits: func(h bill.Head) bool {
				line := h.FirstLine()
				return strings.Count(line, "\t") >= 2 && strings.HasPrefix(line, `="`)
			},
		},
		{
			Title:  "a tab-separated list of columns that no format has",
			Advice: "describe it with csv: and its columns, with delimiter: tab; if it is a bill that a spreadsheet saved, deliver it as the provider made it",
			Fits:   isTSV,
		},
	}
}

// isTSV asks for a header and at least two rows with the same number of tabs. The reports of Adyen come with tabs too.
func isTSV(h bill.Head) bool {
	rows := lines(h)
	if len(rows) > 1 && !strings.HasSuffix(h.Text, "\n") {
		rows = rows[:len(rows)-1]
	}
	tabs, n := 0, 0
	for _, row := range rows {
		switch count := strings.Count(row, "\t"); {
		case strings.TrimSpace(row) == "":
			continue
		case n == 0:
			tabs = count
		case count != tabs:
			return false
		}
		n++
	}
	return n >= 3 && tabs >= 2 && !strings.Contains(rows[0], ",") && !columns(rows[0], "\t").Has("Merchant Account")
}
