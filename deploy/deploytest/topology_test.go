package deploytest

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine"
	"daybreak/pkg/engine/enginetest"
)

// The compose project without containers: three servers from the shipped file, joined over TLS, and the shipped
// daybreak.yaml for two tickers, three recons and two auditors, each with the certificate of its kind. Every stream has
// three copies, every day becomes DONE, and the loss of a server while people ask for replays is not noticed.
func TestTopology(t *testing.T) {
	w := newWorld(t, 3)
	ch, err := engine.StartClickHouse(t.Context(), engine.CHOptions{
		Dir: w.data, LibPath: enginetest.LibPath(), Progress: os.Stderr, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer ch.Close()
	w.configure(t, 3, ch)
	fine(t, w.args("admin", "init", "--downstream", "ledger-app")...)

	admin, err := jetstream.New(w.connect(t, "admin").Conn)
	require.NoError(t, err)
	for _, name := range []string{"DAYS", "DIFFS", "AUDIT", "DEAD", "KV_daybreak"} {
		s, err := admin.Stream(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, 3, s.CachedInfo().Config.Replicas, name)
		require.Len(t, s.CachedInfo().Cluster.Replicas, 2, name)
	}

	var logs []*output
	for _, name := range []string{"ticker", "ticker", "recon", "recon", "recon", "auditor", "auditor"} {
		log, _ := service(t, w.args(name, name, "--now", w.now())...)
		logs = append(logs, log)
	}
	marks := w.marks(t)
	w.awaitDone(t, marks, 1)
	for _, log := range logs {
		var addr string
		require.Eventually(t, func() bool { addr = listening(log.String()); return addr != "" }, time.Minute, 20*time.Millisecond)
		awaitReady(t, addr)
	}

	w.servers[0].Shutdown()
	w.servers[0].WaitForShutdown()
	for _, job := range w.book.Jobs {
		fine(t, w.args("operator", "replay", job, w.book.First.String()+".."+w.book.Last.String(), "--reason", "a server is lost", "--wait", "--now", w.now())...)
	}
	fine(t, w.args("auditor", "audit", "--now", w.now())...)
	for _, log := range logs {
		require.NotContains(t, strings.ToLower(log.String()), "permissions violation")
	}
}
