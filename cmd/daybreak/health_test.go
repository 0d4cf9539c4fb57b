package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHealthcheckAsksTheService(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			http.Error(w, "nats: away", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "http://")
	got := command(t.Context(), nil, "healthcheck", "--listen", addr)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "nats: away")
	require.Zero(t, command(t.Context(), nil, "healthcheck", "--live", "--listen", addr).code)
	_, port, _ := strings.Cut(addr, ":")
	require.Zero(t, command(t.Context(), nil, "healthcheck", "--live", "--listen", "0.0.0.0:"+port).code, "every interface is asked on the loopback")
	server.Close()
	require.Equal(t, exitFailed, command(t.Context(), nil, "healthcheck", "--listen", addr).code)
	require.Equal(t, exitUsage, command(t.Context(), nil, "healthcheck", "--listen", "nonsense").code)
}

func TestInitIsForServersOnly(t *testing.T) {
	t.Parallel()
	book := newBook(t)
	got := command(t.Context(), nil, "init", "-f", book.Config)
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "nothing is to be done")
	require.Equal(t, exitUsage, command(t.Context(), nil, "init", "-f", book.Config, "--downstream", "a.b").code)
}
