package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/oklog/ulid/v2"
)

// sweepRunsMax bounds the run ids of one DELETE: few and large, yet short enough for a request.
const sweepRunsMax = 2_000

// sweeps says, for every table with rows of runs, which runs the newest versions still need there: their own rows, the
// snapshot they were compared from, and the diffs of the version before, against which events are told.
var sweeps = []struct{ table, needed string }{
	{"entries", `[run_id, snapshot_id]`},
	{"diffs", `[run_id, previous]`},
	{"carried", `[run_id]`},
}

// Sweep drops the rows of runs that began before the given instant and that no newest version needs: superseded versions
// and attempts that never committed. keep protects further runs, such as those still at work; it is asked once for each
// run that would go. Run ids that are not ULIDs are left alone. Rows of batches and reviews are never dropped. What a
// failed sweep leaves is taken by the next.
func (s *Store) Sweep(ctx context.Context, before time.Time, keep func(runID string) bool) error {
	for _, sw := range sweeps {
		// The runs are listed before what is needed: a run that commits in between is found to be needed.
		present, err := s.runIDs(ctx, `SELECT DISTINCT run_id FROM `+sw.table)
		if err != nil {
			return fmt.Errorf("sweep %s: %w", sw.table, err)
		}
		needed, err := s.runIDs(ctx, `SELECT DISTINCT arrayJoin(`+sw.needed+`) FROM batches_current`)
		if err != nil {
			return fmt.Errorf("sweep %s: %w", sw.table, err)
		}
		var gone []string
		for run := range present {
			if !needed[run] && began(run, before) && (keep == nil || !keep(run)) {
				gone = append(gone, run)
			}
		}
		slices.Sort(gone)
		for chunk := range slices.Chunk(gone, sweepRunsMax) {
			err := s.conn.Exec(ctx, `DELETE FROM `+sw.table+` WHERE has({runs:Array(String)}, run_id)`, params{"runs": chunk}.args()...)
			if err != nil {
				return fmt.Errorf("sweep %s: %w", sw.table, err)
			}
		}
		if len(gone) > 0 {
			s.log.InfoContext(ctx, "runs swept", "table", sw.table, "runs", len(gone))
		}
	}
	return nil
}

func (s *Store) runIDs(ctx context.Context, query string) (map[string]bool, error) {
	out := map[string]bool{}
	err := s.each(ctx, query, nil, func(rows driver.Rows) error {
		var run string
		err := rows.Scan(&run)
		out[run] = true
		return err
	})
	return out, err
}

// began reports whether a run id was made before the instant.
func began(runID string, before time.Time) bool {
	id, err := ulid.ParseStrict(runID)
	return err == nil && ulid.Time(id.Time()).Before(before)
}
