package chhttp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseFindsWhereDataBegin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sql, keyword, text, format, inline string }{
		{"SELECT 1", "SELECT", "SELECT 1", "", ""},
		{" -- x\n/* y */ select 1", "SELECT", " -- x\n/* y */ select 1", "", ""},
		{"(SELECT 1)", "(", "(SELECT 1)", "", ""},
		{"INSERT INTO t FORMAT Native", "INSERT", "INSERT INTO t ", "Native", ""},
		{"INSERT INTO t FORMAT Native\n", "INSERT", "INSERT INTO t ", "Native", ""},
		{"insert into t(a,b) format CSV\n1,2\n\n3", "INSERT", "insert into t(a,b) ", "CSV", "1,2\n\n3"},
		{"INSERT INTO t FORMAT CSV\n\n1", "INSERT", "INSERT INTO t ", "CSV", "\n1"},
		{"INSERT INTO t VALUES (1, ';'), (2, 'b');", "INSERT", "INSERT INTO t ", "Values", " (1, ';'), (2, 'b')"},
		{"INSERT INTO t", "INSERT", "INSERT INTO t", "Values", ""},
		{"INSERT INTO t;", "INSERT", "INSERT INTO t", "Values", ""},
		{"INSERT INTO values VALUES (1)", "INSERT", "INSERT INTO values ", "Values", " (1)"},
		{"INSERT INTO db.format FORMAT TSV", "INSERT", "INSERT INTO db.format ", "TSV", ""},
		{"INSERT INTO TABLE format (values, format) FORMAT TSV", "INSERT", "INSERT INTO TABLE format (values, format) ", "TSV", ""},
		{"INSERT INTO `a FORMAT b` VALUES (1)", "INSERT", "INSERT INTO `a FORMAT b` ", "Values", " (1)"},
		{"INSERT INTO t SETTINGS async_insert = 0 VALUES (1)", "INSERT", "INSERT INTO t SETTINGS async_insert = 0 ", "Values", " (1)"},
		{"INSERT INTO FUNCTION file('x', 'CSV') VALUES (1)", "INSERT", "INSERT INTO FUNCTION file('x', 'CSV') ", "Values", " (1)"},
	} {
		st, err := parse(c.sql)
		require.NoError(t, err, c.sql)
		require.Equal(t, statement{keyword: c.keyword, text: c.text, insert: c.format != "", format: c.format, inline: c.inline}, st, c.sql)
	}
	for _, sql := range []string{
		"INSERT INTO t SELECT 1 FORMAT Null", "INSERT INTO t (SELECT 1)", "INSERT INTO t WITH 1 AS x SELECT x", "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
	} {
		st, err := parse(sql)
		require.NoError(t, err, sql)
		require.False(t, st.insert, sql)
		require.Equal(t, sql, st.text)
	}
}

// FuzzParse holds parse to what makes it safe: whatever the text, a statement
// with data keeps none of them in the text, and nothing is lost or invented.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"SELECT 1; SELECT 2", "INSERT INTO t VALUES ('a\\'b'); x", "INSERT INTO t FORMAT CSV\n\nDROP TABLE t", "$a$;$a$;", "‘;’;“;”", "/*", "'", "--",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		st, err := parse(sql)
		if err != nil {
			return
		}
		require.True(t, strings.HasPrefix(sql, st.text))
		require.Contains(t, sql, st.inline)
		if st.insert {
			again, err := parse(st.text)
			require.NoError(t, err)
			require.Empty(t, again.inline)
		}
	})
}
