package world

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/control"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/review"
	"daybreak/pkg/source"
	"daybreak/services/auditor"
	"daybreak/services/recon"
	"daybreak/services/ticker"
)

// errCrashed is what a dead process sees. It tells the client of the bucket that no further try can work.
var errCrashed = fmt.Errorf("the process is dead: %w", nats.ErrConnectionClosed)

// node is a place where processes run one after the other.
type node struct {
	w      *World
	kind   string
	name   string
	offset atomic.Int64 // nanoseconds that its wall clock is off by
	now    *process
	born   int
	down   time.Time // until then nobody starts it
}

// process is one incarnation of a node.
type process struct {
	n        *node
	num      int // unique in the world
	life     context.Context
	kill     context.CancelFunc
	dead     bool // guarded by World.mu
	frozen   bool // guarded by World.mu
	stopping bool
	loops    []string  // work that lasts as long as the process
	thawed   time.Time // when it last woke up
	busy     int
	rng      *rand.Rand
	ids      int
	timers   int

	kv      *kv.Store
	control *control.Control
	bus     *streams
	tables  *mem.Client
	ticker  *ticker.Ticker
	recon   *recon.Recon
	auditor *auditor.Auditor
	desk    *review.Desk
}

func (p *process) String() string { return fmt.Sprintf("%s.%d", p.n.name, p.num) }

// wall is the node's clock: the world's time and an offset. Its timers run on the world's time.
type wall struct {
	clockwork.Clock
	n *node
}

func (c wall) Now() time.Time                  { return c.Clock.Now().Add(time.Duration(c.n.offset.Load())) }
func (c wall) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c wall) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// steady is the clock that leases are measured by. A frozen process hears of its timers when it wakes.
type steady struct {
	clockwork.Clock
	p *process
}

func (c steady) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	w := c.p.n.w
	w.mu.Lock()
	c.p.timers++
	label := fmt.Sprintf("timer %d", c.p.timers)
	w.mu.Unlock()
	return c.Clock.AfterFunc(d, func() { c.p.gate(label, f) })
}

// gate runs f now, or when a frozen process has woken up and the scheduler says so.
func (p *process) gate(label string, f func()) {
	w := p.n.w
	w.mu.Lock()
	if !p.frozen || p.dead {
		w.mu.Unlock()
		f()
		return
	}
	w.gated = append(w.gated, task{p, label, func() { go f() }})
	w.mu.Unlock()
}

// noise is what run ids are drawn from.
type noise struct{ p *process }

func (n noise) Read(b []byte) (int, error) {
	n.p.n.w.mu.Lock()
	defer n.p.n.w.mu.Unlock()
	for i := range b {
		b[i] = byte(n.p.rng.Uint32())
	}
	return len(b), nil
}

var _ io.Reader = noise{}

// born counts the processes so far.
func (w *World) born() int {
	n := 0
	for _, v := range w.nodes {
		n += v.born
	}
	return n
}

// start begins a new process on a node.
func (n *node) start() {
	w := n.w
	if n.now != nil && !n.now.dead {
		return
	}
	n.born++
	p := &process{n: n, num: w.born()}
	p.rng = rand.New(rand.NewPCG(w.seed, uint64(p.num)))
	p.life, p.kill = context.WithCancel(context.Background())
	n.now = p
	quiet := slog.New(slog.DiscardHandler)
	real := clockwork.NewRealClock()
	var err error
	var trusted clockwork.Clock = steady{real, p}
	if w.mutant == LongTrust {
		trusted = still{real, real.Now()}
	}
	p.kv, err = kv.OpenWire(&wire{p}, kv.Options{
		Bucket: "daybreak", Logger: quiet, Clock: trusted, Jitter: func(d time.Duration) time.Duration { return d },
		NewID: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			p.ids++
			return fmt.Sprintf("%d-%d", p.num, p.ids)
		},
	})
	if err != nil {
		panic(err)
	}
	p.control = control.New(p.kv)
	p.bus = &streams{p}
	p.tables = &mem.Client{DB: w.db, Send: p.table}
	clock := wall{real, n}
	var jobs []source.Job
	var models []model.Job
	for _, b := range w.jobs {
		job := w.mutant.jobFor(n.kind, b.job)
		var ledger, channel source.Source = &feed{p, b, model.Ledger}, &feed{p, b, model.Channel}
		if w.mutant == NoRecount && n.kind == "auditor" {
			ledger, channel = sealedFeed{&feed{p, b, model.Ledger}}, sealedFeed{&feed{p, b, model.Channel}}
		}
		jobs = append(jobs, source.Job{Job: job, Ledger: ledger, Channel: channel})
		models = append(models, job)
	}
	switch n.kind {
	case "ticker":
		defer p.loop("the ticker's loop", func(ctx context.Context) { _ = p.ticker.Run(ctx) })
		p.ticker = ticker.New(ticker.Options{
			Jobs: models, Publish: p.bus, Books: p.control, Clock: clock, Instance: n.name, Logger: quiet,
			Wake: w.mutant.wake(), Rescan: 7 * time.Hour, BeatEvery: beatEvery,
		})
	case "recon":
		defer p.loop("heartbeats", p.beats)
		p.recon = recon.New(recon.Options{
			Jobs: jobs, Bus: p.bus, Control: p.control, Tables: p.tables, Clock: clock, Instance: n.name, Logger: quiet,
			Poll: 20 * time.Minute, Entropy: noise{p},
		})
	case "auditor":
		defer p.loop("heartbeats", p.beats)
		p.auditor = auditor.New(auditor.Options{
			Jobs: jobs, Bus: p.bus, Control: p.control, Tables: mem.Audit{Client: p.tables}, Records: mem.Audit{Client: p.tables}, Clock: clock,
			Instance: n.name, Logger: quiet, Expect: w.mutant.expect(),
		})
	case "desk":
		p.desk = &review.Desk{Keeper: p.control, Table: p.tables, Publisher: p.bus, Clock: clock}
	}
}

// work runs production code in a goroutine of its own. What f returns is done by the scheduler once f has ended.
func (p *process) work(label string, f func(ctx context.Context) (then func())) {
	w := p.n.w
	p.busy++
	go func() {
		then := func() {}
		defer func() {
			if e := recover(); e != nil {
				stack := string(debug.Stack())
				then = func() { w.violate("%s: panic in %s: %v\n%s", p, label, e, stack) }
			}
			w.mu.Lock()
			w.finished = append(w.finished, task{p, label, func() {
				p.busy--
				if !p.dead {
					then()
				}
				if p.stopping && p.busy <= 0 && !p.dead {
					p.crash()
				}
			}})
			w.mu.Unlock()
			w.poke()
		}()
		then = f(p.life)
	}()
}

// crash ends a process at once: nothing it does from now on changes anything. What it had sent may still arrive.
func (p *process) crash() {
	w := p.n.w
	if p.dead {
		return
	}
	w.note("%s: crashes", p)
	w.mu.Lock()
	p.dead, p.frozen = true, false
	var mine []*call
	rest := w.pending[:0:0]
	for _, c := range w.pending {
		if c.by == p {
			mine = append(mine, c)
		} else {
			rest = append(rest, c)
		}
	}
	w.pending = rest
	var gates []task
	others := w.gated[:0:0]
	for _, t := range w.gated {
		if t.by == p {
			gates = append(gates, t)
		} else {
			others = append(others, t)
		}
	}
	w.gated = others
	w.mu.Unlock()
	slices.SortStableFunc(mine, func(a, b *call) int { return strings.Compare(a.label, b.label) })
	slices.SortStableFunc(gates, func(a, b task) int { return strings.Compare(a.label, b.label) })
	for _, c := range mine {
		if c.write && w.chaos && w.chance(0.3) {
			w.in(w.between(0, 5*time.Second), "after the crash: "+c.label, func() { _ = w.apply(c) })
		}
		c.reply <- errCrashed
	}
	for _, t := range gates {
		t.then()
	}
	w.days.abandoned(p)
	p.kill()
	go func() { _ = p.kv.Close(context.Background()) }()
	if !w.chaos {
		return
	}
	w.at(later(w.now().Add(w.between(time.Second, 3*time.Minute)), p.n.down), p.n.name+startsAgain, p.n.start)
}

// shutDown ends a process in good order.
func (p *process) shutDown() {
	p.n.w.note("%s: is told to end", p)
	p.stopping = true
	p.kill()
	if p.busy == 0 {
		p.crash()
	}
}

// freeze stops a process for a while. It knows nothing of that when it wakes.
func (p *process) freeze(d time.Duration) {
	w := p.n.w
	w.note("%s: freezes for %v", p, d)
	w.mu.Lock()
	p.frozen = true
	w.mu.Unlock()
	w.days.abandoned(p)
	w.in(d, p.String()+" wakes", p.thaw)
}

func (p *process) thaw() {
	w := p.n.w
	p.thawed = w.now()
	w.mu.Lock()
	p.frozen = false
	w.mu.Unlock()
	w.days.resumed(p)
}

// jump sets a node's wall clock.
func (n *node) jump() {
	w := n.w
	if n.offset.Load() != 0 && w.chance(0.5) {
		n.offset.Store(0)
	} else {
		most := []time.Duration{time.Second, time.Minute, 2 * time.Hour}[w.rng.IntN(3)]
		n.offset.Store(int64(w.between(-most, most)))
	}
	w.note("%s: its clock is off by %v", n.name, time.Duration(n.offset.Load()))
}

// free reports whether a node can take work.
func (n *node) free(most int) bool {
	p := n.now
	return p != nil && !p.dead && !p.frozen && !p.stopping && p.busy < most
}
