package alipay

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"daybreak/pkg/source/bill"
)

const headLines = 60 // within which a title or header must stand

// kind is what tells one of the four files from the others.
type kind struct {
	title   string              // of the first comment
	list    string              // names the list in the comments around it
	needed  []string            // columns
	known   []string            // further columns
	telling []string            // columns by which the file is known when its title was taken away
	totals  map[string][]string // of the total lines behind the list: which figures each of them has
	abs     map[string]bool     // of those lines, which are printed with either sign
}

// titles are those of all kinds: a title settles the kind, whatever the header says.
func titles() []string {
	return []string{tradeList.title, tradeSummary.title, accountList.title, accountSummary.title}
}

// fits goes by the title, or by the header when no line is a title.
func (k *kind) fits(h bill.Head) bool {
	lines := h.Lines(headLines)
	for _, line := range lines {
		if t := bare(line); slices.Contains(titles(), t) {
			return t == k.title
		}
	}
	return hasHeader(k.telling...)(h)
}

// bare is a line without what comments and spreadsheets put around its text.
func bare(line string) string { return strings.Trim(line, "# \t\r,;\"\uFEFF") }

// isComment reports whether a line is a comment, padded or shifted by a spreadsheet or not, and returns its text.
func isComment(line []byte) (string, bool) {
	if len(line) > commentBytesMax {
		return "", false
	}
	line = bytes.Trim(line, " \t,;\"")
	if !bytes.HasPrefix(line, []byte("#")) {
		return "", false
	}
	return string(line), true
}

const commentBytesMax = 4 << 10

// delimiter finds the one that cuts a line into the most names of columns, and how many those are.
func (k *kind) delimiter(line []byte) (delim byte, names int) {
	var s splitter
	for _, d := range delimiters {
		s.delim = d
		h := bill.NewHeader(s.split(line, 0))
		n := 0
		for _, name := range slices.Concat(k.needed, k.known) {
			if h.Has(name) {
				n++
			}
		}
		if n > names {
			delim, names = d, n
		}
	}
	return delim, names
}

// totalNames are the names of the total lines that a list must have behind it.
func (k *kind) totalNames() []string { return slices.Sorted(maps.Keys(k.totals)) }
