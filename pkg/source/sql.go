package source

import (
	"errors"
	"fmt"
	"strings"

	"daybreak/pkg/source/text"
)

// checkSelect refuses everything but one SELECT, so that a typing error cannot write. The server is asked to refuse
// writes as well.
func checkSelect(sql string) error {
	words, err := sqlWords(sql)
	if err != nil {
		return err
	}
	for len(words) > 0 && words[len(words)-1] == ";" {
		words = words[:len(words)-1]
	}
	first := 0
	for first < len(words) && words[first] == "(" {
		first++
	}
	if first == len(words) {
		return errors.New("there is no statement: write one SELECT")
	}
	if w := strings.ToUpper(words[first]); w != "SELECT" && w != "WITH" {
		return fmt.Errorf("the statement begins with %s: only SELECT, or WITH … SELECT, may be run", text.Clip(w, 20))
	}
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case w == ";":
			return errors.New("there is more than one statement: write one SELECT")
		case strings.EqualFold(w, "INTO") && strings.EqualFold(next, "OUTFILE"):
			return errors.New("INTO OUTFILE may not be used: the rows are read by the program")
		case isFormatClause(words, i):
			return errors.New("FORMAT may not be used: the rows are read in the program's own format")
		}
	}
	return nil
}

// isFormatClause tells FORMAT name at the end of a statement, or before its settings, from a column of that name.
func isFormatClause(words []string, i int) bool {
	if i == 0 || !strings.EqualFold(words[i], "FORMAT") || i+1 == len(words) || !isWord(words[i+1]) {
		return false
	}
	if i+2 < len(words) && !strings.EqualFold(words[i+2], "SETTINGS") {
		return false
	}
	switch before := strings.ToUpper(words[i-1]); before {
	case "BY", "SELECT", "WHERE", "AND", "OR", "NOT", "ON":
		return false
	default:
		return isWordByte(before[0]) || strings.Contains(")]'\"`", before)
	}
}

func isWord(w string) bool { return w != "" && isWordByte(w[0]) && (w[0] < '0' || w[0] > '9') }

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// sqlWords cuts SQL into words and single signs, without comments; a quoted text or name is the sign that opens it.
func sqlWords(sql string) ([]string, error) {
	var out []string
	for i := 0; i < len(sql); {
		rest := sql[i:]
		switch c := sql[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v':
			i++
		case strings.HasPrefix(rest, "--") || c == '#':
			i += lineLen(rest)
		case strings.HasPrefix(rest, "/*"):
			n := commentLen(rest)
			if n < 0 {
				return nil, errors.New("a comment is not closed")
			}
			i += n
		case c == '\'' || c == '"' || c == '`':
			n := quotedLen(rest)
			if n < 0 {
				return nil, fmt.Errorf("a quote %c is not closed", c)
			}
			out = append(out, rest[:1])
			i += n
		case isWordByte(c):
			n := 1
			for n < len(rest) && isWordByte(rest[n]) {
				n++
			}
			if n = heredocLen(rest, n); n < 0 {
				return nil, errors.New("a $heredoc$ is not closed")
			}
			out = append(out, rest[:n])
			i += n
		default:
			out = append(out, rest[:1])
			i++
		}
	}
	return out, nil
}

func lineLen(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// commentLen is the length of the block comment that s begins with; ClickHouse nests them.
func commentLen(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// quotedLen is the length of the quoted text that s begins with; a backslash escapes, a doubled quote is two texts.
func quotedLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return -1
}

// heredocLen extends a word of n bytes that is $tag$ to the end of its text.
func heredocLen(s string, n int) int {
	end := strings.IndexByte(s[1:n], '$')
	if s[0] != '$' || end < 0 {
		return n
	}
	tag := s[:end+2]
	closing := strings.Index(s[len(tag):], tag)
	if closing < 0 {
		return -1
	}
	return len(tag)*2 + closing
}
