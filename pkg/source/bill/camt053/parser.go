package camt053

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// Bounds on what is held of one document.
const (
	elementBytesMax = 1 << 20 // of an element that is taken as a whole, or a text
	envelopesMax    = 10      // elements around the document
	detailsMax      = 50_000  // transactions of an entry
	balancesMax     = 1000    // of a statement: three of each currency
	statementsMax   = 20_000  // of a document: each leaves control totals
)

const namespacePrefix = "urn:iso:std:iso:20022:tech:xsd:camt.053.001."

// place is where an element begins.
type place struct{ line, column int }

// parser walks through one document.
type parser struct {
	in        *input
	dec       *xml.Decoder
	zone      *time.Location
	days      *bill.Days
	out       *bill.Out
	space     string // the namespace of the document
	documents int

	page       pagination
	st         *statement
	statements int
	first      bool     // no statement of the message has ended
	open       struct { // the last statement, which may go on in another page
		id   string
		line int
	}
	left struct{ pending, information, zero, batches int }
}

func newParser(in *bufio.Reader, check text.Check, d *bill.Doc, out *bill.Out) *parser {
	p := &parser{in: &input{in: in, check: check, line: 1}, zone: d.Zone, days: d.NewDays(), out: out}
	p.dec = xml.NewDecoder(p.in)
	p.dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return p
}

func (p *parser) run(ctx context.Context) error {
	if err := p.search(ctx); err != nil {
		return err
	}
	if p.documents == 0 {
		return p.fail(place{1, 1}, "no Document of camt.053 in the file")
	}
	if p.statements == 0 {
		return p.fail(place{1, 1}, "the document holds no statement (Stmt)")
	}
	if err := p.days.Check(); err != nil {
		p.problem(place{1, 1}, "%w", err)
	}
	l := p.left
	if n := l.pending + l.information + l.zero; n > 0 {
		p.out.Remark("%d entries are left out: %d pending, %d for information, %d of amount zero", n, l.pending, l.information, l.zero)
	}
	if l.batches > 0 {
		p.out.Remark("%d batches are one row each: their transactions have no amounts, or do not sum to the entry", l.batches)
	}
	return nil
}

// search looks for documents among envelopes, to the end of the file.
func (p *parser) search(ctx context.Context) error {
	depth, roots := 0, 0
	for {
		t, at, err := p.token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if depth == 0 {
				if roots++; roots > 1 {
					return p.fail(at, "a second root element <%s>: an XML document has one", text.Clip(t.Name.Local, 40))
				}
			}
			if t.Name.Local == "Document" || t.Name.Local == "BkToCstmrStmt" {
				if err := p.document(ctx, t, at); err != nil {
					return err
				}
				continue
			}
			if depth++; depth > envelopesMax {
				return p.fail(at, "more than %d elements around the document", envelopesMax)
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && strings.TrimSpace(string(t)) != "" {
				return p.fail(at, "text outside of the document")
			}
		}
	}
}

// document reads a Document.
func (p *parser) document(ctx context.Context, start xml.StartElement, at place) error {
	switch version, ok := strings.CutPrefix(start.Name.Space, namespacePrefix); {
	case start.Name.Local != "Document":
		return p.fail(at, "<%s> without a Document around it", start.Name.Local)
	case !ok:
		return p.fail(at, "the namespace of the document is %q, want %s and a version", text.Clip(start.Name.Space, 80), namespacePrefix)
	case len(version) != 2 || version < "02" || version > "99":
		return p.fail(at, "version %q of camt.053 is not known: want 02 or later", text.Clip(version, 20))
	}
	p.space = start.Name.Space
	p.documents++
	return p.children("Document", func(start xml.StartElement, at place) error {
		if start.Name.Local != "BkToCstmrStmt" {
			return p.fail(at, "<%s> in a document of camt.053, want BkToCstmrStmt", text.Clip(start.Name.Local, 40))
		}
		p.page, p.first = pagination{}, true
		if err := p.children("BkToCstmrStmt", func(start xml.StartElement, at place) error { return p.messagePart(ctx, start, at) }); err != nil {
			return err
		}
		p.closePage()
		return nil
	})
}

// messagePart reads a child of BkToCstmrStmt.
func (p *parser) messagePart(ctx context.Context, start xml.StartElement, at place) error {
	switch start.Name.Local {
	case "GrpHdr":
		var h struct {
			Page pagination `xml:"MsgPgntn"`
		}
		err := p.decode(&h, start, at)
		p.page = h.Page
		return err
	case "Stmt":
		return p.statement(ctx, at)
	}
	return p.skip(at)
}

// token is the next one and where it begins.
func (p *parser) token() (xml.Token, place, error) {
	p.in.left = elementBytesMax
	at := p.at()
	t, err := p.dec.Token()
	if err != nil {
		return nil, at, p.explain(err, at)
	}
	if _, ok := t.(xml.Directive); ok {
		return nil, at, p.fail(at, "a DOCTYPE or another declaration of a DTD: statements have none, so none is read")
	}
	return t, at, nil
}

// at is the place of the next token.
func (p *parser) at() place {
	line, column := p.dec.InputPos() // counts bytes
	return place{line, max(column-p.in.tails, 1)}
}

// children calls f for every child, which it must read to its end, until the element ends. Elements of other namespaces are
// passed over.
func (p *parser) children(of string, f func(start xml.StartElement, at place) error) error {
	for {
		t, at, err := p.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return nil
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				return p.fail(at, "text %q between the elements of %s", text.Clip(strings.TrimSpace(string(t)), 40), of)
			}
		case xml.StartElement:
			read := f
			if t.Name.Space != p.space {
				read = func(_ xml.StartElement, at place) error { return p.skip(at) }
			}
			if err := read(t, at); err != nil {
				return err
			}
		}
	}
}

// decode takes an element as a whole.
func (p *parser) decode(v any, start xml.StartElement, at place) error {
	p.in.left = elementBytesMax
	return p.explain(p.dec.DecodeElement(v, &start), at)
}

// skip passes over the element that has begun.
func (p *parser) skip(at place) error {
	for depth := 1; depth > 0; {
		t, _, err := p.token()
		if err != nil {
			return err
		}
		switch t.(type) {
		case xml.StartElement:
			if depth++; depth > 100 {
				return p.fail(at, "elements inside of elements, more than 100 deep")
			}
		case xml.EndElement:
			depth--
		}
	}
	return nil
}

// explain gives errors of the decoder a place. The end of the input in the middle is a cut document.
func (p *parser) explain(err error, at place) error {
	var syntax *xml.SyntaxError
	var known *text.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &known):
		return err
	case errors.As(err, &syntax):
		if strings.Contains(syntax.Msg, "unexpected EOF") {
			return bill.Cut(fmt.Sprintf("the document ends in line %d before its last tag", syntax.Line))
		}
		return p.fail(place{max(syntax.Line, 1), 1}, "not XML: %s", text.Clip(syntax.Msg, 200))
	}
	return p.fail(at, "%s", text.Clip(err.Error(), 200))
}

// fail is an error at a place.
func (p *parser) fail(at place, format string, args ...any) error {
	return &text.Error{Line: max(at.line, 1), Column: max(at.column, 1), Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) problem(at place, format string, args ...any) {
	p.out.Problem(at.line, at.column, format, args...)
}
