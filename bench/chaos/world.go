package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

const (
	leaseTTL   = 5 * time.Second
	auditEvery = 8 * time.Second
)

// first is the first business day of every book; its days lie in the past.
var first = model.NewDay(2026, time.September, 1)

// fleetPlan is how many of each service run.
var fleetPlan = []struct {
	kind string
	n    int
}{{"ticker", 2}, {"recon", 3}, {"auditor", 2}}

// access is how the engine's present start is reached.
type access struct {
	Addr     string `json:"addr"`
	User     string `json:"user"`
	Password string `json:"password"`
}

// service is a process of the fleet with its ways to the engines.
type service struct {
	*unit
	kind  string
	wires []*wire // to each server
	door  *door
	skew  atomic.Int64 // of its clock, in nanoseconds, from its next start on
}

// world is one installation and everything around it.
type world struct {
	options
	dir, bin string
	begun    time.Time
	midnight atomic.Int64 // how many have passed
	rec      *records
	book     *scenario.Book
	books    *books
	rng      *dice
	tally    *tally
	asked    atomic.Pointer[sheetID] // the day of the newest replay

	spawn    func(*exec.Cmd) error
	plans    []serverPlan
	servers  []*unit
	engines  *unit
	services []*service
	people   *door // without faults
	disks    []*disk
	closers  []func()

	nc  *nats.Conn
	sys *nats.Conn // to the system account
	js  jetstream.JetStream
	log *controlLog
}

// dice is one generator for everybody.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// between draws a time.
func (d *dice) between(a, b time.Duration) time.Duration { return a + time.Duration(d.n(int(b-a))) }

// own is a generator for one task.
func (d *dice) own() *rand.Rand {
	d.mu.Lock()
	defer d.mu.Unlock()
	return rand.New(rand.NewPCG(d.r.Uint64(), d.r.Uint64()))
}

// now is the time of the installation: an instant at which all days up to today are due.
func (w *world) now() time.Time {
	return w.book.Now().AddDate(0, 0, w.due-w.days+int(w.midnight.Load())).Add(time.Since(w.begun))
}

// last is the last business day that is due.
func (w *world) last() model.Day { return first.Add(w.due - 1 + int(w.midnight.Load())) }

// run is one whole run. The result is nil when it could not begin.
func run(ctx context.Context, o options) (*result, error) {
	dir := o.keep
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "daybreak-chaos-")
	} else if dir, err = filepath.Abs(dir); err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	w := &world{options: o, dir: dir, begun: time.Now(), rng: &dice{r: rand.New(rand.NewPCG(o.seed, 0))}, tally: newTally()}
	defer w.close()
	if err := w.setUp(ctx); err != nil {
		return nil, fmt.Errorf("%w (left behind: %s)", err, dir)
	}
	w.storm(ctx)
	r, err := w.judge(ctx)
	if err != nil || len(r.violations) > 0 {
		err = errors.Join(err, w.keepDisks())
	}
	if err == nil && len(r.violations) == 0 && o.keep == "" {
		w.close()
		return r, os.RemoveAll(dir)
	}
	r.kept = dir
	return r, err
}

func (w *world) setUp(ctx context.Context) error {
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"books", w.writeBooks},
		{"program", w.build},
		{"small disks", w.mount},
		{"servers", w.startServers},
		{"engine", w.startEngines},
		{"streams and tables", w.layOut},
		{"services", w.startFleet},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

func (w *world) writeBooks(context.Context) error {
	var err error
	if w.rec, err = newRecords(filepath.Join(w.dir, "records")); err != nil {
		return err
	}
	w.book, err = scenario.Write(filepath.Join(w.dir, "book"), scenario.Options{
		Seed: w.seed, First: first, Days: w.days, Entries: w.entries, Lease: leaseTTL, Audit: auditEvery, Patience: 240 * time.Hour,
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(w.dir, "logs"), 0o700); err != nil {
		return err
	}
	if w.books, err = openBooks(filepath.Dir(w.book.Config), first, w.days, w.rec); err != nil {
		return err
	}
	rng := w.rng.own()
	for range 8 { // these will come while faults go on
		if path, ok := w.books.any(rng, first.Add(w.days-1), ""); ok {
			if err := w.books.hide(path); err != nil {
				return err
			}
		}
	}
	var stop func()
	w.spawn, stop = spawner()
	w.closers = append(w.closers, stop)
	return nil
}

func (w *world) build(ctx context.Context) error {
	if w.options.bin != "" {
		w.bin = w.options.bin
		return nil
	}
	w.bin = filepath.Join(w.dir, "daybreak.bin")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", w.bin, "daybreak/cmd/daybreak").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func freePorts(n int) (out []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out, nil
}

func (w *world) startServers(ctx context.Context) error {
	ports, err := freePorts(9)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.plans = planServers(w.dir, ports)
	for _, p := range w.plans {
		file, err := p.write(w.dir)
		if err != nil {
			return err
		}
		u, err := newUnit(p.Name, filepath.Join(w.dir, "logs"), w.spawn, func() []string { return []string{self, serverVerb, file} })
		if err != nil {
			return err
		}
		w.servers = append(w.servers, u)
	}
	return until(ctx, time.Minute, w.serversWell)
}

func (w *world) serversWell() error {
	for _, p := range w.plans {
		if !p.well() {
			return fmt.Errorf("%s is not well", p.Name)
		}
	}
	return nil
}

func (w *world) serverURLs() string {
	var out []string
	for _, p := range w.plans {
		out = append(out, p.url())
	}
	return strings.Join(out, ",")
}

// config writes the configuration of one process: the book's jobs with ways of its own to the engines.
func (w *world) config(name, servers, clickhouse string) (string, error) {
	text, err := os.ReadFile(w.book.Config)
	if err != nil {
		return "", err
	}
	file := filepath.Join(filepath.Dir(w.book.Config), name+".yaml")
	head := fmt.Sprintf("nats: { url: %q, replicas: 3 }\nclickhouse: { url: %q }\n", servers, clickhouse)
	return file, os.WriteFile(file, append([]byte(head), text...), 0o600)
}

func (w *world) startEngines(ctx context.Context) error {
	file, err := w.config("engines", w.serverURLs(), "embedded")
	if err != nil {
		return err
	}
	w.engines, err = newUnit("engines", filepath.Join(w.dir, "logs"), w.spawn, func() []string {
		return []string{w.bin, "engines", "-f", file}
	})
	if err != nil {
		return err
	}
	if w.people, err = newDoor(w.access); err != nil {
		return err
	}
	return until(ctx, 3*time.Minute, func() error {
		_, err := w.sql(ctx, "SELECT 1 AS one")
		return err
	})
}

// access reads how the engine is reached now.
func (w *world) access() (access, error) {
	var r struct {
		ClickHouse access `json:"clickhouse"`
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(w.book.Config), "data", "running.json"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r.ClickHouse, err
}

// layOut makes streams and tables, and begins the log of the control bucket before any service writes there.
func (w *world) layOut(ctx context.Context) error {
	if _, err := w.config("people", w.serverURLs(), w.people.url()); err != nil {
		return err
	}
	if out, code, err := w.command(ctx, false, "init"); err != nil || code != 0 {
		return fmt.Errorf("daybreak init: exit code %d: %s: %w", code, out, err)
	}
	var err error
	if w.nc, err = nats.Connect(w.serverURLs(), nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond)); err != nil {
		return err
	}
	if w.sys, err = nats.Connect(w.serverURLs(), nats.UserInfo(sysUser, sysUser), nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond)); err != nil {
		return err
	}
	if w.js, err = jetstream.New(w.nc); err != nil {
		return err
	}
	w.log, err = recordControl(ctx, w.js, w.plans)
	return err
}

func (w *world) startFleet(context.Context) error {
	for _, p := range fleetPlan {
		for i := range p.n {
			s, err := w.newService(p.kind, fmt.Sprint(p.kind, "-", i+1))
			if err != nil {
				return err
			}
			w.services = append(w.services, s)
		}
	}
	return nil
}

func (w *world) newService(kind, name string) (*service, error) {
	s := &service{kind: kind}
	s.skew.Store(int64(w.rng.between(-2*time.Second, 2*time.Second)))
	var urls []string
	for _, p := range w.plans {
		wire, err := newWire(fmt.Sprint("127.0.0.1:", p.Client))
		if err != nil {
			return nil, err
		}
		s.wires, urls = append(s.wires, wire), append(urls, "nats://"+wire.addr())
	}
	var err error
	if s.door, err = newDoor(w.access); err != nil {
		return nil, err
	}
	file, err := w.config(name, strings.Join(urls, ","), s.door.url())
	if err != nil {
		return nil, err
	}
	s.unit, err = newUnit(name, filepath.Join(w.dir, "logs"), w.spawn, func() []string {
		now := w.now().Add(time.Duration(s.skew.Load())).Format(time.RFC3339Nano)
		return []string{w.bin, kind, "-f", file, "--listen", "127.0.0.1:0", "--now", now}
	})
	return s, err
}

// command runs daybreak as a person does, on ways without faults.
func (w *world) command(ctx context.Context, clock bool, args ...string) (out string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	file := filepath.Join(filepath.Dir(w.book.Config), "people.yaml")
	args = append(args, "-f", file)
	if clock {
		args = append(args, "--now", w.now().Format(time.RFC3339Nano))
	}
	cmd := exec.CommandContext(ctx, w.bin, args...)
	text, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ctx.Err() == nil {
		return string(text), ended.ExitCode(), nil
	}
	return string(text), 0, err
}

// keepDisks copies what lies on the small disks beside them, for whoever wants to know why: they end with the run. Nobody
// writes there any more.
func (w *world) keepDisks() error {
	w.stopAll()
	var errs []error
	for _, d := range w.disks {
		errs = append(errs, os.CopyFS(d.dir+".kept", os.DirFS(d.dir)))
	}
	return errors.Join(errs...)
}

// close ends whatever is left; the engines end last.
func (w *world) close() {
	for _, nc := range []*nats.Conn{w.nc, w.sys} {
		if nc != nil {
			nc.Close()
		}
	}
	if w.log != nil {
		w.log.close()
	}
	w.stopAll()
	for _, d := range w.disks {
		d.close()
	}
	for _, c := range w.closers {
		c()
	}
	*w = world{options: w.options, dir: w.dir} // a second time there is nothing left
}

// stopAll ends every process; the engines end after their guests, the servers last.
func (w *world) stopAll() {
	var wg sync.WaitGroup
	for _, s := range w.services {
		for _, wire := range s.wires {
			wire.gate.open()
		}
		s.door.gate.open()
		wg.Go(func() { s.stop(10 * time.Second) })
	}
	wg.Wait()
	for _, s := range w.services {
		for _, wire := range s.wires {
			wire.close()
		}
		s.door.close()
	}
	if w.people != nil {
		w.people.close()
	}
	if w.engines != nil {
		w.engines.stop(20 * time.Second)
	}
	for _, u := range w.servers {
		wg.Go(func() { u.stop(5 * time.Second) })
	}
	wg.Wait()
	w.services, w.people, w.engines, w.servers = nil, nil, nil, nil
}

// until tries again and again. When time runs out it returns why it was not so at last.
func until(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}
