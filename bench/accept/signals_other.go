//go:build !unix

package main

import "syscall"

// Where a process cannot be paused, asking for it is an error, which the run reports.
const (
	pauseSignal  = syscall.Signal(-1)
	resumeSignal = syscall.Signal(-1)
)
