package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jonboulle/clockwork"
)

// CHOptions say where the embedded ClickHouse keeps its data and its library.
type CHOptions struct {
	// Dir holds the data (store), the lock and the child's working folder. It is
	// made when missing.
	Dir string
	// LibPath names the library file, as CHDB_LIB_PATH does; empty fetches it.
	LibPath string
	// CacheDir keeps fetched libraries; empty means the user's cache folder.
	CacheDir string
	// Progress gets a line while the library is fetched; nil is silent.
	Progress io.Writer
	// ConfigFile is a server configuration (users, profiles, quotas, grants) that
	// the engine works under; empty means its own. Whoever connects is the user
	// `default` of that file.
	ConfigFile string
	// Parallel bounds the statements that run at once; 0 means 32. Others wait.
	Parallel int
	Logger   *slog.Logger
	// Clock paces restarts; nil is the real one.
	Clock clockwork.Clock
}

// ClickHouse is a running embedded engine. It is safe for concurrent use.
type ClickHouse struct {
	cfg      childConfig
	log      *slog.Logger
	clock    clockwork.Clock
	listener *net.TCPListener
	addr     string

	stop     context.CancelFunc
	stopped  chan struct{}
	pid      atomic.Int64
	restarts atomic.Int64

	mu      sync.Mutex
	version string
}

// startTime bounds one start of the child, opening a big data folder included.
const startTime = 2 * time.Minute

// StartClickHouse fetches the library if needed, starts the child and waits until
// it answers. ctx bounds the start only; afterwards the engine runs until Close.
// Errors: ErrLibrary, ErrLocked, ErrNotAChild, or what the engine says.
func StartClickHouse(ctx context.Context, opt CHOptions) (*ClickHouse, error) {
	dir, err := filepath.Abs(opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded clickhouse: %w", err)
	}
	libOpt := LibOptions{Path: opt.LibPath, CacheDir: opt.CacheDir, Progress: opt.Progress}
	lib, err := EnsureLib(ctx, libOpt)
	if err != nil {
		return nil, err
	}
	c := &ClickHouse{
		cfg:     childConfig{Lib: lib, Dir: dir, Config: opt.ConfigFile, User: "daybreak", Password: newPassword(), Parallel: opt.Parallel},
		log:     cmp.Or(opt.Logger, slog.Default()),
		clock:   opt.Clock,
		stopped: make(chan struct{}),
	}
	if c.clock == nil {
		c.clock = clockwork.NewRealClock()
	}
	c.cfg.Debug = c.log.Enabled(ctx, slog.LevelDebug)
	if err := c.start(ctx, libOpt); err != nil {
		return nil, err
	}
	return c, nil
}

// start opens the listener and hands over to the supervisor. A cached library
// that does not load is checked whole and fetched once more if it is damaged.
func (c *ClickHouse) start(ctx context.Context, lib LibOptions) error {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return fmt.Errorf("embedded clickhouse: %w", err)
	}
	c.listener, c.addr = listener, listener.Addr().String()
	err = c.supervise(ctx)
	if err != nil && lib.Path == "" && isLibrary(err) && c.refetch(ctx, lib) {
		err = c.supervise(ctx)
	}
	if err != nil {
		_ = listener.Close()
		return fmt.Errorf("embedded clickhouse in %s: %w", c.cfg.Dir, err)
	}
	return nil
}

func (c *ClickHouse) refetch(ctx context.Context, lib LibOptions) bool {
	store, err := openStore(lib)
	if err != nil || !store.recheck() {
		return false
	}
	c.cfg.Lib, err = store.fill(ctx)
	return err == nil
}

// Options are for clickhouse.Open: HTTP on the loopback address, without
// compression. Every call gives a fresh value that may be changed.
func (c *ClickHouse) Options() *clickhouse.Options {
	return ClientOptions(c.addr, c.cfg.User, c.cfg.Password)
}

// Addr is host:port, the same for the engine's whole life.
func (c *ClickHouse) Addr() string { return c.addr }

// User is the name of the one user.
func (c *ClickHouse) User() string { return c.cfg.User }

// Password is the secret of this start.
func (c *ClickHouse) Password() string { return c.cfg.Password }

// Version is the engine's.
func (c *ClickHouse) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Restarts counts how often the child had to be started again.
func (c *ClickHouse) Restarts() int { return int(c.restarts.Load()) }

// Pid is the child's process id, or 0 while there is none.
func (c *ClickHouse) Pid() int { return int(c.pid.Load()) }

// Close lets running statements finish for some seconds, ends the child and
// frees the folder. It returns when the child is gone; calling it again is fine.
func (c *ClickHouse) Close() {
	_ = c.listener.Close()
	c.stop()
	<-c.stopped
}

// listenerFile gives the child its copy of the socket.
func (c *ClickHouse) listenerFile() (*os.File, error) { return c.listener.File() }
