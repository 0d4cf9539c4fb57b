package store

import "errors"

var (
	// ErrSchemaNewer is returned by [Open] when the tables were laid out by a newer program. Nothing was changed; use
	// that program or another database.
	ErrSchemaNewer = errors.New("the tables were laid out by a newer version of this program")

	// ErrNotLaidOut is returned by [Open] with Options.Prepared when the tables are missing or those of an older program.
	ErrNotLaidOut = errors.New("the tables are not laid out; run daybreak init with a user that may do so")

	// ErrValue is returned for an entry, diff or batch that a table can not hold exactly. The error names where the value
	// came from. Nothing of the run becomes visible.
	ErrValue = errors.New("the tables can not hold this value exactly")

	// ErrRunExists is returned when a run that is to be written already has rows: its id was used before. Nothing was
	// changed; begin again under a new run id.
	ErrRunExists = errors.New("the run already has rows")

	// ErrIncomplete is returned when the tables do not hold what was sent to them or what they held before. The run must
	// not be committed; its rows stay invisible and are swept later.
	ErrIncomplete = errors.New("the tables do not hold what was written")

	// ErrCommitUnknown is returned by [Store.Commit] when the insert failed and reading back failed too. The version may
	// or may not be visible, and may become visible later; in both cases a later version wins over it.
	ErrCommitUnknown = errors.New("it is not known whether the commit took place")

	// ErrClosed is returned when a landing or result is used after Close or Abort.
	ErrClosed = errors.New("already closed or aborted")
)
