package deploytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/store"
)

var databaseUsers = []string{"admin", "ticker", "recon", "auditor", "operator", "grafana"}

// statement is one row of the table of ClickHouse rights. Statements change nothing even when they are allowed.
type statement struct {
	what, sql string
	may       string
}

const nothing = " WHERE 0"

func insertInto(table string) string {
	return "INSERT INTO daybreak." + table + " SELECT * FROM daybreak." + table + nothing
}

// The users that may insert may read as well, so an INSERT … SELECT tries just the insert.
var statements = []statement{
	{"read the layout's version", "SELECT max(version) FROM daybreak.schema_version", "admin ticker recon auditor operator grafana"},
	{"read entries (the payments)", "SELECT count() FROM daybreak.entries_current", "admin recon auditor operator"},
	{"read diffs", "SELECT count() FROM daybreak.diffs_current", "admin recon auditor operator grafana"},
	{"read the carried pool", "SELECT count() FROM daybreak.carried_current", "admin recon auditor operator grafana"},
	{"read batches", "SELECT count() FROM daybreak.batches_current", "admin recon auditor operator grafana"},
	{"read reviews", "SELECT count() FROM daybreak.reviews_current", "admin recon auditor operator grafana"},
	{"read findings", "SELECT count() FROM daybreak.audits", "admin recon auditor operator grafana"},
	{"insert entries", insertInto("entries"), "recon"},
	{"insert diffs", insertInto("diffs"), "recon"},
	{"insert carried", insertInto("carried"), "recon"},
	{"commit (insert batches)", insertInto("batches"), "recon"},
	{"insert reviews", insertInto("reviews"), "auditor operator"},
	{"insert findings", insertInto("audits"), "auditor"},
	{"note a layout", insertInto("schema_version"), "admin"},
	{"sweep entries", "DELETE FROM daybreak.entries" + nothing, "recon"},
	{"sweep diffs", "DELETE FROM daybreak.diffs" + nothing, "recon"},
	{"sweep carried", "DELETE FROM daybreak.carried" + nothing, "recon"},
	{"delete commits", "DELETE FROM daybreak.batches" + nothing, ""},
	{"delete reviews", "DELETE FROM daybreak.reviews" + nothing, ""},
	{"delete findings", "DELETE FROM daybreak.audits" + nothing, ""},
	{"change rows", "ALTER TABLE daybreak.diffs UPDATE state = 'cleared'" + nothing, ""},
	{"change a commit", "ALTER TABLE daybreak.batches UPDATE open_diffs = 0" + nothing, ""},
	{"make a table", "CREATE TABLE IF NOT EXISTS daybreak.schema_version (version UInt32) ENGINE = MergeTree ORDER BY version", "admin"},
	{"change a table", "ALTER TABLE daybreak.diffs ADD COLUMN IF NOT EXISTS detail String", ""},
	{"empty a table", "TRUNCATE TABLE IF EXISTS daybreak.batches", ""},
	{"drop a table", "DROP TABLE IF EXISTS daybreak.reviews", ""},
	{"drop the database", "DROP DATABASE IF EXISTS daybreak", ""},
	{"make another database", "CREATE DATABASE IF NOT EXISTS mine", ""},
	{"make a user", "CREATE USER IF NOT EXISTS mine", ""},
	{"read a file of the server", "SELECT count() FROM file('/etc/hostname', 'LineAsString')", ""},
	{"read from the network", "SELECT count() FROM url('http://127.0.0.1:1/x', 'LineAsString')", ""},
	{"write to the network", "INSERT INTO FUNCTION url('http://127.0.0.1:1/x', 'LineAsString') SELECT 'x'" + nothing, ""},
	{"stop merges", "SYSTEM STOP MERGES daybreak.diffs", ""},
}

// codes that say no for want of rights, or of a right to change settings under readonly.
var refusals = []int32{497, 164}

// laidOut is a data folder whose tables the administrator has laid out.
func laidOut(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	ch := startAs(t, data, "admin")
	defer ch.Close()
	o := ch.Options()
	o.Auth.Database = "daybreak"
	s, err := store.Open(t.Context(), store.Options{Conn: o})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return data
}

// Every user of ClickHouse is tried with every statement, under the shipped grants, profile and quota.
func TestClickHouseRights(t *testing.T) {
	data := laidOut(t)
	allowed := map[string]map[string]bool{}
	for _, user := range databaseUsers {
		func() {
			ch := startAs(t, data, user)
			defer ch.Close()
			allowed[user] = map[string]bool{}
			query(t, ch, func(ctx context.Context, conn clickhouse.Conn) {
				for _, s := range statements {
					err := conn.Exec(ctx, s.sql)
					var ex *clickhouse.Exception
					refused := errors.As(err, &ex) && slices.Contains(refusals, ex.Code)
					require.True(t, err == nil || refused, "%s: %s: %v", user, s.sql, err)
					allowed[user][s.what] = err == nil
				}
			})
		}()
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| what | %s |\n|---|%s\n", strings.Join(databaseUsers, " | "), strings.Repeat(":-:|", len(databaseUsers)))
	for _, s := range statements {
		fmt.Fprintf(&table, "| %s |", s.what)
		for _, user := range databaseUsers {
			want := slices.Contains(strings.Fields(s.may), user)
			if got := allowed[user][s.what]; got != want {
				t.Errorf("%s: %s (%s): allowed is %t, and should be %t", user, s.what, s.sql, got, want)
			}
			mark := " "
			if allowed[user][s.what] {
				mark = "yes"
			}
			fmt.Fprintf(&table, " %s |", mark)
		}
		table.WriteString("\n")
	}
	t.Logf("rights as tried:\n%s", table.String())
	sameAsDoc(t, "rights", table.String())
}

// Grafana reads for a bounded time, which it may change within bounds, and cannot leave its cage.
func TestGrafanaIsBounded(t *testing.T) {
	ch := startAs(t, laidOut(t), "grafana")
	defer ch.Close()
	query(t, ch, func(ctx context.Context, conn clickhouse.Conn) {
		var value string
		require.NoError(t, conn.QueryRow(ctx, "SELECT toString(getSetting('max_execution_time'))").Scan(&value))
		require.Equal(t, "30", value)
		require.NoError(t, conn.Exec(ctx, "SELECT 1 SETTINGS max_execution_time = 45"))
		for _, set := range []string{"max_execution_time = 61", "readonly = 0"} {
			var ex *clickhouse.Exception
			require.ErrorAs(t, conn.Exec(ctx, "SELECT 1 SETTINGS "+set), &ex, set)
			require.Contains(t, []int32{164, 452}, ex.Code, "%s: %v", set, ex)
		}
	})
}

// The DDL for a cluster and the statements for reading across shards are at least such as the engine can read.
func TestClusterStatementsParse(t *testing.T) {
	t.Parallel()
	ddl, err := store.DDL("shard_1")
	require.NoError(t, err)
	text := mustRead(t, "clickhouse", "sharded", "all.sql")
	for s := range strings.SplitSeq(text, ";\n") {
		var lines []string
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		if s = strings.TrimSpace(strings.Join(lines, "")); s != "" {
			ddl = append(ddl, strings.TrimSuffix(s, ";"))
		}
	}
	require.Len(t, ddl, 15+7)
	ch := startAs(t, laidOut(t), "admin")
	defer ch.Close()
	query(t, ch, func(ctx context.Context, conn clickhouse.Conn) {
		for _, s := range ddl {
			require.NoError(t, conn.Exec(ctx, "EXPLAIN AST "+s), s)
		}
	})
}
