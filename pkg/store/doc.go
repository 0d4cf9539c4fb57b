// Package store keeps snapshots, results and reviews in ClickHouse: it lays out the tables, lands what the sources yield,
// compares both sides where the rows are, and makes a result visible all at once.
//
// # Runs
//
// Every row bears the id of the run that wrote it, and no row is changed after it was written. A run is visible when,
// and only when, batches has a row of it: that one insert is the commit. Of several committed runs of a batch the one
// with the highest (version, fence) is the newest, so a zombie that commits late under an older fence or version loses,
// and one that counts its fences anew after a lost bucket wins by its version.
//
//	Land … Add … Close          entries of one side, carried = 0, under the run that pulled them (the snapshot)
//	CarryIn                     the pool of the day before, carried = 1, under the run that compares
//	Exact, Residue              what matches exactly is totalled on the server, every other group comes here
//	Results … Diff, Carry, Close    diffs and the pool that goes on
//	CarryOverCleared            diffs of the version before that were not found again, state cleared
//	Commit                      one row of batches: visible
//	Changes                     the difference to the version before, for events
//	Sweep                       drops superseded and orphaned runs after a grace period
//
// A failure before the commit leaves rows that nobody sees and that Sweep takes. A commit of unknown outcome is read
// back by run id. A recompute for a changed carry has the snapshot id of the run that pulled and a run id of its own.
//
// # What is checked rather than believed
//
// The driver cuts decimals that are too long, so every amount is checked before it is sent. Close of a landing and of a
// result ask the server for counts and exact sums (in Decimal256, since a sum of Decimal(38, s) wraps silently) and fail
// with [ErrIncomplete] when they are not what was sent. Every insert is one block under a deduplication token of its
// own, made of run and block number: sending it again does nothing, and equal rows of another run are not swallowed.
//
// # Comparing
//
// Entries of both sides stand in one table ordered by (job, biz_date, match_key, side). GROUP BY match_key therefore
// reads in order and holds one key at a time, with duplicates, sums and compared columns in one pass. The condition
// "matches exactly" is one text: [Store.Exact] totals the groups that meet it and [Store.Residue] yields all others,
// so that together they have every key once. It is stricter than the rules: tolerances are left to [model.Rules.Judge].
//
// # Reading while a run commits
//
// The *_current views name the newest runs by one subquery on batches. What a query sees of batches must not be newer
// than what it sees of the rows, else a version committed in between would show without its rows. ClickHouse fixes what
// a query sees of a table when it resolves that table's name, and resolves a view inside a view later than the tables
// beside it. So the *_current views name batches directly and the rows through a view of their own (diffs_rows,
// entries_rows, carried_rows): batches is fixed first, and rows are written before their commit.
//
// diffs_current shows the open diffs of the newest versions, and the cleared ones that have a review. Reviews are joined
// by batch and diff id and belong to no version, so no recompute can lose one. changed_after_review tells that the
// figures are not those that the reviewer saw, or that a version after the one that the reviewer saw no longer finds
// the diff.
//
// # Types
//
// Money is Decimal(38, 8), totals Decimal(76, 8). Days are Date. Instants are DateTime64(9, 'UTC'), so that what is read
// equals what was written (events derive from it); an entry without instant has NULL. Ids and keys are String and may
// hold any bytes.
//
// On a cluster (of one shard) tables are Replicated and an insert counts when a majority of the replicas has it. A reader
// on a replica that lags sees an older version; tables replicate independently, so a reader that must never see a gap
// reads from a replica that is up to date (max_replica_delay_for_distributed_queries, or SYSTEM SYNC REPLICA).
package store
