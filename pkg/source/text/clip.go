package text

import (
	"fmt"
	"strings"
)

// Clip shortens text for an error message to at most so many characters.
func Clip(s string, runesMax int) string {
	n := 0
	for i := range s {
		if n == runesMax {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// QuoteList prints names for an error message, the first forty of them.
func QuoteList(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i == 40 {
			fmt.Fprintf(&b, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", Clip(n, 60))
	}
	return b.String()
}
