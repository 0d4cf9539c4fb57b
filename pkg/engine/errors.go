package engine

import "errors"

var (
	// ErrLocked says that another process uses the data folder. The text names
	// the lock file and the process. Nothing was started or changed.
	ErrLocked = errors.New("the data folder is in use by another process")

	// ErrLibrary says that libchdb is missing and can not be fetched, or can not
	// be loaded. The text names both ways to get it. Nothing was started.
	ErrLibrary = errors.New("the embedded ClickHouse needs libchdb")

	// ErrClosed says that the engine was closed while it was starting.
	ErrClosed = errors.New("the engine is closed")

	// ErrNotAChild says that the program does not call RunChildIfAsked: the child
	// did not report within its time.
	ErrNotAChild = errors.New("the ClickHouse child process does not report")
)
