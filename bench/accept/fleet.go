package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// fleet is the processes of one installation. It is safe for concurrent use.
type fleet struct {
	bin, config, logs string
	now               func() time.Time
	starts            chan func()

	mu      sync.Mutex
	procs   []*process
	started int
}

// process is a service that was started.
type process struct {
	service string
	cmd     *exec.Cmd
	done    chan struct{} // closed when it has ended
	err     error         // how, after done
	struck  bool          // it was killed on purpose
	paused  bool
}

func newFleet(bin, config, logs string, now func() time.Time) *fleet {
	f := &fleet{bin: bin, config: config, logs: logs, now: now, starts: make(chan func())}
	go func() {
		// Children die with the thread that started them (see spawnAttr), so one thread starts them all.
		runtime.LockOSThread()
		for start := range f.starts {
			start()
		}
	}()
	return f
}

// start runs a service with its clock ahead of the others by ahead.
func (f *fleet) start(service string, ahead time.Duration) (*process, error) {
	f.mu.Lock()
	f.started++
	n := f.started
	f.mu.Unlock()
	log, err := os.Create(filepath.Join(f.logs, fmt.Sprintf("%02d-%s.log", n, service)))
	if err != nil {
		return nil, err
	}
	p := &process{service: service, done: make(chan struct{})}
	p.cmd = exec.Command(f.bin, service, "-f", f.config)
	if service != "engines" {
		p.cmd.Args = append(p.cmd.Args, "--now", f.now().Add(ahead).Format(time.RFC3339))
	}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = log, log, spawnAttr()
	begun := make(chan error)
	f.starts <- func() { begun <- p.cmd.Start() }
	if err := <-begun; err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		_ = log.Close()
		close(p.done)
	}()
	f.mu.Lock()
	f.procs = append(f.procs, p)
	f.mu.Unlock()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// running lists the processes of a service that live and are not paused.
func (f *fleet) running(service string) []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*process
	for _, p := range f.procs {
		if p.service == service && !p.ended() && !p.paused && !p.struck {
			out = append(out, p)
		}
	}
	return out
}

// kill ends a process without warning.
func (f *fleet) kill(p *process) error {
	f.mark(func() { p.struck = true })
	return p.cmd.Process.Kill()
}

// pause stops a process for a while; it wakes up by itself.
func (f *fleet) pause(p *process, d time.Duration) error {
	f.mark(func() { p.paused = true })
	if err := p.cmd.Process.Signal(pauseSignal); err != nil {
		return err
	}
	time.AfterFunc(d, func() {
		_ = p.cmd.Process.Signal(resumeSignal)
		f.mark(func() { p.paused = false })
	})
	return nil
}

func (f *fleet) mark(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// lost are the processes that ended without being told to.
func (f *fleet) lost() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, p := range f.procs {
		if p.ended() && !p.struck {
			errs = append(errs, fmt.Errorf("%s (process %d) ended by itself: %w", p.service, p.cmd.Process.Pid, p.err))
		}
	}
	return errors.Join(errs...)
}

// end asks the processes of a service to end, all when it is empty, and kills those that do not. The engines end last.
func (f *fleet) end(ctx context.Context, service string) error {
	f.mu.Lock()
	all := slices.Clone(f.procs)
	f.mu.Unlock()
	var errs []error
	for _, engines := range []bool{false, true} {
		var asked []*process
		for _, p := range all {
			if p.ended() || (p.service == "engines") != engines || service != "" && p.service != service {
				continue
			}
			f.mark(func() { p.struck = true })
			_ = p.cmd.Process.Signal(resumeSignal)
			_ = p.cmd.Process.Signal(os.Interrupt)
			asked = append(asked, p)
		}
		for _, p := range asked {
			errs = append(errs, p.await(ctx))
		}
	}
	return errors.Join(errs...)
}

const endTime = 20 * time.Second

func (p *process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("%s was asked to end and said: %w", p.service, p.err)
		}
		return nil
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not end within %s of being asked", p.service, endTime)
	}
}

// close ends whatever is left.
func (f *fleet) close(ctx context.Context) {
	_ = f.end(ctx, "")
	close(f.starts)
}
