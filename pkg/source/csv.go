package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// readCSV reads one delimited text file.
func readCSV(ctx context.Context, in *input, spec Spec, to *sink) error {
	c := &csvFile{file: in.base(), Instants: to.instants, words: map[string]string{}}
	content, err := unpack(in, spec.CSV.Entry, usualLimits)
	if err != nil {
		return c.wrap(err)
	}
	defer func() { _ = content.Close() }()
	if err := c.open(content, spec.CSV); err != nil {
		return c.wrap(err)
	}
	if err := c.header(to.plan); err != nil {
		return c.wrap(err)
	}
	return c.rows(ctx, to)
}

// csvFile is the row of the record that the reader stands on.
type csvFile struct {
	text.Instants
	file   string
	rec    *text.Records
	names  []string
	at     []int // slot to field
	fields [][]byte
	words  map[string]string // short values, so that a status is not stored anew for every row
}

// wrap puts the file, and the place in it when known, before an error of reading.
func (c *csvFile) wrap(err error) error {
	if te := (*text.Error)(nil); errors.As(err, &te) {
		return unusable("%s:%w", c.file, err)
	}
	return unusable("%s: %w", c.file, err)
}

func (c *csvFile) open(content io.Reader, spec *CSV) error {
	raw := text.NewReader(content)
	head, err := raw.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(head) == 0 {
		return errors.New("the file is empty: an empty day is a file that holds the header")
	}
	if err := refuseStranger(head); err != nil {
		return err
	}
	lines, check, err := text.Decode(raw, spec.Encoding)
	if err != nil {
		return err
	}
	if head, err = lines.Peek(512); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	c.rec = text.NewRecords(lines, text.Dialect{Delimiter: spec.Delimiter, Quote: spec.Quote, Comment: spec.Comment, Skip: spec.Skip}, check)
	return refuseDocument(head)
}

// header reads the header line and finds the wanted columns in it.
func (c *csvFile) header(p *plan) error {
	fields, err := c.rec.Next()
	if errors.Is(err, io.EOF) {
		return errors.New("there is no header line")
	}
	if err != nil {
		return err
	}
	for _, f := range fields {
		c.names = append(c.names, strings.TrimSpace(strings.Trim(string(f), "\uFEFF")))
	}
	if c.at, err = p.bind(c.names); err != nil {
		return &text.Error{Line: c.rec.First(), Column: 1, Msg: err.Error()}
	}
	return nil
}

// rows gives every record to the sink and then reports what was wrong with them.
func (c *csvFile) rows(ctx context.Context, to *sink) error {
	for {
		var err error
		c.fields, err = c.rec.Next()
		switch {
		case errors.Is(err, io.EOF):
			return to.wrong.err()
		case err != nil:
			return errors.Join(to.wrong.err(), c.wrap(err))
		case len(c.fields) != len(c.names):
			to.rows++
			to.wrong.add(c.end, c.miscount())
			continue
		}
		if err := to.take(ctx, c, uint64(c.rec.First())); err != nil { //nolint:gosec // lines are positive
			return err
		}
	}
}

func (c *csvFile) miscount() error {
	return fmt.Errorf("%d fields, but the header has %d; the record is %q", len(c.fields), len(c.names), text.Clip(string(c.rec.Raw()), 80))
}

// end is the place of the first field too many, or of the end of a record that is too short.
func (c *csvFile) end() string { return c.placeOf(len(c.names)) }

func (c *csvFile) place(slot int) string {
	if slot < 0 { // a fixed value
		return c.placeOf(0)
	}
	return c.placeOf(c.at[slot])
}

func (c *csvFile) placeOf(field int) string {
	line, column := c.rec.Place(field)
	return fmt.Sprintf("%s:%d:%d", c.file, line, column)
}

func (c *csvFile) text(slot int) (string, error) {
	b := c.fields[c.at[slot]]
	if len(b) > 16 {
		return string(b), nil
	}
	if s, ok := c.words[string(b)]; ok {
		return s, nil
	}
	s := string(b)
	if len(c.words) < 256 {
		c.words[s] = s
	}
	return s, nil
}

func (c *csvFile) amount(slot int) (decimal.NullDecimal, error) {
	return parseMoney(string(c.fields[c.at[slot]]))
}

// parseMoney reads an amount; empty text is null.
func parseMoney(written string) (decimal.NullDecimal, error) {
	if written == "" {
		return decimal.NullDecimal{}, nil
	}
	if len(written) > 64 { // longer than any amount: do not print a megabyte
		return decimal.NullDecimal{}, fmt.Errorf("amount %q: too long: %w", text.Clip(written, 40), model.ErrAmount)
	}
	d, err := model.ParseAmount(written)
	return decimal.NullDecimal{Decimal: d, Valid: err == nil}, err
}

func (c *csvFile) instant(slot int) (time.Time, error) {
	return c.Parse(string(c.fields[c.at[slot]]))
}
