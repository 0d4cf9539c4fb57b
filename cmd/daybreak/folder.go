package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"

	"daybreak/pkg/engine"
)

// The data folder has one owner at a time: the process that runs the embedded engines. Others on the machine are its
// guests. Two lock files, which the system frees with their process, say who is what:
//
//	daybreak.lock    held by the owner
//	daybreak.guests  held shared by every guest; the owner takes it before it ends
//
// A command that only asks may own the engines, and then does not end before its guests have. A process that stays is
// never the guest of one that ends by itself: it waits and becomes the owner. When an owner is gone all the same, its
// guests notice by the free lock and end with an error, so that whatever supervises them starts them again.

const (
	joinPoll  = 200 * time.Millisecond
	ownerPoll = time.Second
	tellAfter = 2 * time.Second
	guestWait = 10 * time.Minute // how long an asking owner stays for its guests
)

// errOwnerGone ends a guest whose engines went with their process.
var errOwnerGone = errors.New("the process that ran the embedded engines has ended; start this one again")

// embedded joins the process that runs the engines on this data folder, or becomes it.
func (a *app) embedded(ctx context.Context, env *environment, withNATS, withClickHouse bool) (running, error) {
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return running{}, fmt.Errorf("data folder: %w", err)
	}
	owner, guests := flock.New(dataFile(a.cfg, "daybreak.lock")), flock.New(dataFile(a.cfg, "daybreak.guests"))
	begun, told := time.Now(), false
	for {
		mine, err := owner.TryLock()
		if err != nil {
			return running{}, fmt.Errorf("locking the data folder %s: %w", a.cfg.DataDir, err)
		}
		if mine {
			a.closeLater(func() { _ = owner.Unlock() }) // it goes with the process anyway
			return a.start(ctx, env, withNATS, withClickHouse)
		}
		r, err := a.visit(ctx, guests, withNATS)
		if err == nil {
			return r, nil
		}
		if time.Since(begun) > bounded {
			return running{}, fmt.Errorf("the data folder %s is in use: %w", a.cfg.DataDir, err)
		}
		if !told && time.Since(begun) > tellAfter {
			told = true
			a.log.Warn("the data folder is in use, waiting", "data", a.cfg.DataDir, "why", err.Error(), "for_at_most", bounded.String())
		}
		select { // the other process is just starting or just ending
		case <-ctx.Done():
			return running{}, fmt.Errorf("interrupted while waiting for the data folder %s: %w", a.cfg.DataDir, err)
		case <-time.After(joinPoll):
		}
	}
}

// visit becomes a guest of the owner. An error says why not yet; the owner, where it is known, is returned with it.
func (a *app) visit(ctx context.Context, guests *flock.Flock, withNATS bool) (running, error) {
	welcome, err := guests.TryRLock()
	if err != nil {
		return running{}, err
	}
	if !welcome {
		return running{}, errors.New("its process is ending")
	}
	r, err := readRunning(dataFile(a.cfg, "running.json"))
	switch {
	case err != nil:
	case a.stays && !r.Stays:
		err = fmt.Errorf("%s (process %d) holds it until it ends", r.Command, r.PID)
	case !r.answers(withNATS):
		err = fmt.Errorf("%s (process %d) holds it and its engines do not answer", r.Command, r.PID)
	default:
		a.closeLater(func() { _ = guests.Unlock() })
		a.watchOwner(ctx)
		return r, nil
	}
	return r, errors.Join(err, guests.Unlock())
}

// watchOwner closes a.ownerGone when the owner's lock is free.
func (a *app) watchOwner(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	lock := flock.New(dataFile(a.cfg, "daybreak.lock"))
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(ownerPoll):
			}
			if free, err := lock.TryLock(); err == nil && free {
				_ = lock.Unlock()
				close(a.ownerGone)
				return
			}
		}
	}()
	a.closeLater(func() { stop(); <-done })
}

// start runs the engines in this process and says so in the data folder.
func (a *app) start(ctx context.Context, env *environment, withNATS, withClickHouse bool) (running, error) {
	r := running{PID: os.Getpid(), Command: a.command, Stays: a.stays}
	a.owner = true
	guests := flock.New(dataFile(a.cfg, "daybreak.guests"))
	a.closeLater(func() { _ = guests.Unlock() })
	if withNATS {
		server, err := engine.StartNATS(ctx, engine.NATSOptions{Dir: dataFile(a.cfg, "nats"), Logger: a.log})
		if err != nil {
			return running{}, err
		}
		a.nats = server
		a.closeLater(func() { server.Close() })
		r.NATS = runningNATS{URL: server.URL(), User: server.User(), Password: server.Password(), server: server}
	}
	if withClickHouse {
		server, err := engine.StartClickHouse(ctx, engine.CHOptions{
			Dir: dataFile(a.cfg, "clickhouse"), LibPath: env.get("CHDB_LIB_PATH"), Progress: env.stderr, Logger: a.log,
		})
		if err != nil {
			return running{}, err
		}
		a.clickhouse = server
		a.closeLater(func() { server.Close() })
		r.ClickHouse = runningClickHouse{Addr: server.Addr(), User: server.User(), Password: server.Password(), server: server}
	}
	if err := a.announce(r); err != nil {
		return running{}, err
	}
	if !a.stays {
		a.closeLater(func() { a.awaitGuests(ctx, guests) })
	}
	return r, nil
}

// announce writes how to reach the engines: running.json for other daybreak processes, nats.url for any NATS client.
func (a *app) announce(r running) error {
	file, url := dataFile(a.cfg, "running.json"), dataFile(a.cfg, "nats.url")
	a.closeLater(func() { _, _ = os.Remove(file), os.Remove(url) }) // readers ask the server before they believe it
	if r.NATS.server != nil {
		if err := os.WriteFile(url, []byte(r.NATS.server.ConnectURL()+"\n"), 0o600); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	return r.write(file)
}

// awaitGuests lets the commands that use this process's engines finish, and lets no further one in.
func (a *app) awaitGuests(ctx context.Context, guests *flock.Flock) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), guestWait)
	defer cancel()
	told := time.AfterFunc(tellAfter, func() {
		a.log.Warn("done; waiting for other commands that use the engines of this one", "for_at_most", guestWait.String())
	})
	defer told.Stop()
	if ok, err := guests.TryLockContext(ctx, joinPoll); err != nil || !ok {
		a.log.Warn("ending although other commands still use the engines of this one", "err", err)
	}
}
