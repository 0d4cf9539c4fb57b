package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine"
	"daybreak/pkg/engine/enginetest"
)

func stream(t *testing.T, nc *nats.Conn) (jetstream.Stream, jetstream.JetStream) {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	s, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	require.NoError(t, err)
	return s, js
}

func TestNATSKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", "nats")
	opt := engine.NATSOptions{Dir: dir, Logger: slog.New(slog.DiscardHandler)}
	for round := range uint64(3) {
		n, err := engine.StartNATS(t.Context(), opt)
		require.NoError(t, err)
		nc, err := n.Connect()
		require.NoError(t, err)
		s, js := stream(t, nc)
		info, err := s.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, round, info.State.Msgs)
		_, err = js.Publish(t.Context(), "s.x", []byte("kept"))
		require.NoError(t, err)
		nc.Close()
		n.Close()
		n.Close()
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
}

func TestOtherProgramsJoinNATSWithTheCredentialOnly(t *testing.T) {
	t.Parallel()
	n := enginetest.NATS(t)
	require.NotContains(t, n.URL(), n.Password())
	_, err := nats.Connect(n.URL())
	require.ErrorIs(t, err, nats.ErrAuthorization)
	nc, err := nats.Connect(n.ConnectURL())
	require.NoError(t, err)
	defer nc.Close()
	_, js := stream(t, nc)
	_, err = js.Publish(t.Context(), "s.y", nil)
	require.NoError(t, err)
}

func TestNATSStartsWithoutAWarning(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	n, err := engine.StartNATS(t.Context(), engine.NATSOptions{
		Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	require.NoError(t, err)
	n.Close()
	require.Empty(t, said.String())
}

func TestASecondNATSOnTheFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opt := engine.NATSOptions{Dir: dir, Logger: slog.New(slog.DiscardHandler)}
	n, err := engine.StartNATS(context.Background(), opt)
	require.NoError(t, err)
	defer n.Close()
	_, err = engine.StartNATS(context.Background(), opt)
	require.ErrorIs(t, err, engine.ErrLocked)
	require.ErrorContains(t, err, "lock")
	nc, err := n.Connect(nats.Timeout(5 * time.Second))
	require.NoError(t, err, "the refused one must not have disturbed the first")
	nc.Close()
}
