// Package recon reconciles one business day at a time.
//
// # One day, in a line
//
// A message on DAYS names a job and a day. [Recon.Handle] turns it into a verdict:
//
//	request → hold → decide → RUNNING → finish older events → pull → carry in → compare → balance → commit → events → DONE → hand on → ack
//
// Messages are hints and the watermark is the truth: a lost, repeated or reordered message does no harm, because the
// decision rests on what the day's watermark and its committed version say once the day is held.
//
// # What happens on failure
//
//   - A crash at any point leaves the watermark RUNNING and no lease. The unacknowledged message comes back; the next
//     holder continues after the commit if the run had committed, and starts over if it had not. Rows of a run that never
//     committed are invisible and swept later.
//   - A holder that is paused beyond its lease wakes up fenced: its context has ended, the server refuses its watermark
//     writes, and a commit row that it may still insert loses against its successor's (version, fence).
//   - A source that is not there is WAITING until due.patience is over. A source that is wrong is FAILED at once and its
//     message acknowledged: trying again would find the same file. Anything else (engine, NATS) is FAILED and retried.
//   - A shutdown leaves the day RUNNING without a lease and gives the message back: another replica takes it at once.
package recon
