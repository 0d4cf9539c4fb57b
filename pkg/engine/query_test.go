package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
)

// code is the ClickHouse error code of err, or 0.
func code(err error) int {
	if ex, ok := errors.AsType[*clickhouse.Exception](err); ok {
		return int(ex.Code)
	}
	return 0
}

func TestSettingsHoldForOneStatement(t *testing.T) {
	t.Parallel()
	opt := enginetest.ClickHouse(t)
	opt.MaxOpenConns = 1
	conn, ctx := openWith(t, opt)
	threads := func(ctx context.Context) (n uint64) {
		require.NoError(t, conn.QueryRow(ctx, "SELECT toUInt64(getSetting('max_threads'))").Scan(&n))
		return n
	}
	before := threads(ctx)
	require.EqualValues(t, 7, threads(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_threads": 7}))))
	require.Equal(t, before, threads(ctx))

	require.NoError(t, conn.Exec(ctx, "SET max_threads = 9"))
	require.NoError(t, conn.Exec(ctx, "USE system"))
	require.Equal(t, before, threads(ctx), "a SET must not reach the next request")
	var db, comment string
	quoted := clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"log_comment": `it's \ a "comment"`}))
	require.NoError(t, conn.QueryRow(quoted, "SELECT currentDatabase(), getSetting('log_comment')").Scan(&db, &comment))
	require.Equal(t, opt.Auth.Database, db)
	require.True(t, strings.HasSuffix(comment, `it's \ a "comment"`), comment)

	err := conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"no_such_setting": 1})), "SELECT 1")
	require.Equal(t, 115, code(err), err)
}

func TestErrorsCarryTheServersCode(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	limit := func(s clickhouse.Settings) context.Context {
		return clickhouse.Context(ctx, clickhouse.WithSettings(s))
	}
	for _, c := range []struct {
		ctx  context.Context
		sql  string
		code int
	}{
		{ctx, "SELECT * FROM nowhere", 60},
		{ctx, "SELECT FROM WHERE", 62},
		{ctx, "SELECT no_such_column", 47},
		{ctx, "SELECT toUInt8('x')", 6},
		{ctx, "INSERT INTO nowhere VALUES (1)", 60},
		{ctx, "INSERT INTO nowhere SELECT 1", 60},
		{ctx, "", 62},
		// clickhouse-go replaces this setting by the context's deadline, so it is a clause here.
		{ctx, "SELECT count() FROM numbers(1e13) WHERE NOT ignore(sipHash64(number)) SETTINGS max_execution_time = 1", 159},
		{limit(clickhouse.Settings{"max_memory_usage": 10_000_000}), "SELECT length(groupArray(number)) FROM numbers(1e8)", 241},
	} {
		err := conn.Exec(c.ctx, c.sql)
		require.Equal(t, c.code, code(err), "%s: %v", c.sql, err)
	}
	opt := enginetest.ClickHouse(t)
	opt.Auth.Database = "no_such_database"
	lost, _ := openWith(t, opt)
	require.Equal(t, 81, code(lost.Exec(ctx, "SELECT 1")))
	opt.Auth.Password = "wrong"
	stranger, _ := openWith(t, opt)
	require.Equal(t, 516, code(stranger.Ping(ctx)))
}

func TestAnErrorAfterTheFirstBlockIsNotLost(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	rows, err := conn.Query(ctx, "SELECT throwIf(number = 3000000, 'late') FROM numbers(10000000)")
	require.NoError(t, err)
	for rows.Next() {
	}
	require.Equal(t, 395, code(rows.Err()), rows.Err())
}

func TestASecondStatementIsRefusedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	require.NoError(t, conn.Exec(ctx, "CREATE TABLE t (s String) ENGINE = MergeTree ORDER BY s"))
	for _, sql := range []string{
		"SELECT 1; DROP TABLE t",
		"SELECT ';' ; DROP TABLE t",
		"INSERT INTO t VALUES ('a'); DROP TABLE t",
		"INSERT INTO t VALUES ('a;'); SELECT 1",
		"INSERT INTO t SELECT 'a'; DROP TABLE t",
		"INSERT INTO t; DROP TABLE t",
		"SELECT 1 /* ; */; DROP TABLE t -- ;",
		"SELECT ‘ ' ’; DROP TABLE t --'",
		"SELECT $x$ ; $x$; DROP TABLE t",
		"; DROP TABLE t",
		"SELECT 1 INTO OUTFILE '/tmp/daybreak-must-not-exist'",
	} {
		err := conn.Exec(ctx, sql)
		require.Contains(t, []int{62, 48}, code(err), "%s: %v", sql, err)
	}
	for _, sql := range []string{"SELECT 1;", "SELECT 1 ; -- ; done", "SELECT ';', \"dummy\", `dummy` FROM system.one", "SELECT $x$;$x$", "SELECT ‘;’"} {
		require.NoError(t, conn.Exec(ctx, sql), sql)
	}
	var n uint64
	require.NoError(t, conn.QueryRow(ctx, "SELECT count() FROM t").Scan(&n))
	require.Zero(t, n)
}

func TestSixteenClientsAtOnce(t *testing.T) {
	t.Parallel()
	opt := enginetest.ClickHouse(t)
	conn, ctx := openWith(t, opt)
	require.NoError(t, conn.Exec(ctx, "CREATE TABLE t (c UInt64, n UInt64) ENGINE = MergeTree ORDER BY (c, n)"))
	const clients, rounds, rows = 16, 5, 200
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	for c := range uint64(clients) {
		wg.Go(func() { errs <- writeAndCount(ctx, opt, c, rounds, rows) })
	}
	wg.Wait()
	for range clients {
		require.NoError(t, <-errs)
	}
	var n uint64
	require.NoError(t, conn.QueryRow(ctx, "SELECT count() FROM t").Scan(&n))
	require.EqualValues(t, clients*rounds*rows, n)
}

func writeAndCount(ctx context.Context, opt *clickhouse.Options, c uint64, rounds, rows int) error {
	own := *opt
	conn, err := clickhouse.Open(&own)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for r := range rounds {
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
		if err != nil {
			return err
		}
		for i := range rows {
			if err := batch.Append(c, uint64(r*rows+i)); err != nil {
				return err
			}
		}
		if err := batch.Send(); err != nil {
			return err
		}
		var n uint64
		if err := conn.QueryRow(ctx, "SELECT count() FROM t WHERE c = {c:UInt64}", clickhouse.Named("c", fmt.Sprint(c))).Scan(&n); err != nil {
			return err
		}
		if int(n) != (r+1)*rows {
			return fmt.Errorf("client %d sees %d rows after round %d", c, n, r)
		}
	}
	return nil
}

func TestACancelledQueryIsKilled(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	for _, sql := range []string{
		"SELECT count() FROM numbers(1e13) WHERE NOT ignore(sipHash64(number), '%s')",
		"SELECT sipHash64(number), '%s' FROM numbers(1e13) WHERE sipHash64(number) = 1",
		"INSERT INTO FUNCTION null('n UInt64, s String') SELECT sipHash64(number), '%s' FROM numbers(1e13)",
	} {
		mark := fmt.Sprintf("cancel-%d", time.Now().UnixNano())
		cancelCtx, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- conn.Exec(cancelCtx, fmt.Sprintf(sql, mark)) }()
		running := func() (n uint64) {
			require.NoError(t, conn.QueryRow(ctx,
				"SELECT count() FROM system.processes WHERE query LIKE {q:String} AND query NOT LIKE '%system.processes%'",
				clickhouse.Named("q", "%"+mark+"%")).Scan(&n))
			return n
		}
		require.Eventually(t, func() bool { return running() == 1 }, 20*time.Second, 5*time.Millisecond)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Eventually(t, func() bool { return running() == 0 }, 20*time.Second, 5*time.Millisecond)
	}
}

func TestABrokenOffBodyInsertsNothing(t *testing.T) {
	t.Parallel()
	opt := enginetest.ClickHouse(t)
	conn, ctx := openWith(t, opt)
	require.NoError(t, conn.Exec(ctx, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n"))
	reader, writer := io.Pipe()
	req := rawRequest(t, opt, "INSERT INTO t FORMAT TSV", reader)
	go func() {
		_, _ = io.WriteString(writer, strings.Repeat("1\n", 100_000))
		_ = writer.CloseWithError(errors.New("the sender breaks"))
	}()
	_, err := http.DefaultClient.Do(req)
	require.ErrorContains(t, err, "the sender breaks")

	res, err := http.DefaultClient.Do(rawRequest(t, opt, "INSERT INTO t FORMAT Native", http.NoBody))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "108", res.Header.Get("X-ClickHouse-Exception-Code"), "an empty body is an error, not an empty success")

	var n uint64
	require.NoError(t, conn.QueryRow(ctx, "SELECT count() FROM t").Scan(&n))
	require.Zero(t, n)
	http.DefaultClient.CloseIdleConnections()
}

func rawRequest(t *testing.T, opt *clickhouse.Options, sql string, body io.Reader) *http.Request {
	t.Helper()
	u := url.URL{Scheme: "http", Host: opt.Addr[0], Path: "/", RawQuery: url.Values{
		"query": {sql}, "database": {opt.Auth.Database},
	}.Encode()}
	req, err := http.NewRequest(http.MethodPost, u.String(), body)
	require.NoError(t, err)
	req.Header.Set("X-ClickHouse-User", opt.Auth.Username)
	req.Header.Set("X-ClickHouse-Key", opt.Auth.Password)
	return req
}

func TestABigResultStreams(t *testing.T) {
	t.Parallel()
	conn, ctx := open(t)
	rows, err := conn.Query(ctx, "SELECT number, toString(number) FROM numbers(1000000)")
	require.NoError(t, err)
	var n uint64
	for rows.Next() {
		n++
	}
	require.NoError(t, rows.Err())
	require.EqualValues(t, 1_000_000, n)
}

func TestPingNeedsNoPassword(t *testing.T) {
	t.Parallel()
	ch := enginetest.Engine(t)
	res, err := http.Get("http://" + ch.Addr() + "/ping")
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "Ok.\n", string(body))
	http.DefaultClient.CloseIdleConnections()
}
