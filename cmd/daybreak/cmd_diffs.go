package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

var (
	diffStates   = []model.DiffState{model.Open, model.Cleared}
	reviewStates = []model.ReviewState{
		model.ReviewNone, model.ReviewInvestigating, model.ReviewResolved, model.ReviewWrittenOff, model.ReviewAccepted,
	}
)

// diffFlags choose among the diffs, as typed.
type diffFlags struct {
	kinds, states, reviews []string
	carried                bool
}

func (c *cli) diffsCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use: "diffs JOB [DATE[..DATE]]", Short: "List the current diffs of a job",
		Long: "List the diffs that the current version of each day has, with their review. Amounts are exact decimal text; in CSV,\n" +
			"text from the books that a spreadsheet could take for a formula has an apostrophe before it.\n\n" +
			"With --carried it lists the pool that still waits for its counterpart after a day (the newest, if none is named):\n" +
			"pending is not a difference and is never counted as one.",
		Example: "  daybreak diffs wechat 2026-10-30\n  daybreak diffs wechat 2026-10-01..yesterday --kind amount,duplicate --format csv\n" +
			"  daybreak diffs wechat --review none --state open\n  daybreak diffs wechat --carried",
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: c.completeJobs(false),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runDiffs(cmd.Context(), f, args) },
	}
	cmd.Flags().StringSliceVar(&f.kinds, "kind", nil, "only these kinds: duplicate, missing_in_channel, missing_in_ledger, currency, amount, status")
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "only this state: open or cleared")
	cmd.Flags().StringSliceVar(&f.reviews, "review", nil, "only these reviews: none, investigating, resolved, written_off, accepted")
	cmd.Flags().BoolVar(&f.carried, "carried", false, "list the entries that wait for their counterpart instead")
	words(cmd, "kind", model.Kinds...)
	words(cmd, "state", diffStates...)
	words(cmd, "review", reviewStates...)
	c.nowFlag(cmd)
	return cmd
}

// runDiffs reads the command line and lists diffs or the pool.
func (c *cli) runDiffs(ctx context.Context, f diffFlags, args []string) error {
	query, queryErr := f.query()
	s, err := c.setup()
	if err := errors.Join(queryErr, err); err != nil {
		return usage(err)
	}
	job, err := s.job(args[0])
	if err != nil {
		return err
	}
	var days *span
	if len(args) > 1 {
		asked, err := parseSpan(args[1], job, s.clock.Now())
		if err != nil {
			return err
		}
		days = &asked
		query.From, query.To = asked.from, asked.to
	}
	if f.carried {
		return c.carriedCommand(ctx, s, job, days)
	}
	query.Job = job.Name
	return c.open(ctx, s, func(a *app) error { return c.diffs(ctx, a, query) })
}

func (f diffFlags) query() (q store.DiffQuery, err error) {
	if f.carried && len(f.kinds)+len(f.states)+len(f.reviews) > 0 {
		return q, usage(errors.New("--carried lists entries, which have no kind, state or review; leave these flags out"))
	}
	kinds, kindErr := oneOf("--kind", f.kinds, model.Kinds...)
	states, stateErr := oneOf("--state", f.states, diffStates...)
	reviews, reviewErr := oneOf("--review", f.reviews, reviewStates...)
	q = store.DiffQuery{Kinds: kinds, Reviews: reviews}
	if len(states) == 1 {
		q.State = states[0] // naming both is naming none
	}
	return q, errors.Join(kindErr, stateErr, reviewErr)
}

// diffColumns are the columns of a diff. The first seventeen are a contract: names and order stay.
var diffColumns = []column{
	{name: "batch_id"},
	{name: "biz_date"},
	{name: "diff_id"},
	{name: "kind"},
	{name: "state"},
	{name: "key", kind: outside},
	{name: "currency", kind: outside},
	{name: "ledger_count", kind: number},
	{name: "channel_count", kind: number},
	{name: "ledger_amount", kind: money},
	{name: "channel_amount", kind: money},
	{name: "delta", kind: money},
	{name: "ledger_status", kind: outside},
	{name: "channel_status", kind: outside},
	{name: "review"},
	{name: "version", kind: number},
	{name: "origin_date"},
	{name: "reasons", optional: true},
	{name: "detail", kind: outside, optional: true},
	{name: "ledger_ref", kind: outside, optional: true},
	{name: "channel_ref", kind: outside, optional: true},
	{name: "changed_after_review"},
	{name: "review_by", kind: outside, optional: true},
	{name: "review_at", optional: true},
	{name: "review_note", kind: outside, optional: true},
}

func diffValues(r store.DiffRow) []any {
	return []any{
		r.BatchID, r.Day, r.ID, string(r.Kind), string(r.State), r.Key, r.Currency, r.LedgerCount, r.ChannelCount,
		r.LedgerAmount, r.ChannelAmount, r.Delta, r.LedgerStatus, r.ChannelStatus, string(r.Review), r.Version, r.Origin,
		textsOf(r.Reasons), r.Detail, r.LedgerRef, r.ChannelRef, r.ChangedAfterReview, orNull(r.ReviewBy), r.ReviewAt,
		orNull(r.ReviewNote),
	}
}

func (c *cli) diffs(ctx context.Context, a *app, q store.DiffQuery) error {
	out := c.rows(diffColumns...)
	for row, err := range a.store.Diffs(ctx, q) {
		if err != nil {
			return errors.Join(err, out.out.Flush())
		}
		if err := out.add(diffValues(row)...); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil || out.n > 0 {
		return err
	}
	return c.explainNone(ctx, a, q)
}

// explainNone tells "nothing differs" from "nothing was compared": the first is an answer, the second, of days that were asked
// for by name, is none.
func (c *cli) explainNone(ctx context.Context, a *app, q store.DiffQuery) error {
	to := q.To
	if to == 0 {
		to = model.MaxDay
	}
	batches, err := a.store.Batches(ctx, q.Job, q.From, to)
	if err != nil || len(batches) > 0 {
		return err
	}
	why := fmt.Errorf("job %s has no committed result in that range: nothing was compared, or it was lost; see daybreak status %s", q.Job, q.Job)
	if q.To != 0 {
		return why
	}
	fmt.Fprintf(c.stderr, "daybreak: %s\n", why)
	return nil
}

func (c *cli) carriedCommand(ctx context.Context, s setup, job model.Job, days *span) error {
	var day *model.Day
	if days != nil {
		one, err := days.single()
		if err != nil {
			return err
		}
		day = &one
	}
	return c.open(ctx, s, func(a *app) error { return c.carried(ctx, a, job, day) })
}

// carried lists the pool that a day hands on.
func (c *cli) carried(ctx context.Context, a *app, job model.Job, day *model.Day) error {
	if day == nil {
		newest, ok, err := a.store.NewestDay(ctx, job.Name)
		if err != nil {
			return err
		}
		if !ok {
			fmt.Fprintf(c.stderr, "job %s has no committed result yet; see daybreak status %s\n", job.Name, job.Name)
		}
		day = &newest
	}
	out := c.rows(column{name: "biz_date"}, column{name: "side"}, column{name: "key", kind: outside},
		column{name: "id", kind: outside, optional: true}, column{name: "amount", kind: money}, column{name: "currency", kind: outside},
		column{name: "status", kind: outside}, column{name: "origin_date"}, column{name: "file", kind: outside},
		column{name: "line", kind: number}, column{name: "closes_on"})
	for row, err := range a.store.Carried(ctx, job.Name, *day) {
		if err != nil {
			return errors.Join(err, out.out.Flush())
		}
		e := row.Entry
		if err := out.add(row.Day, string(e.Side), e.Key, orNull(e.ID), e.Amount, e.Currency, e.Status, e.Origin, e.File, e.Line,
			job.Calendar.Add(e.Origin, job.CarryDays)); err != nil {
			return err
		}
	}
	return out.end()
}
