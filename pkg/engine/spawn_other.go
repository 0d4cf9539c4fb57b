//go:build !linux

package engine

import (
	"os"
	"syscall"
)

func selfPath() (string, error) { return os.Executable() }

// spawnAttr leaves the child's end to its standard input.
func spawnAttr() *syscall.SysProcAttr { return nil }
