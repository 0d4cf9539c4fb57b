package auditor

import "errors"

var (
	// ErrUnknownJob is returned by Pass for a job that is not in the options. Nothing was looked at.
	ErrUnknownJob = errors.New("no such job in the configuration")

	// ErrNotReady names the jobs that the metrics cannot say anything about yet.
	ErrNotReady = errors.New("not yet known where these jobs stand")

	// errMoved says that a source was being written while it was counted: it is counted again in the next pass.
	errMoved = errors.New("the source changed while it was counted")

	// errTablesUnread says that a day that is missing or failed cannot be told from one that was done meanwhile.
	errTablesUnread = errors.New("the result tables could not be read")
)
