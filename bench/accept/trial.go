package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	daysMin  = 4               // fewer have no day after the one that closes a carry window
	leaseTTL = 3 * time.Second // the shortest that a configuration may have
)

// fleetPlan is how many of each service run.
var fleetPlan = []struct {
	service string
	n       int
}{{"ticker", 3}, {"recon", 3}, {"auditor", 2}}

// first is the first business day of every book; its days lie in the past, and one of its weeks has a change of clocks.
var first = model.NewDay(2026, time.October, 1)

// trial is one run on one book.
type trial struct {
	options
	*report
	install
	fleet *fleet
	nc    *nats.Conn
	js    jetstream.JetStream
	log   *controlLog
	end   connection
}

// connection is how the running engines are reached, as they say in the data folder.
type connection struct {
	NATS struct{ URL, User, Password string } `json:"nats"`
}

// accept makes every check on one book and notes it in r.
func accept(ctx context.Context, o options, r *report) {
	dir, err := workFolder(o.keep)
	if err != nil {
		r.check("work folder", func() (string, error) { return "", err })
		return
	}
	defer func() { leave(dir, o, r) }()
	bin := filepath.Join(dir, "daybreak.bin")
	if !r.check("the binary builds", func() (string, error) { return build(ctx, bin) }) {
		return
	}
	side := make(chan struct{})
	go func() { // on engines of its own
		defer close(side)
		r.check("missing file", func() (string, error) { return missingFile(ctx, o, bin, filepath.Join(dir, "missing")) })
	}()
	t := &trial{options: o, report: r}
	if r.check("processes start", func() (string, error) { return t.start(ctx, dir, bin) }) {
		t.checks(ctx)
	}
	if t.nc != nil {
		t.nc.Close()
	}
	if t.fleet != nil {
		t.fleet.close(ctx)
	}
	<-side
}

func workFolder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "daybreak-accept-")
	}
	dir, err := filepath.Abs(keep)
	if err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("-keep %s: the folder is not empty; name a new one", keep)
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// leave removes the work folder, unless somebody will want to look into it.
func leave(dir string, o options, r *report) {
	if o.keep == "" && !r.failed() {
		_ = os.RemoveAll(dir)
		return
	}
	r.say("left behind: %s (books, data, logs of every process)", dir)
}

func build(ctx context.Context, bin string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "daybreak/cmd/daybreak").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return "go build ./cmd/daybreak", nil
}

// start brings up the engines, the control log and the services on a new book.
func (t *trial) start(ctx context.Context, dir, bin string) (string, error) {
	var err error
	t.install, err = newInstall(filepath.Join(dir, "book"), bin, scenario.Options{
		Seed: t.seed, First: first, Days: t.days, Entries: t.entries, Lease: leaseTTL, Audit: t.audit,
	})
	if err != nil {
		return "", err
	}
	t.fleet = newFleet(bin, t.book.Config, dir, t.now)
	if _, err := t.fleet.start("engines", 0); err != nil {
		return "", err
	}
	if err := t.connect(ctx); err != nil {
		return "", err
	}
	if t.log, err = record(ctx, t.nc, t.js); err != nil {
		return "", err
	}
	n := 1
	for _, p := range fleetPlan {
		for range p.n {
			if _, err := t.fleet.start(p.service, 0); err != nil {
				return "", err
			}
			n++
		}
	}
	return fmt.Sprintf("%d processes: engines, 3 ticker, 3 recon, 2 auditor; %d entries, %d faults planted", n, t.book.Entries, len(t.book.Faults)), nil
}

// connect waits for the engines.
func (t *trial) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return until(ctx, 200*time.Millisecond, func() error {
		if err := t.fleet.lost(); err != nil {
			return permanent{err}
		}
		data, err := os.ReadFile(filepath.Join(t.dir, "data", "running.json"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &t.end); err != nil {
			return err
		}
		if t.nc == nil {
			if t.nc, err = nats.Connect(t.end.NATS.URL, nats.UserInfo(t.end.NATS.User, t.end.NATS.Password), nats.MaxReconnects(-1)); err != nil {
				return err
			}
		}
		if t.js, err = jetstream.New(t.nc); err != nil {
			return err
		}
		_, err = t.js.Stream(ctx, bucketStream) // made last but one, before the tables
		return err
	})
}

// permanent ends waiting: it cannot come true any more.
type permanent struct{ error }

// until tries again and again. When time runs out it returns why it was not so at last.
func until(ctx context.Context, every time.Duration, try func() error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := try()
		var never permanent
		if err == nil || errors.As(err, &never) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}
