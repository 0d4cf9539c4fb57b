package bus_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
)

// startCluster runs three servers in this process: a real R3.
func startCluster(t *testing.T) []*server.Server {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		require.NoError(t, l.Close())
		u, err := url.Parse(fmt.Sprintf("nats://127.0.0.1:%d", ports[len(ports)-1]))
		require.NoError(t, err)
		routes = append(routes, u)
	}
	var servers []*server.Server
	for i, port := range ports {
		opts := &server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(),
			NoSigs: true, NoLog: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 256 << 20,
			Cluster: server.ClusterOpts{Name: "bus", Host: "127.0.0.1", Port: port},
			Routes:  routes,
		}
		srv, err := server.NewServer(opts)
		require.NoError(t, err)
		srv.Start()
		servers = append(servers, srv)
		t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	}
	for _, srv := range servers {
		require.True(t, srv.ReadyForConnections(20*time.Second))
	}
	return servers
}

// stepdown makes the stream's leader resign, over and over.
func stepdown(ctx context.Context, b *bus.Bus, every time.Duration) (count int) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return count
		case <-tick.C:
			one, cancel := context.WithTimeout(ctx, time.Second)
			if _, err := b.Conn().RequestWithContext(one, "$JS.API.STREAM.LEADER.STEPDOWN."+bus.StreamDays, nil); err == nil {
				count++
			}
			cancel()
		}
	}
}

// Leaders resign while one by one and window by window are published: each there once.
func TestClusterStepdowns(t *testing.T) {
	t.Parallel()
	servers := startCluster(t)
	opts := bus.Options{Replicas: 3, Timeout: time.Second}
	b := open(t, connect(t, servers[0].ClientURL()), opts)
	other := open(t, connect(t, servers[1].ClientURL()), opts)

	ctx, cancel := context.WithCancel(t.Context())
	steps := make(chan int, 1)
	go func() { steps <- stepdown(ctx, other, 400*time.Millisecond) }()

	const single, all = 500, 1500
	for i := range single {
		publish(t, b, dueSubject(t, i), fmt.Sprint("id/", i))
	}
	_, err := b.PublishAll(t.Context(), days(t, all, nil), nil) // the first 500 are duplicates
	require.NoError(t, err)
	cancel()
	require.Greater(t, receive(t, steps), 2, "too few leader changes to prove anything")

	stored := subjects(replay(t, other, bus.StreamDays))
	require.ElementsMatch(t, wantSubjects(t, all), stored)
	require.Equal(t, wantSubjects(t, single), stored[:single])
}
