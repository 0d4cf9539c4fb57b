package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"daybreak/pkg/engine/enginetest"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// Both find what was planted, on files small enough to be looked at.
func TestContestantsAgree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	planted, err := writeFiles(dir, 3000, 5)
	require.NoError(t, err)
	require.NotEmpty(t, planted)
	var out strings.Builder
	require.NoError(t, mapJoin(dir, &out))
	require.Equal(t, planted, strings.Split(strings.TrimSpace(out.String()), "\n"))
	p, err := newPipeline(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(p.close)
	found, peak, err := p.run(t.Context())
	require.NoError(t, err)
	require.Equal(t, planted, found)
	if _, err := os.Stat(filepath.Join("/proc", "self", "stat")); err == nil {
		require.Greater(t, peak, uint64(50<<20), "an engine was seen")
	}
}
