package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/engine"
)

// backedUp is every stream in the order in which a backup takes them: the control bucket first, so that the streams know
// of everything that the bucket knows of, and not the other way round.
var backedUp = []string{"KV_" + controlBucket, bus.StreamDays, bus.StreamDiffs, bus.StreamAudit, bus.StreamDead}

// snapshot is what `nats stream backup` writes of one stream.
type snapshot struct {
	stream string
	about  []byte
	chunks [][]byte
}

// takeSnapshot asks the server for a stream as it is, while others write to it.
func takeSnapshot(t *testing.T, nc *nats.Conn, stream string) snapshot {
	t.Helper()
	chunks, err := nc.SubscribeSync(nats.NewInbox())
	require.NoError(t, err)
	defer func() { _ = chunks.Unsubscribe() }()
	answer, err := nc.Request("$JS.API.STREAM.SNAPSHOT."+stream, fmt.Appendf(nil, `{"deliver_subject":%q,"chunk_size":65536}`, chunks.Subject), 10*time.Second)
	require.NoError(t, err)
	s := snapshot{stream: stream}
	var about struct {
		Config json.RawMessage `json:"config"`
		State  json.RawMessage `json:"state"`
	}
	require.NoError(t, json.Unmarshal(answer.Data, &about))
	require.NotEmpty(t, about.Config, string(answer.Data))
	s.about = fmt.Appendf(nil, `{"config":%s,"state":%s}`, about.Config, about.State)
	for {
		m, err := chunks.NextMsg(10 * time.Second)
		require.NoError(t, err)
		if len(m.Data) == 0 {
			return s
		}
		s.chunks = append(s.chunks, m.Data)
		if m.Reply != "" {
			require.NoError(t, m.Respond(nil))
		}
	}
}

// restore is `nats stream restore`.
func (s snapshot) restore(t *testing.T, nc *nats.Conn) {
	t.Helper()
	answer, err := nc.Request("$JS.API.STREAM.RESTORE."+s.stream, s.about, 10*time.Second)
	require.NoError(t, err)
	var to struct {
		Deliver string          `json:"deliver_subject"`
		Error   json.RawMessage `json:"error"`
	}
	require.NoError(t, json.Unmarshal(answer.Data, &to))
	require.Empty(t, string(to.Error))
	for _, chunk := range s.chunks {
		_, err := nc.Request(to.Deliver, chunk, 10*time.Second)
		require.NoError(t, err)
	}
	answer, err = nc.Request(to.Deliver, nil, 10*time.Second)
	require.NoError(t, err)
	require.NotContains(t, string(answer.Data), `"error"`)
}

// Streams are backed up one by one while services work; later all of them and the tables of that time's end are brought
// back on new servers. What was committed between the snapshots is not computed again.
func (h history) streamsBackedUpWhileServicesRan(t *testing.T) {
	t.Parallel()
	i := h.after(t, "current", "current")
	stop := i.background("up")
	url, err := os.ReadFile(filepath.Join(filepath.Dir(i.book.Config), "data", "nats.url"))
	require.NoError(t, err)
	nc, err := nats.Connect(strings.TrimSpace(string(url)))
	require.NoError(t, err)
	var taken []snapshot
	for n, stream := range backedUp {
		taken = append(taken, takeSnapshot(t, nc, stream))
		i.fine("replay", replayed, i.book.First.Add(n%3).String(), "--wait", "--timeout", "40s")
	}
	nc.Close()
	require.Equal(t, exitFine, stop())
	now := i.look()

	data := filepath.Join(filepath.Dir(i.book.Config), "data", "nats")
	require.NoError(t, os.RemoveAll(data))
	server, err := engine.StartNATS(t.Context(), engine.NATSOptions{Dir: data, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	nc, err = server.Connect()
	require.NoError(t, err)
	for _, s := range taken {
		s.restore(t, nc)
	}
	nc.Close()
	server.Close()
	i.with(func(d *desk) {
		done, code := d.rebuild(false)
		require.Equal(t, exitFine, code)
		require.GreaterOrEqual(t, done["watermark restored"], 3, done) // and days to which a pool was handed on
		require.LessOrEqual(t, done["events asked for"], done["watermark restored"], done)
		require.Zero(t, done["result asked for"], done)
		d.once()
		s := d.requireWhole(now)
		for id, b := range s.batches { // a replay that was in the backup of its stream and not answered in that of the bucket
			require.LessOrEqual(t, b.Version, now.batches[id].Version+1, id)
		}
	})
}
