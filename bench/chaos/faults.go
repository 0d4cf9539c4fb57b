package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// fault is one kind of disturbance. do returns what it was done to, and may go on in the background: it calls done when
// nothing of it is left, but for what the product has to mend.
type fault struct {
	name   string
	weight int
	server bool // takes a server of the cluster away; never two of these at once, unless it is meant
	do     func(w *world, done func()) (target string, lasts time.Duration, err error)
}

var faults = []fault{
	{"service killed", 10, false, killService},
	{"service paused", 8, false, pauseService},
	{"service started anew with another clock", 3, false, otherClock},
	{"server killed", 4, true, killServer},
	{"server paused", 3, true, pauseServer},
	{"two servers paused", 1, true, pauseMajority},
	{"leader of a stream sent away", 8, false, streamLeader},
	{"leader of a consumer sent away", 4, false, consumerLeader},
	{"leader of the cluster sent away", 2, false, clusterLeader},
	{"engine child killed", 3, false, killEngineChild},
	{"engine child paused", 2, false, pauseEngineChild},
	{"engines killed", 1, false, killEngines},
	{"connections to servers dropped", 6, false, dropWires},
	{"servers silent to a service", 4, false, silentWires},
	{"requests to the engine refused", 4, false, refuseRequests},
	{"answers of the engine lost", 6, false, loseAnswers},
	{"engine silent to a service", 4, false, silentDoor},
	{"disk of a server full", 2, true, fillServerDisk},
	{"disk of the engine full", 2, false, fillEngineDisk},
	{"midnight", 2, false, midnight},
}

func kinds() (out []string) {
	for _, f := range faults {
		out = append(out, f.name)
	}
	return out
}

// storm injects faults and lets people work until the time is up.
func (w *world) storm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, w.length)
	defer cancel()
	var wg sync.WaitGroup
	w.peopleWork(ctx, &wg)
	w.injectFaults(ctx)
	wg.Wait()
}

// injectFaults draws a fault every few seconds. Every kind comes once before one comes as its weight says, so that short
// runs have all of them.
func (w *world) injectFaults(ctx context.Context) {
	var pending sync.WaitGroup
	defer pending.Wait()
	var servers sync.Mutex // held while a server is away
	var first []fault
	var bag []fault
	for _, f := range faults {
		if slices.Contains(w.without, f.name) {
			continue
		}
		first = append(first, f)
		bag = append(bag, slices.Repeat([]fault{f}, f.weight)...)
	}
	w.rng.r.Shuffle(len(first), func(i, j int) { first[i], first[j] = first[j], first[i] })
	for {
		pause := min(w.rng.between(800*time.Millisecond, 4*time.Second), max(100*time.Millisecond, w.length/time.Duration(2*len(faults))))
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		f, owed := bag[w.rng.n(len(bag))], len(first) > 0 && w.rng.n(4) > 0
		if owed {
			f = first[0]
		}
		done := pending.Done
		if f.server {
			if !servers.TryLock() {
				if owed {
					first = append(first[1:], f)
				}
				continue
			}
			done = func() { servers.Unlock(); pending.Done() }
		}
		pending.Add(1)
		ok := w.inject(f, sync.OnceFunc(done))
		if owed { // what could not be done now is tried again
			first = first[1:]
			if !ok {
				first = append(first, f)
			}
		}
	}
}

// inject reports whether the fault took place.
func (w *world) inject(f fault, done func()) bool {
	target, lasts, err := f.do(w, done)
	o := object{"kind": f.name, "target": target, "for": lasts.String(), "detail": ""}
	if err != nil {
		done()
		o["detail"] = err.Error()
		w.tally.missed(f.name, err)
	} else {
		w.tally.fault(f.name)
	}
	w.rec.add("faults", o)
	return err == nil
}

func (w *world) anyService() *service { return w.services[w.rng.n(len(w.services))] }

func killService(w *world, done func()) (string, time.Duration, error) {
	defer done()
	s := w.anyService()
	return s.name, 0, s.signal(syscall.SIGKILL)
}

// pauseService stops a process for longer than its lease lives, most often.
func pauseService(w *world, done func()) (string, time.Duration, error) {
	s, d := w.anyService(), w.rng.between(leaseTTL/2, 3*leaseTTL)
	time.AfterFunc(d, done)
	return s.name, d, s.pause(d)
}

func otherClock(w *world, done func()) (string, time.Duration, error) {
	defer done()
	s, skew := w.anyService(), w.rng.between(-30*time.Second, 30*time.Second)
	s.skew.Store(int64(skew))
	return fmt.Sprintf("%s by %s", s.name, skew), 0, s.signal(syscall.SIGTERM)
}

func killServer(w *world, done func()) (string, time.Duration, error) {
	u := w.servers[w.rng.n(len(w.servers))]
	err := u.signal(syscall.SIGKILL)
	w.whenServersWell(done)
	return u.name, restartAfter, err
}

// whenServersWell calls done when the cluster is whole again, or a bound has passed.
func (w *world) whenServersWell(done func()) {
	go func() {
		defer done()
		time.Sleep(restartAfter)
		_ = until(context.Background(), time.Minute, w.serversWell)
	}()
}

func pauseServer(w *world, done func()) (string, time.Duration, error) {
	u, d := w.servers[w.rng.n(len(w.servers))], w.rng.between(2*time.Second, 12*time.Second)
	time.AfterFunc(d, func() { w.whenServersWell(done) })
	return u.name, d, u.pause(d)
}

func pauseMajority(w *world, done func()) (string, time.Duration, error) {
	i, d := w.rng.n(len(w.servers)), w.rng.between(2*time.Second, 8*time.Second)
	a, b := w.servers[i], w.servers[(i+1)%len(w.servers)]
	time.AfterFunc(d, func() { w.whenServersWell(done) })
	return a.name + ", " + b.name, d, errors.Join(a.pause(d), b.pause(d))
}

// stepDown asks a leader to resign; nobody answers while there is none.
func stepDown(nc *nats.Conn, subject string) error {
	var last error
	for range 3 {
		m, err := nc.Request("$JS.API."+subject, nil, time.Second)
		if err == nil && strings.Contains(string(m.Data), `"success":true`) {
			return nil
		}
		if last = err; err == nil {
			last = errors.New(string(m.Data))
		}
	}
	return last
}

var streams = []string{"DAYS", "DIFFS", "AUDIT", "DEAD", bucketStream, bucketStream, "DAYS"}

func streamLeader(w *world, done func()) (string, time.Duration, error) {
	defer done()
	name := streams[w.rng.n(len(streams))]
	return name, 0, stepDown(w.nc, "STREAM.LEADER.STEPDOWN."+name)
}

func consumerLeader(w *world, done func()) (string, time.Duration, error) {
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := w.js.Stream(ctx, "DAYS")
	if err != nil {
		return "DAYS", 0, err
	}
	names := s.ConsumerNames(ctx)
	for name := range names.Name() {
		return name, 0, stepDown(w.nc, "CONSUMER.LEADER.STEPDOWN.DAYS."+name)
	}
	return "DAYS", 0, errors.Join(names.Err(), errors.New("no consumer"))
}

func clusterLeader(w *world, done func()) (string, time.Duration, error) {
	defer done()
	return "cluster", 0, stepDown(w.sys, "META.LEADER.STEPDOWN")
}

// engineChild is the process that runs the engine, below the one that minds it.
func (w *world) engineChild() (*os.Process, error) {
	parent := strconv.Itoa(w.engines.pid())
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, ok := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); ok && len(fields) > 1 && fields[1] == parent {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				return nil, err
			}
			return os.FindProcess(pid)
		}
	}
	return nil, errors.New("the engines have no child at the moment")
}

func killEngineChild(w *world, done func()) (string, time.Duration, error) {
	defer done()
	p, err := w.engineChild()
	if err != nil {
		return "", 0, err
	}
	return strconv.Itoa(p.Pid), 0, p.Kill()
}

func pauseEngineChild(w *world, done func()) (string, time.Duration, error) {
	p, err := w.engineChild()
	if err != nil {
		return "", 0, err
	}
	d := w.rng.between(2*time.Second, 10*time.Second)
	time.AfterFunc(d, func() { _ = p.Signal(syscall.SIGCONT); done() })
	return strconv.Itoa(p.Pid), d, p.Signal(syscall.SIGSTOP)
}

func killEngines(w *world, done func()) (string, time.Duration, error) {
	defer done()
	return "engines", restartAfter, w.engines.signal(syscall.SIGKILL)
}

func dropWires(w *world, done func()) (string, time.Duration, error) {
	defer done()
	s := w.anyService()
	for _, wire := range s.wires {
		wire.cut()
	}
	return s.name, 0, nil
}

func silentWires(w *world, done func()) (string, time.Duration, error) {
	s, d := w.anyService(), w.rng.between(time.Second, 2*leaseTTL)
	for _, wire := range s.wires {
		wire.gate.close()
	}
	time.AfterFunc(d, func() {
		for _, wire := range s.wires {
			wire.gate.open()
		}
		done()
	})
	return s.name, d, nil
}

func refuseRequests(w *world, done func()) (string, time.Duration, error) {
	s, d := w.anyService(), w.rng.between(500*time.Millisecond, 5*time.Second)
	s.door.refuse.Store(true)
	time.AfterFunc(d, func() { s.door.refuse.Store(false); done() })
	return s.name, d, nil
}

func loseAnswers(w *world, done func()) (string, time.Duration, error) {
	s, d := w.anyService(), w.rng.between(300*time.Millisecond, 4*time.Second)
	s.door.lose.Store(true)
	time.AfterFunc(d, func() { s.door.lose.Store(false); done() })
	return s.name, d, nil
}

func silentDoor(w *world, done func()) (string, time.Duration, error) {
	s, d := w.anyService(), w.rng.between(time.Second, 2*leaseTTL)
	s.door.gate.close()
	time.AfterFunc(d, func() { s.door.gate.open(); done() })
	return s.name, d, nil
}

// fillServerDisk fills the third server's disk. A server that cannot write gives JetStream up until it is started again,
// which is what its operator does here once there is room.
func fillServerDisk(w *world, done func()) (string, time.Duration, error) {
	d, u := w.disks[0], w.servers[2]
	lasts := w.rng.between(3*time.Second, 8*time.Second)
	if err := d.fill(); err != nil {
		return d.dir, 0, err
	}
	time.AfterFunc(lasts, func() {
		_ = d.free()
		if !w.plans[2].well() {
			_ = u.signal(syscall.SIGTERM)
		}
		w.whenServersWell(done)
	})
	return u.name, lasts, nil
}

func fillEngineDisk(w *world, done func()) (string, time.Duration, error) {
	d, lasts := w.disks[1], w.rng.between(2*time.Second, 8*time.Second)
	if err := d.fill(); err != nil {
		return d.dir, 0, err
	}
	time.AfterFunc(lasts, func() { _ = d.free(); done() })
	return "engine", lasts, nil
}

// midnight makes another business day due. Clocks run on with a process, so services are started again, one after the
// other: for a while some of them live a day before the others.
func midnight(w *world, done func()) (string, time.Duration, error) {
	if w.due+int(w.midnight.Load()) >= w.days {
		done()
		return "", 0, nil // the book has no further day
	}
	w.midnight.Add(1)
	go func() {
		defer done()
		for _, s := range w.services {
			_ = s.signal(syscall.SIGTERM)
			time.Sleep(w.rng.between(0, 700*time.Millisecond))
		}
	}()
	return w.last().String(), 0, nil
}
