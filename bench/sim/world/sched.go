package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// call is an effect of production code that waits for the scheduler.
type call struct {
	by    *process
	label string
	write bool
	rows  bool         // it is the tables that it writes to
	sent  func()       // a checker's look at it when it is sent; nil for none
	apply func() error // what the server does; its error is the server's word
	lost  error        // what the caller sees when there is no answer
	busy  error        // what it sees when the server takes nothing
	reply chan error
	gone  bool // the caller's context has ended
	unctx func() bool
}

// task is production work that has ended; then tells the world what came of it.
type task struct {
	by    *process
	label string
	then  func()
}

// event is something the script wants to happen at an instant.
type event struct {
	at    time.Time
	n     int
	label string
	do    func()
}

// World is one seed.
type World struct {
	seed   uint64
	mutant Mutant
	rng    *rand.Rand
	digest hash.Hash64
	trace  io.Writer

	mu       sync.Mutex // guards what production goroutines touch
	pending  []*call
	finished []task
	gated    []task
	wake     chan struct{}

	agenda   []event
	events   int
	nodes    []*node
	bucket   *bucket
	streams  map[string]*stream
	days     consumer
	db       *mem.DB
	jobs     []*book
	first    model.Day // of the story
	passed   time.Time // when the last look of an auditor began in which every check was made
	chaos    bool
	rate     float64 // of faults
	budget   int     // of faults that end or stop a process; when it is used up, only the network is bad
	steps    int
	Faults   map[string]int
	watch    watcher
	violated []string
}

func newWorld(seed uint64, mutant Mutant, trace io.Writer) *World {
	w := &World{
		seed: seed, mutant: mutant, rng: rand.New(rand.NewPCG(seed, 0xDA1B4EA4)), digest: fnv.New64a(), trace: trace,
		wake: make(chan struct{}, 1), streams: map[string]*stream{}, db: mem.New(), Faults: map[string]int{}, chaos: true,
	}
	for _, spec := range bus.Streams() {
		w.streams[spec.Name] = &stream{window: spec.Duplicates, ids: map[string]stored{}}
	}
	w.bucket = newBucket(w)
	w.days = consumer{w: w}
	w.watch = newWatcher(w)
	w.rate = []float64{0, 0.3, 0.6, 1, 1.5, 2.5}[w.rng.IntN(6)]
	w.budget = 20 + w.rng.IntN(60)
	return w
}

func (w *World) now() time.Time { return time.Now() }

// note writes a line of the trace. Two runs of a seed write the same.
func (w *World) note(format string, args ...any) {
	line := fmt.Sprintf("%s %s\n", w.now().UTC().Format("02T15:04:05.000"), fmt.Sprintf(format, args...))
	_, _ = io.WriteString(w.digest, line)
	if w.trace != nil {
		_, _ = io.WriteString(w.trace, line)
	}
}

// violate notes that a guarantee was broken.
func (w *World) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATION %s", text)
	if len(w.violated) < 20 {
		w.violated = append(w.violated, text)
	}
}

// chance draws whether something of the given probability happens.
func (w *World) chance(p float64) bool { return w.rng.Float64() < p }

// fault draws whether a fault of a base probability happens now, and counts it.
func (w *World) fault(kind string, p float64) bool {
	if !w.chaos || !w.chance(p*w.rate) {
		return false
	}
	w.Faults[kind]++
	return true
}

func (w *World) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rng.Int64N(int64(b-a)+1)).Round(time.Millisecond)
}

func (w *World) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// at puts an event on the agenda.
func (w *World) at(t time.Time, label string, do func()) {
	w.events++
	e := event{t, w.events, label, do}
	i, _ := slices.BinarySearchFunc(w.agenda, e, func(a, b event) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.n, b.n)) })
	w.agenda = slices.Insert(w.agenda, i, e)
}

func (w *World) in(d time.Duration, label string, do func()) { w.at(w.now().Add(d), label, do) }

// send parks the caller until the scheduler has decided what becomes of its effect.
func (w *World) send(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	w.mu.Lock()
	if c.by.dead {
		w.mu.Unlock()
		return errCrashed
	}
	c.reply = make(chan error, 1)
	w.pending = append(w.pending, c)
	w.mu.Unlock()
	c.unctx = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		c.gone = true
		w.mu.Unlock()
		w.poke()
	})
	w.poke()
	err := <-c.reply
	c.unctx()
	if errors.Is(err, errGone) {
		return context.Cause(ctx)
	}
	return err
}

// ready takes stock of what can happen now, in an order that depends on nothing but what it is.
func (w *World) ready() (calls []*call, tasks []task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.pending {
		if !c.by.frozen {
			calls = append(calls, c)
		}
	}
	slices.SortStableFunc(calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.by.num, b.by.num), strings.Compare(a.label, b.label))
	})
	for _, list := range [][]task{w.finished, w.gated} {
		for _, t := range list {
			if !t.by.frozen {
				tasks = append(tasks, t)
			}
		}
	}
	slices.SortStableFunc(tasks, func(a, b task) int {
		return cmp.Or(cmp.Compare(a.by.num, b.by.num), strings.Compare(a.label, b.label))
	})
	return calls, tasks
}

func (w *World) drop(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.pending, c); i >= 0 {
		w.pending = slices.Delete(w.pending, i, i+1)
	}
}

func (w *World) take(t task) {
	w.mu.Lock()
	same := func(o task) bool { return o.by == t.by && o.label == t.label }
	w.finished = removeFirst(w.finished, same)
	w.gated = removeFirst(w.gated, same)
	w.mu.Unlock()
	t.then()
}

func removeFirst(list []task, is func(task) bool) []task {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// run makes decisions until an instant, or until enough holds while nothing is left to do.
func (w *World) run(until time.Time, enough func() bool) {
	for {
		synctest.Wait()
		if len(w.violated) > 0 {
			return
		}
		if w.steps++; w.steps > stepsMax {
			w.violate("the world does not come to rest: %d steps", w.steps)
			return
		}
		w.look()
		calls, tasks := w.ready()
		due := w.dueEvents()
		deliver := w.days.offers()
		n := len(calls) + len(tasks) + len(due) + deliver
		if n == 0 {
			if !w.now().Before(until) || enough != nil && enough() {
				return
			}
			w.idle(until)
			continue
		}
		if w.disturb(calls) {
			continue
		}
		switch k := w.rng.IntN(n); {
		case k < len(calls):
			w.decide(calls[k])
		case k < len(calls)+len(tasks):
			t := tasks[k-len(calls)]
			w.note("%s: %s", t.by, t.label)
			w.take(t)
		case k < len(calls)+len(tasks)+len(due):
			e := due[k-len(calls)-len(tasks)]
			w.agenda = slices.DeleteFunc(w.agenda, func(o event) bool { return o.n == e.n })
			w.note("%s", e.label)
			e.do()
		default:
			w.days.deliver()
		}
	}
}

const stepsMax = 20_000

func (w *World) dueEvents() []event {
	now := w.now()
	n := 0
	for n < len(w.agenda) && !w.agenda[n].at.After(now) {
		n++
	}
	return slices.Clone(w.agenda[:n])
}

// idle lets time pass until something can happen.
func (w *World) idle(until time.Time) {
	next := until
	if len(w.agenda) > 0 && w.agenda[0].at.Before(next) {
		next = w.agenda[0].at
	}
	if t := w.days.next(); !t.IsZero() && t.Before(next) {
		next = t
	}
	timer := time.NewTimer(max(next.Sub(w.now()), time.Millisecond))
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	}
}

// pass lets time pass although there is something to do.
func (w *World) pass(d time.Duration) {
	w.note("time passes: %v", d)
	time.Sleep(d)
}

// disturb draws what happens to processes and time instead of the work that is waiting.
func (w *World) disturb(calls []*call) bool {
	if !w.chaos || w.rate == 0 {
		return false
	}
	switch {
	case w.fault("slow", 0.02):
		w.pass(w.between(10*time.Millisecond, 4*time.Second))
	case w.budget > 0 && w.fault("stall", 0.002):
		w.budget--
		w.pass(w.between(5*time.Second, 90*time.Second))
	case len(calls) > 0 && w.budget > 0 && w.fault("crash", 0.006):
		w.budget--
		calls[w.rng.IntN(len(calls))].by.crash()
	case len(calls) > 0 && w.budget > 0 && w.fault("shutdown", 0.002):
		w.budget--
		calls[w.rng.IntN(len(calls))].by.shutDown()
	case len(calls) > 0 && w.budget > 0 && w.fault("freeze", 0.006):
		w.budget--
		calls[w.rng.IntN(len(calls))].by.freeze(w.between(time.Second, 120*time.Second))
	case w.budget > 0 && w.fault("clock", 0.0005):
		w.nodes[w.rng.IntN(len(w.nodes))].jump()
	default:
		return false
	}
	return true
}

// lateMax is how late a request may arrive: inside the window in which the server remembers message ids, which is what
// the contracts of package kv name as their condition.
const lateMax = 90 * time.Second

// decide draws what becomes of a call.
func (w *World) decide(c *call) {
	w.drop(c)
	late := func() {
		if c.write {
			w.in(w.between(0, lateMax), "late: "+c.by.String()+": "+c.label, func() { w.apply(c) })
		}
	}
	switch {
	case c.gone:
		w.note("%s: gave up on %s", c.by, c.label)
		if c.write && w.chance(0.5) {
			w.Faults["late write"]++
			late()
		}
		c.reply <- errGone
	case w.fault("lost answer", 0.012):
		w.note("%s: %s: answer lost", c.by, c.label)
		_ = w.apply(c)
		c.reply <- c.lost
	case w.fault("refused", 0.012):
		w.note("%s: %s: refused", c.by, c.label)
		c.reply <- c.busy
	case w.fault("late write", 0.006):
		w.note("%s: %s: late", c.by, c.label)
		late()
		c.reply <- c.lost
	default:
		err := w.apply(c)
		w.note("%s: %s: %v", c.by, c.label, err)
		c.reply <- err
	}
}

func (w *World) apply(c *call) error {
	err := c.apply()
	if c.write && c.rows {
		w.watch.tables()
	}
	return err
}

var errGone = errors.New("the caller's context has ended")
