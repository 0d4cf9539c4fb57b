package main

import "syscall"

// spawnAttr makes the kernel end a child when this program is gone, however it went.
func spawnAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
