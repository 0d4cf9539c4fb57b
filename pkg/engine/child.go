package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/cpu"

	"daybreak/pkg/engine/internal/chdb"
	"daybreak/pkg/engine/internal/chhttp"
)

// childEnv tells a process of this binary that it is the ClickHouse child. It
// holds no secret and is the one variable that the package reads.
const childEnv = "DAYBREAK_ENGINE_CHILD"

// Files that the child inherits after standard error.
const (
	childListener = 3
	childReport   = 4
)

// childConfig is the first line on the child's standard input. The pipe then
// stays open for as long as the parent wants the child.
type childConfig struct {
	Lib      string `json:"lib"`
	Dir      string `json:"dir"`
	Config   string `json:"config,omitempty"`
	User     string `json:"user"`
	Password string `json:"password"`
	Parallel int    `json:"parallel"`
	Debug    bool   `json:"debug"`
}

// childStatus is the one line that the child reports when it serves or can not.
type childStatus struct {
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
	Locked  bool   `json:"locked,omitempty"`
	Library bool   `json:"library,omitempty"`
}

const (
	drainTime = 3 * time.Second  // for requests that run when the child is told to end
	closeTime = 10 * time.Second // from then on until it ends whatever hangs
)

// RunChildIfAsked turns this process into the ClickHouse child when its parent
// started it as such, and then never returns. Otherwise it does nothing. Call it
// first thing in main, before flags are read.
func RunChildIfAsked() {
	if os.Getenv(childEnv) == "" {
		return
	}
	os.Exit(childMain())
}

func childMain() int {
	// The terminal's ^C and hang-up go to the whole group; the parent decides.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	report := os.NewFile(childReport, "report")
	in := bufio.NewReader(os.Stdin)
	cfg, err := readConfig(in)
	if err == nil {
		err = runChild(cfg, in, report)
	}
	if err == nil {
		return 0
	}
	st := childStatus{Error: err.Error(), Locked: errors.Is(err, ErrLocked), Library: errors.Is(err, ErrLibrary)}
	_ = json.NewEncoder(report).Encode(st)
	return 1
}

func readConfig(in *bufio.Reader) (cfg childConfig, err error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return cfg, fmt.Errorf("no configuration on standard input: %w", err)
	}
	return cfg, json.Unmarshal(line, &cfg)
}

func runChild(cfg childConfig, in io.Reader, report *os.File) error {
	level := slog.LevelInfo
	if cfg.Debug {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in) // ends when the parent does
		stop()
	}()
	lock, err := lockFolder(ctx, cfg.Dir, fmt.Sprintf("process %d (started by %d)", os.Getpid(), os.Getppid()))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	if err := emptyWorkFolder(cfg.Dir); err != nil {
		return err
	}
	srv, err := openServer(cfg, logger)
	if err != nil {
		return err
	}
	return serveChild(ctx, srv, logger, report)
}

// emptyWorkFolder goes to a folder without a config.xml, which the library would
// read by itself.
func emptyWorkFolder(dir string) error {
	run := filepath.Join(dir, "run")
	if err := os.RemoveAll(run); err != nil {
		return err
	}
	if err := os.MkdirAll(run, 0o700); err != nil {
		return err
	}
	return os.Chdir(run)
}

func openServer(cfg childConfig, logger *slog.Logger) (*chhttp.Server, error) {
	if runtime.GOARCH == "amd64" && !cpu.X86.HasAVX2 {
		return nil, fmt.Errorf("%w, which needs a processor with AVX2; use a ClickHouse server: clickhouse.url", ErrLibrary)
	}
	lib, err := chdb.Load(cfg.Lib)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	path := filepath.Join(cfg.Dir, "store")
	srv, err := chhttp.New(lib, chhttp.Options{
		Path: path, ConfigFile: cfg.Config, User: cfg.User, Password: cfg.Password, Parallel: cfg.Parallel, Logger: logger,
	})
	if errors.Is(err, chdb.ErrConnect) {
		return nil, fmt.Errorf("%w: it is damaged, or used by a ClickHouse that is not ours; when it is damaged, move the folder away and restore a backup or run daybreak rebuild (docs/disaster.md)", err)
	}
	return srv, err
}

// serveChild serves until ctx ends, then lets requests finish for a while, kills
// the rest and closes the engine.
func serveChild(ctx context.Context, srv *chhttp.Server, logger *slog.Logger, report *os.File) error {
	file := os.NewFile(childListener, "listener")
	listener, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("the listener that the parent hands down: %w", err)
	}
	_ = file.Close()
	web := &http.Server{Handler: srv, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug), ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	if err := json.NewEncoder(report).Encode(childStatus{Version: srv.Version()}); err != nil {
		return fmt.Errorf("the parent is gone: %w", err)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serving ends: %w", err)
	case <-ctx.Done():
	}
	time.AfterFunc(closeTime, func() {
		logger.Warn("engine does not end in time, stopped hard")
		os.Exit(1)
	})
	drain(web, srv)
	return srv.Close()
}

func drain(web *http.Server, srv *chhttp.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if web.Shutdown(ctx) == nil {
		return
	}
	srv.KillAll()
	again, cancelAgain := context.WithTimeout(context.Background(), drainTime)
	defer cancelAgain()
	if web.Shutdown(again) != nil {
		_ = web.Close()
	}
}
