package store_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"daybreak/pkg/engine"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

// The two statements of docs/disaster.md: commit rows first, then everything that they make visible. In one statement, or
// the other way round, a run that commits in between has a commit row in the backup and no rows.
var backup = []string{
	"BACKUP TABLE %[1]s.batches, TABLE %[1]s.schema_version TO File('%[2]s-commits')",
	"BACKUP TABLE %[1]s.entries, TABLE %[1]s.diffs, TABLE %[1]s.carried, TABLE %[1]s.reviews, TABLE %[1]s.audits TO File('%[2]s-rows')",
}

var restore = []string{
	"RESTORE TABLE daybreak.batches AS %[1]s.batches, TABLE daybreak.schema_version AS %[1]s.schema_version FROM File('%[2]s-commits')",
	"RESTORE TABLE daybreak.entries AS %[1]s.entries, TABLE daybreak.diffs AS %[1]s.diffs, TABLE daybreak.carried AS %[1]s.carried, " +
		"TABLE daybreak.reviews AS %[1]s.reviews, TABLE daybreak.audits AS %[1]s.audits FROM File('%[2]s-rows')",
}

// A backup that is taken while runs commit comes back with every run whole or absent, and works on.
func TestBackupWhileRunsCommit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	users := "<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users><default><no_password/><networks><ip>::/0</ip></networks></default></users></clickhouse>"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "users.xml"), []byte(users), 0o600))
	config := fmt.Sprintf("<clickhouse><backups><allowed_path>%s</allowed_path></backups><user_directories><users_xml><path>%s</path></users_xml></user_directories></clickhouse>",
		dir, filepath.Join(dir, "users.xml"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.xml"), []byte(config), 0o600))
	ch, err := engine.StartClickHouse(ctx, engine.CHOptions{
		Dir: filepath.Join(dir, "data"), ConfigFile: filepath.Join(dir, "config.xml"), LibPath: enginetest.LibPath(), Progress: io.Discard, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(ch.Close)
	open := func(database string) *bundle {
		conn := ch.Options()
		conn.Auth.Database = database
		s, err := store.Open(ctx, store.Options{Conn: conn})
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return &bundle{Store: s, t: t, ctx: ctx}
	}
	b := open("daybreak")
	n := 1
	commit := func() { // every version has a diff more than the one before
		var diffs []model.Diff
		for k := range n {
			diffs = append(diffs, diff(day, fmt.Sprintf("key-%03d", k), "1"))
		}
		b.commit(runID(n), model.Batch{}, uint64(n), diffs...) //nolint:gosec // small
		n++
	}
	commit()
	backedUp := make(chan struct{})
	var g errgroup.Group
	g.Go(func() error {
		defer close(backedUp)
		for _, text := range backup {
			if err := b.Conn().Exec(ctx, fmt.Sprintf(text, "daybreak", filepath.Join(dir, "b"))); err != nil {
				return err
			}
		}
		return nil
	})
	for busy := true; busy; {
		select {
		case <-backedUp:
			busy = false
		default:
			commit()
		}
	}
	require.NoError(t, g.Wait())
	last := n - 1

	require.NoError(t, b.Conn().Exec(ctx, "CREATE DATABASE again"))
	for _, text := range restore {
		require.NoError(t, b.Conn().Exec(ctx, fmt.Sprintf(text, "again", filepath.Join(dir, "b"))))
	}
	again := open("again") // the views are laid out anew
	current, ok, err := again.Current(ctx, job, day)
	require.NoError(t, err)
	require.True(t, ok)
	require.LessOrEqual(t, current.Version, uint64(last)) //nolint:gosec // small
	shown := 0
	for _, err := range again.Diffs(ctx, store.DiffQuery{Job: job}) {
		require.NoError(t, err)
		shown++
	}
	require.EqualValues(t, current.Version, shown, "the newest version has all of its rows")
	again.commit(runID(last+1), current, uint64(last+1), diff(day, "key-000", "2")) //nolint:gosec // small
	require.NotEmpty(t, again.shown(store.DiffQuery{}))
}
