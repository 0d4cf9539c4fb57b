package bill

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/width"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// Header finds columns by their names, compared after [Fold].
type Header struct {
	names  []string // as they stand, trimmed
	folded []string
	at     map[string]int
	twice  []string
}

// NewHeader takes the names of a header record.
func NewHeader[T string | []byte](names []T) *Header {
	h := &Header{at: map[string]int{}}
	for i, n := range names {
		name := strings.Trim(string(n), " \t\uFEFF")
		folded := Fold(name)
		h.names, h.folded = append(h.names, name), append(h.folded, folded)
		if _, there := h.at[folded]; there && folded != "" {
			h.twice = append(h.twice, name)
			continue
		}
		h.at[folded] = i
	}
	return h
}

// Fold makes names of columns comparable: full-width letters, digits and brackets become usual ones, letters lower case,
// and blanks, tabs, quotes and backticks at the ends go. It is for names only, never for values.
func Fold(name string) string {
	return strings.ToLower(strings.Trim(width.Narrow.String(name), " \t\uFEFF\"`'"))
}

// Len is the number of columns.
func (h *Header) Len() int { return len(h.names) }

// Names are the names as they stand.
func (h *Header) Names() []string { return h.names }

// Has reports whether all those columns are there.
func (h *Header) Has(names ...string) bool {
	for _, n := range names {
		if _, ok := h.at[Fold(n)]; !ok {
			return false
		}
	}
	return true
}

// At returns the column of the first of the names that is there, -1 when none is.
func (h *Header) At(names ...string) int {
	for _, n := range names {
		if i, ok := h.at[Fold(n)]; ok {
			return i
		}
	}
	return -1
}

// Check returns an error that lists the needed columns which are missing, those that are neither needed nor known and
// those that are there more than once, nil when there are none. A nil known lets any column be there; one that ends in *
// is a prefix, such as Reserved*.
func (h *Header) Check(needed, known []string) error {
	var missing, strange []string
	for _, n := range needed {
		if !h.Has(n) {
			missing = append(missing, n)
		}
	}
	for i, f := range h.folded {
		if known != nil && f != "" && !anyFold(f, needed) && !anyFold(f, known) {
			strange = append(strange, h.names[i])
		}
	}
	var parts []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+text.QuoteList(names))
		}
	}
	add("missing", missing)
	add("not known", strange)
	add("there more than once", h.twice)
	if len(parts) == 0 {
		return nil
	}
	return fmt.Errorf("columns %s; found: %s", strings.Join(parts, "; "), text.QuoteList(h.names))
}

func anyFold(folded string, names []string) bool {
	for _, n := range names {
		if prefix, ok := strings.CutSuffix(n, "*"); ok && strings.HasPrefix(folded, Fold(prefix)) || Fold(n) == folded {
			return true
		}
	}
	return false
}

// Cells reads the fields of one record by column, and notes what is wrong with them at their place. A column of -1 is
// one that the bill does not have: its values are empty.
type Cells struct {
	Header *Header
	Fields [][]byte
	Trim   string                          // characters that are no part of any value at its ends, such as "\t "
	Place  func(field int) (line, col int) // of a field of the current record
	Out    *Out

	idents []identColumn // by column
	words  map[string]string
}

type identColumn struct{ long, zeros, line int }

// Text is the value of a column, "" when it has none. Short values are kept once, so that a status is not stored anew for
// every row.
func (c *Cells) Text(col int) string {
	if col < 0 || col >= len(c.Fields) {
		return ""
	}
	b := c.Fields[col]
	if c.Trim != "" {
		b = trim(b, c.Trim)
	}
	if len(b) > 16 {
		return string(b)
	}
	if s, ok := c.words[string(b)]; ok {
		return s
	}
	s := string(b)
	if c.words == nil {
		c.words = map[string]string{}
	}
	if len(c.words) < 256 {
		c.words[s] = s
	}
	return s
}

func trim(b []byte, cutset string) []byte {
	for len(b) > 0 && strings.IndexByte(cutset, b[0]) >= 0 {
		b = b[1:]
	}
	for len(b) > 0 && strings.IndexByte(cutset, b[len(b)-1]) >= 0 {
		b = b[:len(b)-1]
	}
	return b
}

// Problem notes what is wrong with a column of the current record.
func (c *Cells) Problem(col int, err error) {
	line, column := c.Place(max(col, 0))
	name := ""
	if col >= 0 && col < c.Header.Len() {
		name = fmt.Sprintf("column %q: ", c.Header.names[col])
	}
	c.Out.Problem(line, column, "%s%w", name, err)
}

// Ident is text that identifies. A number as a spreadsheet prints it is a problem, because its digits are lost, and so is
// a column that turns out to be mostly such numbers written out, see [Cells.Close].
func (c *Cells) Ident(col int) string {
	s := c.Text(col)
	if s == "" {
		return s
	}
	if text.IsSpreadsheetNumber(s) {
		c.Problem(col, fmt.Errorf("%q is a number as a spreadsheet rounds it: its digits are lost; deliver the file as the provider made it", text.Clip(s, 40)))
		return s
	}
	for len(c.idents) <= col {
		c.idents = append(c.idents, identColumn{})
	}
	if r := text.Damage(s); r >= 0 {
		c.Problem(col, damaged(s, r))
	}
	if len(s) > 15 && strings.Trim(s, "0123456789") == "" {
		i := &c.idents[col]
		i.long++
		if strings.HasSuffix(s, "00000") {
			i.zeros++
		}
		if i.line == 0 {
			i.line, _ = c.Place(col)
		}
	}
	return s
}

// damaged says what is wrong with text that identifies and holds such a character.
func damaged(s string, r rune) error {
	return fmt.Errorf("%q holds the character %U, which no number has: the text was damaged on its way; deliver the file as the provider made it", text.Clip(s, 40), r)
}

// Close ends the records: it notes columns of ids most of whose long numbers end in five zeros, as they do after a
// spreadsheet has kept fifteen digits of them.
func (c *Cells) Close() {
	for col, i := range c.idents {
		if i.zeros > 1 && i.zeros*2 > i.long {
			c.Out.Problem(i.line, 0, "column %q: %d of %d long numbers end in 00000: a spreadsheet rounded them; deliver the file as the provider made it",
				c.Header.names[col], i.zeros, i.long)
		}
	}
}

// Money is an exact amount in major units. Empty text is a problem.
func (c *Cells) Money(col int) decimal.Decimal {
	d := c.MoneyOrNone(col)
	if !d.Valid && (col < 0 || c.Text(col) == "") {
		c.Problem(col, fmt.Errorf("the amount is empty: %w", model.ErrAmount))
	}
	return d.Decimal
}

// MoneyOrNone is an exact amount in major units, not valid when the text is empty or wrong.
func (c *Cells) MoneyOrNone(col int) decimal.NullDecimal {
	written := c.Text(col)
	if written == "" {
		return decimal.NullDecimal{}
	}
	d, err := ParseMoney(written)
	if err != nil {
		c.Problem(col, err)
	}
	return decimal.NullDecimal{Decimal: d, Valid: err == nil}
}

// ParseMoney is [model.ParseAmount] that does not print a megabyte.
func ParseMoney(written string) (decimal.Decimal, error) {
	if len(written) > 64 {
		return decimal.Decimal{}, fmt.Errorf("amount %q: too long: %w", text.Clip(written, 40), model.ErrAmount)
	}
	return model.ParseAmount(written)
}

// Currency is a checked code of three letters, see [CheckCurrency].
func (c *Cells) Currency(col int) string {
	code, err := CheckCurrency(c.Text(col))
	if err != nil {
		c.Problem(col, err)
	}
	return code
}

// Instant reads a point in time; empty text is the zero time.
func (c *Cells) Instant(col int, as text.Instants) time.Time {
	t, err := as.Parse(c.Text(col))
	if err != nil {
		c.Problem(col, err)
	}
	return t
}

// Count notes a record that has not as many fields as the header, and reports whether it has.
func (c *Cells) Count(raw []byte) bool {
	if len(c.Fields) == c.Header.Len() {
		return true
	}
	line, column := c.Place(min(len(c.Fields), c.Header.Len()))
	c.Out.Problem(line, column, "%d fields, but the header has %d; the record is %q", len(c.Fields), c.Header.Len(), text.Clip(string(raw), 80))
	return false
}
