package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"daybreak/pkg/bus"
	"daybreak/pkg/config"
	"daybreak/pkg/control"
	"daybreak/pkg/engine"
	"daybreak/pkg/kv"
	"daybreak/pkg/source"
	"daybreak/pkg/store"
	"daybreak/pkg/tracing"
)

// controlBucket is the one KV bucket of all installations.
const controlBucket = "daybreak"

// app is everything that a command works with: open engines and what stands on them. It is closed in reverse order.
type app struct {
	cfg      *config.Config
	clock    clockwork.Clock
	log      *slog.Logger
	instance string
	owner    bool // this process runs the embedded engines
	serving  bool // it runs services until stopped, and is no command that ends

	nats       *engine.NATS       // nil unless this process runs it
	clickhouse *engine.ClickHouse // nil unless this process runs it
	bus        *bus.Bus
	kv         *kv.Store
	control    *control.Control
	store      *store.Store

	command    string // the command line's, for other processes to name
	stays      bool   // this process works until it is stopped
	laysOut    bool   // it is daybreak init
	httpListen string
	traces     *tracing.Provider
	ownerGone  chan struct{} // closed when the engines of another process, which this one uses, are gone

	closers []func()
}

// openApp opens the engines that cfg names. With embedded engines it joins the process that runs them on the same data
// folder, or runs them itself when none does. On an error nothing stays open.
func openApp(ctx context.Context, env *environment, cfg *config.Config, opts appOptions) (*app, error) {
	a := &app{
		cfg: cfg, clock: opts.clock, log: opts.log, instance: instanceName(), command: opts.command, stays: opts.stays, laysOut: opts.laysOut, httpListen: opts.listen,
		ownerGone: make(chan struct{}),
	}
	if err := a.open(ctx, env, opts.connect); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *app) open(ctx context.Context, env *environment, connect connector) error {
	if err := a.trace(ctx); err != nil {
		return err
	}
	ends, err := a.engines(ctx, env, connect)
	if err != nil {
		return err
	}
	nc, err := ends.connect(nats.Name("daybreak "+a.instance), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(false),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.log.Warn("nats", "err", err) }))
	if err != nil {
		return fmt.Errorf("connecting to NATS: %w", err)
	}
	a.closeLater(nc.Close)
	if err := refuseNewer(ctx, nc); err != nil {
		return err
	}
	if a.bus, err = bus.Open(ctx, nc, a.busOptions()); err != nil {
		return err
	}
	a.kv, err = kv.Open(ctx, a.bus.JetStream(), kv.Options{
		Bucket: controlBucket, Replicas: a.cfg.NATS.Replicas, LeaseTTL: a.cfg.Lease.TTL, Prepared: a.prepared(), Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.closeLater(func() {
		if err := a.kv.Close(context.WithoutCancel(ctx)); err != nil {
			a.log.Warn("leases were left to run out", "err", err)
		}
	})
	a.control = control.New(a.kv)
	if err := a.layout(ctx); err != nil {
		return err
	}
	a.store, err = store.Open(ctx, store.Options{
		Conn: ends.clickhouse, Cluster: a.cfg.ClickHouse.Cluster, Prepared: a.prepared(), Clock: a.clock, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.closeLater(func() { _ = a.store.Close() })
	return nil
}

// refuseNewer looks before anything in NATS is touched. Where the look itself fails, as while a cluster is forming, opening
// goes on: it waits, and [app.layout] looks again.
func refuseNewer(ctx context.Context, nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if _, _, err := control.Layout(ctx, js, controlBucket); errors.Is(err, control.ErrLayoutNewer) {
		return err
	}
	return nil
}

// layout notes the layout of the control bucket, or looks at it where that is an administrator's to do.
func (a *app) layout(ctx context.Context) error {
	if a.prepared() {
		_, _, err := control.Layout(ctx, a.bus.JetStream(), controlBucket)
		return err
	}
	return control.Stamp(ctx, a.bus.JetStream(), controlBucket)
}

// prepared reports whether this process only looks at streams and tables: the file says so, and it is not daybreak init.
func (a *app) prepared() bool { return a.cfg.Prepared && !a.laysOut }

// busOptions reserve little disk on an embedded server: it lives on the machine of a person who is trying things out, or
// of a small installation, and a server refuses streams that reserve more than the disk has.
func (a *app) busOptions() bus.Options {
	o := bus.Options{Replicas: a.cfg.NATS.Replicas, Prepared: a.prepared(), Logger: a.log, Clock: a.clock}
	if a.nats != nil || a.cfg.NATS.Embedded() {
		o.MaxBytesScale = embeddedScale
	}
	return o
}

const embeddedScale = 0.05

// appOptions are what the command line adds to the configuration.
type appOptions struct {
	clock   clockwork.Clock
	log     *slog.Logger
	command string    // how the command is called
	stays   bool      // it works until it is stopped
	laysOut bool      // it makes streams and tables, whatever the file says
	listen  string    // where HTTP is served, instead of the file's
	connect connector // to NATS, instead of the file's; nil for the file's
}

// trace opens the way to the collector, when there is one. What is left at the end is sent within a few seconds.
func (a *app) trace(ctx context.Context) (err error) {
	a.traces, err = tracing.Open(ctx, tracing.Options{
		Endpoint: a.cfg.Tracing.Endpoint, Service: "daybreak", Instance: a.instance, Version: mainVersion(),
	})
	if err != nil {
		return err
	}
	a.closeLater(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceFlush)
		defer cancel()
		if err := a.traces.Close(ctx); err != nil {
			a.log.Warn("the last spans could not be sent", "err", err)
		}
	})
	return nil
}

const traceFlush = 5 * time.Second

func (a *app) closeLater(f func()) { a.closers = append(a.closers, f) }

func (a *app) close() {
	for _, f := range slices.Backward(a.closers) {
		f()
	}
	a.closers = nil
}

// jobs opens the sources of every configured job.
func (a *app) jobs() ([]source.Job, error) {
	env := source.Env{Root: a.cfg.Root, Conn: func(context.Context) (driver.Conn, error) { return a.store.Conn(), nil }}
	var out []source.Job
	var errs []error
	for _, j := range a.cfg.Jobs {
		ledger, err := source.Open(j.Ledger, env)
		if err != nil {
			errs = append(errs, fmt.Errorf("job %s ledger: %w", j.Name, err))
		}
		channel, err := source.Open(j.Channel, env)
		if err != nil {
			errs = append(errs, fmt.Errorf("job %s channel: %w", j.Name, err))
		}
		out = append(out, source.Job{Job: j.Job, Ledger: ledger, Channel: channel})
	}
	return out, errors.Join(errs...)
}

// ends are the two connections of an app, wherever the engines run.
type ends struct {
	connect    connector
	clickhouse *clickhouse.Options
}

// engines finds or starts what the configuration names.
func (a *app) engines(ctx context.Context, env *environment, connect connector) (e ends, err error) {
	natsEmbedded, chEmbedded := a.cfg.NATS.Embedded() && connect == nil, a.cfg.ClickHouse.Embedded()
	var shared running
	if natsEmbedded || chEmbedded {
		if shared, err = a.embedded(ctx, env, natsEmbedded, chEmbedded); err != nil {
			return ends{}, err
		}
	}
	switch {
	case connect != nil:
		e.connect = connect
	case natsEmbedded:
		e.connect = shared.NATS.connect
	default:
		if e.connect, err = externalNATS(a.cfg.NATS); err != nil {
			return ends{}, err
		}
	}
	if chEmbedded {
		e.clickhouse = shared.ClickHouse.options()
		e.clickhouse.Auth.Database = a.cfg.ClickHouse.Database
		return e, nil
	}
	e.clickhouse, err = externalClickHouse(a.cfg.ClickHouse)
	return e, err
}

// externalNATS connects to the servers that the file names.
func externalNATS(c config.NATS) (connector, error) {
	opts, err := natsOptions(c)
	if err != nil {
		return nil, err
	}
	return func(more ...nats.Option) (*nats.Conn, error) {
		return dial(c.URL, c.Address(), append(opts, more...)...)
	}, nil
}

// dial connects to servers and names them, without their secrets, when it cannot.
func dial(url, name string, opts ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return nc, nil
}

func natsOptions(c config.NATS) ([]nats.Option, error) {
	var opts []nats.Option
	if c.Creds != "" {
		opts = append(opts, nats.UserCredentials(c.Creds))
	}
	if c.User != "" {
		password, err := c.Password()
		if err != nil {
			return nil, err
		}
		opts = append(opts, nats.UserInfo(c.User, password))
	}
	if c.TLS.CA != "" {
		opts = append(opts, nats.RootCAs(c.TLS.CA))
	}
	if c.TLS.Cert != "" {
		opts = append(opts, nats.ClientCert(c.TLS.Cert, c.TLS.Key))
	}
	if c.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(c.InboxPrefix))
	}
	if c.TLSFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	return opts, nil
}

func externalClickHouse(c config.ClickHouse) (*clickhouse.Options, error) {
	url := c.URL
	if rest, ok := strings.CutPrefix(url, "https://"); ok { // the driver takes https only together with secure=true
		url = "http://" + rest
	}
	opts, err := clickhouse.ParseDSN(url)
	if err != nil {
		return nil, fmt.Errorf("clickhouse.url: %w", err)
	}
	if c.Secure() && opts.TLS == nil {
		opts.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	user, userErr := c.UserName()
	password, err := c.Password()
	if err := errors.Join(userErr, err); err != nil {
		return nil, err
	}
	if user != "" {
		opts.Auth.Username, opts.Auth.Password = user, password
	}
	opts.Auth.Database = c.Database
	if c.TLS != (config.TLS{}) {
		if opts.TLS, err = clientTLS(c.TLS, opts.TLS); err != nil {
			return nil, err
		}
	}
	return opts, nil
}

func clientTLS(files config.TLS, base *tls.Config) (*tls.Config, error) {
	if base == nil {
		base = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if files.CA != "" {
		pool, err := certPool(files.CA)
		if err != nil {
			return nil, err
		}
		base.RootCAs = pool
	}
	if files.Cert != "" {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			return nil, fmt.Errorf("clickhouse.tls: %w", err)
		}
		base.Certificates = []tls.Certificate{pair}
	}
	return base, nil
}

// instanceName names this process in watermarks and heartbeats: host and process id, in characters that a key may have.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, host)
	return fmt.Sprintf("%s-%d", clean, os.Getpid())
}

// bounded is the time that joining or starting engines may take.
const bounded = 2 * time.Minute

func dataFile(cfg *config.Config, name string) string { return filepath.Join(cfg.DataDir, name) }
