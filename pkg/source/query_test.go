package source_test

import (
	"context"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

func connect(t testing.TB) driver.Conn {
	t.Helper()
	conn, err := clickhouse.Open(enginetest.ClickHouse(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask reads a query with the columns key, amount and those named.
func ask(t testing.TB, conn driver.Conn, sql string, spec source.Spec) ([]model.Entry, model.Seal, error) {
	t.Helper()
	spec.Kind, spec.Query = source.KindQuery, &source.Query{SQL: sql}
	s, err := source.Open(spec, source.Env{Conn: func(context.Context) (driver.Conn, error) { return conn, nil }})
	require.NoError(t, err)
	fp, err := s.Peek(t.Context(), request())
	require.NoError(t, err)
	require.Empty(t, fp)
	var out []model.Entry
	seal, err := s.Read(t.Context(), request(), func(e model.Entry) error {
		out = append(out, e)
		return nil
	})
	return out, seal, err
}

func TestQueryGivesEntries(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	require.NoError(t, conn.Exec(t.Context(), `CREATE TABLE pay (order_no String, sum Decimal(18, 2), state LowCardinality(Nullable(String)),
		paid_at DateTime64(3, 'America/New_York'), fee Nullable(Decimal(38, 8)), id UInt64) ENGINE = MergeTree ORDER BY order_no`))
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO pay SELECT * FROM values('a String, b Decimal(18, 2), c Nullable(String), d DateTime64(3, \'UTC\'), e Nullable(Decimal(38, 8)), f UInt64',
		('before', 1, 'PAID', '2026-09-30 15:59:59.999', NULL, 1),
		('0070', 10.50, 'PAID', '2026-09-30 16:00:00.000', 0.06, 18446744073709551615),
		('0071', -3, NULL, '2026-10-01 15:59:59.999', NULL, 3),
		('after', 1, 'PAID', '2026-10-01 16:00:00.000', NULL, 4))`))
	cols := columns("fee", "id")
	cols.Put("status", source.ParseColumn("state"))
	cols.Put("occurred_at", source.ParseColumn("paid_at"))
	cols.Put("day", source.ParseColumn("day"))

	entries, seal, err := ask(t, conn, `SELECT order_no AS key, sum AS amount, state, paid_at, fee, id, {date:Date} AS day, [1] AS unused
		FROM pay WHERE paid_at >= {from:DateTime64(3)} AND paid_at < {to:DateTime64(3)} ORDER BY key;`, source.Spec{Columns: cols})

	require.NoError(t, err)
	require.Equal(t, []string{"0070", "0071"}, keys(entries))
	e := entries[0]
	require.Equal(t, "10.5", e.Amount.String())
	require.Equal(t, "PAID", e.Status)
	require.Equal(t, "0.06", e.Fee.Decimal.String())
	require.Equal(t, "18446744073709551615", e.ID)
	require.Equal(t, time.Date(2026, 9, 30, 16, 0, 0, 0, time.UTC), e.OccurredAt)
	require.Equal(t, map[string]string{"day": "2026-10-01"}, e.Attrs)
	require.Equal(t, "query", e.File)
	require.Equal(t, uint64(2), entries[1].Line)
	require.Empty(t, entries[1].Status)
	require.False(t, entries[1].Fee.Valid)
	require.Equal(t, "CNY 2 entries 7.5", seal.Totals.String())
	require.Equal(t, "query", seal.Sources[0].Name)
	require.Equal(t, uint64(2), seal.Sources[0].Rows)
}

func TestQueryTypes(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for expr, want := range map[string]string{
		"'0.10'":                             "0.1",
		"toFixedString('7', 8)":              "7",
		"toDecimal32('-1.15', 2)":            "-1.15",
		"toDecimal256('1.00000001', 8)":      "1.00000001",
		"toInt8(-7)":                         "-7",
		"toUInt64('999999999999999999')":     "999999999999999999",
		"toInt128('-999999999999999999')":    "-999999999999999999",
		"toUInt256('12')":                    "12",
		"toNullable(toInt128(5))":            "5",
		"toLowCardinality('12.5')":           "12.5",
		"toNullable(toDecimal64('2.50', 2))": "2.5",
	} {
		entries, _, err := ask(t, conn, "SELECT 'a' AS key, "+expr+" AS amount", source.Spec{Columns: columns()})
		require.NoError(t, err, expr)
		require.Equal(t, want, entries[0].Amount.String(), expr)
	}
	for expr, want := range map[string]string{
		"toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')": "61f0c404-5cb3-11e7-907b-a6006ad3dba0",
		"CAST('x', 'Enum8(\\'x\\' = 1)')":                "x",
		"toInt256('-3')":                                 "-3",
		"'支付'":                                           "支付",
		"toNullable('n')":                                "n",
	} {
		entries, _, err := ask(t, conn, "SELECT "+expr+" AS key, 1 AS amount", source.Spec{Columns: columns()})
		require.NoError(t, err, expr)
		require.Equal(t, want, entries[0].Key, expr)
	}
	for expr, format := range map[string]string{
		"toDateTime('2026-09-30 16:00:00', 'UTC')":                         "",
		"toDateTime('2026-10-01 00:00:00', 'Asia/Shanghai')":               "",
		"toNullable(toDateTime64('2026-09-30 16:00:00.000000', 6, 'UTC'))": "",
		"toDate('2026-10-01')":                                             "",
		"toDate32('2026-10-01')":                                           "",
		"'2026-10-01 00:00:00'":                                            "",
		"toInt64(1790784000)":                                              "unix",
		"toUInt64(1790784000000)":                                          "unix_ms",
	} {
		entries, _, err := ask(t, conn, "SELECT 'a' AS key, 1 AS amount, "+expr+" AS occurred_at", source.Spec{Columns: columns("occurred_at"), TimeFormat: format})
		require.NoError(t, err, expr)
		require.Equal(t, time.Date(2026, 9, 30, 16, 0, 0, 0, time.UTC), entries[0].OccurredAt, expr)
	}
}

func TestWrongQueries(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a"))
	const advice = "a binary float does not hold the digits that were written; keep the column exact, for example toDecimal64(x, 2) over text, or select it as text"
	for _, c := range []struct{ sql, want string }{
		{"SELECT 'a' AS key, 1.15 AS amount", `query: column "amount" is Float64 and cannot be an amount: ` + advice},
		{"SELECT toNullable(toFloat32(1)) AS key, 1 AS amount", `query: column "key" is Nullable(Float32) and cannot be a key: ` + advice},
		{"SELECT toDate('2026-10-01') AS key, now() AS amount", `query: column "amount" is DateTime and cannot be an amount: want a decimal, an integer or text` + "\n" + `column "key" is Date and cannot be a key: want text or integers`},
		{"SELECT ['a'] AS key, 1 AS amount", `query: column "key" is Array(String) and cannot be a key: want text or integers`},
		{"SELECT 'a' AS k, 1 AS amount", `query: columns missing "key"; found: "k", "amount"`},
		{"SELECT '' AS key, 1 AS amount", `query:1:key: column "key": key is empty, but the match key needs it`},
		{"SELECT CAST(NULL, 'Nullable(String)') AS key, 1 AS amount", `query:1:key: column "key": key is empty, but the match key needs it`},
		{"SELECT 'a' AS key, CAST(NULL, 'Nullable(Decimal(9, 2))') AS amount", `query:1:amount: column "amount": the amount is empty: not an exact amount`},
		{"SELECT 'a' AS key, '1,5' AS amount", `query:1:amount: column "amount": amount "1,5": only digits and one decimal point are allowed: not an exact amount`},
		{"SELECT unhex('B6A9') AS key, 1 AS amount", `query:1:key: column "key": not text: the bytes are not UTF-8, or hold NUL`},
	} {
		_, seal, err := ask(t, conn, c.sql, source.Spec{Columns: columns()})
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, source.ErrInput)
		require.Zero(t, seal)
	}
	for _, sql := range []string{
		"SELECT nothing AS key, 1 AS amount",
		"SELECT toString(number) AS key, throwIf(number = 200000) AS amount FROM numbers(300000)",
	} {
		_, _, err := ask(t, conn, sql, source.Spec{Columns: columns()})
		require.Error(t, err, sql)
		require.NotErrorIs(t, err, source.ErrNotThere)
	}
}

func TestQueryOfAMissingFileIsNotThere(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	dir := t.TempDir()
	_, _, err := ask(t, conn, "SELECT key, amount FROM file('"+dir+"/none.csv', 'CSV', 'key String, amount String')", source.Spec{Columns: columns()})
	require.ErrorIs(t, err, source.ErrNotThere)
}

func TestQueryDigestDoesNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	digest := func(sql string) string {
		_, seal, err := ask(t, conn, sql, source.Spec{Columns: columns()})
		require.NoError(t, err)
		return seal.Sources[0].SHA256
	}
	up := digest("SELECT toString(number) AS key, number AS amount FROM numbers(100) ORDER BY number")
	require.Equal(t, up, digest("SELECT toString(number) AS key, number AS amount FROM numbers(100) ORDER BY number DESC"))
	require.NotEqual(t, up, digest("SELECT toString(number) AS key, number AS amount FROM numbers(99)"))
	require.NotEqual(t, up, digest("SELECT toString(number) AS key, 99 - number AS amount FROM numbers(100)"))
}

func TestQueryIsStreamed(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	s, err := source.Open(source.Spec{
		Kind: source.KindQuery, Columns: columns(),
		Query: &source.Query{SQL: "SELECT toString(number) AS key, number AS amount FROM numbers(200000)"},
	}, source.Env{Conn: func(context.Context) (driver.Conn, error) { return conn, nil }})
	require.NoError(t, err)
	n := 0
	seal, err := s.Read(t.Context(), request(), func(model.Entry) error { n++; return nil })
	require.NoError(t, err)
	require.Equal(t, 200000, n)
	require.Equal(t, "CNY 200000 entries 19999900000", seal.Totals.String())
	ctx, cancel := context.WithCancel(t.Context())
	_, err = s.Read(ctx, request(), func(model.Entry) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
}

// TestTheServerRefusesWrites goes past the check of the statement, to the setting that backs it.
func TestTheServerRefusesWrites(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a"))
	for _, sql := range []string{"INSERT INTO kept SELECT 1", "DROP TABLE kept"} {
		_, err := conn.Query(source.QueryContext(t.Context(), request()), sql)
		require.ErrorContains(t, err, "readonly", sql)
	}
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM kept").Scan(&n))
	require.Zero(t, n)
}
