// Package chdb binds the C interface of libchdb, a whole ClickHouse engine in
// one shared library, without cgo.
//
// One process holds one data path. Any number of connections to it may be
// open; each runs one statement at a time, so a Conn belongs to one goroutine
// until its call returns. The only calls that may come from elsewhere are those
// on another Conn: a statement is stopped by KILL QUERY sent there.
//
// Queries and values travel with their lengths, never as C strings, so zero
// bytes are data like any other. Result memory is the engine's: the bytes of a
// Result are valid until its Close.
//
// The engine must not own the process's signal handlers, or a nil dereference
// would end the process instead of becoming a recoverable panic. Load switches
// them off before the first connection. A library that lacks one of the used
// functions is refused by Load.
package chdb
