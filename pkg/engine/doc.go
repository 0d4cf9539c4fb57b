// Package engine brings the two servers the program needs when no address of a
// cluster is given: NATS with JetStream inside this process, and ClickHouse in a
// child process of the same binary. Users see the same interfaces that clusters
// offer: a nats.Conn and clickhouse.Options.
//
// # NATS
//
// StartNATS runs nats-server with file storage under its folder, every write
// synced, on a random loopback port, with a credential made for this start. The
// folder is locked; a second process gets ErrLocked. Close stops the server after
// its stores are flushed. A crash loses nothing that was acknowledged.
//
// # ClickHouse
//
// The engine is libchdb, a shared library that EnsureLib fetches once into the
// user's cache (see there). It can crash the process that loads it, so it lives
// in a child:
//
//	parent: listener, credential, supervisor      child: lock, library, HTTP
//	  starting ──ready──▶ serving ──child ends──▶ backing off ──▶ starting …
//	     │ first start fails: StartClickHouse returns the cause
//	     └ Close from any state: stdin closed, child drains and ends, killed after 15 s
//
// Invariants:
//
//   - Address and credential never change. The parent owns the listening socket
//     and hands it down, so a client that connects while the child is being
//     restarted waits in the socket's queue instead of being refused; only when
//     an attempt fails are those that wait let go with an error. What was in flight
//     when the child died fails with a broken connection; its outcome is
//     unknown, and only idempotent work may be repeated.
//   - One process per data folder. The child holds a lock for its whole life, so
//     the lock says the truth even if the parent has been killed.
//   - The child never outlives the parent: it ends when its standard input does,
//     and on Linux the kernel kills it with the parent.
//   - Secrets go through the child's standard input, never through arguments.
//   - An acknowledged INSERT survives kill -9 of the child. One that was not
//     acknowledged is there whole or not at all as long as it is one block: at
//     most about one million rows (1 048 449) in one request.
//   - The child's time zone is UTC and its working folder is empty: the library
//     would read a config.xml there.
//
// Every program that may start ClickHouse calls RunChildIfAsked first thing in
// main, and every test binary through enginetest.Main.
package engine
