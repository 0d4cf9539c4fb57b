package auditor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/control"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
	"daybreak/pkg/store"
)

// books is a live source of both sides of all days, changed at will.
type books struct {
	mu      sync.Mutex
	entries map[model.Side]map[model.Day][]model.Entry
	fails   map[model.Day]error
	edition int // changes with every change, like the time of a file
	query   bool
	reads   int
}

func (b *books) change(fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.edition++
	fn()
}

func (b *books) Read(_ context.Context, req source.Request, yield func(model.Entry) error) (model.Seal, error) {
	b.mu.Lock()
	entries, err := slices.Clone(b.entries[req.Side][req.Day]), b.fails[req.Day]
	b.reads++
	b.mu.Unlock()
	if err != nil {
		return model.Seal{}, err
	}
	totals := model.Totals{}
	var contents model.ContentsDigest
	for _, e := range entries {
		totals.Add(e.Currency, 1, e.Amount)
		contents.Add(e)
		if err := yield(e); err != nil {
			return model.Seal{}, err
		}
	}
	return model.Seal{Totals: totals, Digest: contents.Under(req.Rules)}, nil
}

func (b *books) Peek(_ context.Context, req source.Request) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.fails[req.Day]; err != nil {
		return "", err
	}
	if b.query {
		return "", nil
	}
	return fmt.Sprintf("%s.csv edition %d", req.Side, b.edition), nil
}

// bundle is one job of three due days on real engines.
type bundle struct {
	t       *testing.T
	ctx     context.Context
	clock   *clockwork.FakeClock
	bus     *bus.Bus
	kv      *kv.Store
	control *control.Control
	store   *store.Store
	books   *books
	job     source.Job
	days    []model.Day
	pings   int
}

// setup computes three days: each has two pairs, a diff of the amounts and a ledger entry that its counterpart follows
// one day later.
func setup(t *testing.T, change ...func(*source.Job)) *bundle {
	t.Helper()
	return setupDays(t, 3, change...)
}

func setupDays(t *testing.T, n int, change ...func(*source.Job)) *bundle {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	b := &bundle{t: t, ctx: ctx, clock: clockwork.NewFakeClockAt(noon)}
	for i := range n {
		b.days = append(b.days, day0.Add(i))
	}
	b.engines()
	b.books = &books{entries: map[model.Side]map[model.Day][]model.Entry{model.Ledger: {}, model.Channel: {}}, fails: map[model.Day]error{}}
	b.job = source.Job{Job: pureJob(), Ledger: b.books, Channel: b.books}
	b.job.CarryDays, b.job.Audit.Every = 1, 10*time.Minute
	b.clock.Advance(b.job.DueAt(b.days[n-1]).Add(2 * time.Hour).Sub(noon))
	for _, c := range change {
		c(&b.job)
	}
	_, err := b.control.Floor(ctx, b.job.Name, day0)
	require.NoError(t, err)
	for i, d := range b.days {
		for _, side := range model.Sides {
			b.books.entries[side][d] = bookOf(side, d, i)
		}
		b.compute(d)
	}
	b.clock.Advance(5 * time.Minute)
	return b
}

func bookOf(side model.Side, d model.Day, i int) []model.Entry {
	var out []model.Entry
	add := func(key, amount string) {
		out = append(out, model.Entry{
			Side: side, Key: key, Amount: dec(amount), Currency: "CNY", Status: "PAID", Origin: d,
			File: string(side), Line: uint64(len(out) + 2), OccurredAt: noon, Attrs: map[string]string{"shop": "7"},
		})
	}
	add("a", "10.5")
	if side == model.Ledger {
		add("b", "20.005")
		add("c", "30")
		add(fmt.Sprintf("late-%d", i), "7")
	} else {
		add("b", "20")
		add("c", "31")
		if i > 0 {
			add(fmt.Sprintf("late-%d", i-1), "7")
		}
	}
	return out
}

func (b *bundle) engines() {
	t := b.t
	nc, err := enginetest.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	b.bus, err = bus.Open(b.ctx, nc, bus.Options{MaxBytesScale: 0.01, Clock: b.clock})
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	b.kv, err = kv.Open(b.ctx, js, kv.Options{Bucket: "daybreak"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.kv.Close(context.Background()) })
	b.control = control.New(b.kv)
	b.store, err = store.Open(b.ctx, store.Options{Conn: enginetest.ClickHouse(t), Clock: b.clock})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.store.Close() })
}

// auditor is a new process.
func (b *bundle) auditor(change ...func(*Options)) *Auditor {
	o := Options{
		Jobs: []source.Job{b.job}, Bus: b.bus, Control: b.control, Conn: b.store.Conn(), Records: b.store, Clock: b.clock,
		Instance: "auditor-1", Registerer: prometheus.NewRegistry(),
		Ping: func(context.Context) error { b.pings++; return nil },
	}
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

func (b *bundle) pass(a *Auditor) Report {
	b.t.Helper()
	rep, err := a.Pass(b.ctx)
	require.NoError(b.t, err)
	return rep
}

// found prints the open findings of a pass, such as "missing 1 nudged".
func (b *bundle) found(a *Auditor) []string {
	b.t.Helper()
	out := []string{}
	for _, f := range b.pass(a).Findings {
		out = append(out, fmt.Sprintf("%s %d %s", f.Kind, *f.Day-day0, stateOf(record{Audit: f})))
	}
	return out
}

// nudges lists the messages on DAYS that ask for a look, such as "1 changed source-changed".
func (b *bundle) nudges() []string {
	b.t.Helper()
	var out []string
	err := b.bus.Tail(b.ctx, bus.StreamDays, []string{"day.nudge.>"}, bus.From{}, false, func(d bus.Delivery) error {
		_, _, date, err := bus.ParseDay(d.Subject)
		require.NoError(b.t, err)
		day, err := model.ParseDay(date)
		require.NoError(b.t, err)
		var body map[string]string
		require.NoError(b.t, json.Unmarshal(d.Data, &body))
		require.NotEmpty(b.t, body["seen"])
		out = append(out, fmt.Sprintf("%d %s %s", day-day0, body["cause"], body["finding"]))
		return nil
	})
	require.NoError(b.t, err)
	return out
}

func (b *bundle) exec(query string, args ...any) {
	b.t.Helper()
	require.NoError(b.t, b.store.Conn().Exec(b.ctx, query, args...))
}

// mark reads a watermark that must be there.
func (b *bundle) mark(d model.Day) model.Watermark {
	b.t.Helper()
	w, ok, err := b.control.Watermark(b.ctx, b.job.Name, d)
	require.NoError(b.t, err)
	require.True(b.t, ok)
	return w.Watermark
}

// save writes a watermark as a holder and gives the day back.
func (b *bundle) save(d model.Day, change func(*model.Watermark)) {
	b.t.Helper()
	w, _, err := b.control.Watermark(b.ctx, b.job.Name, d)
	require.NoError(b.t, err)
	change(&w.Watermark)
	h, err := b.control.Hold(b.ctx, b.job.Name, d, "test")
	require.NoError(b.t, err)
	require.NoError(b.t, h.Save(b.ctx, w.Watermark))
	require.NoError(b.t, h.Release(b.ctx))
}

func (b *bundle) forget(d model.Day) {
	b.t.Helper()
	require.NoError(b.t, b.control.Forget(b.ctx, b.job.Name, d))
}

// compute does what recon does of a day, in a plain way: from the books to DONE.
func (b *bundle) compute(d model.Day) model.Batch {
	b.t.Helper()
	prev, _, err := b.store.Current(b.ctx, b.job.Name, d)
	require.NoError(b.t, err)
	run := ulid.MustNew(ulid.Timestamp(b.clock.Now()), ulid.DefaultEntropy()).String()
	batch := model.Batch{
		Job: b.job.Name, Day: d, Version: prev.Version + 1, Fence: 1, RunID: run, SnapshotID: run, Previous: prev.RunID,
		Cause: model.CauseDue, CommittedAt: b.clock.Now(), Balance: *model.NewBalance(), Diffs: map[model.Kind]uint64{},
		Seals: map[model.Side]model.Seal{},
	}
	groups := map[string]*model.Group{}
	for _, side := range model.Sides {
		b.land(&batch, side, groups)
	}
	b.carryIn(&batch, groups)
	b.judge(&batch, groups)
	require.NoError(b.t, batch.Balance.Check())
	_, err = b.store.CarryOverCleared(b.ctx, prev, run, batch.Version)
	require.NoError(b.t, err)
	require.NoError(b.t, b.store.Commit(b.ctx, batch))
	b.publish(batch)
	b.save(d, func(w *model.Watermark) {
		now := b.clock.Now()
		*w = model.Watermark{
			Status: model.Done, Phase: model.PhaseDone, RunID: run, Attempt: w.Attempt + 1, Cause: model.CauseDue, FinishedAt: &now,
			Version: batch.Version, Published: batch.Version, Committed: run, CarryIn: batch.CarryIn, CarryOut: batch.CarryOut,
		}
	})
	return batch
}

func put(groups map[string]*model.Group, e model.Entry) {
	g := groups[e.Key]
	if g == nil {
		g = &model.Group{Key: e.Key}
		groups[e.Key] = g
	}
	if e.Side == model.Ledger {
		g.Ledger = append(g.Ledger, e)
	} else {
		g.Channel = append(g.Channel, e)
	}
}

func (b *bundle) land(batch *model.Batch, side model.Side, groups map[string]*model.Group) {
	l, err := b.store.Land(b.ctx, store.LandingID{Job: batch.Job, Day: batch.Day, RunID: batch.RunID, Side: side})
	require.NoError(b.t, err)
	seal, err := b.books.Read(b.ctx, b.job.Request(batch.Day, side), func(e model.Entry) error {
		put(groups, e)
		return l.Add(e)
	})
	require.NoError(b.t, err)
	require.NoError(b.t, l.Close(b.ctx))
	batch.Seals[side] = seal
	batch.Balance.Side(side).In.Merge(seal.Totals)
}

func (b *bundle) carryIn(batch *model.Batch, groups map[string]*model.Group) {
	before, ok := b.job.PreviousDay(batch.Day)
	if !ok || b.job.CarryDays == 0 {
		return
	}
	pool, ok, err := b.store.Current(b.ctx, batch.Job, before)
	require.NoError(b.t, err)
	if !ok || pool.CarryOut == "" {
		return
	}
	totals, err := b.store.CarryIn(b.ctx, batch.Job, batch.Day, batch.RunID, pool)
	require.NoError(b.t, err)
	for _, side := range model.Sides {
		batch.Balance.Side(side).CarriedIn.Merge(totals[side])
	}
	for row, err := range b.store.Carried(b.ctx, batch.Job, before) {
		require.NoError(b.t, err)
		put(groups, row.Entry)
	}
	batch.CarryIn = pool.CarryOut
}

func (b *bundle) judge(batch *model.Batch, groups map[string]*model.Group) {
	results, err := b.store.Results(b.ctx, batch.Job, batch.Day, batch.RunID, batch.Version)
	require.NoError(b.t, err)
	var digest model.PoolDigest
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := *groups[key]
		o := b.job.Rules.Judge(g, b.job.WindowClosed(batch.Day))
		for _, a := range o.Figures.Amounts {
			b.book(batch, o.Verdict, a)
		}
		switch o.Verdict {
		case model.Carried:
			digest.Add(slices.Concat(g.Ledger, g.Channel))
			for _, e := range slices.Concat(g.Ledger, g.Channel) {
				require.NoError(b.t, results.Carry(e))
			}
		case model.Different:
			batch.Diffs[o.Figures.Kind]++
			require.NoError(b.t, results.Diff(model.Diff{
				Figures: o.Figures, Job: batch.Job, Day: batch.Day, ID: model.DiffID(batch.Job, batch.Day, key),
				State: model.Open, Version: batch.Version,
			}))
		case model.Matched:
		}
	}
	_, err = results.Close(b.ctx)
	require.NoError(b.t, err)
	batch.CarryOut = digest.String()
}

func (b *bundle) book(batch *model.Batch, v model.Verdict, a model.CurrencyAmounts) {
	for side, f := range map[model.Side]struct {
		n   uint64
		sum decimal.Decimal
	}{model.Ledger: {a.LedgerCount, a.Ledger}, model.Channel: {a.ChannelCount, a.Channel}} {
		s := batch.Balance.Side(side)
		map[model.Verdict]model.Totals{model.Matched: s.Matched, model.Carried: s.CarriedOut, model.Different: s.Different}[v].Add(a.Currency, f.n, f.sum)
	}
	if v == model.Matched {
		d := batch.Balance.MatchedDelta
		d[a.Currency] = d[a.Currency].Add(a.Ledger.Sub(a.Channel))
	}
}

func (b *bundle) publish(batch model.Batch) { b.publishAs(batch, "") }

// publishAs tells a version under an id with a suffix, which the stream does not take for a repetition.
func (b *bundle) publishAs(batch model.Batch, suffix string) {
	event, err := model.NewCommittedEvent(batch, 0, false)
	require.NoError(b.t, err)
	data, err := json.Marshal(event)
	require.NoError(b.t, err)
	subject, err := bus.Batch(batch.Job, batch.Day.String(), string(model.BatchCommitted))
	require.NoError(b.t, err)
	_, err = b.bus.Publish(b.ctx, bus.Message{Subject: subject, ID: event.ID + suffix, Body: data, Header: nats.Header{}})
	require.NoError(b.t, err)
}

var errBroken = errors.New("no table can be read")

// brokenConn is a connection to tables that cannot be read.
type brokenConn struct{ driver.Conn }

func (brokenConn) Query(context.Context, string, ...any) (driver.Rows, error) { return nil, errBroken }

// slowBooks is read as slowly as a test wants.
type slowBooks struct {
	*books
	reading, goOn chan struct{}
}

func (s slowBooks) Read(ctx context.Context, req source.Request, yield func(model.Entry) error) (model.Seal, error) {
	close(s.reading)
	<-s.goOn
	return s.books.Read(ctx, req, yield)
}
