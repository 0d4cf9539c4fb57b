package recon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"daybreak/pkg/bus"
	"daybreak/pkg/control"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
	"daybreak/pkg/store"
	"daybreak/pkg/tracing"
)

// Durable is the name of the consumer that all replicas share.
const Durable = "recon"

// Options of a Recon. All fields up to Instance are required.
type Options struct {
	Jobs       []source.Job
	Bus        Streams
	Control    *control.Control
	Store      *store.Store // the result tables; see also Tables
	Clock      clockwork.Clock
	Instance   string        // names this replica in watermarks and heartbeats
	Workers    int           // days worked on at once; 2 when zero
	Poll       time.Duration // how often a missing source is looked for; 15 s when zero
	AckWait    time.Duration // after which the message of a dead replica is handed to another; 30 s when zero
	Grace      time.Duration // how long superseded versions stay readable; 24 h when zero
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
	Tracer     trace.Tracer          // nil: no traces
	// Tables stands in for Store; nil: they are those of Store.
	Tables Tables
	// Entropy is what run ids are drawn from besides the time, safe for concurrent use; nil: the system's.
	Entropy io.Reader
	// Entered is told, in order, every phase that an attempt has entered, after the watermark says so.
	Entered func(job string, day model.Day, phase model.Phase)
}

// Recon works off the messages of DAYS. Any number of replicas may run.
type Recon struct {
	Options
	jobs     map[string]source.Job
	consumer *bus.Consumer
	metrics  *metrics
	log      *slog.Logger
}

// New returns a Recon that has not started.
func New(opts Options) *Recon {
	if opts.Workers == 0 {
		opts.Workers = 2
	}
	if opts.Poll == 0 {
		opts.Poll = 15 * time.Second
	}
	if opts.Grace == 0 {
		opts.Grace = 24 * time.Hour
	}
	if opts.Entered == nil {
		opts.Entered = func(string, model.Day, model.Phase) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Tracer = tracing.Of(opts.Tracer)
	if opts.Tables == nil {
		opts.Tables = stored{opts.Store}
	}
	if opts.Entropy == nil {
		opts.Entropy = ulid.DefaultEntropy()
	}
	r := &Recon{Options: opts, jobs: map[string]source.Job{}, log: opts.Logger.With("service", "recon")}
	for _, j := range opts.Jobs {
		r.jobs[j.Name] = j
	}
	r.metrics = newMetrics(opts.Registerer, opts.Jobs)
	r.consumer = opts.Bus.Consumer(bus.ConsumerOptions{
		Stream: bus.StreamDays, Durable: Durable, Filter: []string{bus.AllDays}, Workers: opts.Workers, AckWait: opts.AckWait,
	}, r.Handle)
	return r
}

// Consumer shows what is in hand and what waits, so that "all is worked off" can be told from "nothing came yet".
func (r *Recon) Consumer() *bus.Consumer { return r.consumer }

// Run works until ctx ends, then gives back what it has in hand. It returns nil at a shutdown.
func (r *Recon) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.consumer.Run(ctx) })
	g.Go(func() error { return r.every(ctx, control.BeatEvery, r.beat) })
	g.Go(func() error { return r.every(ctx, r.Grace/24, r.Sweep) })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("recon: %w", err)
	}
	return nil
}

// every does a background duty at once and then at an interval. Its failures are logged and tried again: none of them
// may stop the work on days.
func (r *Recon) every(ctx context.Context, interval time.Duration, duty func(context.Context) error) error {
	for {
		if err := duty(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("background duty failed, will be tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.Clock.After(interval):
		}
	}
}

func (r *Recon) beat(ctx context.Context) error {
	return r.Control.Beat(ctx, "recon", r.Instance, r.Clock.Now())
}

// Sweep drops superseded and orphaned rows that are older than the grace period, but never those of a run at work,
// however long that takes: a run that begins after the list was made is younger than the grace period.
func (r *Recon) Sweep(ctx context.Context) error {
	running := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(r.jobs)) {
		marks, err := r.Control.Watermarks(ctx, name)
		if err != nil {
			return err
		}
		for _, w := range marks {
			running[w.RunID] = running[w.RunID] || w.Status == model.Running
		}
	}
	return r.Tables.Sweep(ctx, r.Clock.Now().Add(-r.Grace), func(run string) bool { return running[run] })
}

// Handle decides about one message. See the package comment.
func (r *Recon) Handle(ctx context.Context, d bus.Delivery) bus.Verdict {
	req, err := parseRequest(d)
	if err != nil {
		return bus.Reject(err.Error())
	}
	job, ok := r.jobs[req.job]
	if !ok {
		return bus.Reject(fmt.Sprintf("job %s is not in the configuration of %s: add it there, or publish a job that is", req.job, r.Instance))
	}
	if req.kind == bus.KindReplayRange {
		return r.expand(ctx, job, req)
	}
	if v, ok := admit(job.Job, req, r.Clock.Now()); !ok {
		return v
	}
	return r.day(ctx, job, req)
}

// newRunID makes a ULID of the clock's time, so that the age of a run can be read from its id.
func (r *Recon) newRunID() string {
	return ulid.MustNew(ulid.Timestamp(r.Clock.Now()), r.Entropy).String()
}
