package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/model"
)

// KnownDays are the days of a job that the tables know of, ascending: those with a committed version, and those that an
// auditor once found something of. A control bucket that was lost is told by them which days had to be DONE.
func (s *Store) KnownDays(ctx context.Context, job string) ([]model.Day, error) {
	var out []model.Day
	err := s.each(ctx, `SELECT DISTINCT day FROM (
			SELECT biz_date AS day FROM batches WHERE job = {job:String}
			UNION ALL
			SELECT assumeNotNull(biz_date) AS day FROM audits WHERE job = {job:String} AND biz_date IS NOT NULL
		) ORDER BY day`, params{"job": job}, func(rows driver.Rows) error {
		var day time.Time
		err := rows.Scan(&day)
		out = append(out, dayOf(day))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the days of %s that are known: %w", job, err)
	}
	return out, nil
}

// Unsettled are the findings of a job that, by the newest row of each in the table audits, nobody has cured, by day. It
// is what an auditor last said, and stands in for a stream of findings that was lost.
func (s *Store) Unsettled(ctx context.Context, job string) (map[model.Day][]model.Audit, error) {
	out := map[model.Day][]model.Audit{}
	err := s.each(ctx, `SELECT assumeNotNull(biz_date) AS day, toString(finding), max(at), argMax(detail, at) FROM audits
		WHERE job = {job:String} AND biz_date IS NOT NULL GROUP BY day, finding HAVING NOT argMax(resolved, at) ORDER BY day, finding`,
		params{"job": job}, func(rows driver.Rows) error {
			a := model.Audit{Job: job}
			var day, at time.Time
			var kind string
			err := rows.Scan(&day, &kind, &at, &a.Detail)
			d := dayOf(day)
			a.Day, a.Kind, a.Since = &d, model.AuditKind(kind), at.UTC()
			out[d] = append(out[d], a)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the open findings of %s: %w", job, err)
	}
	return out, nil
}
