package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// All ways of reading count and total the same, on books small enough to be added up by hand: a change of any of them
// that reads something else shows here, not first at ten million rows.
func TestContestantsAgree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, writeBooks(dir, 400))
	want, total, err := readPeer(filepath.Join(dir, "plain.csv"))
	require.NoError(t, err)
	require.Equal(t, uint64(400), want)
	for _, c := range contestants[:3] {
		rows, sum, err := readSource(t.Context(), c.as, filepath.Join(dir, c.file))
		require.NoError(t, err, c.name)
		require.Equal(t, want, rows, c.name)
		require.Equal(t, total, sum, c.name)
	}
}

// A bill that lost one of its rows is not read: its trailer says so.
func TestShortBillIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, writeBooks(dir, 40))
	file := filepath.Join(dir, "bill.csv")
	content, err := os.ReadFile(file) //nolint:gosec // made by this test
	require.NoError(t, err)
	first := len(billHeader) + 2
	second := first + indexLine(content[first:])
	require.NoError(t, os.WriteFile(file, append(content[:first:first], content[second:]...), 0o600))
	_, _, err = readSource(t.Context(), "bill", file)
	require.ErrorContains(t, err, "总交易单数")
}

func indexLine(b []byte) int {
	for i, c := range b {
		if c == '\n' {
			return i + 1
		}
	}
	return len(b)
}
