package deploytest

import (
	"log/slog"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/kv"
	"daybreak/services/recon"
)

// layOutAs does what daybreak init does, with the rights of the given connection.
func layOutAs(t *testing.T, js jetstream.JetStream, replicas int) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	b, err := bus.Open(t.Context(), js.Conn(), bus.Options{Replicas: replicas, Logger: quiet})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, kv.Options{Bucket: "daybreak", Replicas: replicas, Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, store.Close(t.Context()))
	for _, o := range []bus.ConsumerOptions{
		{Stream: bus.StreamDays, Durable: recon.Durable, Filter: []string{bus.AllDays}},
		{Stream: bus.StreamDiffs, Durable: "ledger-app", Filter: []string{bus.AllDiffs, bus.AllBatches}},
	} {
		require.NoError(t, b.Consumer(o, nil).Ensure(t.Context()))
	}
}

// stream counts the messages of every stream of an account, asked of the server itself and not of a client.
func stream(t *testing.T, s *server.Server, account string) map[string]uint64 {
	t.Helper()
	jsz, err := s.Jsz(&server.JSzOptions{Account: account, Streams: true})
	require.NoError(t, err)
	out := map[string]uint64{}
	for _, a := range jsz.AccountDetails {
		for _, s := range a.Streams {
			out[s.Name] = s.State.Msgs
		}
	}
	return out
}
