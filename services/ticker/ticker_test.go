package ticker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/control"
	"daybreak/pkg/engine"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/services/ticker"
)

func TestMain(m *testing.M) { enginetest.MainNoLeaks(m) }

// world is a real stream and a real control bucket, with a clock that the test sets.
type world struct {
	bus     *bus.Bus
	control *control.Control
	clock   *clockwork.FakeClock
}

func setup(t *testing.T, now string) *world {
	t.Helper()
	return open(t, enginetest.NATS(t), clockwork.NewFakeClockAt(instant(t, now)))
}

func open(t *testing.T, n *engine.NATS, clock *clockwork.FakeClock) *world {
	t.Helper()
	nc, err := n.Connect()
	require.NoError(t, err)
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	t.Cleanup(func() { nc.Close(); <-closed })
	b, err := bus.Open(t.Context(), nc, bus.Options{MaxBytesScale: 0.001, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), b.JetStream(), kv.Options{Bucket: "daybreak"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	return &world{bus: b, control: control.New(store), clock: clock}
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return at
}

func day(t *testing.T, text string) model.Day {
	t.Helper()
	d, err := model.ParseDay(text)
	require.NoError(t, err)
	return d
}

// shanghai is a daily job due at one in the night after.
func shanghai(t *testing.T, name, start string) model.Job {
	t.Helper()
	loc, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	return model.Job{
		Name: name, Location: loc, Start: day(t, start), Calendar: model.DailyCalendar(),
		Due: model.Due{AfterDays: 1, At: model.TimeOfDay{Hour: 1}}, BackfillDays: 365,
	}
}

func (w *world) options(jobs ...model.Job) ticker.Options {
	return ticker.Options{
		Jobs: jobs, Publish: w.bus, Books: w.control, Clock: w.clock, Instance: "t1", Wake: 5 * time.Millisecond, Rescan: time.Hour,
	}
}

// run starts a replica and gives the outcomes of its scans. The replica is stopped and awaited when the test ends.
func run(t *testing.T, opts ticker.Options) (scans <-chan ticker.Scanned, stop func()) {
	t.Helper()
	ch := make(chan ticker.Scanned, 10000)
	opts.Scanned = func(s ticker.Scanned) { ch <- s }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ticker.New(opts).Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return ch, stop
}

func await(t *testing.T, scans <-chan ticker.Scanned) ticker.Scanned {
	t.Helper()
	select {
	case s := <-scans:
		return s
	case <-time.After(20 * time.Second):
		require.FailNow(t, "no scan came")
		return ticker.Scanned{}
	}
}

// stored reads the whole stream: subject → bodies.
func (w *world) stored(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	s, err := w.bus.JetStream().Stream(t.Context(), bus.StreamDays)
	require.NoError(t, err)
	info, err := s.Info(t.Context())
	require.NoError(t, err)
	for seq := max(1, info.State.FirstSeq); seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		require.NoError(t, err)
		kind, job, date, err := bus.ParseDay(m.Subject)
		require.NoError(t, err)
		require.Equal(t, bus.KindDue, kind)
		require.Equal(t, "due/"+job+"/"+date, m.Header.Get(jetstream.MsgIDHeader))
		out[m.Subject] = append(out[m.Subject], string(m.Data))
	}
	return out
}

// requireOnce holds the stream against exactly one message for each of the days of a job.
func (w *world) requireOnce(t *testing.T, job string, days ...string) {
	t.Helper()
	var want []string
	for _, d := range days {
		want = append(want, "day.due."+job+"."+d)
	}
	stored := w.stored(t)
	require.Equal(t, slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(stored)))
	for subject, bodies := range stored {
		require.Len(t, bodies, 1, subject)
	}
}

func span(t *testing.T, from, to string) []string {
	t.Helper()
	var out []string
	for d := day(t, from); d <= day(t, to); d++ {
		out = append(out, d.String())
	}
	return out
}

// mark sets the watermark of a day.
func (w *world) mark(t *testing.T, job, date string, status model.Status) {
	t.Helper()
	h, err := w.control.Hold(t.Context(), job, day(t, date), "test")
	require.NoError(t, err)
	require.NoError(t, h.Save(t.Context(), model.Watermark{Status: status}))
	require.NoError(t, h.Release(t.Context()))
}

func TestReplicasPublishEveryDueDayOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-31T01:00:00+08:00")
	job := shanghai(t, "wechat", "2026-10-01")
	var replicas []<-chan ticker.Scanned
	for i := range 2 {
		opts := w.options(job)
		opts.Instance = fmt.Sprintf("t%d", i)
		scans, _ := run(t, opts)
		replicas = append(replicas, scans)
	}
	sum := func(reason ticker.Reason) (n int) {
		for _, scans := range replicas {
			s := await(t, scans)
			require.NoError(t, s.Err)
			require.Equal(t, reason, s.Reason)
			n += s.Published
		}
		return n
	}
	require.Equal(t, 30, sum(ticker.ReasonStart))
	w.requireOnce(t, "wechat", span(t, "2026-10-01", "2026-10-30")...)
	require.JSONEq(t, `{"job":"wechat","biz_date":"2026-10-30","due_at":"2026-10-30T17:00:00Z","cause":"due"}`,
		w.stored(t)["day.due.wechat.2026-10-30"][0])
	for range 30 {
		w.clock.Advance(24 * time.Hour)
		require.Equal(t, 1, sum(ticker.ReasonDue))
	}
	w.requireOnce(t, "wechat", span(t, "2026-10-01", "2026-11-29")...)
}

func TestEveryHoleIsPublishedAndNothingElse(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-31T12:00:00+08:00")
	for _, d := range span(t, "2026-10-01", "2026-10-30") {
		w.mark(t, "wechat", d, model.Done)
	}
	for d, status := range map[string]model.Status{"2026-10-03": model.Failed, "2026-10-10": model.Waiting, "2026-10-17": model.Blocked, "2026-10-18": model.Running} {
		w.mark(t, "wechat", d, status)
	}
	require.NoError(t, w.control.Forget(t.Context(), "wechat", day(t, "2026-10-01")))
	require.NoError(t, w.control.Forget(t.Context(), "wechat", day(t, "2026-10-25")))
	n, err := ticker.New(w.options(shanghai(t, "wechat", "2026-10-01"))).Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, 6, n)
	w.requireOnce(t, "wechat", "2026-10-01", "2026-10-03", "2026-10-10", "2026-10-17", "2026-10-18", "2026-10-25")
}

func TestHolesAreLookedForWithoutAnyDueInstant(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-05T12:00:00+08:00")
	for _, d := range span(t, "2026-10-01", "2026-10-04") {
		w.mark(t, "wechat", d, model.Done)
	}
	opts := w.options(shanghai(t, "wechat", "2026-10-01"))
	opts.Rescan = 10 * time.Millisecond
	scans, _ := run(t, opts)
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonStart}, await(t, scans))
	require.NoError(t, w.control.Forget(t.Context(), "wechat", day(t, "2026-10-02")))
	for {
		s := await(t, scans)
		require.NoError(t, s.Err)
		require.Equal(t, ticker.ReasonRescan, s.Reason)
		if s.Published > 0 {
			break
		}
	}
	w.requireOnce(t, "wechat", "2026-10-02")
}

func TestClockJumps(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-03T12:00:00+08:00")
	scans, _ := run(t, w.options(shanghai(t, "wechat", "2026-10-01")))
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonStart, Published: 2}, await(t, scans))
	w.clock.Advance(7 * 24 * time.Hour)
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonDue, Published: 7}, await(t, scans), "a week forward")
	w.requireOnce(t, "wechat", span(t, "2026-10-01", "2026-10-09")...)
	w.clock.Advance(time.Hour)
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonForward}, await(t, scans), "an hour forward, nothing came due")
	w.clock.Advance(-48 * time.Hour)
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonBack}, await(t, scans))
	w.clock.Advance(24 * time.Hour)
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonDue}, await(t, scans), "due a second time, published once")
	w.clock.Advance(36 * time.Hour)
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonDue, Published: 1}, await(t, scans))
	w.requireOnce(t, "wechat", span(t, "2026-10-01", "2026-10-10")...)
}

func TestDaylightSaving(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-03-08T06:59:59Z")
	job := shanghai(t, "ny", "2026-03-07")
	loc, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	job.Location, job.Due = loc, model.Due{AfterDays: 1, At: model.TimeOfDay{Hour: 2, Minute: 30}}
	scans, _ := run(t, w.options(job))
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonStart}, await(t, scans), "02:30 does not exist and 03:00 has not come")
	w.clock.Advance(time.Second)
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonDue, Published: 1}, await(t, scans))
	require.JSONEq(t, `{"job":"ny","biz_date":"2026-03-07","due_at":"2026-03-08T07:00:00Z","cause":"due"}`,
		w.stored(t)["day.due.ny.2026-03-07"][0])
	w.clock.Advance(instant(t, "2026-11-01T06:30:00Z").Sub(w.clock.Now()))
	require.Equal(t, ticker.ReasonDue, await(t, scans).Reason)
	require.Len(t, w.stored(t), 238, "every day of the summer, and the one of the hour that comes twice")
}

func TestRestartOfServerAndTicker(t *testing.T) {
	t.Parallel()
	dir, clock := t.TempDir(), clockwork.NewFakeClockAt(instant(t, "2026-10-31T12:00:00+08:00"))
	job := shanghai(t, "wechat", "2026-10-01")
	for life, want := range []int{30, 0, 2} {
		if life == 2 {
			clock.Advance(48 * time.Hour)
		}
		t.Run(fmt.Sprint("life ", life), func(t *testing.T) {
			n, err := engine.StartNATS(t.Context(), engine.NATSOptions{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			t.Cleanup(n.Close)
			w := open(t, n, clock)
			scans, stop := run(t, w.options(job))
			require.Equal(t, ticker.Scanned{Reason: ticker.ReasonStart, Published: want}, await(t, scans))
			stop()
			require.Len(t, w.stored(t), 30+life/2*2)
		})
	}
}

func TestFloorIsKeptWhateverTheCapBecomes(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-31T12:00:00+08:00")
	job := shanghai(t, "wechat", "2026-01-01")
	scan := func(backfill int) int {
		j := job
		j.BackfillDays = backfill
		n, err := ticker.New(w.options(j)).Scan(t.Context())
		require.NoError(t, err)
		return n
	}
	floor := func() string {
		d, ok, err := w.control.KeptFloor(t.Context(), "wechat")
		require.NoError(t, err)
		require.True(t, ok)
		return d.String()
	}
	require.Equal(t, 11, scan(10), "the newest due day and ten before")
	require.Equal(t, "2026-10-20", floor())
	w.clock.Advance(10 * 24 * time.Hour)
	require.Equal(t, 4, scan(3), "the cap shrinks: older holes are no longer published")
	require.Equal(t, "2026-10-20", floor(), "but must be DONE all the same")
	require.Equal(t, 6, scan(300), "the cap grows: from the floor on, not before")
	require.Equal(t, "2026-10-20", floor())
	w.requireOnce(t, "wechat", span(t, "2026-10-20", "2026-11-09")...)
}

func TestNothingIsFixedBeforeAnythingIsDue(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-01T12:00:00+08:00")
	n, err := ticker.New(w.options(shanghai(t, "wechat", "2026-10-01"))).Scan(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	_, ok, err := w.control.KeptFloor(t.Context(), "wechat")
	require.NoError(t, err)
	require.False(t, ok)
	require.Empty(t, w.stored(t))
}

var errDown = errors.New("down")

// flaky fails publishes while down returns true.
type flaky struct {
	ticker.Publisher
	down func(m bus.Message) bool
}

func (f flaky) Publish(ctx context.Context, m bus.Message) (bus.Receipt, error) {
	if f.down(m) {
		return bus.Receipt{}, errDown
	}
	return f.Publisher.Publish(ctx, m)
}

// badBooks fails for one job.
type badBooks struct {
	ticker.Books
	job string
}

func (b badBooks) Watermarks(ctx context.Context, job string) (map[model.Day]model.Watermark, error) {
	if job == b.job {
		return nil, errDown
	}
	return b.Books.Watermarks(ctx, job)
}

func (b badBooks) Beat(context.Context, string, string, time.Time) error { return errDown }

func TestFailedPublishesAreRetriedAndLoseNoDay(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-31T12:00:00+08:00")
	opts := w.options(shanghai(t, "wechat", "2026-10-01"))
	failures := 3
	opts.Publish = flaky{w.bus, func(m bus.Message) bool {
		if m.ID == "due/wechat/2026-10-15" && failures > 0 {
			failures--
			return true
		}
		return false
	}}
	opts.Books = badBooks{w.control, "none"} // heartbeats fail all the while
	scans, _ := run(t, opts)
	first := await(t, scans)
	require.ErrorIs(t, first.Err, errDown)
	require.ErrorContains(t, first.Err, "job wechat: day 2026-10-15")
	require.Equal(t, 14, first.Published)
	for range 2 {
		s := await(t, scans)
		require.ErrorIs(t, s.Err, errDown)
		require.Equal(t, ticker.ReasonRetry, s.Reason)
	}
	require.Equal(t, ticker.Scanned{Reason: ticker.ReasonRetry, Published: 16}, await(t, scans))
	w.requireOnce(t, "wechat", span(t, "2026-10-01", "2026-10-30")...)
}

func TestABadJobDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-31T12:00:00+08:00")
	registry := prometheus.NewRegistry()
	broken, never := shanghai(t, "no subject", "2026-10-01"), shanghai(t, "never", "2026-10-01")
	never.Calendar = model.Calendar{}
	opts := w.options(shanghai(t, "unreadable", "2026-10-01"), broken, never, shanghai(t, "good", "2026-10-29"))
	opts.Books, opts.Registerer = badBooks{w.control, "unreadable"}, registry
	n, err := ticker.New(opts).Scan(t.Context())
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, err, "job unreadable")
	require.ErrorContains(t, err, "job no subject")
	require.Equal(t, 2, n)
	w.requireOnce(t, "good", "2026-10-29", "2026-10-30")

	got := map[string]float64{}
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"daybreak_ticker_published_total good": 2, "daybreak_ticker_published_total unreadable": 0, "daybreak_ticker_failures_total unreadable": 1,
		"daybreak_ticker_failures_total good": 0, "daybreak_ticker_scans_total failed": 1, "daybreak_ticker_scans_total ok": 0,
		"daybreak_ticker_last_scan_timestamp_seconds": 0,
	} {
		value, ok := got[name]
		require.True(t, ok, name)
		require.InDelta(t, want, value, 0, name)
	}
}

// beats tells when a heartbeat has been written.
type beats struct {
	ticker.Books
	written chan time.Time
}

func (b beats) Beat(ctx context.Context, service, instance string, at time.Time) error {
	err := b.Books.Beat(ctx, service, instance, at)
	if err == nil {
		select {
		case b.written <- at:
		default:
		}
	}
	return err
}

func TestHeartbeatAlsoWhileAScanHangs(t *testing.T) {
	t.Parallel()
	w := setup(t, "2026-10-31T12:00:00+08:00")
	opts := w.options(shanghai(t, "wechat", "2026-10-30"))
	hang := make(chan struct{})
	opts.Publish = flaky{w.bus, func(bus.Message) bool { <-hang; return true }}
	b := beats{w.control, make(chan time.Time, 1)}
	opts.Books, opts.BeatEvery = b, time.Millisecond
	_, stop := run(t, opts)
	for range 3 {
		select {
		case at := <-b.written:
			require.True(t, at.Equal(w.clock.Now()))
		case <-time.After(20 * time.Second):
			require.FailNow(t, "no heartbeat")
		}
	}
	alive, err := w.control.Beats(t.Context())
	require.NoError(t, err)
	require.True(t, alive["ticker"]["t1"].Equal(w.clock.Now()))
	close(hang)
	stop()
}

func TestBodyIsTheSameFromEveryReplica(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 2)
	record := flaky{nil, func(m bus.Message) bool { bodies <- string(m.Body); return true }}
	for _, name := range []string{"Asia/Shanghai", "Asia/Chongqing"} { // the same rules under another name
		w := setup(t, "2026-10-31T12:00:00+08:00")
		job := shanghai(t, "wechat", "2026-10-30")
		loc, err := time.LoadLocation(name)
		require.NoError(t, err)
		job.Location = loc
		opts := w.options(job)
		opts.Publish = record
		_, err = ticker.New(opts).Scan(t.Context())
		require.ErrorIs(t, err, errDown)
	}
	first := <-bodies
	require.Equal(t, first, <-bodies)
	require.True(t, json.Valid([]byte(first)))
}
