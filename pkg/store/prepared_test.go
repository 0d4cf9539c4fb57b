package store

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
)

func TestPreparedLaysOutNothing(t *testing.T) {
	t.Parallel()
	o := Options{Conn: enginetest.ClickHouse(t), Prepared: true}
	_, err := Open(t.Context(), o)
	require.ErrorIs(t, err, ErrNotLaidOut)
	o.Prepared = false
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	version, err := Layout(t.Context(), s.Conn())
	require.NoError(t, err)
	require.Equal(t, SchemaVersion, version)
	require.NoError(t, s.Close())
	o.Prepared = true
	s, err = Open(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	o.Conn.Auth.Database = "nowhere"
	_, err = Open(t.Context(), o)
	require.ErrorIs(t, err, ErrNotLaidOut)
	conn, err := clickhouse.Open(enginetest.ClickHouse(t))
	require.NoError(t, err)
	defer conn.Close()
	version, err = Layout(t.Context(), conn)
	require.NoError(t, err)
	require.Zero(t, version)
}
