package engine_test

import (
	"context"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
)

const benchRows = 500_000

func BenchmarkInsert(b *testing.B) {
	conn, err := clickhouse.Open(enginetest.ClickHouse(b))
	require.NoError(b, err)
	defer func() { _ = conn.Close() }()
	ctx := context.Background()
	require.NoError(b, conn.Exec(ctx, "CREATE TABLE t (k String, n UInt64) ENGINE = MergeTree ORDER BY k"))
	for b.Loop() {
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
		require.NoError(b, err)
		for i := range uint64(benchRows) {
			require.NoError(b, batch.Append("2026103100000000000", i))
		}
		require.NoError(b, batch.Send())
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkSelect(b *testing.B) {
	conn, err := clickhouse.Open(enginetest.ClickHouse(b))
	require.NoError(b, err)
	defer func() { _ = conn.Close() }()
	for b.Loop() {
		rows, err := conn.Query(context.Background(), "SELECT toString(number), number FROM numbers({n:UInt64})", clickhouse.Named("n", "500000"))
		require.NoError(b, err)
		var k string
		var n uint64
		for rows.Next() {
			require.NoError(b, rows.Scan(&k, &n))
		}
		require.NoError(b, rows.Err())
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkSmallQuery(b *testing.B) {
	conn, err := clickhouse.Open(enginetest.ClickHouse(b))
	require.NoError(b, err)
	defer func() { _ = conn.Close() }()
	for b.Loop() {
		require.NoError(b, conn.Ping(context.Background()))
	}
}
