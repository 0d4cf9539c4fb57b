// Package world runs the production code of ticker, recon, auditor, reviews and leases against a simulated broker,
// control bucket, result store, sources and clock, all from one seed.
//
// # How a seed is the same every time
//
// Everything runs in one bubble of testing/synctest, so time is false and stands still while anybody works. Every effect
// of production code on the world (a publish, a read, an insert) parks its goroutine as a [call]. When all are parked,
// the scheduler sorts the calls by what they are, and the seed's generator draws what happens next: a call is carried
// out, or its answer is lost, or it is refused, or it arrives later than its caller waits; a process crashes, stops in
// good order, or freezes for longer than its lease; a message is delivered, again, out of order, or never; a clock
// jumps; a file comes, is corrected, is cut within a line or between two; a person replays, reviews or drills; a service
// is away for hours; a read is answered by a leader that was deposed; the bucket, the tables, or all of NATS is lost; time
// passes. So between two decisions one process moves, and what it does depends on the seed alone.
//
// # What is simulated, and what is not
//
// Package kv, package control, package review, recon.Handle, auditor.Pass and the ticker's loop are the real ones; hearts
// beat slower than in production, and a beat lives as much longer. The stream behind the bucket keeps the facts of
// JetStream that leases rest on: sequences, conditions on the own and on another subject, message ids, times to live with
// their markers. Package bus and package store are stood in for: a client that
// repeats what had no answer, and tables with the same meaning (package mem).
//
// # What is checked
//
// Checkers look at what the world accepted, and share nothing with the code that made it: at every write of a lease,
// fence, watermark, review and row, at every commit and nudge that is sent, and at the end of a seed, when faults have
// stopped and everything had time to settle. What may stand unsettled then has a reason that is noted when it happens: a
// message that was lost for ever, a row that was lost, tables that were lost under a run.
//
// Every mechanism has a [Mutant], a world without it, that the checker of its guarantee is held to see.
package world
