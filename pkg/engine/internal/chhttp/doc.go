// Package chhttp serves ClickHouse's HTTP interface from the engine in this
// process, as far as the Go client and people with curl use it.
//
// A request is one statement. It gets a connection of its own, opened for it
// (0.2 ms) and closed after it, so nothing of one request can reach another: no
// setting, no current database, no temporary table. Connections are opened for
// at most Options.Parallel requests at once; the others wait in line.
//
// What the engine runs is never more than the one statement that was asked for:
//
//   - Text with a second statement is refused, by our own reading of the text and
//     by the engine's classifier, before anything runs.
//   - Data of an INSERT never travels inside the text. The engine ends inline
//     data at the first blank line and runs the rest as SQL; here the text is
//     cut at VALUES or FORMAT and the rest goes through the engine's streaming
//     insert, whatever it contains.
//   - An insert whose body breaks off is cancelled, an empty Native body is an
//     error, so what was acknowledged is what was sent.
//
// Results stream block by block. An error before the first block is an HTTP
// error with the engine's code in X-ClickHouse-Exception-Code; a later one is
// the server's in-band exception block, which the client knows how to find.
//
// A client that goes away has its query killed: every statement carries a
// private mark in log_comment by which a connection kept for that purpose finds
// it.
//
// Blocks carry no protocol revision: the first query of clickhouse-go asks for
// the server's, and the answer, itself encoded in the client's revision, is 0.
//
// Not offered: sessions, external tables, roles, progress headers, INTO OUTFILE,
// native (LZ4, ZSTD) block compression. Each is refused, not ignored, except
// progress headers.
package chhttp
