package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every target is found wherever it stands, and nothing else is taken for one.
func TestTargets(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go":          "package a\nimport \"testing\"\nfunc FuzzOne(f *testing.F) {}\nfunc FuzzHelper(f *testing.F, n int) {}\nfunc TestFuzz(t *testing.T) {}\n",
		"a/b/b_test.go":        "package b\nimport \"testing\"\ntype x struct{}\nfunc (x) FuzzMethod(f *testing.F) {}\nfunc FuzzTwo(f *testing.F) {}\n",
		"a/a.go":               "package a\nimport \"testing\"\nfunc FuzzOutside(f *testing.F) {}\n",
		"a/testdata/c_test.go": "package c\nimport \"testing\"\nfunc FuzzData(f *testing.F) {}\n",
		"tools/go.mod":         "module tools\n",
		"tools/t_test.go":      "package t\nimport \"testing\"\nfunc FuzzTool(f *testing.F) {}\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	found, err := targets(root)
	require.NoError(t, err)
	require.Equal(t, []target{{"a", "FuzzOne"}, {"a/b", "FuzzTwo"}}, found)
}

// The tree itself has targets; how many is not fixed.
func TestTargetsOfTheTree(t *testing.T) {
	t.Parallel()
	root, err := moduleRoot()
	require.NoError(t, err)
	found, err := targets(root)
	require.NoError(t, err)
	require.Contains(t, found, target{"pkg/source/text", "FuzzCSV"})
}
