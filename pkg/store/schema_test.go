package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

// TestOpenTwice lays the tables out by several processes at once and again over data.
func TestOpenTwice(t *testing.T) {
	t.Parallel()
	conn := enginetest.ClickHouse(t)
	ctx := t.Context()
	var all errgroup.Group
	for range 4 {
		all.Go(func() error {
			s, err := store.Open(ctx, store.Options{Conn: conn})
			if err != nil {
				return err
			}
			return s.Close()
		})
	}
	require.NoError(t, all.Wait())
	open := func() *bundle {
		s, err := store.Open(ctx, store.Options{Conn: conn})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return &bundle{Store: s, t: t, ctx: ctx}
	}
	b := open()
	b.commit(runID(1), model.Batch{}, 1, diff(day, "a", "1"))
	again := open()
	require.Equal(t, []string{"a 1 open none"}, again.shown(store.DiffQuery{}))
	require.Equal(t, uint64(store.SchemaVersion), again.number(`SELECT toUInt64(max(version)) FROM schema_version`))

	again.exec(`INSERT INTO schema_version VALUES (99, now64(3))`)
	_, err := store.Open(ctx, store.Options{Conn: conn})
	require.ErrorIs(t, err, store.ErrSchemaNewer)
}

func TestOpenCreatesTheDatabase(t *testing.T) {
	t.Parallel()
	conn := enginetest.ClickHouse(t)
	conn.Auth.Database += "_named`by'hand"
	s, err := store.Open(t.Context(), store.Options{Conn: conn})
	require.NoError(t, err)
	require.NoError(t, s.Conn().Exec(context.Background(), "DROP DATABASE `"+strings.ReplaceAll(conn.Auth.Database, "`", "\\`")+"`"))
	require.NoError(t, s.Close())
	_, err = store.Open(t.Context(), store.Options{})
	require.Error(t, err)
}

// TestClusterDDL reads the statements for a cluster as text.
func TestClusterDDL(t *testing.T) {
	t.Parallel()
	single, err := store.DDL("")
	require.NoError(t, err)
	cluster, err := store.DDL("main`1")
	require.NoError(t, err)
	require.Len(t, cluster, len(single))
	for i, stmt := range cluster {
		require.NotContains(t, single[i], "CLUSTER")
		require.NotContains(t, single[i], "Replicated")
		require.NotContains(t, stmt, "{{")
		require.Contains(t, stmt, " IF NOT EXISTS ")
		require.Contains(t, strings.SplitN(stmt, "\n", 2)[0], " ON CLUSTER `main\\`1`")
		if strings.HasPrefix(stmt, "CREATE TABLE") {
			require.Contains(t, stmt, "MergeTree('/clickhouse/tables/{shard}/{database}/")
			require.NotContains(t, stmt, "non_replicated")
		}
	}
}
