package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"daybreak/pkg/scenario"
)

// install is a made-up book with the processes that run on it. Its clock begins when every day is due and goes on.
type install struct {
	dir   string
	book  *scenario.Book
	begun time.Time
	procs []*process
	n     int
}

func newInstall(dir string, o scenario.Options) (*install, error) {
	book, err := scenario.Write(filepath.Join(dir, "book"), o)
	return &install{dir: dir, book: book, begun: time.Now()}, err
}

func (i *install) now() time.Time { return i.book.Now().Add(time.Since(i.begun)) }

// process is a running service.
type process struct {
	program string
	service string
	log     string
	cmd     *exec.Cmd
	done    chan error
}

// start runs a service of a program until it is stopped.
func (i *install) start(ctx context.Context, p program, service string) (*process, error) {
	i.n++
	proc := &process{program: p.name, service: service, log: filepath.Join(i.dir, fmt.Sprintf("%02d-%s-%s.log", i.n, p.name, service)), done: make(chan error, 1)}
	log, err := os.Create(proc.log)
	if err != nil {
		return nil, err
	}
	args := []string{service, "-f", i.book.Config}
	if service != "engines" {
		args = append(args, "--now", i.now().Format(time.RFC3339))
	}
	proc.cmd = exec.CommandContext(ctx, p.bin, args...)
	proc.cmd.Cancel = func() error { return proc.cmd.Process.Signal(os.Interrupt) }
	proc.cmd.WaitDelay = stopTime
	proc.cmd.Stdout, proc.cmd.Stderr = log, log
	if err := proc.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() {
		err := proc.cmd.Wait()
		_ = log.Close()
		proc.done <- err
	}()
	i.procs = append(i.procs, proc)
	return proc, proc.awaitRunning(ctx)
}

// startTime bounds a start, which may fetch nothing: the library is there already.
const startTime = time.Minute

// awaitRunning waits until the process says that it works. Whoever came before the engines would run them itself.
func (p *process) awaitRunning(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(startTime)
	for {
		data, err := os.ReadFile(p.log)
		if err != nil || bytes.Contains(data, []byte(`"msg":"running"`)) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case err := <-p.done:
			p.done <- err
			return fmt.Errorf("%s %s ended while it started (%w); see %s", p.program, p.service, err, p.log)
		case <-late:
			return fmt.Errorf("%s %s does not come up within %s; see %s", p.program, p.service, startTime, p.log)
		}
	}
}

const stopTime = 20 * time.Second

// stop asks a process to end and waits for it. One that had ended by itself is a failure.
func (i *install) stop(proc *process) error {
	i.procs = slices.DeleteFunc(i.procs, func(x *process) bool { return x == proc })
	select {
	case err := <-proc.done:
		return fmt.Errorf("%s %s ended by itself (%w); see %s", proc.program, proc.service, err, proc.log)
	default:
	}
	_ = proc.cmd.Process.Signal(os.Interrupt)
	select {
	case err := <-proc.done:
		if err != nil {
			return fmt.Errorf("%s %s was asked to end and said: %w; see %s", proc.program, proc.service, err, proc.log)
		}
		return nil
	case <-time.After(stopTime):
		_ = proc.cmd.Process.Kill()
		return fmt.Errorf("%s %s did not end within %s", proc.program, proc.service, stopTime)
	}
}

// stopAll stops what runs, the engines last.
func (i *install) stopAll() error {
	var errs []error
	for _, engines := range []bool{false, true} {
		for _, p := range slices.Clone(i.procs) {
			if (p.service == "engines") == engines {
				errs = append(errs, i.stop(p))
			}
		}
	}
	return errors.Join(errs...)
}
