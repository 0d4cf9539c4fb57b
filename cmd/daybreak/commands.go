package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"daybreak/pkg/config"
	"daybreak/pkg/model"
)

// commands are all commands of the program. Those that look or ask, and then end, are quiet unless something is wrong.
func (c *cli) commands() []*cobra.Command {
	asking := []*cobra.Command{
		c.demoCommand(), c.replayCommand(), c.statusCommand(), c.diffsCommand(), c.reviewCommand(), c.eventsCommand(),
		c.auditCommand(), c.rebuildCommand(), c.drillCommand(), c.checkCommand(), c.inspectCommand(), c.versionCommand(), c.initCommand(), c.healthCommand(),
	}
	for _, cmd := range asking {
		cmd.PreRun = func(cmd *cobra.Command, _ []string) {
			if !cmd.Flags().Changed("log-level") {
				c.flags.log = "warn"
			}
		}
	}
	return append(c.serviceCommands(), asking...)
}

// setup is what the command line and the file say, before anything is opened.
type setup struct {
	cfg   *config.Config
	clock clockwork.Clock
	log   *slog.Logger
}

// setup reads the command line and the file. Its errors are all of them, and are faults of the usage.
func (c *cli) setup() (setup, error) {
	log, logErr := c.logger()
	clock, clockErr := c.clock()
	cfg, cfgErr := c.load()
	if err := errors.Join(logErr, clockErr, cfgErr); err != nil {
		return setup{}, usage(err)
	}
	return setup{cfg: cfg, clock: clock, log: log}, nil
}

func (c *cli) appOptions(s setup) appOptions {
	return appOptions{clock: s.clock, log: s.log, command: c.command, stays: c.stays, laysOut: c.laysOut, listen: c.listen, connect: c.natsOverride(s.cfg)}
}

// open runs do on open engines.
func (c *cli) open(ctx context.Context, s setup, do func(*app) error) error {
	a, err := openApp(ctx, c.environment, s.cfg, c.appOptions(s))
	if err != nil {
		return err
	}
	defer a.close()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-a.ownerGone:
			c.abandon(errOwnerGone) // else it would wait for an answer of engines that are no more
		case <-ended:
		}
	}()
	return do(a)
}

// job finds a configured job by name.
func (s setup) job(name string) (model.Job, error) {
	if j, ok := s.cfg.Job(name); ok {
		return j.Job, nil
	}
	var names []string
	for _, j := range s.cfg.Jobs {
		names = append(names, j.Name)
	}
	return model.Job{}, usage(fmt.Errorf("job %q is not in %s; it has: %s", name, s.cfg.Path, strings.Join(names, ", ")))
}

// jobs finds the named jobs, all when none is named.
func (s setup) jobs(names []string) ([]model.Job, error) {
	if len(names) == 0 {
		return s.cfg.ModelJobs(), nil
	}
	var out []model.Job
	for _, name := range names {
		j, err := s.job(name)
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// span is a range of days, both included.
type span struct{ from, to model.Day }

const spanForm = "want YYYY-MM-DD, YYYY-MM-DD..YYYY-MM-DD, or yesterday for either"

// parseSpan reads FROM or FROM..TO. yesterday is the date before the one that the clock shows in the job's zone.
func parseSpan(text string, job model.Job, now time.Time) (span, error) {
	first, last, isRange := strings.Cut(text, "..")
	from, err := parseDay(first, job, now)
	if err != nil {
		return span{}, usage(fmt.Errorf("%q: %w; %s", text, err, spanForm))
	}
	if !isRange {
		return span{from, from}, nil
	}
	to, err := parseDay(last, job, now)
	if err != nil {
		return span{}, usage(fmt.Errorf("%q: %w; %s", text, err, spanForm))
	}
	if from > to {
		return span{}, usage(fmt.Errorf("%q: %s is after %s; write the earlier day first", text, from, to))
	}
	return span{from, to}, nil
}

func parseDay(text string, job model.Job, now time.Time) (model.Day, error) {
	if text == "yesterday" {
		return model.DayOf(now, cmp.Or(job.Location, time.UTC)).Add(-1), nil
	}
	return model.ParseDay(text)
}

// single refuses a range where one day is wanted.
func (s span) single() (model.Day, error) {
	if s.from != s.to {
		return 0, usage(fmt.Errorf("%s..%s: one day is wanted here", s.from, s.to))
	}
	return s.from, nil
}

// oneOf refuses words that are not among the known ones.
func oneOf[T ~string](flag string, words []string, known ...T) ([]T, error) {
	var out []T
	for _, w := range words {
		found := false
		for _, k := range known {
			found = found || w == string(k)
		}
		if !found {
			return nil, usage(fmt.Errorf("%s %q: want %s", flag, w, strings.Join(textsOf(known), ", ")))
		}
		out = append(out, T(w))
	}
	return out, nil
}

// words completes a flag with fixed words.
func words[T ~string](cmd *cobra.Command, flag string, known ...T) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(completions(textsOf(known)), cobra.ShellCompDirectiveNoFileComp))
}

func completions(words []string) []cobra.Completion {
	out := make([]cobra.Completion, len(words))
	copy(out, words)
	return out
}

// completeJobs completes the first argument, or every one, with the names of the jobs in the file.
func (c *cli) completeJobs(every bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !every {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cfg, err := c.load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, j := range cfg.Jobs {
			names = append(names, j.Name)
		}
		return completions(names), cobra.ShellCompDirectiveNoFileComp
	}
}
