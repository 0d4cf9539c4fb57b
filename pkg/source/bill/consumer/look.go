package consumer

import (
	"bytes"
	"strings"

	"daybreak/pkg/source/bill"
)

const (
	headLines     = 60 // within which a title or a header must stand
	lineBytesMax  = 16 << 10
	answerByteMax = 16 << 10 // an error document is short
)

var delimiters = []string{",", "\t", ";"}

// lines are the first lines of the text, without those that are too long for a title or a header.
func lines(h bill.Head) []string {
	out := h.Lines(headLines)
	for i, line := range out {
		if len(line) > lineBytesMax {
			out[i] = ""
		}
	}
	return out
}

// title tells a document by a line near its beginning that begins with one of the texts, whatever frames it.
func title(texts ...string) func(bill.Head) bool {
	return func(h bill.Head) bool {
		for _, line := range lines(h) {
			for _, t := range texts {
				if strings.HasPrefix(strings.Trim(line, "-#=\uFEFF \",;\t"), t) {
					return true
				}
			}
		}
		return false
	}
}

// header tells a document by a line near its beginning whose cells hold all of the names. The first of them is looked for
// as it stands, before cells are cut, and so must be one that is written in one way only.
func header(names ...string) func(bill.Head) bool {
	return func(h bill.Head) bool {
		for _, line := range lines(h) {
			if !strings.Contains(line, names[0]) {
				continue
			}
			for _, d := range delimiters {
				if strings.Count(line, d)+1 >= len(names) && columns(line, d).Has(names...) {
					return true
				}
			}
		}
		return false
	}
}

// columns are the cells of a line as names. Cells like ="0070" are what some sites write for spreadsheets.
func columns(line, delimiter string) *bill.Header {
	cells := strings.Split(line, delimiter)
	for i, c := range cells {
		cells[i] = strings.TrimPrefix(strings.TrimSpace(c), "=")
	}
	return bill.NewHeader(cells)
}

func either(fits ...func(bill.Head) bool) func(bill.Head) bool {
	return func(h bill.Head) bool {
		for _, f := range fits {
			if f(h) {
				return true
			}
		}
		return false
	}
}

// magic tells a document by its first bytes.
func magic(prefixes ...string) func(bill.Head) bool {
	return func(h bill.Head) bool {
		for _, p := range prefixes {
			if bytes.HasPrefix(h.Raw, []byte(p)) {
				return true
			}
		}
		return false
	}
}

// begins tells a document by its first characters, whatever their case.
func begins(h bill.Head, prefixes ...string) bool {
	text := strings.TrimLeft(h.Text, " \t\r\n\uFEFF")
	for _, p := range prefixes {
		if len(text) >= len(p) && strings.EqualFold(text[:len(p)], p) {
			return true
		}
	}
	return false
}
