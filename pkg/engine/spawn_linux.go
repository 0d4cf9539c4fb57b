package engine

import "syscall"

// selfPath names this very program even when its file has been replaced or
// removed meanwhile, as go run and upgrades do.
func selfPath() (string, error) { return "/proc/self/exe", nil }

// spawnAttr makes the kernel kill the child when the thread that started it
// ends: the supervisor keeps that thread for as long as the child lives.
func spawnAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
