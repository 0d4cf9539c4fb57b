package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"daybreak/pkg/source"
	"daybreak/pkg/vitals"
	"daybreak/services/auditor"
	"daybreak/services/recon"
	"daybreak/services/ticker"
)

// service names one of the three that up runs together.
type service string

const (
	serviceTicker  service = "ticker"
	serviceRecon   service = "recon"
	serviceAuditor service = "auditor"
)

var allServices = []service{serviceTicker, serviceRecon, serviceAuditor}

func (c *cli) serviceCommands() []*cobra.Command {
	one := func(s service, short string) *cobra.Command {
		cmd := &cobra.Command{
			Use: string(s), Short: short, Example: fmt.Sprintf("  daybreak %s -f /etc/daybreak.yaml", s),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return c.withStayingApp(cmd, func(a *app) error { return a.serve(cmd.Context(), s) })
			},
		}
		c.nowFlag(cmd)
		c.listenFlag(cmd)
		return cmd
	}
	engines := &cobra.Command{
		Use: "engines", Short: "Run only the embedded engines, for service processes on this machine",
		Example: "  daybreak engines -f daybreak.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStayingApp(cmd, func(a *app) error { return a.serve(cmd.Context()) })
		},
	}
	c.listenFlag(engines)
	return []*cobra.Command{
		c.upCommand(), one(serviceTicker, "Run the ticker: publish which days are due"),
		one(serviceRecon, "Run recon: reconcile the days that are due"),
		one(serviceAuditor, "Run the auditor: prove the results and repair what is missing"), engines,
	}
}

func (c *cli) nowFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.flags.now, "now", "", "set the clock to this RFC 3339 instant, for drills and tests")
}

func (c *cli) listenFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.listen, "listen", "", "host:port of /metrics, /healthz and /readyz, instead of http.listen of the file")
}

func (c *cli) upCommand() *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use: "up", Short: "Run everything in one process until stopped",
		Long: "Run ticker, recon and auditor in one process until stopped.\n\n" +
			"With --once, work off all that is due and exit: 0 only if every due day is DONE, else 1 and the days that are not.",
		Example: "  daybreak up -f daybreak.yaml\n  daybreak up -f daybreak.yaml --once --now 2026-10-31T02:00:00+08:00",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !once {
				return c.withStayingApp(cmd, func(a *app) error { return a.serve(cmd.Context(), allServices...) })
			}
			return c.withApp(cmd, func(a *app) error {
				audits, err := a.once(cmd.Context(), c.progress())
				for _, f := range audits {
					a.log.Warn("audit finding", "job", f.Job, "biz_date", f.Day, "finding", f.Kind, "detail", f.Detail)
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "work off all that is due, then exit")
	c.nowFlag(cmd)
	c.listenFlag(cmd)
	return cmd
}

// services are the running parts of one process with the registry that their metrics are in.
type services struct {
	registry *prometheus.Registry
	ticker   *ticker.Ticker
	recon    *recon.Recon
	auditor  *auditor.Auditor
}

// build makes the named services; the others stay nil.
func (a *app) build(names ...service) (*services, error) {
	jobs, err := a.jobs()
	if err != nil {
		return nil, usage(err)
	}
	s := &services{registry: prometheus.NewRegistry()}
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, name := range names {
		switch name {
		case serviceTicker:
			s.ticker = a.newTicker(s.registry)
		case serviceRecon:
			s.recon = a.newRecon(jobs, s.registry)
		case serviceAuditor:
			s.auditor = a.newAuditor(jobs, s.registry)
		}
	}
	a.machinery(s)
	return s, nil
}

// machinery registers what is known of process, streams and engines. The engines are asked by auditors only.
func (a *app) machinery(s *services) {
	s.registry.MustRegister(vitals.Info(mainVersion(), a.cfg.ModelJobs()), vitals.Process(a.bus, a.kv))
	if s.auditor != nil {
		s.registry.MustRegister(vitals.Engines(vitals.Options{
			JetStream: a.bus.JetStream(), ClickHouse: a.store.Conn(), Bucket: controlBucket, Logger: a.log,
		}))
	}
}

func (a *app) newTicker(reg prometheus.Registerer) *ticker.Ticker {
	return ticker.New(ticker.Options{
		Jobs: a.cfg.ModelJobs(), Publish: a.bus, Books: a.control, Clock: a.clock, Logger: a.log, Instance: a.instance,
		Registerer: reg, Tracer: a.traces.Tracer("daybreak/ticker"),
	})
}

func (a *app) newRecon(jobs []source.Job, reg prometheus.Registerer) *recon.Recon {
	return recon.New(recon.Options{
		Jobs: jobs, Bus: a.bus, Control: a.control, Store: a.store, Clock: a.clock, Instance: a.instance, Logger: a.log, Registerer: reg,
		Workers: a.cfg.Recon.Workers, AckWait: a.cfg.Lease.TTL, Grace: a.cfg.Retention.Grace,
		Tracer: a.traces.Tracer("daybreak/recon"),
	})
}

func (a *app) newAuditor(jobs []source.Job, reg prometheus.Registerer) *auditor.Auditor {
	return auditor.New(a.auditorOptions(jobs, reg))
}

// noSettling lets the auditor judge a day that by its clock finished just now, or in the future: --now may set it back.
const noSettling = -100 * 365 * 24 * time.Hour

// auditorOptions make an auditor. A command that runs the engines itself and ends soon has no services beside it whose
// heartbeat could be missed, and nobody whose work on its way it would have to wait for.
func (a *app) auditorOptions(jobs []source.Job, reg prometheus.Registerer) auditor.Options {
	opts := auditor.Options{
		Jobs: jobs, Bus: a.bus, Control: a.control, Conn: a.store.Conn(), Records: a.store, Clock: a.clock, Instance: a.instance, Logger: a.log,
		Registerer: reg, Tracer: a.traces.Tracer("daybreak/auditor"), Expect: []string{string(serviceTicker), string(serviceRecon), string(serviceAuditor)},
	}
	if a.owner && !a.serving {
		opts.Expect, opts.Settle = nil, noSettling
	}
	return opts
}

// run works until ctx ends or a service cannot go on.
func (s *services) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	if s.ticker != nil {
		g.Go(func() error { return s.ticker.Run(ctx) })
	}
	if s.recon != nil {
		g.Go(func() error { return s.recon.Run(ctx) })
	}
	if s.auditor != nil {
		g.Go(func() error { return s.auditor.Run(ctx) })
	}
	g.Go(func() error { <-ctx.Done(); return nil })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// serve runs services and their HTTP side until ctx ends.
func (a *app) serve(ctx context.Context, names ...service) error {
	a.serving = true
	s, err := a.build(names...)
	if err != nil {
		return err
	}
	listener, err := a.listen(ctx)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		a.keepFloors(ctx)
		a.warnOfLosses(ctx)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.run(ctx) })
	g.Go(func() error { return serveHTTP(ctx, listener, a.handler(s)) })
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-a.ownerGone:
			return errOwnerGone
		}
	})
	a.log.Info("running", "services", names, "http", listener.Addr().String(), "jobs", len(a.cfg.Jobs))
	return g.Wait()
}

// listen opens http.listen, or the address of --listen. Where several services of one file run on one machine, the first
// has the port of the file; the others are given one by --listen, or take one that is free and say so.
func (a *app) listen(ctx context.Context) (net.Listener, error) {
	addr := cmp.Or(a.httpListen, a.cfg.HTTP.Listen)
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err == nil || a.owner || a.httpListen != "" {
		return l, wrapListen(err, addr)
	}
	host, _, splitErr := net.SplitHostPort(addr)
	if splitErr != nil {
		return nil, splitErr
	}
	if l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0")); err != nil {
		return nil, wrapListen(err, host)
	}
	a.log.Warn("http.listen is taken by another process; serving /metrics elsewhere, name an address with --listen",
		"taken", addr, "http", l.Addr().String())
	return l, nil
}

func wrapListen(err error, addr string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("http.listen %s: %w (another daybreak? choose another port in the file)", addr, err)
}

// handler serves /metrics, /healthz (this process lives) and /readyz (it can do its work).
func (a *app) handler(s *services) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.ready(r.Context(), s.auditor); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// ready asks both engines, and the auditor whether its metrics say where the jobs stand.
func (a *app) ready(ctx context.Context, auditor *auditor.Auditor) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := a.bus.JetStream().AccountInfo(ctx); err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	if err := a.store.Conn().Ping(ctx); err != nil {
		return fmt.Errorf("clickhouse: %w", err)
	}
	if auditor != nil {
		return auditor.Ready()
	}
	return nil
}

func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
