package chdb

import (
	"errors"
	"runtime"
)

// Stream is a running query whose result comes in chunks; its connection
// serves nothing else until Close.
type Stream struct {
	conn *Conn
	p    ptr
	done bool
}

// Stream starts a query. On an error nothing is left open.
func (c *Conn) Stream(sql, format string, params []Param) (*Stream, error) {
	s := &Stream{conn: c, p: c.call(c.lib.streamQuery, sql, format, params)}
	if err := (&Result{lib: c.lib, p: s.p}).Err(); err != nil {
		s.done = true
		s.Close()
		return nil, err
	}
	return s, nil
}

// Next gives the next chunk, or nil at the end. The caller closes the chunk.
func (s *Stream) Next() (*Result, error) {
	if s.done {
		return nil, nil
	}
	r := &Result{lib: s.conn.lib, p: s.conn.lib.streamFetch(s.conn.handle(), s.p)}
	err := r.Err()
	if err != nil || len(r.Bytes()) == 0 {
		s.done = true
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close stops the query when it has not ended and frees it.
func (s *Stream) Close() {
	if s.p == nil {
		return
	}
	if !s.done {
		s.conn.lib.streamCancel(s.conn.handle(), s.p)
	}
	s.conn.lib.resultDestroy(s.p)
	s.p = nil
}

// Insert is an open INSERT that is fed piece by piece; its connection serves
// nothing else until Close. Nothing is visible before Done, as long as the rows
// fit one block (about one million); further blocks become visible one by one.
type Insert struct {
	lib *Lib
	p   ptr
}

// Insert starts an INSERT whose text has neither FORMAT nor data. On an error
// nothing is left open.
func (c *Conn) Insert(sql, format string, params []Param) (*Insert, error) {
	i := &Insert{lib: c.lib, p: c.call(c.lib.insert, sql, format, params)}
	if err := i.Err(); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// Err is the insert's error so far, or nil.
func (i *Insert) Err() error { return goError(i.lib.insertError(i.p)) }

// Write feeds formatted bytes; the engine copies them. It may block.
func (i *Insert) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&b[0])
	if i.lib.insertAppend(i.p, ptr(&b[0]), uintptr(len(b))) != 0 {
		if err := i.Err(); err != nil {
			return 0, err
		}
		return 0, errors.New("Code: 1002. DB::Exception: the engine takes no more data. (UNKNOWN_EXCEPTION)")
	}
	return len(b), nil
}

// Done ends the data and waits until they are stored.
func (i *Insert) Done() (rows uint64, err error) {
	r := &Result{lib: i.lib, p: i.lib.insertDone(i.p)}
	defer r.Close()
	if err := r.Err(); err != nil {
		return 0, err
	}
	return r.RowsWritten(), nil
}

// Cancel gives the data up.
func (i *Insert) Cancel() { i.lib.insertCancel(i.p) }

// Close frees the insert and cancels it when it was not done.
func (i *Insert) Close() {
	if i.p != nil {
		i.lib.insertDestroy(i.p)
		i.p = nil
	}
}
