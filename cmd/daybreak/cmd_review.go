package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"daybreak/pkg/model"
	"daybreak/pkg/review"
	"daybreak/pkg/store"
)

// diffIDMin is how much of a diff id must be given of its diffIDLen hex digits.
const (
	diffIDMin = 6
	diffIDLen = 32
)

func (c *cli) reviewCommand() *cobra.Command {
	var to, by, note string
	cmd := &cobra.Command{
		Use: "review JOB DATE DIFF_ID --to STATE --by WHO --note WHY", Short: "Make one step in the review of a diff",
		Long: "Make one step in the review of a diff: none → investigating → resolved, written_off or accepted, and from there back to\n" +
			"investigating. Of two people who act on the same state one succeeds; the other is told what was done (exit code 1).\n" +
			"A beginning of the diff id is enough when it is unique in the batch and has at least 6 characters.",
		Example: "  daybreak review wechat 2026-10-30 3f9a1c --to investigating --by lin --note 'asked the channel'",
		Args:    cobra.ExactArgs(3), ValidArgsFunction: c.completeJobs(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			states, stateErr := oneOf("--to", []string{to}, reviewStates[1:]...)
			s, err := c.setup()
			if err := errors.Join(stateErr, checkReviewer(by, note), checkDiffID(args[2]), err); err != nil {
				return usage(err)
			}
			job, err := s.job(args[0])
			if err != nil {
				return err
			}
			day, err := parseSpan(args[1], job, s.clock.Now())
			if err != nil {
				return err
			}
			step := review.Step{Job: job.Name, DiffID: strings.ToLower(args[2]), To: states[0], By: by, Note: note}
			if step.Day, err = day.single(); err != nil {
				return err
			}
			return c.open(cmd.Context(), s, func(a *app) error { return c.review(cmd.Context(), a, step) })
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the new state: investigating, resolved, written_off or accepted")
	cmd.Flags().StringVar(&by, "by", "", "who does it")
	cmd.Flags().StringVar(&note, "note", "", "why")
	words(cmd, "to", reviewStates[1:]...)
	c.nowFlag(cmd)
	return cmd
}

func checkReviewer(by, note string) error {
	var errs []error
	if strings.TrimSpace(by) == "" {
		errs = append(errs, errors.New("--by is empty: say who does it"))
	}
	if strings.TrimSpace(note) == "" {
		errs = append(errs, errors.New("--note is empty: say why"))
	}
	return errors.Join(errs...)
}

func checkDiffID(text string) error {
	if len(text) < diffIDMin || len(text) > diffIDLen || strings.Trim(strings.ToLower(text), "0123456789abcdef") != "" {
		return fmt.Errorf("diff id %q: want %d to %d hex digits, as daybreak diffs lists them", text, diffIDMin, diffIDLen)
	}
	return nil
}

func (c *cli) review(ctx context.Context, a *app, step review.Step) error {
	id, err := a.wholeDiffID(ctx, step)
	if err != nil {
		return err
	}
	step.DiffID = id
	if err := a.catchUp(ctx, step); err != nil {
		return err
	}
	desk := &review.Desk{Keeper: a.control, Table: a.store, Publisher: a.bus, Clock: a.clock}
	made, err := desk.Make(ctx, step)
	switch {
	case errors.Is(err, review.ErrConflict) || errors.Is(err, model.ErrReviewStep):
		return a.withLastStep(ctx, step, err)
	case err != nil && made.Step == 0:
		return err
	case err != nil: // the step itself is made, and the auditor completes what follows it
		fmt.Fprintf(c.stderr, "the step is made, but not told everywhere yet; the auditor will complete it: %v\n", err)
	}
	out := c.rows(column{name: "batch_id"}, column{name: "biz_date"}, column{name: "diff_id"}, column{name: "key", kind: outside},
		column{name: "review"}, column{name: "review_by", kind: outside}, column{name: "review_at"},
		column{name: "review_note", kind: outside}, column{name: "step", kind: number}, column{name: "seen_version", kind: number})
	if err := out.add(model.BatchID(made.Job, made.Day), made.Day, made.DiffID, made.Key, string(made.State), made.By, made.At,
		made.Note, made.Step, made.SeenVersion); err != nil {
		return err
	}
	return out.end()
}

// catchUp gives the control bucket the steps of a review that only the tables have, as after a restore of NATS from an older
// backup. A step made on an older one would bear the number of one that was made before, and be taken for it.
func (a *app) catchUp(ctx context.Context, step review.Step) error {
	for v, err := range a.store.Reviews(ctx, step.Job, step.Day, step.Day) {
		if err != nil {
			return err
		}
		if v.DiffID == step.DiffID {
			return a.restoreReview(ctx, v)
		}
	}
	return nil
}

// wholeDiffID finds the only diff of the batch whose id begins as given.
func (a *app) wholeDiffID(ctx context.Context, step review.Step) (string, error) {
	if len(step.DiffID) == diffIDLen {
		return step.DiffID, nil
	}
	var found []string
	for row, err := range a.store.Diffs(ctx, store.DiffQuery{Job: step.Job, From: step.Day, To: step.Day}) {
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(row.ID, step.DiffID) {
			found = append(found, row.ID)
		}
	}
	batch := model.BatchID(step.Job, step.Day)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("%s has no diff %s in its current version: %w; daybreak diffs %s %s lists those it has",
			batch, step.DiffID, review.ErrNoDiff, step.Job, step.Day)
	}
	return "", fmt.Errorf("%d diffs of %s begin with %s: %s; give more of the id", len(found), batch, step.DiffID, strings.Join(found[:min(len(found), 3)], ", "))
}

// withLastStep adds to an error what was done last, by whom and why.
func (a *app) withLastStep(ctx context.Context, step review.Step, cause error) error {
	last, _, err := a.control.Review(ctx, step.Job, step.Day, step.DiffID)
	if err != nil || last.Step == 0 {
		return errors.Join(cause, err)
	}
	return fmt.Errorf("%w\nlast step: %s by %s at %s: %s", cause, last.State, last.By, last.At.UTC().Format(time.RFC3339), last.Note)
}
