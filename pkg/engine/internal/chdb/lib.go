package chdb

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// ErrConnect is returned by Connect when the engine refuses the data path,
// usually because another process has it open. Nothing is left open.
var ErrConnect = errors.New("the engine does not open the data path")

type ptr = unsafe.Pointer

// Lib is a loaded library. It is safe for concurrent use.
type Lib struct {
	setSignalHandlers func(int32)
	connect           func(int32, ptr) ptr
	closeConn         func(ptr)
	shutdown          func() int32
	classify          func(conn, sql ptr, sqlLen uintptr, db ptr, dbLen uintptr, out ptr) int32

	query        func(conn, sql ptr, sqlLen uintptr, format ptr, formatLen uintptr, names, nameLens, values, valueLens ptr, n uintptr) ptr
	streamQuery  func(conn, sql ptr, sqlLen uintptr, format ptr, formatLen uintptr, names, nameLens, values, valueLens ptr, n uintptr) ptr
	streamFetch  func(conn, stream ptr) ptr
	streamCancel func(conn, stream ptr)

	insert        func(conn, sql ptr, sqlLen uintptr, format ptr, formatLen uintptr, names, nameLens, values, valueLens ptr, n uintptr) ptr
	insertAppend  func(stream, data ptr, n uintptr) int32
	insertDone    func(stream ptr) ptr
	insertCancel  func(stream ptr)
	insertError   func(stream ptr) ptr
	insertDestroy func(stream ptr)

	resultBuffer  func(ptr) ptr
	resultLength  func(ptr) uintptr
	resultError   func(ptr) ptr
	resultWritten func(ptr) uint64
	resultDestroy func(ptr)
}

// Load opens the library at path and takes its signal handlers away. It is
// called once per process; a library can not be unloaded again.
func Load(path string) (*Lib, error) {
	h, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	l := new(Lib)
	for _, f := range []struct {
		name string
		fptr any
	}{
		{"chdb_set_signal_handlers_enabled", &l.setSignalHandlers},
		{"chdb_connect", &l.connect},
		{"chdb_close_conn", &l.closeConn},
		{"chdb_shutdown", &l.shutdown},
		{"chdb_classify_query_n", &l.classify},
		{"chdb_query_with_params_n", &l.query},
		{"chdb_stream_query_with_params_n", &l.streamQuery},
		{"chdb_stream_fetch_result", &l.streamFetch},
		{"chdb_stream_cancel_query", &l.streamCancel},
		{"chdb_stream_insert_with_params_n", &l.insert},
		{"chdb_stream_append", &l.insertAppend},
		{"chdb_stream_done", &l.insertDone},
		{"chdb_stream_cancel_insert", &l.insertCancel},
		{"chdb_stream_insert_error", &l.insertError},
		{"chdb_destroy_insert_stream", &l.insertDestroy},
		{"chdb_result_buffer", &l.resultBuffer},
		{"chdb_result_length", &l.resultLength},
		{"chdb_result_error", &l.resultError},
		{"chdb_result_rows_written", &l.resultWritten},
		{"chdb_destroy_query_result", &l.resultDestroy},
	} {
		if err := bind(f.fptr, h, f.name); err != nil {
			return nil, fmt.Errorf("load %s: the library lacks %s (version 26.7 or newer is needed): %w", path, f.name, err)
		}
	}
	l.setSignalHandlers(0)
	return l, nil
}

// Connect opens one more connection to the data path. All connections of a
// process must name the same path and the same configuration file ("" for none).
func (l *Lib) Connect(path, config string) (*Conn, error) {
	args := [][]byte{[]byte("clickhouse\x00"), []byte("--path=" + path + "\x00")}
	if config != "" {
		args = append(args, []byte("--config-file="+config+"\x00"))
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	argv := make([]ptr, len(args))
	for i, a := range args {
		pin.Pin(&a[0])
		argv[i] = ptr(&a[0])
	}
	pin.Pin(&argv[0])
	p := l.connect(int32(len(argv)), ptr(&argv[0]))
	if p == nil || *(*ptr)(p) == nil {
		return nil, fmt.Errorf("%w %s", ErrConnect, path)
	}
	return &Conn{lib: l, p: p}, nil
}

// Shutdown joins the engine's threads. Every connection must be closed before.
func (l *Lib) Shutdown() error {
	if l.shutdown() != 0 {
		return errors.New("the engine does not stop: a connection is still open or a thread does not end")
	}
	return nil
}
