package store

import (
	"io"
	"net/url"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"
)

// What went wrong is still there to be asked for; what is said names the host and nothing that a person should not read.
func TestErrorsOfTheTransportArePlain(t *testing.T) {
	t.Parallel()
	cause := &url.Error{Op: "Post", URL: "http://default:secret@127.0.0.1:8123/path?database=daybreak&insert_deduplication_token=x%2F1", Err: io.EOF}
	err := plain(cause)
	require.EqualError(t, err, `Post "http://127.0.0.1:8123": EOF`)
	require.ErrorIs(t, err, io.EOF)
	other := &clickhouse.Exception{Code: 60, Message: `no table "x"`}
	require.Equal(t, error(other), plain(other), "an answer of the server is left as it is")
	require.NoError(t, plain(nil))
}

// The real transport, to a port where nobody listens.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Options{Conn: &clickhouse.Options{
		Protocol: clickhouse.HTTP, Addr: []string{"127.0.0.1:1"}, Auth: clickhouse.Auth{Database: "daybreak", Username: "somebody", Password: "secret"},
	}})
	require.ErrorContains(t, err, `"http://127.0.0.1:1"`)
	require.NotContains(t, err.Error(), "somebody")
	require.NotContains(t, err.Error(), "?")
}
