package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	backoffMin = 50 * time.Millisecond
	backoffMax = 5 * time.Second
	// steadyTime is how long a child must live for its end to count as a first one.
	steadyTime = 30 * time.Second
	// killTime is how long Close waits for a child before it kills it; longer than
	// the child's own limit.
	killTime = closeTime + 5*time.Second
)

func isLibrary(err error) bool { return errors.Is(err, ErrLibrary) }

// supervise starts the first child and, when it serves, leaves a goroutine that
// keeps one running until Close.
func (c *ClickHouse) supervise(ctx context.Context) error {
	life, stop := context.WithCancel(context.Background())
	c.stop, c.stopped = stop, make(chan struct{})
	first := make(chan error, 1)
	go func() {
		defer close(c.stopped)
		// The kernel ties the child to the thread that started it, so this
		// goroutine keeps its thread until the last child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c.keepRunning(life, first)
	}()
	select {
	case err := <-first:
		if err != nil {
			stop()
			<-c.stopped
		}
		return err
	case <-ctx.Done():
		stop()
		<-c.stopped
		return ctx.Err()
	}
}

func (c *ClickHouse) keepRunning(life context.Context, first chan<- error) {
	started := c.clock.Now()
	ch, err := c.spawn(life)
	first <- err
	backoff := backoffMin
	for {
		if err == nil {
			err = c.await(life, ch)
			if c.clock.Since(started) > steadyTime {
				backoff = backoffMin
			}
		} else if c.restarts.Load() == 0 {
			return // the first start: the caller has the error
		}
		if life.Err() != nil {
			return
		}
		c.log.Warn("embedded clickhouse ended, starting it again", "cause", err, "pause", backoff)
		select {
		case <-c.clock.After(backoff):
		case <-life.Done():
			return
		}
		backoff = min(2*backoff, backoffMax)
		c.restarts.Add(1)
		started = c.clock.Now()
		if ch, err = c.spawn(life); err != nil {
			c.refuseQueued()
		}
	}
}

// refuseQueued ends the connections that wait for a child which did not come up,
// so that their clients learn it instead of waiting for the next attempt.
func (c *ClickHouse) refuseQueued() {
	raw, err := c.listener.SyscallConn()
	if err != nil {
		return
	}
	// The socket is shared with the dead child, which may have left it blocking.
	_ = raw.Control(func(fd uintptr) { _ = syscall.SetNonblock(int(fd), true) })
	_ = c.listener.SetDeadline(c.clock.Now().Add(20 * time.Millisecond))
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	_ = c.listener.SetDeadline(time.Time{})
}

// child is one running child process.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	tail  *tail
}

// spawn starts a child and waits until it serves. On an error no child is left.
func (c *ClickHouse) spawn(life context.Context) (*child, error) {
	ch, report, err := c.launch()
	if err != nil {
		return nil, err
	}
	defer func() { _ = report.Close() }()
	c.pid.Store(int64(ch.cmd.Process.Pid))
	timer := time.AfterFunc(startTime, func() { _ = ch.cmd.Process.Kill() })
	unhook := context.AfterFunc(life, func() { _ = ch.cmd.Process.Kill() })
	var st childStatus
	err = json.NewDecoder(report).Decode(&st)
	inTime, alive := timer.Stop(), unhook()
	if err == nil && st.Error == "" && inTime && alive {
		c.mu.Lock()
		c.version = st.Version
		c.mu.Unlock()
		return ch, nil
	}
	c.pid.Store(0)
	_ = ch.stdin.Close()
	if err != nil {
		_ = ch.cmd.Process.Kill()
	}
	waitErr := ch.cmd.Wait()
	switch {
	case !alive:
		return nil, ErrClosed
	case st.Error != "":
		return nil, statusError(st)
	case !inTime:
		return nil, fmt.Errorf("%w within %v: does main call engine.RunChildIfAsked?", ErrNotAChild, startTime)
	default:
		return nil, fmt.Errorf("%w (%w): does main call engine.RunChildIfAsked? Its last lines: %s", ErrNotAChild, waitErr, ch.tail)
	}
}

// statusError makes the child's words an error of ours again.
func statusError(st childStatus) error {
	switch {
	case st.Locked:
		return rewrap(ErrLocked, st.Error)
	case st.Library:
		return rewrap(ErrLibrary, st.Error)
	default:
		return errors.New(st.Error)
	}
}

func rewrap(sentinel error, text string) error {
	return fmt.Errorf("%w%s", sentinel, strings.TrimPrefix(text, sentinel.Error()))
}

// launch starts the process and gives it its configuration.
func (c *ClickHouse) launch() (ch *child, report *os.File, err error) {
	self, err := selfPath()
	if err != nil {
		return nil, nil, err
	}
	listener, err := c.listenerFile()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = listener.Close() }()
	report, reportChild, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = reportChild.Close() }()
	cmd := exec.Command(self)
	cmd.Args = []string{"daybreak-clickhouse"}
	cmd.Env = append(cmd.Environ(), childEnv+"=clickhouse", "TZ=UTC")
	cmd.SysProcAttr = spawnAttr()
	cmd.ExtraFiles = []*os.File{childListener - 3: listener, childReport - 3: reportChild}
	t := &tail{log: c.log}
	cmd.Stdout, cmd.Stderr = t, t
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = report.Close()
		return nil, nil, fmt.Errorf("start the child process: %w", err)
	}
	cfg, err := json.Marshal(c.cfg)
	if err == nil {
		// A child that died at once is told by its report, not by this write.
		_, _ = stdin.Write(append(cfg, '\n'))
	}
	return &child{cmd: cmd, stdin: stdin, tail: t}, report, err
}

// await waits for the child's end, and brings it about when life ends.
func (c *ClickHouse) await(life context.Context, ch *child) error {
	var kill *time.Timer
	var mu sync.Mutex
	unhook := context.AfterFunc(life, func() {
		mu.Lock()
		defer mu.Unlock()
		_ = ch.stdin.Close()
		kill = time.AfterFunc(killTime, func() { _ = ch.cmd.Process.Kill() })
	})
	err := ch.cmd.Wait()
	unhook()
	mu.Lock()
	defer mu.Unlock()
	if kill != nil {
		kill.Stop()
	}
	_ = ch.stdin.Close()
	c.pid.Store(0)
	return fmt.Errorf("the child process ended (%w); its last lines: %s", err, ch.tail)
}

// tail logs what the child writes, line by line, and keeps the last lines for
// the report of its end.
type tail struct {
	log *slog.Logger

	mu      sync.Mutex
	partial string
	last    []string
}

const (
	tailLines   = 12
	tailLineMax = 64 << 10
)

// Write takes the child's output; it never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bufio.NewScanner(strings.NewReader(t.partial + string(b)))
	lines.Buffer(nil, len(t.partial)+len(b)+1)
	whole := len(b) > 0 && b[len(b)-1] == '\n'
	t.partial = ""
	for more := lines.Scan(); more; {
		line := lines.Text()
		if more = lines.Scan(); !more && !whole && len(line) < tailLineMax {
			t.partial = line
			break
		}
		t.take(line)
	}
	return len(b), nil
}

func (t *tail) take(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	var rec struct {
		Level slog.Level `json:"level"`
		Msg   string     `json:"msg"`
	}
	level := slog.LevelDebug
	if json.Unmarshal([]byte(line), &rec) == nil && rec.Msg != "" {
		level = rec.Level
	}
	t.log.Log(context.Background(), level, "clickhouse", "line", line)
	t.last = append(t.last, line)
	t.last = t.last[max(0, len(t.last)-tailLines):]
}

// String is the last lines in one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == 0 && t.partial == "" {
		return "none"
	}
	return strings.Join(append(slices.Clip(t.last), t.partial), " | ")
}
