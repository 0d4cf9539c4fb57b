package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	"daybreak/pkg/config"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

func (c *cli) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check", Short: "Check the configuration, the engines and the sources, all problems at once",
		Long: "Check what could keep the next day from being reconciled: the configuration file, the files that it names, whether both\n" +
			"engines answer (tables and streams are laid out if they are not there yet), and the sources of every job: the newest due\n" +
			"day is read whole, of the next one it is looked whether it is there already. Nothing is stored of what is read.\n\n" +
			"Exits 0 when all is well, 1 with problems, 2 when the configuration itself is wrong.",
		Example: "  daybreak check -f daybreak.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.setup()
			if err != nil {
				return err
			}
			return c.check(cmd.Context(), s)
		},
	}
	c.nowFlag(cmd)
	return cmd
}

// checks prints what was looked at, as it is found out, and counts the problems.
type checks struct {
	out *rows
	bad int
}

func (k *checks) say(what string, err error, fine string) error {
	if err != nil {
		k.bad++
		return k.out.add(what, false, err.Error())
	}
	return k.out.add(what, true, fine)
}

func (c *cli) check(ctx context.Context, s setup) error {
	k := &checks{out: c.rows(column{name: "what"}, column{name: "ok"}, column{name: "detail", kind: outside})}
	err := errors.Join(
		k.say("configuration", nil, fmt.Sprintf("%s: %d jobs", s.cfg.Path, len(s.cfg.Jobs))),
		k.say("files", s.cfg.CheckFiles(), "every file that the configuration names can be read"))
	if err != nil {
		return err
	}
	a, err := c.checkEngines(ctx, s, k)
	if err != nil {
		return err
	}
	if a != nil {
		defer a.close()
	}
	p := c.progress()
	defer p.end()
	for i, j := range s.cfg.Jobs {
		for n, side := range model.Sides {
			if err := checkSource(ctx, s, a, target{job: j, side: side}, k); err != nil {
				return err
			}
			p.show("sources read", 2*i+n+1, 2*len(s.cfg.Jobs))
		}
	}
	if err := k.out.end(); err != nil {
		return err
	}
	if k.bad > 0 {
		return failed()
	}
	return nil
}

// reachTime bounds the answer of one server.
const reachTime = 10 * time.Second

// checkEngines asks each server by itself, so that one which is down does not hide the other, and then opens both. The
// app is nil when that failed.
func (c *cli) checkEngines(ctx context.Context, s setup, k *checks) (*app, error) {
	before := k.bad
	if connect := c.natsOverride(s.cfg); connect != nil {
		if err := k.say("nats", reachNATS(connect), "answers"); err != nil {
			return nil, err
		}
	} else if !s.cfg.NATS.Embedded() {
		connect, err := externalNATS(s.cfg.NATS)
		if err == nil {
			err = reachNATS(connect)
		}
		if err := k.say("nats", err, s.cfg.NATS.Address()+" answers"); err != nil {
			return nil, err
		}
	}
	if !s.cfg.ClickHouse.Embedded() {
		if err := k.say("clickhouse", reachClickHouse(ctx, s.cfg.ClickHouse), s.cfg.ClickHouse.Address()+" answers"); err != nil {
			return nil, err
		}
	}
	if k.bad > before {
		return nil, nil
	}
	a, err := openApp(ctx, c.environment, s.cfg, c.appOptions(s))
	if err == nil {
		if err = a.ready(ctx, nil); err != nil {
			a.close()
			a = nil
		}
	}
	return a, k.say("engines", err, "streams and tables are laid out")
}

func reachNATS(connect connector) error {
	nc, err := connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	return nc.FlushTimeout(reachTime)
}

func reachClickHouse(ctx context.Context, cfg config.ClickHouse) error {
	opts, err := externalClickHouse(cfg)
	if err != nil {
		return err
	}
	opts.Auth.Database = "" // made when the store is opened
	conn, err := clickhouse.Open(opts)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	return errors.Join(conn.Ping(ctx), conn.Close())
}

// target is one side of one job.
type target struct {
	job  config.Job
	side model.Side
}

func (t target) request(day model.Day) source.Request {
	from, to := t.job.Span(day)
	return source.Request{
		Job: t.job.Name, Side: t.side, Day: day, From: from, To: to, Zone: t.job.Location, Rules: t.job.Rules,
	}
}

func (t target) what(day model.Day) string { return fmt.Sprintf("%s %s %s", t.job.Name, t.side, day) }

// checkSource reads the newest due day of a source and looks for the next one. a is nil when the engines do not answer:
// then queries cannot be checked.
func checkSource(ctx context.Context, s setup, a *app, t target, k *checks) error {
	src, err := source.Open(t.job.Source(t.side), source.Env{Root: s.cfg.Root, Conn: func(context.Context) (driver.Conn, error) {
		if a == nil {
			return nil, errors.New("the database does not answer, see above")
		}
		return a.store.Conn(), nil
	}})
	if err != nil {
		return k.say(t.job.Name+" "+string(t.side), err, "")
	}
	now := s.clock.Now()
	next := t.job.FirstDay()
	if newest, ok := t.job.NewestDue(now); ok {
		fine, err := readWhole(ctx, src, t.request(newest))
		if deadline := t.job.DueAt(newest).Add(t.job.Due.Patience); errors.Is(err, source.ErrNotThere) && now.Before(deadline) {
			fine, err = "not there yet; it is waited for until "+deadline.Format(time.RFC3339), nil
		}
		if err := k.say(t.what(newest), err, fine); err != nil {
			return err
		}
		next = t.job.Calendar.Next(newest)
	}
	fine := "is there already"
	if t.job.Source(t.side).Kind == source.KindQuery {
		fine = "a query: asked when the day is due"
	}
	_, err = src.Peek(ctx, t.request(next))
	if errors.Is(err, source.ErrNotThere) {
		fine, err = "not there yet; due at "+t.job.DueAt(next).Format(time.RFC3339), nil
	}
	return k.say(t.what(next), err, fine)
}

// readWhole reads a source as recon would and says what it holds.
func readWhole(ctx context.Context, src source.Source, req source.Request) (string, error) {
	seal, err := src.Read(ctx, req, func(model.Entry) error { return nil })
	if err != nil {
		return "", err
	}
	var names []string
	for _, f := range seal.Sources {
		names = append(names, f.Name)
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	if seal.NoBill != "" {
		return fmt.Sprintf("no bill, the provider answered %q (%s)", seal.NoBill, strings.Join(names, ", ")), nil
	}
	return fmt.Sprintf("%s (%s)%s", seal.Totals, strings.Join(names, ", "), leftOut(seal)), nil
}

// leftOut says what the types of a bill leave out, which is easily more than was meant.
func leftOut(seal model.Seal) string {
	left := map[string]uint64{}
	for _, f := range seal.Sources {
		for kind, n := range f.Left {
			left[kind] += n
		}
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(left)) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, left[kind]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; left out by types: " + strings.Join(parts, ", ")
}
