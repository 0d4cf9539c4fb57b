package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/bcrypt"
)

// natsStart bounds the start, which replays the streams' state.
const natsStart = 60 * time.Second

// NATSOptions say where the embedded NATS keeps its data.
type NATSOptions struct {
	// Dir is the storage folder; it is made when missing and nothing is written
	// outside of it.
	Dir string
	// Port on the loopback address; 0 takes a free one.
	Port int
	// MaxStoreBytes bounds the file storage; 0 leaves it to the disk.
	MaxStoreBytes int64
	// MaxPayloadBytes bounds one message; 0 means 1 MiB.
	MaxPayloadBytes int32
	Logger          *slog.Logger
}

// NATS is a running embedded server. It is safe for concurrent use.
type NATS struct {
	srv            *server.Server
	lock           *flock.Flock
	user, password string
	once           sync.Once
}

// StartNATS starts the server and waits until it takes connections and
// JetStream works. ctx bounds the start only. A folder in use is ErrLocked.
func StartNATS(ctx context.Context, opt NATSOptions) (*NATS, error) {
	logger := cmp.Or(opt.Logger, slog.Default())
	dir, err := filepath.Abs(opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded nats: %w", err)
	}
	lock, err := lockFolder(ctx, dir, fmt.Sprintf("process %d", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("embedded nats: %w", err)
	}
	n := &NATS{lock: lock, user: "daybreak", password: newPassword()}
	if err := n.start(ctx, dir, opt, logger); err != nil {
		n.Close()
		return nil, fmt.Errorf("embedded nats in %s: %w", dir, err)
	}
	return n, nil
}

func newPassword() string { return rand.Text() + rand.Text() } // 52 base32 letters, 260 bits

func (n *NATS) start(ctx context.Context, dir string, opt NATSOptions, logger *slog.Logger) error {
	// The server warns about plain passwords. The cheapest hash is enough for a
	// secret of 260 random bits, and keeps connecting fast.
	hash, err := bcrypt.GenerateFromPassword([]byte(n.password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	n.srv, err = server.NewServer(&server.Options{
		ServerName: "daybreak-embedded", Host: "127.0.0.1", Port: cmp.Or(opt.Port, server.RANDOM_PORT),
		Username: n.user, Password: string(hash),
		JetStream: true, StoreDir: dir, SyncAlways: true,
		JetStreamMaxStore: opt.MaxStoreBytes,
		MaxPayload:        cmp.Or(opt.MaxPayloadBytes, int32(server.MAX_PAYLOAD_SIZE)),
		NoSigs:            true, NoSystemAccount: false,
	})
	if err != nil {
		return err
	}
	n.srv.SetLoggerV2(natsLog{logger}, logger.Enabled(ctx, slog.LevelDebug), false, false)
	n.srv.Start()
	if err := n.awaitReady(ctx); err != nil {
		return err
	}
	if !n.srv.JetStreamEnabled() {
		return errors.New("JetStream does not start; see the log")
	}
	return ctx.Err()
}

// awaitReady waits in short steps, so that ctx is heard.
func (n *NATS) awaitReady(ctx context.Context) error {
	const step = 100 * time.Millisecond
	for range natsStart / step {
		if n.srv.ReadyForConnections(step) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.New("the server does not take connections in time")
}

// URL is the address without the secret.
func (n *NATS) URL() string { return n.srv.ClientURL() }

// ConnectURL is the address with the secret, for other programs. Keep it out of
// logs and arguments.
func (n *NATS) ConnectURL() string {
	u, err := url.Parse(n.srv.ClientURL())
	if err != nil {
		return ""
	}
	u.User = url.UserPassword(n.user, n.password)
	return u.String()
}

// User is the name of the one account.
func (n *NATS) User() string { return n.user }

// Password is the secret of this start.
func (n *NATS) Password() string { return n.password }

// Connect opens a connection inside the process, without a socket. It
// reconnects for ever unless the options say otherwise.
func (n *NATS) Connect(opts ...nats.Option) (*nats.Conn, error) {
	all := append([]nats.Option{
		nats.InProcessServer(n.srv), nats.UserInfo(n.user, n.password), nats.MaxReconnects(-1),
	}, opts...)
	return nats.Connect(n.srv.ClientURL(), all...)
}

// Close stops the server, flushes its stores and frees the folder. Calling it
// again does nothing.
func (n *NATS) Close() {
	n.once.Do(func() {
		if n.srv != nil {
			n.srv.Shutdown()
			n.srv.WaitForShutdown()
		}
		_ = n.lock.Unlock()
	})
}

// natsLog brings the server's lines to slog: notices are its chatter, so they
// are debug lines here.
type natsLog struct{ log *slog.Logger }

func (l natsLog) line(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, "nats", "line", fmt.Sprintf(format, v...))
}
func (l natsLog) Noticef(format string, v ...any) { l.line(slog.LevelDebug, format, v) }
func (l natsLog) Debugf(format string, v ...any)  { l.line(slog.LevelDebug, format, v) }
func (l natsLog) Tracef(format string, v ...any)  { l.line(slog.LevelDebug, format, v) }
func (l natsLog) Warnf(format string, v ...any)   { l.line(slog.LevelWarn, format, v) }
func (l natsLog) Errorf(format string, v ...any)  { l.line(slog.LevelWarn, format, v) }

// Fatalf must not end the process: the start reports the failure.
func (l natsLog) Fatalf(format string, v ...any) { l.line(slog.LevelError, format, v) }
