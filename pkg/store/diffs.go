package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/model"
)

// DiffQuery chooses among the current diffs. Fields left zero do not choose.
type DiffQuery struct {
	Job      string
	From, To model.Day // both included
	Kinds    []model.Kind
	State    model.DiffState
	Reviews  []model.ReviewState // ReviewNone chooses those that nobody has reviewed
}

// DiffRow is a current diff with its review.
type DiffRow struct {
	model.Diff
	BatchID            string
	RunID              string
	FingerprintHeld    string // of the figures, as stored
	Review             model.ReviewState
	ReviewBy           string
	ReviewAt           time.Time // zero when never reviewed
	ReviewNote         string
	ReviewStep         uint64
	ChangedAfterReview bool
}

const diffRowFields = diffFields + `, batch_id, run_id, fingerprint, review, review_by, review_at, review_note, review_step, changed_after_review`

func scanDiffRow(rows driver.Rows) (DiffRow, error) {
	var (
		row     DiffRow
		review  string
		at      time.Time
		changed uint8
		err     error
	)
	row.Diff, err = scanDiff(rows, &row.BatchID, &row.RunID, &row.FingerprintHeld, &review, &row.ReviewBy, &at, &row.ReviewNote,
		&row.ReviewStep, &changed)
	row.Review, row.ChangedAfterReview = model.ReviewState(review), changed != 0
	if row.ReviewStep > 0 {
		row.ReviewAt = at.UTC()
	}
	return row, err
}

// Diffs yields the current diffs that the query chooses, by job, day, key and id. It sees each batch in one version.
func (s *Store) Diffs(ctx context.Context, q DiffQuery) iter.Seq2[DiffRow, error] {
	where, p := q.where()
	return s.diffRows(ctx, `SELECT `+diffRowFields+` FROM diffs_current WHERE `+where+` ORDER BY job, biz_date, key, diff_id`, p)
}

// Diff is the current diff of an id; false when the newest version neither has it open nor keeps it for its review.
func (s *Store) Diff(ctx context.Context, job string, day model.Day, diffID string) (DiffRow, bool, error) {
	p := batchParams(job, day)
	p["id"] = diffID
	for row, err := range s.diffRows(ctx, `SELECT `+diffRowFields+` FROM diffs_current WHERE `+ofBatch+` AND diff_id = {id:String}`, p) {
		return row, err == nil, err
	}
	return DiffRow{}, false, nil
}

func (s *Store) diffRows(ctx context.Context, query string, p params) iter.Seq2[DiffRow, error] {
	return sequence(func(yield func(DiffRow) error) error {
		err := s.each(ctx, query, p, func(rows driver.Rows) error {
			row, err := scanDiffRow(rows)
			if err != nil {
				return err
			}
			return yield(row)
		})
		if err != nil && !errors.Is(err, errStop) {
			return fmt.Errorf("read diffs: %w", err)
		}
		return err
	})
}

func (q DiffQuery) where() (string, params) {
	p := params{}
	parts := []string{"1"}
	add := func(condition, name string, value any) {
		parts = append(parts, condition)
		p[name] = value
	}
	if q.Job != "" {
		add(`job = {job:String}`, "job", q.Job)
	}
	if q.From != 0 {
		add(`biz_date >= {from:Date}`, "from", q.From.String())
	}
	if q.To != 0 {
		add(`biz_date <= {to:Date}`, "to", q.To.String())
	}
	if len(q.Kinds) > 0 {
		add(`has({kinds:Array(String)}, kind)`, "kinds", texts(q.Kinds))
	}
	if q.State != "" {
		add(`state = {state:String}`, "state", string(q.State))
	}
	if len(q.Reviews) > 0 {
		add(`has({reviews:Array(String)}, review)`, "reviews", texts(q.Reviews))
	}
	return strings.Join(parts, " AND "), p
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = string(v)
	}
	return out
}

// PutReview mirrors one step of a review. Repeating it does no harm; the newest step wins, in whatever order they come.
func (s *Store) PutReview(ctx context.Context, r model.Review) error {
	if err := checkReview(r); err != nil {
		return fmt.Errorf("review of diff %s in %s: %w", r.DiffID, model.BatchID(r.Job, r.Day), err)
	}
	return s.insert(ctx, "reviews", fmt.Sprintf("review/%s/%s/%d", model.BatchID(r.Job, r.Day), r.DiffID, r.Step), []column{
		{"job", []string{r.Job}},
		{"biz_date", []time.Time{r.Day.UTC()}},
		{"diff_id", []string{r.DiffID}},
		{"step", []uint64{r.Step}},
		{"key", []string{r.Key}},
		{"state", []string{string(r.State)}},
		{"by", []string{r.By}},
		{"note", []string{r.Note}},
		{"at", []time.Time{r.At.UTC()}},
		{"fingerprint", []string{r.Fingerprint}},
		{"seen_version", []uint64{r.SeenVersion}},
	})
}

func checkReview(r model.Review) error {
	if r.Job == "" || r.DiffID == "" || r.State == "" || r.Step == 0 || r.At.IsZero() {
		return fmt.Errorf("job, diff id, state, step and instant are all needed: %w", ErrValue)
	}
	return errors.Join(checkDay("biz_date", r.Day), checkInstant("at", r.At))
}

const reviewFields = `job, biz_date, diff_id, step, key, state, by, note, at, fingerprint, seen_version`

// Reviews yields the newest step of every review of a job in the days from and to and between, by day and diff id.
func (s *Store) Reviews(ctx context.Context, job string, from, to model.Day) iter.Seq2[model.Review, error] {
	return sequence(func(yield func(model.Review) error) error {
		p := params{"job": job, "from": from.String(), "to": to.String()}
		return s.each(ctx, `SELECT `+reviewFields+` FROM reviews_current
			WHERE job = {job:String} AND biz_date BETWEEN {from:Date} AND {to:Date} ORDER BY biz_date, diff_id`, p, func(rows driver.Rows) error {
			var (
				r       model.Review
				day, at time.Time
				state   string
			)
			if err := rows.Scan(&r.Job, &day, &r.DiffID, &r.Step, &r.Key, &state, &r.By, &r.Note, &at, &r.Fingerprint, &r.SeenVersion); err != nil {
				return err
			}
			r.Day, r.At, r.State = dayOf(day), at.UTC(), model.ReviewState(state)
			return yield(r)
		})
	})
}

// PutAudits records what an auditor saw in one pass. Repeating it for the same instance and instant does no harm.
func (s *Store) PutAudits(ctx context.Context, instance string, at time.Time, audits []model.Audit) error {
	n := len(audits)
	if n == 0 {
		return nil
	}
	return s.insert(ctx, "audits", fmt.Sprintf("audit/%s/%d", instance, at.UnixNano()), []column{
		{"at", constant(n, at.UTC())},
		{"instance", constant(n, instance)},
		{"job", collect(audits, func(a *model.Audit) string { return a.Job })},
		{"biz_date", collect(audits, auditDay)},
		{"finding", collect(audits, func(a *model.Audit) string { return string(a.Kind) })},
		{"seen", collect(audits, func(a *model.Audit) string { return a.Seen })},
		{"detail", collect(audits, func(a *model.Audit) string { return a.Detail })},
		{"since", collect(audits, func(a *model.Audit) *time.Time { return instantOrNull(a.Since) })},
		{"nudged", collect(audits, func(a *model.Audit) bool { return a.Nudged })},
		{"escalated", collect(audits, func(a *model.Audit) bool { return a.Escalated })},
		{"resolved", collect(audits, func(a *model.Audit) bool { return a.Resolved })},
	})
}

func auditDay(a *model.Audit) *time.Time {
	if a.Day == nil {
		return nil
	}
	t := a.Day.UTC()
	return &t
}
