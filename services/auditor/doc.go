// Package auditor tells whether what is shown is true, by another road than the one it was made on. It imports nothing
// of recon, counts the live sources again, and adds up the result tables with its own SQL.
//
// # What is looked at
//
// Per job, every business day from the kept floor on, for ever:
//
//	missing         due for longer than the settling time, and nobody has begun
//	stuck           RUNNING and nobody holds it: reclaimed to FAILED, whatever its age
//	failed          FAILED
//	waiting         a source is not there yet; late is not broken
//	blocked         a strict job's day whose earlier day is not DONE: the earlier day is the one to look at
//	source-changed  the live source and the committed snapshot differ by more than audit.count and audit.amount
//	unbalanced      the stored rows do not account for every entry and every unit of money
//	unpublished     the committed version is not the one that the watermark and the DIFFS stream tell of
//	carry-stale     the pool taken in is not the one that the day before hands on; not known while that day's result is lost
//	silent          a service without a fresh heartbeat
//
// The first five are looked at for all days in every pass. The others are looked at for days that are DONE: those inside
// the cap, those whose committed version changed since this process last looked or is not the one that the watermark tells
// of, and those that have such a finding. Told versions that are lost are computed anew, above them: ids of events are known. A
// clean balance is derived again when its version changes, at start and once a day; a file is counted again when its
// fingerprint changes, at start and once a day. A source that cannot be fingerprinted (a query) is counted in every pass,
// but not more often than leaves it idle for twenty times as long as the count took.
//
// # What was not looked at is not judged
//
// Every check has three outcomes: found, clean, not known. Not known is what an error, a day in work, or a day that
// moved while it was looked at gives; it opens nothing and resolves nothing. One failing check never keeps the others
// from being made, and a pass in which one failed is not a success.
//
// # The life of a finding
//
// The last message on audit.<job>.<date>.<finding> is the state of a finding, for all replicas and over restarts:
//
//	open → nudged → escalated        and from each of them → resolved
//
// The id of a transition names the sequence of the message it follows, so that of several replicas which see the same
// the stream keeps one transition. The sequence of the opening message is the episode. A nudge bears finding, evidence
// and episode in its id: repeated, also after a crash between nudge and record, it is one nudge; a cause that comes back
// after it was cured opens a new episode and is nudged again. Evidence ("seen") holds nothing that a vain nudge changes,
// so the same cause with the same evidence is nudged once and escalated one audit interval later. New evidence within
// an episode is nudged again, five times at most.
//
// Only causes that recon can cure are nudged: never unbalanced, never a source that is gone or cannot be read any more,
// never a failed day whose sources are still those it failed on. These are escalated at once. Only days inside the cap
// are nudged, oldest first, and of a strict job none after the earliest day that is not DONE, since that would be marked
// BLOCKED.
//
// A source that is gone is a source-changed finding inside the cap, where a recount was to be possible, and nothing
// beyond it, where old files are archived. It is never nudged: the committed result is better than a day that waits.
//
// # Reviews
//
// A review step is written to the control bucket, to the table and as an event. A crash between these writes is healed
// here, and reviews that the control bucket lost are restored from the table.
//
// # The auditor itself
//
// The time of the last success is the oldest over all jobs, so that it stands still when one job cannot be audited. The
// dead-man's ping is sent only after every job was audited without error and its newest due day is DONE and clean.
package auditor
