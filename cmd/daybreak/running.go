package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"

	"daybreak/pkg/engine"
)

// running tells other processes of this machine how to reach the embedded engines of the one that runs them. It lies in
// the data folder, readable by its owner only, and goes with the process. Who may start the engines is decided by the
// lock beside it and never by this file, which a killed process leaves behind.
type running struct {
	PID        int               `json:"pid"`
	Command    string            `json:"command"`
	Stays      bool              `json:"stays"` // until it is stopped; a command that only asks ends by itself
	NATS       runningNATS       `json:"nats"`
	ClickHouse runningClickHouse `json:"clickhouse"`
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
		return running{}, fmt.Errorf("its process has not (or no longer) written %s; if that lasts, stop that process and start it again", file)
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
