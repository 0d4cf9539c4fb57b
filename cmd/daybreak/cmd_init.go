package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"daybreak/pkg/bus"
	"daybreak/pkg/control"
	"daybreak/pkg/kv"
	"daybreak/pkg/store"
	"daybreak/services/recon"
)

func (c *cli) initCommand() *cobra.Command {
	var dryRun bool
	var downstream []string
	cmd := &cobra.Command{
		Use: "init", Short: "Lay out streams, bucket, consumers and tables with a user that may do so",
		Long: "Lay out the streams, the control bucket, the consumer of recon and the tables, or bring them up to date; run it again\n" +
			"as often as you like. Needed only where the services may not do it themselves (setup: init in the file).\n" +
			"--downstream NAME also makes a durable consumer of all diff and batch events for a reader that may make none.\n\n" +
			"With --dry-run nothing is changed: what is missing or different is listed, and the exit code is 3 if anything is.",
		Example: "  daybreak init -f daybreak.yaml --dry-run\n  daybreak init -f daybreak.yaml --downstream ledger-app",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range downstream {
				if name == recon.Durable || name == "" || strings.ContainsAny(name, ".*> \t/\\") {
					return usage(fmt.Errorf("--downstream %q: want a name without dots, blanks and wildcards", name))
				}
			}
			s, err := c.setup()
			if err != nil {
				return err
			}
			if s.cfg.NATS.Embedded() && c.natsOverride(s.cfg) == nil || s.cfg.ClickHouse.Embedded() {
				return usage(errors.New("init: the embedded engines are laid out by the process that runs them; nothing is to be done"))
			}
			if dryRun {
				return c.planLayout(cmd.Context(), s, downstream)
			}
			c.laysOut = true
			return c.open(cmd.Context(), s, func(a *app) error { return c.layOut(cmd.Context(), a, downstream) })
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "change nothing, list what would be done")
	cmd.Flags().StringSliceVar(&downstream, "downstream", nil, "name of a durable consumer of diff and batch events (repeatable)")
	return cmd
}

// layOut makes the consumers; opening the app has made everything else.
func (c *cli) layOut(ctx context.Context, a *app, downstream []string) error {
	if err := a.newRecon(nil, prometheus.NewRegistry()).Consumer().Ensure(ctx); err != nil {
		return err
	}
	for _, name := range downstream {
		if err := a.bus.Consumer(downstreamOptions(name), nil).Ensure(ctx); err != nil {
			return err
		}
	}
	return c.planLayout(ctx, setup{cfg: a.cfg, log: a.log, clock: a.clock}, downstream)
}

func downstreamOptions(name string) bus.ConsumerOptions {
	return bus.ConsumerOptions{Stream: bus.StreamDiffs, Durable: name, Filter: []string{bus.AllDiffs, bus.AllBatches}}
}

// planLayout lists what is there and what is not, by asking.
func (c *cli) planLayout(ctx context.Context, s setup, downstream []string) error {
	a := &app{cfg: s.cfg, clock: s.clock, log: s.log}
	defer a.close()
	ends, err := a.engines(ctx, c.environment, c.natsOverride(s.cfg))
	if err != nil {
		return err
	}
	out := c.rows(column{name: "what"}, column{name: "name"}, column{name: "state"}, column{name: "detail"})
	l := &layout{out: out}
	if err := errors.Join(l.nats(ctx, a, ends, downstream), l.clickhouse(ctx, ends)); err != nil {
		return err
	}
	if err := out.end(); err != nil {
		return err
	}
	if l.open > 0 {
		return found()
	}
	return nil
}

// layout prints what there is, and counts what is not as it should be.
type layout struct {
	out  *rows
	open int
}

func (l *layout) say(what, name string, there bool, differs []string) error {
	state, detail := "there", strings.Join(differs, ", ")
	switch {
	case !there:
		state = "missing"
	case len(differs) > 0:
		state = "differs"
	}
	if state != "there" {
		l.open++
	}
	return l.out.add(what, name, state, detail)
}

func (l *layout) nats(ctx context.Context, a *app, e ends, downstream []string) error {
	nc, err := e.connect()
	if err != nil {
		return fmt.Errorf("connecting to NATS: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	streams, err := bus.Look(ctx, js, a.busOptions())
	if err != nil {
		return err
	}
	for _, s := range streams {
		if err := l.say("stream", s.Name, s.There, s.Differs); err != nil {
			return err
		}
	}
	there, err := kv.Look(ctx, js, kv.Options{Bucket: controlBucket})
	if err != nil {
		return err
	}
	version, stamped, err := control.Layout(ctx, js, controlBucket)
	if err != nil && !errors.Is(err, control.ErrLayoutNewer) {
		return err
	}
	var differs []string
	if there && (!stamped || version != control.LayoutVersion) {
		differs = []string{fmt.Sprintf("layout %d, this program has %d", version, control.LayoutVersion)}
		if !stamped {
			differs = []string{"its layout is not noted"}
		}
	}
	if err := l.say("bucket", controlBucket, there, differs); err != nil {
		return err
	}
	consumers := [][2]string{{bus.StreamDays, recon.Durable}}
	for _, name := range downstream {
		consumers = append(consumers, [2]string{bus.StreamDiffs, name})
	}
	for _, c := range consumers {
		_, err := js.Consumer(ctx, c[0], c[1])
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("consumer %s of stream %s: %w", c[1], c[0], err)
		}
		if err := l.say("consumer", c[0]+"/"+c[1], err == nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (l *layout) clickhouse(ctx context.Context, e ends) error {
	conn, err := clickhouse.Open(e.clickhouse)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // read only
	version, err := store.Layout(ctx, conn)
	if err != nil {
		return err
	}
	var differs []string
	if version != store.SchemaVersion {
		differs = []string{fmt.Sprintf("version %d, this program has %d", version, store.SchemaVersion)}
	}
	return l.say("tables", e.clickhouse.Auth.Database, version > 0, differs)
}
