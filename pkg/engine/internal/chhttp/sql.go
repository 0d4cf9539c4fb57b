package chhttp

import (
	"strings"
	"unicode/utf8"
)

// statement is what reading one SQL text found.
type statement struct {
	// keyword is the first word in upper case, "(" for a parenthesis.
	keyword string
	// text is what the engine runs: the whole statement, or for an INSERT with
	// data the part before VALUES or FORMAT.
	text string
	// insert says that data follow: in the rest of the text, the body, or both.
	insert bool
	format string
	inline string
}

// multi is the refusal of a second statement, with the server's code.
var errMulti = &exception{code: 62, msg: "Multi-statements are not allowed: send one statement per request", name: "SYNTAX_ERROR"}

// parse reads as much of the text as needed to know where a statement ends and
// where the data of an INSERT begin. Anything else is the engine's to judge.
func parse(sql string) (statement, error) {
	lex := lexer{in: sql}
	first := lex.next()
	st := statement{keyword: strings.ToUpper(first.text), text: sql}
	if first.kind == tokenEnd {
		return st, &exception{code: 62, msg: "Empty query", name: "SYNTAX_ERROR"}
	}
	if st.keyword == "INSERT" {
		if found, err := parseInsert(&st, &lex); found || err != nil {
			return st, err
		}
	}
	return st, parseRest(&st, first.text == ";", first.end)
}

// parseRest looks for a second statement and for what the interface lacks.
func parseRest(st *statement, ended bool, from int) error {
	lex := lexer{in: st.text, pos: from}
	last := ""
	for {
		t := lex.next()
		switch {
		case t.kind == tokenEnd:
			return nil
		case t.text == ";" && t.kind == tokenOther:
			ended = true
		case ended:
			return errMulti
		case last == "INTO" && t.is("OUTFILE"):
			return &exception{code: 48, msg: "INTO OUTFILE is not allowed over HTTP", name: "NOT_IMPLEMENTED"}
		}
		last = t.upper()
	}
}

// parseInsert finds VALUES or FORMAT outside of parentheses. found is false for
// INSERT … SELECT, which has no data.
func parseInsert(st *statement, lex *lexer) (found bool, err error) {
	depth, prev := 0, ""
	for {
		t := lex.next()
		up := t.upper()
		switch {
		case t.kind == tokenEnd:
			// No FORMAT: the body, if any, is VALUES, as in the server.
			st.insert, st.format = true, "Values"
			return true, nil
		case t.kind == tokenOther && t.text == ";":
			st.text = st.text[:t.start]
			st.insert, st.format = true, "Values"
			return true, onlyEnd(lex)
		case t.kind == tokenOther && (t.text == "(" || t.text == "["):
			depth++
		case t.kind == tokenOther && (t.text == ")" || t.text == "]"):
			depth--
		case up == "SELECT" || up == "WITH" || up == "WATCH" || up == "INFILE":
			return false, nil
		case depth != 0 || prev == "INTO" || prev == "TABLE" || prev == ".":
		case up == "VALUES":
			st.insert, st.format = true, "Values"
			return true, cutValues(st, t)
		case up == "FORMAT":
			return true, cutFormat(st, t, lex)
		}
		prev = up
		if t.kind == tokenOther {
			prev = t.text
		}
	}
}

func onlyEnd(lex *lexer) error {
	for {
		t := lex.next()
		if t.kind == tokenEnd {
			return nil
		}
		if t.text != ";" {
			return errMulti
		}
	}
}

// cutValues takes the rows out of the text; they are SQL literals, so a
// semicolon between them ends the statement.
func cutValues(st *statement, at token) error {
	rest := st.text[at.end:]
	st.text = st.text[:at.start]
	lex := lexer{in: rest}
	for {
		t := lex.next()
		if t.kind == tokenEnd {
			st.inline = rest
			return nil
		}
		if t.text == ";" && t.kind == tokenOther {
			st.inline = rest[:t.start]
			return onlyEnd(&lex)
		}
	}
}

// cutFormat takes the format's name and the data after the line end out of the
// text. What follows is bytes and not looked at.
func cutFormat(st *statement, at token, lex *lexer) error {
	name := lex.next()
	if name.kind != tokenWord {
		return &exception{code: 62, msg: "Syntax error: FORMAT needs a name", name: "SYNTAX_ERROR"}
	}
	rest := st.text[name.end:]
	st.text, st.insert, st.format = st.text[:at.start], true, name.text
	trimmed := strings.TrimLeft(rest, " \t\r;")
	if strings.TrimSpace(trimmed) == "" {
		return nil
	}
	st.inline = strings.TrimPrefix(trimmed, "\n")
	return nil
}

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted
	tokenOther
)

type token struct {
	kind       tokenKind
	text       string
	start, end int
}

func (t token) upper() string {
	if t.kind != tokenWord {
		return ""
	}
	return strings.ToUpper(t.text)
}

func (t token) is(word string) bool { return t.kind == tokenWord && strings.EqualFold(t.text, word) }

// lexer splits SQL into words, quoted things and single signs, with
// ClickHouse's comments and quotes, Unicode quotes and heredocs among them.
type lexer struct {
	in  string
	pos int
}

func (l *lexer) next() token {
	l.skipSpace()
	start := l.pos
	if start >= len(l.in) {
		return token{kind: tokenEnd, start: start, end: start}
	}
	kind := l.scan()
	return token{kind: kind, text: l.in[start:l.pos], start: start, end: l.pos}
}

func (l *lexer) scan() tokenKind {
	rest := l.in[l.pos:]
	switch c := rest[0]; {
	case c == '\'' || c == '"' || c == '`':
		l.pos += quotedLen(rest, c)
		return tokenQuoted
	case strings.HasPrefix(rest, "‘"):
		l.until("’")
		return tokenQuoted
	case strings.HasPrefix(rest, "“"):
		l.until("”")
		return tokenQuoted
	case c == '$':
		return l.heredoc(rest)
	case isWordByte(c):
		n := 1
		for n < len(rest) && (isWordByte(rest[n]) || rest[n] == '$') {
			n++
		}
		l.pos += n
		return tokenWord
	default:
		_, n := utf8.DecodeRuneInString(rest)
		l.pos += n
		return tokenOther
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quotedLen is the length of the quoted thing at the start of s: backslashes
// escape and a doubled quote stands for one.
func quotedLen(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			if i+1 >= len(s) || s[i+1] != quote {
				return i + 1
			}
			i++
		}
	}
	return len(s)
}

func (l *lexer) until(mark string) {
	if i := strings.Index(l.in[l.pos:], mark); i >= 0 {
		l.pos += i + len(mark)
		return
	}
	l.pos = len(l.in)
}

// heredoc reads $tag$ … $tag$; a lone $ is a sign of its own.
func (l *lexer) heredoc(rest string) tokenKind {
	n := 1
	for n < len(rest) && isWordByte(rest[n]) {
		n++
	}
	if n >= len(rest) || rest[n] != '$' {
		l.pos++
		return tokenOther
	}
	tag := rest[:n+1]
	end := strings.Index(rest[len(tag):], tag)
	if end < 0 {
		l.pos++
		return tokenOther
	}
	l.pos += len(tag) + end + len(tag)
	return tokenQuoted
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.in) {
		rest := l.in[l.pos:]
		switch {
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "# "), strings.HasPrefix(rest, "#!"):
			l.until("\n")
		case strings.HasPrefix(rest, "/*"):
			l.pos += 2
			l.until("*/")
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			l.pos++
		case strings.HasPrefix(rest, "\u00a0"), strings.HasPrefix(rest, "\ufeff"):
			_, n := utf8.DecodeRuneInString(rest)
			l.pos += n
		default:
			return
		}
	}
}
