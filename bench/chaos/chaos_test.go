package main

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"daybreak/bench/accept/oracle"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/scenario"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == serverVerb {
		os.Exit(runServer(os.Args[2]))
	}
	enginetest.Main(m)
}

// A short run with the faults that any machine can have, and nothing is violated. All kinds, as root: go run ./bench/chaos.
func TestChaosSmall(t *testing.T) {
	o := options{seed: 3, length: 12 * time.Second, settle: 4 * time.Minute, days: 6, due: 3, entries: 15, keep: filepath.Join(t.TempDir(), "run")}
	few := []string{"service killed", "service paused", "server killed", "leader of a stream sent away", "answers of the engine lost", "connections to servers dropped"}
	o.without = slices.DeleteFunc(kinds(), func(k string) bool { return slices.Contains(few, k) })
	r, err := run(t.Context(), o)
	require.NoError(t, err)
	var out bytes.Buffer
	r.print(&out)
	t.Log(out.String())
	require.Empty(t, r.violations)
}

// A proxy that is cut, silent, or loses answers does so to its own service.
func TestDoor(t *testing.T) {
	t.Parallel()
	reached := 0
	behind := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		reached++
		assert.Equal(t, "secret", r.Header.Get("X-ClickHouse-Key"))
		assert.Empty(t, r.Header.Get("Authorization"))
	})
	d, err := newDoor(func() (access, error) { return access{Addr: behind, User: "u", Password: "secret"}, nil })
	require.NoError(t, err)
	t.Cleanup(d.close)
	ask := func() error {
		r, err := (&http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Get(d.url())
		if err == nil {
			_ = r.Body.Close()
		}
		return err
	}
	require.NoError(t, ask())
	d.refuse.Store(true)
	require.Error(t, ask())
	require.Equal(t, 1, reached, "nothing was carried on")
	d.refuse.Store(false)
	d.lose.Store(true)
	require.Error(t, ask())
	require.Equal(t, 2, reached, "it was carried out")
	d.lose.Store(false)
	d.gate.close()
	answered := make(chan error, 1)
	go func() { answered <- ask() }()
	select {
	case err := <-answered:
		t.Fatalf("a silent proxy answered: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	d.gate.open()
	require.NoError(t, <-answered)
}

func newBackend(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// What is cut or changed is whole again after mending, in every charset and container of the book.
func TestFilesAreChangedAndMended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := scenario.Write(dir, scenario.Options{Seed: 1, First: first, Days: 2, Entries: 12})
	require.NoError(t, err)
	rec, err := newRecords(t.TempDir())
	require.NoError(t, err)
	b, err := openBooks(dir, first, 2, rec)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, path := range sorted(b.sheet) {
		before, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		require.NoError(t, b.cut(path))
		part, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		_, err = rowsOf(b.form(path), part)
		require.Error(t, err, "%s: a cut file can be told", path)
		require.NoError(t, b.mend(path))
		require.NoError(t, b.correct(rng, path))
		after, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		require.NotEqual(t, before, after, path)
		require.NoError(t, b.hide(path))
		require.NoFileExists(t, filepath.Join(dir, path))
	}
	require.NoError(t, b.mendAll())
	for _, j := range oracle.Jobs() {
		_, err := j.Reconcile(dir, first.UTC(), 2)
		require.NoError(t, err)
	}
	require.NoError(t, rec.close())
}
