package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var fakeLibrary = bytes.Repeat([]byte("engine "), 10_000)

func fakePlatform() *platform {
	sum := sha256.Sum256(fakeLibrary)
	return &platform{pkg: "@fake/lib", sha256: hex.EncodeToString(sum[:]), bytes: int64(len(fakeLibrary))}
}

// fakeFetch writes content and counts its calls in a file, so that other
// processes' calls count too.
func fakeFetch(counter string, content []byte, failure error) fetcher {
	return func(_ context.Context, dir string, _ platform, progress io.Writer) (string, error) {
		f, err := os.OpenFile(counter, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }()
		_, _ = fmt.Fprintln(f, os.Getpid())
		_, _ = fmt.Fprintln(progress, "fetching")
		lib := filepath.Join(dir, libFile)
		if err := os.WriteFile(lib, content, 0o600); err != nil {
			return "", err
		}
		return lib, failure
	}
}

func calls(t *testing.T, counter string) int {
	t.Helper()
	b, err := os.ReadFile(counter)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	return bytes.Count(b, []byte("\n"))
}

func TestTheLibraryIsFetchedOnceAndRefetchedWhenDamaged(t *testing.T) {
	t.Parallel()
	root, counter := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	opt := LibOptions{CacheDir: root, fetch: fakeFetch(counter, fakeLibrary, nil), plat: fakePlatform()}
	path, err := EnsureLib(t.Context(), opt)
	require.NoError(t, err)
	ensure := func(want int, why string) {
		t.Helper()
		again, err := EnsureLib(t.Context(), opt)
		require.NoError(t, err)
		require.Equal(t, path, again)
		b, err := os.ReadFile(again)
		require.NoError(t, err)
		require.Equal(t, fakeLibrary, b)
		require.Equal(t, want, calls(t, counter), why)
	}
	ensure(1, "cached")

	stampFile := filepath.Join(filepath.Dir(path), "stamp.json")
	require.NoError(t, os.Remove(stampFile))
	ensure(1, "without a stamp the hash decides")
	require.FileExists(t, stampFile)

	require.NoError(t, os.Truncate(path, 10))
	ensure(2, "another size")

	require.NoError(t, os.WriteFile(stampFile, []byte("{"), 0o600))
	ensure(3, "a torn stamp")

	damaged := bytes.Clone(fakeLibrary)
	damaged[5] ^= 1
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	store, err := openStore(opt)
	require.NoError(t, err)
	require.True(t, store.recheck(), "damage inside is found by the whole hash")
	ensure(4, "damage found by recheck")
	require.False(t, store.recheck())
}

func TestABrokenOffFetchLeavesNothing(t *testing.T) {
	t.Parallel()
	root, counter := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	opt := LibOptions{CacheDir: root, plat: fakePlatform()}
	opt.fetch = fakeFetch(counter, fakeLibrary[:100], context.Canceled)
	_, err := EnsureLib(t.Context(), opt)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ErrLibrary)

	opt.fetch = fakeFetch(counter, []byte("something else"), nil)
	_, err = EnsureLib(t.Context(), opt)
	require.ErrorContains(t, err, "sha256", "a library with another hash is not used")

	left, err := filepath.Glob(filepath.Join(root, "*"))
	require.NoError(t, err)
	require.Len(t, left, 1, "only the lock file: %v", left)

	// A killed fetch can not clean up; the next one does.
	store, err := openStore(opt)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(store.dir+tmpMark+"123", 0o700))
	opt.fetch = fakeFetch(counter, fakeLibrary, nil)
	_, err = EnsureLib(t.Context(), opt)
	require.NoError(t, err)
	require.NoDirExists(t, store.dir+tmpMark+"123")
}

// fetchEnv makes the test binary one of several processes that want the library.
const fetchEnv = "DAYBREAK_ENGINE_TEST_FETCH"

func TestHelperFetch(t *testing.T) {
	root := os.Getenv(fetchEnv)
	if root == "" {
		return // only the re-executed binary fetches
	}
	path, err := EnsureLib(t.Context(), LibOptions{
		CacheDir: root, Progress: os.Stderr, plat: fakePlatform(),
		fetch: fakeFetch(filepath.Join(root, "calls"), fakeLibrary, nil),
	})
	require.NoError(t, err)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, fakeLibrary, b)
}

func TestManyProcessesFetchOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const n = 3
	ended := make(chan error, n)
	for range n {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHelperFetch$")
		cmd.Env = append(cmd.Environ(), fetchEnv+"="+root)
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			ended <- err
		}()
	}
	for range n {
		require.NoError(t, <-ended)
	}
	require.Equal(t, 1, calls(t, filepath.Join(root, "calls")))
}

func TestWithoutNpmBothWaysAreNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := EnsureLib(t.Context(), LibOptions{CacheDir: t.TempDir()})
	require.ErrorIs(t, err, ErrLibrary)
	require.ErrorContains(t, err, "install Node.js with npm")
	require.ErrorContains(t, err, "CHDB_LIB_PATH=/path/libchdb.so")
}

func TestTheLockFileAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	b, err := lockFiles.ReadFile("libchdb/package-lock.json")
	require.NoError(t, err)
	require.NotContains(t, string(b), "://", "no address of a registry")
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	require.NoError(t, json.Unmarshal(b, &lock))
	for name, p := range platforms {
		entry := lock.Packages["node_modules/"+p.pkg]
		require.Equal(t, LibVersion, entry.Version, name)
		require.Equal(t, p.sha256 != "", entry.Integrity != "", "%s: both hashes or none", name)
	}
}
