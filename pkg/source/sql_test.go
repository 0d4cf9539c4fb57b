package source

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyOneSelect(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"SELECT 1", " select 1 ; ", "WITH a AS (SELECT 1) SELECT * FROM a", "(SELECT 1) UNION ALL (SELECT 2)",
		"-- DROP TABLE x;\n/* a /* nested */ ; */ SELECT ';', \"a;b\", `;`, 'it''s;', '\\';' # ; end",
		"SELECT $$;DROP$$, $a$ ; $$ ; $a$", "SELECT format('{}', a), x.format FROM t", "SELECT {date:Date}, format AS f, 1 AS into", "SELECT a FROM t ORDER BY a, format DESC",
		"SELECT a FROM t WHERE format IN (1)", "SELECT t.format AS a",
	} {
		require.NoError(t, checkSelect(good), good)
	}
	for bad, want := range map[string]string{
		"":                                    "there is no statement: write one SELECT",
		" -- SELECT 1":                        "there is no statement: write one SELECT",
		"INSERT INTO a SELECT 1":              "the statement begins with INSERT: only SELECT, or WITH … SELECT, may be run",
		"alter table x drop column y":         "the statement begins with ALTER: only SELECT, or WITH … SELECT, may be run",
		"SELECT 1; DROP TABLE x":              "there is more than one statement: write one SELECT",
		"SELECT 1 /* */ ; -- \n SELECT 2":     "there is more than one statement: write one SELECT",
		"SELECT 1 INTO  OUTFILE 'x'":          "INTO OUTFILE may not be used: the rows are read by the program",
		"SELECT 1 FORMAT JSON":                "FORMAT may not be used: the rows are read in the program's own format",
		"SELECT 'a":                           "a quote ' is not closed",
		"SELECT 1 /* a":                       "a comment is not closed",
		"SELECT $a$ x":                        "a $heredoc$ is not closed",
		"'SELECT 1'":                          "the statement begins with ': only SELECT, or WITH … SELECT, may be run",
		"EXPLAIN SELECT 1":                    "the statement begins with EXPLAIN: only SELECT, or WITH … SELECT, may be run",
		"SELECT 1 SETTINGS a = 1 FORMAT Null": "FORMAT may not be used: the rows are read in the program's own format",
	} {
		require.EqualError(t, checkSelect(bad), want, bad)
	}
}
