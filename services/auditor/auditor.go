package auditor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"daybreak/pkg/control"
	"daybreak/pkg/model"
	"daybreak/pkg/review"
	"daybreak/pkg/source"
	"daybreak/pkg/tracing"
)

const (
	service = "auditor" // name of the own heartbeat

	everyDefault  = 10 * time.Minute
	settleDefault = time.Minute
	pingTimeout   = 30 * time.Second
)

// Recorder keeps findings and reviews in the result store. No check rests on it.
type Recorder interface {
	PutAudits(ctx context.Context, instance string, at time.Time, findings []model.Audit) error
	review.Table
}

// Options of an Auditor. All fields up to Instance are required.
type Options struct {
	Jobs     []source.Job
	Bus      Streams
	Control  *control.Control
	Conn     driver.Conn // for the auditor's own SQL
	Records  Recorder
	Clock    clockwork.Clock
	Instance string // names this replica in findings and heartbeats

	// Expect lists the services that must have a fresh heartbeat.
	Expect []string
	// Ping is called after every job was audited without error and its newest due day is DONE and clean. It may be nil.
	Ping func(ctx context.Context) error
	// Deep makes all days be counted and added up again, not only those inside the cap.
	Deep bool
	// Settle is how long a day may be due, or the day before it DONE, before its absence is a finding; 1 min when zero.
	Settle time.Duration
	// Workers is how many jobs are looked at at once; 2 when zero.
	Workers int
	// Durable names recon's consumer on DAYS, whose backlog gives missing days more patience; "recon" when empty.
	Durable    string
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
	Tracer     trace.Tracer          // nil: no traces
	// Tables stand in for those that Conn reaches; nil: these.
	Tables Tables
}

func (o Options) reader() reader {
	if o.Tables != nil {
		return given{o.Tables}
	}
	return tables{o.Conn}
}

// Auditor looks at jobs. Any number of replicas may run.
type Auditor struct {
	Options
	book    *book
	counts  *counter
	tables  reader
	metrics *metrics
	log     *slog.Logger
	slots   chan struct{}

	mu    sync.Mutex
	jobs  map[string]*memory
	told  reviewEvents
	quiet time.Time // until then a service that was never heard is not yet silent
	since time.Time // of the last ping
	saved time.Time // instant of the last rows in the store
}

// memory is what this process knows of a job between two looks.
type memory struct {
	job      source.Job
	busy     sync.Mutex             // one look at a time
	verified map[model.Day]verified // balances that were clean
	unsaved  []model.Audit          // findings that the store could not take yet
	begun    bool                   // the findings of earlier processes are in the store
	shown    bool                   // the metrics say where the job stands
	success  time.Time              // of the last look in which every check was made
	clean    time.Time              // of the last of these that found the newest due day clean; zero when the last did not
}

// verified is a version whose balance was found clean.
type verified struct {
	runID string
	at    time.Time
}

// New returns an Auditor that has not started.
func New(opts Options) *Auditor {
	opts.Tracer = tracing.Of(opts.Tracer)
	opts.Settle = cmp.Or(opts.Settle, settleDefault)
	opts.Workers = cmp.Or(opts.Workers, 2)
	opts.Durable = cmp.Or(opts.Durable, "recon")
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Auditor{
		Options: opts, book: newBook(opts.Bus), counts: newCounter(opts.Clock), tables: opts.reader(),
		metrics: newMetrics(opts.Registerer, opts.Jobs), log: opts.Logger.With("service", service),
		slots: make(chan struct{}, opts.Workers), jobs: map[string]*memory{},
	}
	for _, j := range opts.Jobs {
		if j.Audit.Every <= 0 {
			j.Audit.Every = everyDefault
		}
		a.jobs[j.Name] = &memory{job: j, verified: map[model.Day]verified{}}
	}
	return a
}

// Run looks at every job at its own interval until ctx ends, and then returns nil.
func (a *Auditor) Run(ctx context.Context) error {
	a.mu.Lock()
	a.quiet = a.Clock.Now().Add(control.BeatTTL)
	a.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return a.every(ctx, control.BeatEvery, func(ctx context.Context) error {
			return a.Control.Beat(ctx, service, a.Instance, a.Clock.Now())
		})
	})
	g.Go(func() error {
		return a.every(ctx, control.BeatEvery, func(ctx context.Context) error {
			_, err := a.services(ctx)
			return err
		})
	})
	for _, m := range a.jobs {
		g.Go(func() error {
			a.glance(ctx, m)
			return a.every(ctx, m.job.Audit.Every, func(ctx context.Context) error {
				r, _ := a.job(ctx, m)
				a.ping(ctx)
				return r.Err
			})
		})
	}
	return g.Wait()
}

// every does a duty at once and then at an interval. Its failures are logged and tried again: none stops the others.
func (a *Auditor) every(ctx context.Context, interval time.Duration, duty func(context.Context) error) error {
	for {
		if err := duty(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("a check could not be made, will be tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.Clock.After(interval):
		}
	}
}

// Report is what a pass saw.
type Report struct {
	Findings []model.Audit // open ones, by job, day and kind
	Resolved []model.Audit // in this pass
	Checked  int           // due days looked at
	Jobs     []JobReport   // in the order asked for
}

// JobReport is what a look at one job saw.
type JobReport struct {
	Job       string
	Newest    *model.Day     // newest due day, nil while none is due
	Clean     bool           // every check was made, and the newest due day is DONE and without finding
	Days      map[string]int // due days by status, see the metric daybreak_batches
	OpenDiffs uint64
	Lag       int // business days between the newest DONE and the newest due day
	Err       error

	counted bool
	horizon horizon
	figures *figures // nil when the tables could not be read
}

func (r JobReport) outcome() string {
	if r.Err != nil {
		return outcomeFailed
	}
	return outcomeSuccess
}

// Pass looks once at the named jobs, all when none is named, and at the services. An error means that some check could
// not be made; the report holds what the others saw.
func (a *Auditor) Pass(ctx context.Context, jobs ...string) (Report, error) {
	var todo []*memory
	for _, j := range a.Jobs {
		if len(jobs) == 0 || slices.Contains(jobs, j.Name) {
			todo = append(todo, a.jobs[j.Name])
		}
	}
	for _, name := range jobs {
		if a.jobs[name] == nil {
			return Report{}, fmt.Errorf("job %s: %w", name, ErrUnknownJob)
		}
	}
	rep := Report{Jobs: make([]JobReport, len(todo))}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, m := range todo {
		wg.Go(func() {
			r, resolved := a.job(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			rep.Jobs[i] = r
			rep.Resolved = append(rep.Resolved, resolved...)
		})
	}
	wg.Wait()
	resolved, err := a.services(ctx)
	rep.Resolved = append(rep.Resolved, resolved...)
	names := []string{""}
	for _, r := range rep.Jobs {
		names = append(names, r.Job)
		err = errors.Join(err, r.Err)
		for _, n := range r.Days {
			rep.Checked += n
		}
	}
	rep.Findings = a.openFindings(names)
	sortFindings(rep.Resolved)
	a.ping(ctx)
	return rep, err
}

func (a *Auditor) openFindings(jobs []string) []model.Audit {
	var out []model.Audit
	for _, name := range jobs {
		for _, e := range a.book.open(name) {
			out = append(out, e.Audit)
		}
	}
	sortFindings(out)
	return out
}

func sortFindings(all []model.Audit) {
	day := func(f model.Audit) model.Day {
		if f.Day == nil {
			return -1
		}
		return *f.Day
	}
	slices.SortFunc(all, func(x, y model.Audit) int {
		return cmp.Or(strings.Compare(x.Job, y.Job), cmp.Compare(day(x), day(y)), strings.Compare(string(x.Kind), string(y.Kind)))
	})
}

// settle notes how a look at a job ended.
func (a *Auditor) settle(m *memory, r JobReport, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.clean = time.Time{}
	if r.Err == nil {
		m.success = at
		a.metrics.success(r.Job, at)
	}
	if r.Clean {
		m.clean = at
	}
}

// show puts what a look saw into the metrics. What could not be looked at keeps its last figure.
func (a *Auditor) show(m *memory, r JobReport) {
	if a.metrics.show(r) {
		a.mu.Lock()
		m.shown = true
		a.mu.Unlock()
	}
}

// Ready is nil once the metrics say of every job where it stands. A process that was started anew has read that from the
// stores by then, so that nothing looks well only because nobody has looked.
func (a *Auditor) Ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var missing []string
	for name, m := range a.jobs {
		if !m.shown {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("%w: %s", ErrNotReady, strings.Join(missing, ", "))
}

// save writes findings to the store. Rows of one instance and instant are written once there, so no two calls use the
// same instant, whatever the clock shows.
func (a *Auditor) save(ctx context.Context, rows []model.Audit) error {
	a.mu.Lock()
	at := a.Clock.Now()
	if !at.After(a.saved) {
		at = a.saved.Add(1)
	}
	a.saved = at
	a.mu.Unlock()
	if err := a.Records.PutAudits(ctx, a.Instance, at, rows); err != nil {
		return fmt.Errorf("writing findings to the store: %w", err)
	}
	return nil
}

// ping tells the dead-man's switch that all is well, once per round in which every job was found clean.
func (a *Auditor) ping(ctx context.Context) {
	if a.Ping == nil || !a.allClean() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := a.Ping(ctx); err != nil {
		a.metrics.pings.WithLabelValues(outcomeFailed).Inc()
		a.log.Warn("the dead-man's ping failed", "err", err)
		return
	}
	a.metrics.pings.WithLabelValues(outcomeSuccess).Inc()
}

// allClean reports whether every job was clean at its last look and has been looked at since the last ping.
func (a *Auditor) allClean() bool {
	now := a.Clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.jobs {
		if m.clean.IsZero() || !m.clean.After(a.since) {
			return false
		}
	}
	a.since = now
	return len(a.jobs) > 0
}
