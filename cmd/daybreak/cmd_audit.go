package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"daybreak/pkg/model"
	"daybreak/services/auditor"
)

func (c *cli) auditCommand() *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use: "audit [JOB...]", Short: "Look at the jobs once and list what is wrong",
		Long: "Look once at the named jobs, or at all: is every due day DONE, do the live sources still say what was compared, does the\n" +
			"stored result balance, is every version published, does every service live. What is wrong is listed, told on the stream\n" +
			"AUDIT and, where recon can cure it, nudged, as the auditor service does it at intervals.\n\n" +
			"Exits 0 when nothing is wrong, 3 with findings, 1 when a check could not be made. Whether the services live is asked only\n" +
			"where they run: not when this command has to start the embedded engines itself.\n\n" +
			"Results of days that are no longer repaired unasked (backfill.max_days) are looked at when they change. With --deep those of\n" +
			"every day are, as after a loss or a restore: what is found is followed from then on.",
		Example: "  daybreak audit\n  daybreak audit --deep\n  daybreak audit wechat --format json || alert",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: c.completeJobs(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.setup()
			if err != nil {
				return err
			}
			if _, err := s.jobs(args); err != nil {
				return err
			}
			return c.open(cmd.Context(), s, func(a *app) error { return c.audit(cmd.Context(), a, args, deep) })
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "look at the results of every day")
	cmd.Flags().Bool("once", true, "look once, which is what it does in any case")
	c.nowFlag(cmd)
	return cmd
}

func (c *cli) audit(ctx context.Context, a *app, names []string, deep bool) error {
	jobs, err := a.jobs()
	if err != nil {
		return usage(err)
	}
	opts := a.auditorOptions(jobs, prometheus.NewRegistry())
	opts.Deep = deep
	report, passErr := auditor.New(opts).Pass(ctx, names...)
	if err := c.printFindings(report.Findings, a.owner); err != nil {
		return err
	}
	switch {
	case passErr != nil:
		return passErr
	case len(shownFindings(report.Findings, a.owner)) > 0:
		return found()
	}
	return nil
}

// shownFindings leaves out that services are silent where none can be running.
func shownFindings(all []model.Audit, owner bool) []model.Audit {
	var out []model.Audit
	for _, f := range all {
		if !owner || f.Kind != model.AuditSilent {
			out = append(out, f)
		}
	}
	return out
}

func (c *cli) printFindings(all []model.Audit, owner bool) error {
	out := c.rows(column{name: "job"}, column{name: "biz_date"}, column{name: "finding"}, column{name: "since"},
		column{name: "seen", kind: outside}, column{name: "nudged"}, column{name: "escalated"}, column{name: "detail", kind: outside})
	for _, f := range shownFindings(all, owner) {
		if err := out.add(orNull(f.Job), f.Day, string(f.Kind), f.Since, f.Seen, f.Nudged, f.Escalated, f.Detail); err != nil {
			return err
		}
	}
	return out.end()
}
