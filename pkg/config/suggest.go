package config

import (
	"strconv"
	"strings"
)

// suggest names the known word that was probably meant, or all known words when none is near.
func suggest(word string, known []string) string {
	if best := nearest(word, known); best != "" {
		return "did you mean " + strconv.Quote(best) + "?"
	}
	if len(known) == 1 {
		return "known is " + known[0]
	}
	return "known are " + strings.Join(known, ", ")
}

// nearest returns the known word that was probably meant, "" when none is near.
func nearest(word string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := edits(plain(word), plain(k)); d < distance && 2*d <= len(k) {
			best, distance = k, d
		}
	}
	return best
}

// plain takes away how words are joined: maxDays, max-days and max_days are the same mistake.
func plain(word string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
}

// edits is the number of inserted, deleted, replaced or swapped neighbouring characters between two words.
func edits(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > 64 || len(t) > 64 {
		return len(s) + len(t)
	}
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}
