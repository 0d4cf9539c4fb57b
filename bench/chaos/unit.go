package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// unit is a process that is started again whenever it ends, as a supervisor does with a service. It is safe for concurrent
// use.
type unit struct {
	name  string
	args  func() []string // with the program first; asked at each start
	spawn func(*exec.Cmd) error
	log   *os.File

	mu      sync.Mutex
	cmd     *exec.Cmd
	done    chan struct{} // closed when the present process has ended
	stopped bool          // not to be started again
	struck  bool          // its end was asked for
	starts  int
	alone   int // ends that nobody asked for
}

// spawner starts processes from one thread: children die with the thread that started them, see spawnAttr.
func spawner() (spawn func(*exec.Cmd) error, stop func()) {
	type order struct {
		cmd *exec.Cmd
		err chan error
	}
	orders := make(chan order)
	go func() {
		runtime.LockOSThread()
		for o := range orders {
			o.err <- o.cmd.Start()
		}
	}()
	return func(c *exec.Cmd) error {
		o := order{c, make(chan error, 1)}
		orders <- o
		return <-o.err
	}, func() { close(orders) }
}

func newUnit(name, logs string, spawn func(*exec.Cmd) error, args func() []string) (*unit, error) {
	log, err := os.OpenFile(filepath.Join(logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	u := &unit{name: name, args: args, spawn: spawn, log: log}
	return u, u.start()
}

func (u *unit) start() error {
	args := u.args()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = u.log, u.log, spawnAttr()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stopped {
		return nil
	}
	if err := u.spawn(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", u.name, err)
	}
	u.cmd, u.done, u.struck = cmd, make(chan struct{}), false
	u.starts++
	go u.mind(cmd, u.done)
	return nil
}

// restartAfter is how long a supervisor waits before it starts again what has ended.
const restartAfter = time.Second

func (u *unit) mind(cmd *exec.Cmd, done chan struct{}) {
	_ = cmd.Wait()
	u.mu.Lock()
	if !u.struck {
		u.alone++
	}
	stopped := u.stopped
	close(done)
	u.mu.Unlock()
	if stopped {
		return
	}
	time.Sleep(restartAfter)
	if err := u.start(); err != nil {
		fmt.Fprintln(u.log, "supervisor:", err)
	}
}

func (u *unit) pid() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.cmd.Process.Pid
}

// signal reaches the present process. A deadly one counts as asked for.
func (u *unit) signal(s syscall.Signal) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s != syscall.SIGSTOP && s != syscall.SIGCONT {
		u.struck = true
	}
	return u.cmd.Process.Signal(s)
}

// pause stops the process for d; whoever is killed meanwhile is not woken.
func (u *unit) pause(d time.Duration) error {
	u.mu.Lock()
	p := u.cmd.Process
	u.mu.Unlock()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.AfterFunc(d, func() { _ = p.Signal(syscall.SIGCONT) })
	return nil
}

// stop ends the process for good; it is killed when it does not end within patience.
func (u *unit) stop(patience time.Duration) {
	u.mu.Lock()
	u.stopped, u.struck = true, true
	p, done := u.cmd.Process, u.done
	u.mu.Unlock()
	_ = p.Signal(syscall.SIGCONT)
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-done:
	case <-time.After(patience):
		_ = p.Kill()
		<-done
	}
	_ = u.log.Close()
}

// counts are how often it was started, and how often it ended by itself.
func (u *unit) counts() (starts, alone int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.starts, u.alone
}
