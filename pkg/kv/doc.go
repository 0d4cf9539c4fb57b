// Package kv gives leases, fences and guarded writes on one JetStream
// key-value bucket. It knows nothing about what the keys mean.
//
// # The problem
//
// Work on a name must be done by one process at a time, although processes
// are paused, cut off and killed, and although clocks differ. A lease alone
// cannot give that: a holder that slept past its lease wakes up and writes.
// So the right to write is not judged by the holder's clock but by the server,
// on every write.
//
// # Keys
//
//	lease.<name>  who works on the name now. Create-only, with a TTL, renewed
//	              by compare-and-set; expires by itself when the holder dies.
//	fence.<name>  written once per holding, at takeover. Its stream sequence is
//	              the token of that holding. It has no TTL.
//	other keys    belong to the callers. A lease writes them guarded by its
//	              fence; without a lease they are written by compare-and-set.
//
// All keys live in one stream, because the server compares sequences only
// within a stream. The bucket keeps one revision per key: with more, the
// expiry of the newest one would bring the older one back.
//
// # States of a holding
//
//	absent -> leased -> fenced (Acquire returns) -> lost | released
//
// Acquire first creates the lease key, then writes the fence key on the
// condition that the lease key still has the very sequence of that create. A
// process that slept between the two is refused, so it cannot fence out its
// successor. A failure after the create deletes the lease key, best effort;
// else its TTL does.
//
// A holding is lost when a renewal is refused, or when none was confirmed for
// two thirds of the TTL (or TTL less the margin, when that is shorter), counted
// from the start of the last confirmed attempt on the holder's monotonic clock.
// Then the lease's context is cancelled, and nothing renews it again. Two thirds
// and not the whole: the rest is for the work to stop in. A machine that is
// suspended may stop that clock too; the fence still holds.
//
// # Invariants
//
//   - The token grows with every holding of a name, across expiry, delete and
//     restart, as long as the stream is not deleted.
//   - After a fence is written, no guarded write of an earlier holding of that
//     name is stored. A successor that reads after Acquire sees all that its
//     predecessors will ever have written.
//   - A guarded write after the holding is lost, while nobody took over, may
//     still be stored. That is one writer at a time, so it is allowed; work must
//     nevertheless end with Lease.Context.
//   - Nothing is ever purged: purged keys have come back after a crash.
//
// # Lost acknowledgements
//
// Every write carries its own Nats-Msg-Id, and an attempt whose answer is lost
// is repeated with the same id, content and condition. The server then answers
// "duplicate" or refuses; on a refusal the stored message is read back, and when
// it carries our id the write had been stored. A refusal itself is checked by a
// leader read and tried again when the condition looks met, because a replica
// that has just lost its leadership can refuse wrongly and a write in flight is
// refused as well. The reads only decide whether to try again: what counts is
// the result of the conditional write. When the time is up and the outcome is
// still open the error is ErrUnknown. The id keeps a late copy of such a write
// from landing on top of a newer one within the stream's duplicate window (2 min).
//
// # Reads
//
// Get and Holder ask the stream leader, not the nearest replica. They are as
// fresh as a read can be, but in a change of leader still no proof: decide on
// the result of a write. After a server restart an expired key can be readable
// for a moment (1.5 s seen). List and Watch may lag behind.
package kv
