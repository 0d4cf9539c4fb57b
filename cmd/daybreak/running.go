package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"

	"daybreak/pkg/engine"
)

// running tells other processes of this machine how to reach the embedded engines of the one that runs them. It lies in
// the data folder, readable by its owner only, and goes with the process. Who may start the engines is decided by the
// lock beside it and never by this file, which a killed process leaves behind.
type running struct {
	PID        int               `json:"pid"`
	NATS       runningNATS       `json:"nats"`
	ClickHouse runningClickHouse `json:"clickhouse"`

	own bool
}

type runningNATS struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`

	server *engine.NATS // when this process runs it
}

type runningClickHouse struct {
	Addr     string `json:"addr"`
	User     string `json:"user"`
	Password string `json:"password"`

	server *engine.ClickHouse
}

func (r runningNATS) connect(opts ...nats.Option) (*nats.Conn, error) {
	if r.server != nil {
		return r.server.Connect(opts...)
	}
	return nats.Connect(r.URL, append(opts, nats.UserInfo(r.User, r.Password))...)
}

func (r runningClickHouse) options() *clickhouse.Options {
	if r.server != nil {
		return r.server.Options()
	}
	return engine.ClientOptions(r.Addr, r.User, r.Password)
}

// embedded joins the process that runs the engines on this data folder, or becomes it.
func (a *app) embedded(ctx context.Context, env *environment, withNATS, withClickHouse bool) (running, error) {
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return running{}, fmt.Errorf("data folder: %w", err)
	}
	lock := flock.New(dataFile(a.cfg, "daybreak.lock"))
	deadline := time.Now().Add(bounded)
	for {
		mine, err := lock.TryLock()
		if err != nil {
			return running{}, fmt.Errorf("locking the data folder %s: %w", a.cfg.DataDir, err)
		}
		if mine {
			a.closeLater(func() { _ = lock.Unlock() }) // it goes with the process anyway
			return a.start(ctx, env, withNATS, withClickHouse)
		}
		r, err := readRunning(dataFile(a.cfg, "running.json"))
		if err == nil && r.answers(withNATS) {
			return r, nil
		}
		if time.Now().After(deadline) {
			return running{}, fmt.Errorf("another process holds the data folder %s but its engines do not answer: %w", a.cfg.DataDir, err)
		}
		select { // the other process is just starting or just ending
		case <-ctx.Done():
			return running{}, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// start runs the engines in this process and says so in the data folder.
func (a *app) start(ctx context.Context, env *environment, withNATS, withClickHouse bool) (running, error) {
	r := running{PID: os.Getpid(), own: true}
	a.owner = true
	if withNATS {
		server, err := engine.StartNATS(ctx, engine.NATSOptions{Dir: dataFile(a.cfg, "nats"), Logger: a.log})
		if err != nil {
			return running{}, err
		}
		a.nats = server
		a.closeLater(func() { server.Close() })
		r.NATS = runningNATS{URL: server.URL(), User: server.User(), Password: server.Password(), server: server}
	}
	if withClickHouse {
		server, err := engine.StartClickHouse(ctx, engine.CHOptions{
			Dir: dataFile(a.cfg, "clickhouse"), LibPath: env.get("CHDB_LIB_PATH"), Progress: env.stderr, Logger: a.log,
		})
		if err != nil {
			return running{}, err
		}
		a.clickhouse = server
		a.closeLater(func() { server.Close() })
		r.ClickHouse = runningClickHouse{Addr: server.Addr(), User: server.User(), Password: server.Password(), server: server}
	}
	file := dataFile(a.cfg, "running.json")
	if err := r.write(file); err != nil {
		return running{}, err
	}
	a.closeLater(func() { _ = os.Remove(file) }) // readers ask the server before they believe it
	return r, nil
}

// answers reports whether the message server that the file names is there; the file may be a killed process's.
func (r running) answers(withNATS bool) bool {
	if !withNATS {
		return true
	}
	nc, err := r.NATS.connect(nats.Timeout(2*time.Second), nats.NoReconnect())
	if err != nil {
		return false
	}
	nc.Close()
	return true
}

func (r running) write(file string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	part := file + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return os.Rename(part, file)
}

func readRunning(file string) (r running, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return running{}, fmt.Errorf("%s is not written yet", file)
	}
	if err != nil {
		return running{}, err
	}
	return r, json.Unmarshal(data, &r)
}

func certPool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return pool, nil
}
