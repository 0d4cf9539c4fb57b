package source

import "errors"

var (
	// ErrNotThere is returned when no file matches, or when a query names a file that does not exist. Nothing is wrong
	// yet: try again later.
	ErrNotThere = errors.New("the source is not there yet")

	// ErrChanged is returned when a file changed, appeared or vanished while it was being read. Nothing that was
	// yielded counts; reading again is worth while.
	ErrChanged = errors.New("the source changed while it was being read")

	// ErrInput is returned for content that cannot be used. Reading again does not help until the source is corrected.
	ErrInput = errors.New("the source cannot be used as it is")

	// ErrSpec is returned by [Open] and Read for a [Spec] that cannot work, whatever the files hold.
	ErrSpec = errors.New("the source is not described rightly")
)
