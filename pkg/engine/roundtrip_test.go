package engine_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
)

// open gives a client of a fresh database and a context for the test.
func open(t *testing.T) (driver.Conn, context.Context) {
	t.Helper()
	return openWith(t, enginetest.ClickHouse(t))
}

func openWith(t *testing.T, opt *clickhouse.Options) (driver.Conn, context.Context) {
	t.Helper()
	conn, err := clickhouse.Open(opt)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return conn, ctx
}

var nasty = []string{
	"", "plain", "tab\tnew\nline\r\n", "\n\nDROP TABLE t\n\n", `back\slash \N \0`, `'single' "double" ` + "`tick`",
	"zero\x00byte", "\xff\xfe not UTF-8", "订单号 №42 – Ünïcödé 🙂", strings.Repeat("x", 70000), "; SELECT 1; --", "{a:String}",
}

func TestEveryTypeComesBackAsSent(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	require.NoError(t, conn.Exec(ctx, `CREATE TABLE t (
		n UInt64, s String, lc LowCardinality(String), d Decimal(38, 8), w Decimal(76, 8), ns Nullable(String),
		nd Nullable(Decimal(38, 8)), ts DateTime64(3, 'UTC'), nts Nullable(DateTime64(3, 'UTC')), day Date,
		a Array(String), tup Array(Tuple(c String, x Decimal(38, 8))), m Map(String, String), b Bool, u UUID, e UInt8, i Int64
	) ENGINE = MergeTree ORDER BY n`))

	wide := decimal.RequireFromString(strings.Repeat("9", 60) + ".00000001")
	amount := decimal.RequireFromString("-999999999999999999.12345678")
	ts := time.Date(2026, 10, 31, 23, 59, 59, 987e6, time.UTC)
	id := uuid.MustParse("0198c0de-0000-7000-8000-00000000beef")
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
	require.NoError(t, err)
	for i, s := range nasty {
		var ns *string
		var nd *decimal.Decimal
		var nts *time.Time
		if i%2 == 0 {
			ns, nd, nts = &s, &amount, &ts
		}
		require.NoError(t, batch.Append(uint64(1<<63)+uint64(i), s, s, amount, wide, ns, nd, ts, nts, ts,
			nasty, []any{[]any{"CNY", amount}, []any{s, amount.Neg()}}, map[string]string{"k\t'": s}, i%2 == 0, id, uint8(i), int64(-i)))
	}
	require.NoError(t, batch.Send())

	rows, err := conn.Query(ctx, "SELECT * FROM t ORDER BY n")
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for i, want := range nasty {
		require.True(t, rows.Next())
		var (
			n       uint64
			s, lc   string
			d, w    decimal.Decimal
			ns      *string
			nd      *decimal.Decimal
			at, day time.Time
			nts     *time.Time
			a       []string
			tup     []map[string]any
			m       map[string]string
			b       bool
			u       uuid.UUID
			e       uint8
			neg     int64
		)
		require.NoError(t, rows.Scan(&n, &s, &lc, &d, &w, &ns, &nd, &at, &nts, &day, &a, &tup, &m, &b, &u, &e, &neg))
		require.Equal(t, uint64(1<<63)+uint64(i), n)
		require.Equal(t, want, s)
		require.Equal(t, want, lc)
		require.True(t, d.Equal(amount), d)
		require.True(t, w.Equal(wide), w)
		require.Equal(t, i%2 == 0, ns != nil)
		require.Equal(t, i%2 == 0, nd != nil && nd.Equal(amount))
		require.Equal(t, i%2 == 0, nts != nil && nts.Equal(ts))
		require.True(t, at.Equal(ts), at)
		require.Equal(t, "2026-10-31", day.Format(time.DateOnly))
		require.Equal(t, nasty, a)
		require.Len(t, tup, 2)
		require.Equal(t, want, tup[1]["c"])
		require.True(t, tup[1]["x"].(decimal.Decimal).Equal(amount.Neg()))
		require.Equal(t, map[string]string{"k\t'": want}, m)
		require.Equal(t, i%2 == 0, b)
		require.Equal(t, id, u)
		require.Equal(t, uint8(i), e)
		require.Equal(t, int64(-i), neg)
	}
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
}

func TestWideDecimalSumsAreExact(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	var sum decimal.Decimal
	require.NoError(t, conn.QueryRow(ctx, `SELECT sum(toDecimal256('999999999999999999999999999999.99999999', 8)) FROM numbers(20)`).Scan(&sum))
	want := decimal.RequireFromString("999999999999999999999999999999.99999999").Mul(decimal.NewFromInt(20))
	require.True(t, sum.Equal(want), sum)
}

func TestBatches(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	require.NoError(t, conn.Exec(ctx, "CREATE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n"))

	empty, err := conn.PrepareBatch(ctx, "INSERT INTO t")
	require.NoError(t, err)
	require.NoError(t, empty.Send(), "a batch without rows is no error")

	const rows = 100_000
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO t (n, s)")
	require.NoError(t, err)
	want := new(big.Int)
	for i := range uint64(rows) {
		require.NoError(t, batch.Append(i, fmt.Sprintf("a\n\n%d\n\nDROP TABLE t", i)))
		want.Add(want, new(big.Int).SetUint64(i))
	}
	require.NoError(t, batch.Send())
	var count, sum, blank uint64
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(), sum(n), countIf(position(s, '\n\n') > 0) FROM t").Scan(&count, &sum, &blank))
	require.EqualValues(t, rows, count)
	require.Equal(t, want.Uint64(), sum)
	require.EqualValues(t, rows, blank)
}

func TestInlineValuesAreDataOnly(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	require.NoError(t, conn.Exec(ctx, "CREATE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n"))
	require.NoError(t, conn.Exec(ctx, "INSERT INTO t (n, s) VALUES (1, 'a\n\nDROP TABLE t\n'), (2, 'it''s; \\'x\\''), (3, concat('a', 'b'));"))
	require.NoError(t, conn.Exec(ctx, "INSERT INTO t FORMAT CSV\n4,\"q\"\n5,\"x\n\nDROP TABLE t\"\n"))
	require.NoError(t, conn.Exec(ctx, "INSERT INTO t SELECT 6, 'six'"))
	rows, err := conn.Query(ctx, "SELECT s FROM t ORDER BY n")
	require.NoError(t, err)
	var got []string
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		got = append(got, s)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{"a\n\nDROP TABLE t\n", "it's; 'x'", "ab", "q", "x\n\nDROP TABLE t", "six"}, got)
}

func TestServerParametersComeBackAsSent(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	for _, s := range nasty {
		if len(s) > 60000 {
			continue // parameters travel in the address line
		}
		var got string
		require.NoError(t, conn.QueryRow(ctx, "SELECT {v:String}", clickhouse.Named("v", s)).Scan(&got))
		require.Equal(t, s, got)
	}
	list := []string{"a'b", `c\d`, "e\nf", "订单", "", "];DROP"}
	var got []string
	require.NoError(t, conn.QueryRow(ctx, "SELECT {v:Array(String)}", clickhouse.Named("v", list)).Scan(&got))
	require.Equal(t, list, got)

	at := time.Date(2026, 10, 31, 23, 59, 59, 987e6, time.UTC)
	var back time.Time
	require.NoError(t, conn.QueryRow(ctx, "SELECT {v:DateTime64(3, 'UTC')}", clickhouse.DateNamed("v", at, clickhouse.MilliSeconds)).Scan(&back))
	require.True(t, at.Equal(back), back)
	var amount decimal.Decimal
	require.NoError(t, conn.QueryRow(ctx, "SELECT {v:Decimal(38, 8)}", clickhouse.Named("v", "-12.34500001")).Scan(&amount))
	require.Equal(t, "-12.34500001", amount.String())
}
