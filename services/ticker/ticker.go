package ticker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/tracing"
)

const service = "ticker"

// Bounds of the requests of a scan, in real time.
const (
	publishTimeout = 20 * time.Second
	readTimeout    = 30 * time.Second
	beatTimeout    = 5 * time.Second
	jobsAtOnce     = 4
)

// Publisher stores a message once per id.
type Publisher interface {
	Publish(ctx context.Context, m bus.Message) (bus.Receipt, error)
}

// Books is what the ticker reads and writes of the control bucket.
type Books interface {
	// Floor fixes the first day that must be DONE for ever at a job's first call and returns the kept one ever after.
	Floor(ctx context.Context, job string, propose model.Day) (model.Day, error)
	// Watermarks tells where every begun day of a job stands.
	Watermarks(ctx context.Context, job string) (map[model.Day]model.Watermark, error)
	// Beat says that this instance is alive.
	Beat(ctx context.Context, service, instance string, at time.Time) error
}

// Options of a Ticker. Jobs, Publish, Books, Clock and Instance are required.
type Options struct {
	Jobs       []model.Job
	Publish    Publisher
	Books      Books
	Clock      clockwork.Clock // tells which day it is
	Instance   string          // names this replica in its heartbeat
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
	Tracer     trace.Tracer          // nil: no traces
	Wake       time.Duration         // longest sleep, in real time; 2 s when zero
	Rescan     time.Duration         // how often holes are looked for, in real time; 3 min when zero
	BeatEvery  time.Duration         // how often the heartbeat is written, in real time; 10 s when zero
	// Scanned is told the outcome of every scan of Run.
	Scanned func(Scanned)
}

// Scanned is the outcome of one scan.
type Scanned struct {
	Reason    Reason
	Published int // messages that the stream did not have yet
	Err       error
}

// Ticker publishes what is due. Any number of replicas may run.
type Ticker struct {
	Options
	wire    clockwork.Clock // real time, also where Clock is set to another day
	metrics *metrics
	log     *slog.Logger
}

// New returns a Ticker that has not started.
func New(opts Options) *Ticker {
	opts.Tracer = tracing.Of(opts.Tracer)
	if opts.Wake == 0 {
		opts.Wake = 2 * time.Second
	}
	if opts.Rescan == 0 {
		opts.Rescan = 3 * time.Minute
	}
	if opts.BeatEvery == 0 {
		opts.BeatEvery = 10 * time.Second
	}
	if opts.Scanned == nil {
		opts.Scanned = func(Scanned) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Ticker{
		Options: opts, wire: clockwork.NewRealClock(), metrics: newMetrics(opts.Registerer, opts.Jobs),
		log: opts.Logger.With("service", service),
	}
}

// Run publishes what is due until ctx ends. No failure of a job, of the stream or of the bucket ends it. It returns nil.
func (t *Ticker) Run(ctx context.Context) error {
	var beats sync.WaitGroup
	beats.Go(func() { t.beat(ctx) })
	defer beats.Wait()
	var p plan
	for {
		now, wire := t.now(), t.wire.Now()
		if reason := p.reason(now, wire); reason != "" {
			published, err := t.scan(ctx, now)
			if ctx.Err() != nil {
				return nil
			}
			t.report(Scanned{Reason: reason, Published: published, Err: err})
			p.scanned(t.nextDue(now), t.wire.Now(), t.Rescan, err)
		}
		p.wall, p.wire = now, wire
		if !t.sleep(ctx, p.sleep(now, t.Wake)) {
			return nil
		}
	}
}

// Scan looks at every job once and publishes what is due and not DONE. It returns how many messages the stream did not
// have yet, and the failures of all jobs, each naming its job; the jobs without one have been published whole.
func (t *Ticker) Scan(ctx context.Context) (published int, err error) { return t.scan(ctx, t.now()) }

func (t *Ticker) scan(ctx context.Context, now time.Time) (int, error) {
	type outcome struct {
		published int
		err       error
	}
	outcomes := make([]outcome, len(t.Jobs))
	slots := make(chan struct{}, jobsAtOnce)
	var all sync.WaitGroup
	for i, job := range t.Jobs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			n, err := t.scanJob(ctx, job, now)
			if err != nil {
				err = fmt.Errorf("job %s: %w", job.Name, err)
			}
			outcomes[i] = outcome{n, err}
		})
	}
	all.Wait()
	sum, errs := 0, []error(nil)
	for i, o := range outcomes {
		sum += o.published
		errs = append(errs, o.err)
		t.metrics.job(t.Jobs[i].Name, o.published, o.err)
	}
	err := errors.Join(errs...)
	t.metrics.scan(now, err)
	return sum, err
}

// scanJob publishes the due days of one job, oldest first, up to the first that cannot be published.
func (t *Ticker) scanJob(ctx context.Context, job model.Job, now time.Time) (published int, err error) {
	days, err := t.open(ctx, job, now)
	if err != nil {
		return 0, err
	}
	for _, day := range days {
		m, err := message(job, day)
		if err != nil {
			return published, err
		}
		receipt, err := t.publish(ctx, m, job.Name, day)
		if err != nil {
			return published, fmt.Errorf("day %s: %w", day, err)
		}
		if !receipt.Duplicate {
			published++
			t.log.Info("day is due", "job", job.Name, "biz_date", day.String(), "seq", receipt.Seq)
		}
	}
	return published, nil
}

// open lists, ascending, the days of a job that are due, inside floor and cap, and not DONE.
func (t *Ticker) open(ctx context.Context, job model.Job, now time.Time) ([]model.Day, error) {
	newest, ok := job.NewestDue(now)
	propose, _ := job.FirstFloor(now)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	floor, err := t.Books.Floor(ctx, job.Name, propose)
	if err != nil {
		return nil, err
	}
	if floor > newest {
		t.log.Warn("the kept floor lies after the newest due day: was the clock ahead at the first scan?",
			"job", job.Name, "floor", floor.String(), "biz_date", newest.String())
	}
	watermarks, err := t.Books.Watermarks(ctx, job.Name)
	if err != nil {
		return nil, err
	}
	var days []model.Day
	for _, d := range job.DueDays(max(floor, job.CapStart(newest)), now) {
		if watermarks[d].Status != model.Done {
			days = append(days, d)
		}
	}
	return days, nil
}

func (t *Ticker) publish(ctx context.Context, m bus.Message, job string, day model.Day) (bus.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	ctx, span := t.Tracer.Start(ctx, "due", trace.WithAttributes(tracing.Job(job), tracing.BizDate(day.String())))
	receipt, err := t.Publish.Publish(ctx, m)
	tracing.End(span, err)
	return receipt, err
}

// due is the body of the message. The subject alone says as much; the body is for people who look at the stream.
type due struct {
	Job   string      `json:"job"`
	Day   model.Day   `json:"biz_date"`
	DueAt time.Time   `json:"due_at"`
	Cause model.Cause `json:"cause"`
}

// message is the same bytes from every replica.
func message(job model.Job, day model.Day) (bus.Message, error) {
	subject, err := bus.DayDue(job.Name, day.String())
	if err != nil {
		return bus.Message{}, err
	}
	body, err := json.Marshal(due{Job: job.Name, Day: day, DueAt: job.DueAt(day).UTC(), Cause: model.CauseDue})
	if err != nil {
		return bus.Message{}, err
	}
	return bus.Message{Subject: subject, ID: "due/" + job.Name + "/" + day.String(), Body: body}, nil
}

// nextDue is the earliest due instant of any job after now, zero when there is none.
func (t *Ticker) nextDue(now time.Time) time.Time {
	var next time.Time
	for _, j := range t.Jobs {
		if at := j.NextDue(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// now is the wall clock. The monotonic reading is dropped, because it hides that the clock was set.
func (t *Ticker) now() time.Time { return t.Clock.Now().Round(0) }

func (t *Ticker) report(s Scanned) {
	if s.Err != nil {
		t.log.Warn("scan failed in part, trying again", "cause", string(s.Reason), "published", s.Published, "err", s.Err)
	} else {
		t.log.Debug("scanned", "cause", string(s.Reason), "published", s.Published)
	}
	t.Scanned(s)
}

// beat writes the heartbeat until ctx ends, apart from the scans, so that a slow one does not make the replica look dead.
func (t *Ticker) beat(ctx context.Context) {
	for {
		one, cancel := context.WithTimeout(ctx, beatTimeout)
		err := t.Books.Beat(one, service, t.Instance, t.now())
		cancel()
		if err != nil && ctx.Err() == nil {
			t.log.Warn("heartbeat failed", "err", err)
		}
		if !t.sleep(ctx, t.BeatEvery) {
			return
		}
	}
}

// sleep waits in real time and says false when ctx ended first.
func (t *Ticker) sleep(ctx context.Context, d time.Duration) bool {
	timer := t.wire.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.Chan():
		return true
	}
}
