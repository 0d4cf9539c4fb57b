package xlsx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// format is what the format of a number says of its meaning.
type format struct {
	date  bool // the number counts days
	clock bool // and a time of day is shown
}

// builtin returns the format of a number that a workbook does not define, as Excel has it in any language.
func builtin(id int) format {
	switch {
	case id == 22, id >= 18 && id <= 21, id >= 45 && id <= 47, id >= 32 && id <= 35, id == 55, id == 56, id >= 75 && id <= 80:
		return format{date: true, clock: true}
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 58, id >= 71 && id <= 74, id == 81:
		return format{date: true}
	}
	return format{}
}

// parseFormat tells by the code of a format, its first section, whether numbers under it are dates.
func parseFormat(code string) format {
	var f format
	for i := 0; i < len(code); i++ {
		switch c := code[i] | 0x20; {
		case code[i] == ';':
			return f
		case code[i] == '"':
			i += closing(code[i+1:], '"')
		case code[i] == '\\' || code[i] == '_' || code[i] == '*':
			i++
		case code[i] == '[':
			inside, _, _ := strings.Cut(code[i+1:], "]")
			if inside != "" && strings.Trim(strings.ToLower(inside), "hms") == "" {
				f = format{date: true, clock: true} // time that has passed, such as [h]:mm
			}
			i += closing(code[i+1:], ']')
		case c == 'e' && i+1 < len(code) && (code[i+1] == '+' || code[i+1] == '-'):
			i++
		case len(code)-i >= 7 && strings.EqualFold(code[i:i+7], "general"):
			i += 6
		case code[i] < 'A' || code[i] > 'z':
		case c == 'h' || c == 's':
			f.date, f.clock = true, true
		case c == 'y' || c == 'm' || c == 'd' || c == 'e':
			f.date = true
		}
	}
	return f
}

// closing is how far the closing character lies, counted from before the text.
func closing(rest string, c byte) int {
	if i := strings.IndexByte(rest, c); i >= 0 {
		return i + 1
	}
	return len(rest)
}

const stylesMax = 1 << 17 // twice what Excel has

// readStyles returns the format of every style of a cell.
func readStyles(s *stream) ([]format, error) {
	if err := s.root("styleSheet"); err != nil {
		return nil, err
	}
	own := map[string]format{}
	var ids []string
	err := s.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmts":
			return s.children(func(e xml.StartElement) error {
				own[attr(e, "numFmtId")] = parseFormat(attr(e, "formatCode"))
				return tooMany(len(own), "formats")
			})
		case "cellXfs":
			return s.children(func(e xml.StartElement) error {
				ids = append(ids, attr(e, "numFmtId"))
				return tooMany(len(ids), "styles")
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]format, len(ids))
	for i, id := range ids {
		f, ok := own[id]
		if !ok {
			n, err := strconv.Atoi(id)
			if err != nil && id != "" {
				return nil, fmt.Errorf("format %.20q is no number", id)
			}
			f = builtin(n)
		}
		out[i] = f
	}
	return out, s.end()
}

func tooMany(n int, what string) error {
	if n > stylesMax {
		return fmt.Errorf("the workbook has more than %d %s", stylesMax, what)
	}
	return nil
}

var errNoStyle = errors.New("a cell names a style that the workbook does not have")
