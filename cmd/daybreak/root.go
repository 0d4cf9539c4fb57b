package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/synadia-io/orbit.go/natscontext"
	"golang.org/x/term"

	"daybreak/pkg/config"
)

// environment is everything a command takes from the world around the process.
type environment struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	lookup func(string) (string, bool)

	abandon context.CancelCauseFunc // ends the command for a reason that is not the caller's
}

func (e *environment) get(name string) string {
	v, _ := e.lookup(name)
	return v
}

// terminal reports whether w is one: tables and progress are for people, lines of JSON for programs.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// flags are the options that every command has.
type flags struct {
	file    string
	format  string
	log     string
	server  string
	creds   string
	context string
	inbox   string
	now     string
}

// cli carries the environment and the common flags to the commands.
type cli struct {
	*environment
	flags   flags
	command string // as it was called, for other processes to name
	stays   bool   // it works until it is stopped
	laysOut bool   // it makes streams and tables, whatever the file says
	listen  string // where HTTP is served, instead of the file's
}

func newRoot(env *environment) *cobra.Command {
	c := &cli{environment: env}
	root := &cobra.Command{
		Use:   "daybreak",
		Short: "Reconcile ledgers with payment channels, business day by business day",
		Long: "Daybreak compares, every business day, what a company recorded (ledger) with what its payment channels billed\n" +
			"(channel), keeps the differences per batch, publishes every change, and proves that the result balances.",
		Example:       "  daybreak demo\n  daybreak check -f daybreak.yaml\n  daybreak up -f daybreak.yaml",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          runRoot,
		// Before any work, whatever the command.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			c.command = cmd.CommandPath()
			return c.checkFormat()
		},
	}
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath()))
	})
	p := root.PersistentFlags()
	p.StringVarP(&c.flags.file, "file", "f", "", "configuration file (default $DAYBREAK_CONFIG, then ./daybreak.yaml)")
	p.StringVar(&c.flags.format, "format", "", "how rows are printed: table, json, ndjson or csv (default table on a terminal, else ndjson)")
	p.StringVar(&c.flags.log, "log-level", "info", "what is logged to standard error: debug, info, warn or error (commands that end by themselves: warn)")
	p.StringVar(&c.flags.server, "server", "", "NATS server, instead of nats.url of the file ($NATS_URL when the file names none)")
	p.StringVar(&c.flags.creds, "creds", "", "NATS credentials file ($NATS_CREDS)")
	p.StringVar(&c.flags.context, "context", "", "natscli context to connect with ($NATS_CONTEXT)")
	p.StringVar(&c.flags.inbox, "inbox-prefix", "", "begin of the subjects that answers come on, instead of nats.inbox_prefix")
	words(root, "format", formats...)
	words(root, "log-level", "debug", "info", "warn", "error")
	root.AddCommand(c.commands()...)
	for _, cmd := range root.Commands() {
		wrapUsage(cmd)
	}
	return root
}

// runRoot is the program without a command: help, or an error when there is a word that is none.
func runRoot(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return root.Help()
	}
	text := fmt.Sprintf("%q is no command", args[0])
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage(fmt.Errorf("%s\nSee '%s --help'", text, root.Name()))
}

// wrapUsage gives faults of the arguments the exit code of a wrong command line.
func wrapUsage(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.NoArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(fmt.Errorf("%w\nUsage: %s", err, cmd.UseLine()))
		}
		return nil
	}
}

// load finds, reads and checks the configuration.
func (c *cli) load() (*config.Config, error) {
	path, err := config.Find(c.flags.file, c.get("DAYBREAK_CONFIG"))
	if err != nil {
		return nil, usage(err)
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil, usage(err)
	}
	if c.flags.inbox != "" {
		cfg.NATS.InboxPrefix = c.flags.inbox
	}
	return cfg, nil
}

// logger writes for people on a terminal and JSON otherwise.
func (c *cli) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.flags.log)); err != nil {
		return nil, usage(fmt.Errorf("--log-level %q: want debug, info, warn or error", c.flags.log))
	}
	opts := &slog.HandlerOptions{Level: level}
	if terminal(c.stderr) {
		return slog.New(slog.NewTextHandler(c.stderr, opts)), nil
	}
	return slog.New(slog.NewJSONHandler(c.stderr, opts)), nil
}

// clock is the real one, or one set by --now.
func (c *cli) clock() (clockwork.Clock, error) {
	if c.flags.now == "" {
		return clockAt(time.Time{}), nil
	}
	at, err := time.Parse(time.RFC3339, c.flags.now)
	if err != nil {
		return nil, usage(fmt.Errorf("--now %q: want an instant such as 2026-10-31T02:00:00+08:00", c.flags.now))
	}
	return clockAt(at), nil
}

// withApp runs a command on open engines.
func (c *cli) withApp(cmd *cobra.Command, do func(*app) error) error {
	s, err := c.setup()
	if err != nil {
		return err
	}
	return c.open(cmd.Context(), s, do)
}

// withStayingApp runs a command that works until it is stopped.
func (c *cli) withStayingApp(cmd *cobra.Command, do func(*app) error) error {
	c.stays = true
	return c.withApp(cmd, do)
}

// connector opens a connection to NATS.
type connector func(...nats.Option) (*nats.Conn, error)

// natsOverride applies the flags and variables of natscli, nil when none applies. A flag always counts; a variable only
// where the file names no server, so that one set for another purpose cannot move an installation to another cluster.
func (c *cli) natsOverride(cfg *config.Config) connector {
	name, server, creds := c.flags.context, c.flags.server, c.flags.creds
	if name == "" && server == "" && cfg.NATS.Embedded() {
		name, server = c.get("NATS_CONTEXT"), c.get("NATS_URL")
	}
	switch {
	case server != "":
		override := config.NATS{URL: server, Creds: cmp.Or(creds, c.get("NATS_CREDS")), InboxPrefix: cfg.NATS.InboxPrefix}
		return func(more ...nats.Option) (*nats.Conn, error) {
			opts, err := natsOptions(override)
			if err != nil {
				return nil, err
			}
			return dial(server, override.Address(), append(opts, more...)...)
		}
	case name != "":
		return func(more ...nats.Option) (*nats.Conn, error) {
			nc, _, err := natscontext.Connect(name, more...)
			if err != nil {
				return nil, fmt.Errorf("context %s: %w", name, err)
			}
			return nc, nil
		}
	}
	return nil
}
