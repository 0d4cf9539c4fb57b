// Package bus is how Daybreak talks through JetStream: the streams as data,
// publish once, consume with a verdict. It knows subjects as text and no business word.
//
// # Streams
//
// With Options.Prepared nothing is created or changed: whoever runs with few rights finds what an
// administrator laid out, or ends with ErrNotLaidOut.
//
// DAYS, DIFFS, AUDIT and DEAD are one table (Streams). Open makes them so: a missing
// stream is created, ours is brought up to date, and one that cannot become ours (other
// subjects, other storage, WorkQueue, a mirror) is an error naming stream and field, never a
// silent takeover.
//
// # Publish
//
// A message has an id (Nats-Msg-Id). Within the stream's Duplicates window the server keeps
// one message per id, therefore a publish whose outcome is unknown (timeout, lost
// connection, leader change) is simply repeated with the same id until the server
// acknowledges it or the context ends. An error that a repeat cannot cure (bad subject,
// too large, refused) comes back at once. No message counts as published without its PubAck.
//
// PublishAll keeps a window of unacknowledged messages. As soon as one fails nothing new is
// sent: the outstanding ones settle, and what is not acknowledged is repeated one by one, in
// order. When it returns without error every message is stored once. The order in the stream
// is the order given as long as the server takes messages in order; across a leader change of
// a replicated stream a repeated message may come after later ones.
//
// # Consume
//
// All replicas share one durable pull consumer per purpose, so each message has one holder at a
// time. Each worker pulls exactly one message when it is free: nothing waits in a buffer
// behind long work. A delivery goes through these states:
//
//	pulled → handler (in progress told every third of AckWait) → verdict → settled
//
//	verdict   what is told to the server             afterwards
//	Ack       ack, confirmed                         gone for this consumer
//	Retry     negative ack with the delay            delivered again after the delay, to any replica
//	Reject    dead letter published, then terminated gone; body, headers and reason are in DEAD
//
// What can go wrong, and what happens then:
//   - the worker dies or hangs: nobody says "in progress", the server redelivers after AckWait;
//   - the verdict gets lost: redelivered, so a handler must bear a repeat;
//   - the dead letter cannot be stored: not terminated, retried later. It carries an id made of
//     stream, sequence and time, so a redelivery does not double it;
//   - the handler panics: logged with its stack and retried, later each time;
//   - the context ends: pulling stops, a message that arrived meanwhile is given back at once,
//     handlers are cancelled and awaited up to DrainTimeout. The verdict of a handler that comes back
//     later than that is thrown away: its message belongs to somebody else by then.
//
// There is no limit of deliveries and no server-side backoff. A message that waits for its retry
// does not hold up others. An acknowledgement proves nothing about ownership: messages are
// hints, what guards the work is the lease.
//
// # Time
//
// What is measured against the server (AckWait, pull expiry, pauses between attempts) runs on
// real time even when the caller's clock is set to another day. Only Snapshot.Waiting uses
// the caller's clock.
package bus
