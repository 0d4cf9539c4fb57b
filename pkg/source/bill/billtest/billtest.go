// Package billtest reads bills in tests of formats, as package source does with documents, and tells what came of it.
package billtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/simplifiedchinese"

	"daybreak/pkg/model"
	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// Result is what a format made of the documents of a file.
type Result struct {
	Rows     []Row
	Controls []bill.Control
	Remarks  []string
	Problems []string // "line:column: what", as the reader of an inspection sees them
	Err      error    // that ended the reading
	Charset  string   // of the last document
}

// Row is a row with its attributes by name.
type Row struct {
	bill.Row
	Attr map[string]string
}

// Refused reports whether the bill would not load.
func (r Result) Refused() bool { return r.Err != nil || len(r.Problems) > 0 }

// Totals sums the amounts by currency, as text.
func (r Result) Totals() map[string]string {
	t := model.Totals{}
	for _, row := range r.Rows {
		t.Add(row.Currency, 1, row.Amount)
	}
	out := map[string]string{}
	for c, v := range t {
		out[c] = v.Amount.String()
	}
	return out
}

// Lines prints every row in a line, for comparing with what was worked out by hand:
// "type key order id amount currency fee status instant batch", with - for nothing.
func (r Result) Lines() []string {
	out := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		fee, at := "-", "-"
		if row.Fee.Valid {
			fee = row.Fee.Decimal.String()
		}
		if !row.OccurredAt.IsZero() {
			at = row.OccurredAt.UTC().Format(time.RFC3339)
		}
		cells := []string{string(row.Type), row.Key, row.Order, row.ID, row.Amount.String(), row.Currency, fee, row.Status, at, row.Batch}
		for j, c := range cells {
			if c == "" {
				cells[j] = "-"
			}
		}
		out[i] = strings.Join(cells, " ")
	}
	return out
}

// Doc is one document for [Read].
type Doc struct {
	Format  *bill.Format
	Content string
	Zone    *time.Location
	Day     model.Day
}

// Read reads documents as those of one file. It fails the test where a format breaks a promise that package bill makes
// for all of them: a row without key or with an unknown type or currency, a fee without being asked, a wrong number of
// attributes, a place before the first line.
func Read(t testing.TB, docs ...Doc) Result {
	t.Helper()
	s := &sink{t: t}
	out := bill.NewOut(s)
	for _, d := range docs {
		s.format = d.Format
		doc := bill.NewDoc(bytes.NewReader([]byte(d.Content)), d.Format)
		doc.Zone, doc.Day = d.Zone, d.Day
		if err := d.Format.Read(context.Background(), doc, out); err != nil {
			s.result.Err = errors.Join(s.result.Err, err)
		}
		s.result.Charset = doc.Charset()
	}
	if s.result.Err == nil {
		out.Finish()
	}
	s.result.Controls, s.result.Remarks = out.Controls(), out.Remarks()
	return s.result
}

// One reads one document, which the format must claim by its beginning.
func One(t testing.TB, f *bill.Format, content string) Result {
	t.Helper()
	require.True(t, f.Fits(bill.NewHead([]byte(content[:min(len(content), 64<<10)]))), "%s does not claim the document", f.Name)
	return Read(t, Doc{Format: f, Content: content})
}

type sink struct {
	t      testing.TB
	format *bill.Format
	result Result
}

func (s *sink) Row(r *bill.Row) error {
	s.t.Helper()
	row := Row{Row: *r, Attr: map[string]string{}}
	row.Attrs = slices.Clone(r.Attrs)
	require.Len(s.t, r.Attrs, len(s.format.Attrs), "attributes of line %d", r.Line)
	for i, name := range s.format.Attrs {
		row.Attr[name] = r.Attrs[i]
	}
	require.Positive(s.t, r.Line)
	require.Positive(s.t, r.Column)
	if len(s.result.Problems) == 0 {
		require.NotEmpty(s.t, r.Key, "key of line %d", r.Line)
		require.NotEmpty(s.t, r.Order, "order of line %d", r.Line)
		require.Contains(s.t, s.format.Types, r.Type, "type of line %d", r.Line)
		_, err := bill.CheckCurrency(r.Currency)
		require.NoError(s.t, err, "currency of line %d", r.Line)
	}
	s.result.Rows = append(s.result.Rows, row)
	return nil
}

func (s *sink) Problem(line, column int, err error) {
	s.result.Problems = append(s.result.Problems, fmt.Sprintf("%d:%d: %v", line, column, err))
}

// GB18030 encodes text as Chinese providers deliver it.
func GB18030(t testing.TB, s string) string {
	t.Helper()
	out, err := simplifiedchinese.GB18030.NewEncoder().String(s)
	require.NoError(t, err)
	return out
}

// Fuzz is what a fuzz target of any format checks: a document of at most 1 MiB is read without a panic, a problem has a
// place, and no row comes out that breaks a promise. It returns what came out.
func Fuzz(t *testing.T, f *bill.Format, content []byte) {
	t.Helper()
	if len(content) > 1<<20 {
		return
	}
	head := bill.NewHead(content[:min(len(content), 64<<10)])
	_ = f.Fits(head)
	r := Read(t, Doc{Format: f, Content: string(content)})
	var at *text.Error
	if errors.As(r.Err, &at) && (at.Line < 1 || at.Column < 1) {
		t.Fatalf("an error without its place: %v", r.Err)
	}
	for _, p := range r.Problems {
		if strings.HasPrefix(p, "-") {
			t.Fatalf("a problem before the first line: %s", p)
		}
	}
}
