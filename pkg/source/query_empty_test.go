package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/source"
)

// A day without payments is an answer without rows: an empty snapshot. What is wrong with the query is told all the same.
func TestQueryWithoutRows(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	entries, seal, err := ask(t, conn, "SELECT '0070' AS key, toDecimal64('1.5', 2) AS amount WHERE {date:Date} = toDate('1999-01-01'); ", source.Spec{Columns: columns()})
	require.NoError(t, err)
	require.Empty(t, entries)
	require.Zero(t, seal.Totals.Count())
	require.Len(t, seal.Sources, 1)

	_, _, err = ask(t, conn, "SELECT '0070' AS key WHERE {date:Date} = toDate('1999-01-01') -- and no amount", source.Spec{Columns: columns()})
	require.ErrorIs(t, err, source.ErrInput)
	require.ErrorContains(t, err, "amount")

	_, _, err = ask(t, conn, "SELECT '0070' AS key, 1.5 AS amount WHERE {date:Date} = toDate('1999-01-01')", source.Spec{Columns: columns()})
	require.ErrorContains(t, err, "binary float")
}
