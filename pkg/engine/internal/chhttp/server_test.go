package chhttp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine"
	"daybreak/pkg/engine/internal/chdb"
	"daybreak/pkg/engine/internal/chhttp"
)

// brokenWriter dereferences nil, as a bug in a handler would.
type brokenWriter struct {
	*httptest.ResponseRecorder
	nothing *int
}

func (w *brokenWriter) Write(b []byte) (int, error) { return *w.nothing, nil }

func TestAPanicEndsTheRequestNotTheProcess(t *testing.T) {
	path, err := engine.EnsureLib(t.Context(), engine.LibOptions{Path: os.Getenv("CHDB_LIB_PATH"), Progress: os.Stderr})
	require.NoError(t, err)
	lib, err := chdb.Load(path)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	srv, err := chhttp.New(lib, chhttp.Options{
		Path: t.TempDir(), User: "u", Password: "p", Parallel: 1, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	request := func(sql string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(sql))
		r.SetBasicAuth("u", "p")
		return r
	}
	for range 3 { // more often than there are slots: none may be lost
		func() {
			defer func() { _ = recover() }() // the answer to the panic panics too
			srv.ServeHTTP(&brokenWriter{ResponseRecorder: httptest.NewRecorder()}, request("SELECT 1"))
		}()
	}
	ok := httptest.NewRecorder()
	srv.ServeHTTP(ok, request("SELECT 42"))
	require.Equal(t, "42\n", ok.Body.String())

	refused := httptest.NewRecorder()
	srv.ServeHTTP(refused, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("SELECT 1")))
	require.Equal(t, http.StatusUnauthorized, refused.Code)

	get := httptest.NewRequest(http.MethodGet, "/?query=CREATE+DATABASE+x", nil)
	get.SetBasicAuth("u", "p")
	readOnly := httptest.NewRecorder()
	srv.ServeHTTP(readOnly, get)
	require.Equal(t, "164", readOnly.Header().Get("X-ClickHouse-Exception-Code"))

	for _, name := range []string{"session_id", "compress", "decompress", "role"} {
		r := request("SELECT 1")
		r.URL.RawQuery = name + "=1"
		rec := httptest.NewRecorder()
		srv.ServeHTTP(rec, r)
		require.Equal(t, "48", rec.Header().Get("X-ClickHouse-Exception-Code"), name)
	}
	// A thread of the engine may outlast the engine's own wait on a busy machine; the process that owns it ends next.
	if err := srv.Close(); err != nil {
		t.Log(err)
	}
}
