package bill

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Out takes what a format finds in the documents of one file, in the order in which it is found.
type Out struct {
	sink     Sink
	doc      string // name of the document
	problems int
	controls []Control
	remarks  []string
	rows     uint64
	ids      once
	first    time.Time // instants of the rows, zero for none
	last     time.Time
}

// Sink is who reads a bill.
type Sink interface {
	// Row takes a row, valid until it returns. An error ends the reading.
	Row(r *Row) error
	// Problem takes what is wrong at a place of the current document; column 0 means the whole line, line 0 the document.
	Problem(line, column int, err error)
}

// NewOut makes an [Out] for the documents of one file.
func NewOut(sink Sink) *Out { return &Out{sink: sink} }

// Begin says which document the next ones are from; its name is put before remarks when it is not "".
func (o *Out) Begin(doc string) { o.doc = doc }

// Row hands a row on. Return its error, if any, from [Format].Read.
func (o *Out) Row(r *Row) error {
	o.rows++
	if r.Key == "" {
		r.Key = cmp.Or(r.Order, r.ID)
	}
	if r.Order == "" {
		r.Order = r.Key
	}
	if at := r.OccurredAt; !at.IsZero() {
		if o.first.IsZero() || at.Before(o.first) {
			o.first = at
		}
		if at.After(o.last) {
			o.last = at
		}
	}
	return o.sink.Row(r)
}

// Instants are the first and the last of all rows so far, zero when none has one.
func (o *Out) Instants() (first, last time.Time) { return o.first, o.last }

// Problem notes what is wrong; column 0 means the whole line, line 0 the document. The reading may go on: rows of a bill
// with a problem are never used.
func (o *Out) Problem(line, column int, format string, args ...any) {
	o.problems++
	o.sink.Problem(line, column, fmt.Errorf(format, args...))
}

// Problems is how many there were so far.
func (o *Out) Problems() int { return o.problems }

// Rows is how many rows were handed on so far.
func (o *Out) Rows() uint64 { return o.rows }

// Remark tells the reader of an inspection something that is not wrong, such as lines left out and why.
func (o *Out) Remark(format string, args ...any) {
	o.remarks = append(o.remarks, fmt.Sprintf(format, args...))
}

// Control is one figure that a bill declares of itself, beside the same figure as its rows give it.
type Control struct {
	Name     string              // as the bill calls it, with currency or batch where there are several
	Declared decimal.NullDecimal // not valid when only counted
	Counted  decimal.NullDecimal // not valid when only declared
	Doc      string              // document that declares it
	Line     int                 // where, 0 when it declares it by what it is: a batch that nets to zero
}

// Agrees reports whether both figures are there and the same.
func (c Control) Agrees() bool {
	return c.Declared.Valid && c.Counted.Valid && c.Declared.Decimal.Equal(c.Counted.Decimal)
}

// Declare says what the bill declares, once per name. Another declaration of the same name must say the same.
func (o *Out) Declare(name string, line int, v decimal.Decimal) {
	c := o.control(name)
	if c.Declared.Valid && !c.Declared.Decimal.Equal(v) {
		o.Problem(line, 0, "the bill declares %s twice: %s in line %d, %s here", name, c.Declared.Decimal, c.Line, v)
		return
	}
	c.Declared, c.Doc, c.Line = decimal.NewNullDecimal(v), o.doc, line
}

// Count adds to what the rows give for a name. Add zero for a figure of which there were no rows.
func (o *Out) Count(name string, v decimal.Decimal) {
	c := o.control(name)
	c.Counted = decimal.NewNullDecimal(c.Counted.Decimal.Add(v))
}

func (o *Out) control(name string) *Control {
	i := slices.IndexFunc(o.controls, func(c Control) bool { return c.Name == name })
	if i < 0 {
		i = len(o.controls)
		o.controls = append(o.controls, Control{Name: name})
	}
	return &o.controls[i]
}

// Finish holds every declared figure against its count, after the last document of the file. A difference is a problem at
// the place of the declaration.
func (o *Out) Finish() {
	for _, c := range o.controls {
		switch {
		case !c.Declared.Valid || c.Agrees():
		case !c.Counted.Valid:
			o.Problem(c.Line, 0, "the bill declares %s = %s, but nothing in the file gives that figure", c.Name, c.Declared.Decimal)
		case c.Line == 0: // declared by what the bill is
			o.Problem(0, 0, "%s: must be %s, but its rows give %s: the bill is cut, damaged or edited; deliver the whole file again",
				c.Name, c.Declared.Decimal, c.Counted.Decimal)
		default:
			o.Problem(c.Line, 0, "the bill declares %s = %s, but its rows give %s: it is cut, damaged or edited; deliver the whole file again",
				c.Name, c.Declared.Decimal, c.Counted.Decimal)
		}
	}
}

// Controls are all figures so far.
func (o *Out) Controls() []Control { return slices.Clone(o.controls) }

// Remarks are all remarks so far.
func (o *Out) Remarks() []string { return slices.Clone(o.remarks) }

// ErrCut is returned by [Format].Read for a bill that ends too early; see [Cut].
var ErrCut = errors.New("the bill is cut: deliver the whole file again")

// Cut says what is missing at the end of a bill.
func Cut(what string) error { return fmt.Errorf("%s: %w", what, ErrCut) }
