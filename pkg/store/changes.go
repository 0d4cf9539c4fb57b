package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/model"
)

// Change is what a version says of one diff that the version before did not.
type Change struct {
	Kind model.EventKind // DiffOpened, DiffChanged or DiffCleared
	Diff model.Diff      // as the new version has it; with the last figures when cleared
}

// Changes yields the difference between a committed version and the one before it, in the order of the diff ids, always
// the same. A diff is opened when it is open now and was absent or cleared, changed when it is open in both with other
// figures, cleared when it was open and no longer is. Both sides are streamed. It fails with [ErrIncomplete] when a diff
// of the version before is missing in this one, which no committed version may do.
func (s *Store) Changes(ctx context.Context, b model.Batch) iter.Seq2[Change, error] {
	return sequence(func(yield func(Change) error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		before, stop := iter.Pull2(s.states(ctx, b))
		defer stop()
		m := merger{before: before}
		if err := m.advance(); err != nil {
			return err
		}
		err := s.each(ctx, `SELECT `+diffFields+`, fingerprint FROM diffs WHERE `+ofRun+` ORDER BY diff_id`,
			runParams(b.Job, b.Day, b.RunID), func(rows driver.Rows) error {
				var fingerprint string
				d, err := scanDiff(rows, &fingerprint)
				if err != nil {
					return err
				}
				kind, err := m.compare(d, fingerprint)
				if err != nil || kind == "" {
					return err
				}
				return yield(Change{Kind: kind, Diff: d})
			})
		if err != nil {
			return err
		}
		return m.end()
	})
}

// diffState is what Changes needs of a diff of the version before.
type diffState struct {
	id, fingerprint string
	state           model.DiffState
}

func (s *Store) states(ctx context.Context, b model.Batch) iter.Seq2[diffState, error] {
	return sequence(func(yield func(diffState) error) error {
		if b.Previous == "" {
			return nil
		}
		return s.each(ctx, `SELECT diff_id, fingerprint, state FROM diffs WHERE `+ofRun+` ORDER BY diff_id`,
			runParams(b.Job, b.Day, b.Previous), func(rows driver.Rows) error {
				var d diffState
				var state string
				if err := rows.Scan(&d.id, &d.fingerprint, &state); err != nil {
					return err
				}
				d.state = model.DiffState(state)
				return yield(d)
			})
	})
}

// merger walks the version before along the diff ids of the new one.
type merger struct {
	before func() (diffState, error, bool)
	head   diffState
	more   bool
}

func (m *merger) advance() error {
	var err error
	m.head, err, m.more = m.before()
	return err
}

// compare names the change of d, "" when there is none.
func (m *merger) compare(d model.Diff, fingerprint string) (model.EventKind, error) {
	was := diffState{}
	if m.more && m.head.id < d.ID {
		return "", fmt.Errorf("diff %s of the version before is missing: %w", m.head.id, ErrIncomplete)
	}
	if m.more && m.head.id == d.ID {
		was = m.head
		if err := m.advance(); err != nil {
			return "", err
		}
	}
	return changeOf(was, d.State, fingerprint), nil
}

func changeOf(was diffState, now model.DiffState, fingerprint string) model.EventKind {
	switch {
	case now == model.Open && was.state != model.Open:
		return model.DiffOpened
	case now == model.Open && was.fingerprint != fingerprint:
		return model.DiffChanged
	case now == model.Cleared && was.state == model.Open:
		return model.DiffCleared
	}
	return ""
}

func (m *merger) end() error {
	if m.more {
		return fmt.Errorf("diff %s of the version before is missing: %w", m.head.id, ErrIncomplete)
	}
	return nil
}
