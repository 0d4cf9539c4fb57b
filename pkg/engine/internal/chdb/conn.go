package chdb

import (
	"errors"
	"runtime"
	"unsafe"
)

// Class says what a statement does to state that outlives it.
type Class uint32

// The classes of the engine's own classifier.
const (
	ClassReadOnly Class = iota
	ClassMutating
	ClassMutatingGlobal
	ClassControl
	ClassUnknown
)

// Param is one server side parameter. The value is text as the engine reads
// it: escaped like a field of a TSV file.
type Param struct{ Name, Value string }

// Conn is one connection. It serves one call at a time.
type Conn struct {
	lib *Lib
	p   ptr
}

func (c *Conn) handle() ptr { return *(*ptr)(c.p) }

// Close closes the connection and waits for its statement. Closing the last one
// stops the engine.
func (c *Conn) Close() {
	if c.p != nil {
		c.lib.closeConn(c.p)
		c.p = nil
	}
}

// Classify says how many statements the engine sees in sql and what they do,
// without running them. Text that does not parse has no statements and
// ClassUnknown.
func (c *Conn) Classify(sql string) (statements int, class Class, err error) {
	out := struct{ size, statements, flags, class uint32 }{size: 16}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&out)
	if c.lib.classify(c.handle(), textPtr(&pin, sql), uintptr(len(sql)), nil, 0, ptr(&out)) != 0 {
		return 0, ClassUnknown, errors.New("the engine does not classify the statement")
	}
	return int(out.statements), Class(out.class), nil
}

// Query runs one statement and holds its whole result.
func (c *Conn) Query(sql, format string, params []Param) *Result {
	return &Result{lib: c.lib, p: c.call(c.lib.query, sql, format, params)}
}

type paramCall = func(conn, sql ptr, sqlLen uintptr, format ptr, formatLen uintptr, names, nameLens, values, valueLens ptr, n uintptr) ptr

func (c *Conn) call(f paramCall, sql, format string, params []Param) ptr {
	var pin runtime.Pinner
	defer pin.Unpin()
	names, values := make([]ptr, len(params)), make([]ptr, len(params))
	nameLens, valueLens := make([]uintptr, len(params)), make([]uintptr, len(params))
	for i, p := range params {
		names[i], nameLens[i] = textPtr(&pin, p.Name), uintptr(len(p.Name))
		values[i], valueLens[i] = textPtr(&pin, p.Value), uintptr(len(p.Value))
	}
	return f(c.handle(), textPtr(&pin, sql), uintptr(len(sql)), textPtr(&pin, format), uintptr(len(format)),
		slicePtr(&pin, names), slicePtr(&pin, nameLens), slicePtr(&pin, values), slicePtr(&pin, valueLens),
		uintptr(len(params)))
}

var noText = [1]byte{}

// textPtr gives the engine the bytes of s; an empty text is a valid pointer too,
// because some of its functions take a null one for an error.
func textPtr(pin *runtime.Pinner, s string) ptr {
	if s == "" {
		return ptr(&noText[0])
	}
	p := unsafe.StringData(s)
	pin.Pin(p)
	return ptr(p)
}

func slicePtr[T any](pin *runtime.Pinner, s []T) ptr {
	if len(s) == 0 {
		return nil
	}
	pin.Pin(&s[0])
	return ptr(&s[0])
}

// Result is the outcome of a statement or one chunk of a stream.
type Result struct {
	lib *Lib
	p   ptr
}

// Err is the engine's error or nil.
func (r *Result) Err() error {
	if r.p == nil {
		return errors.New("Code: 1002. DB::Exception: the engine gave no result. (UNKNOWN_EXCEPTION)")
	}
	return goError(r.lib.resultError(r.p))
}

// Bytes is the formatted result, valid until Close.
func (r *Result) Bytes() []byte {
	buf, n := r.lib.resultBuffer(r.p), r.lib.resultLength(r.p)
	if buf == nil || n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(buf), n)
}

// RowsWritten counts what the statement inserted.
func (r *Result) RowsWritten() uint64 { return r.lib.resultWritten(r.p) }

// Close frees the result.
func (r *Result) Close() {
	if r.p != nil {
		r.lib.resultDestroy(r.p)
		r.p = nil
	}
}

func goError(msg ptr) error {
	if msg == nil {
		return nil
	}
	n := 0
	for *(*byte)(unsafe.Add(msg, n)) != 0 {
		n++
	}
	return errors.New(string(unsafe.Slice((*byte)(msg), n)))
}
