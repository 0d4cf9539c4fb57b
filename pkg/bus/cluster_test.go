package bus_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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

// join starts one more server of a cluster in this process; seed is a server to find the others by, if any.
func join(t *testing.T, name string, seed *server.Server) *server.Server {
	t.Helper()
	routes := ""
	if seed != nil {
		routes = "nats://" + seed.ClusterAddr().String()
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: name, Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 256 << 20,
		Cluster: server.ClusterOpts{Name: "forming", Host: "127.0.0.1", Port: -1},
		Routes:  server.RoutesFromStr(routes),
	})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	require.True(t, srv.ReadyForConnections(20*time.Second))
	return srv
}

// Whoever comes while the cluster knows two of its three servers waits for the third; streams too large for the servers
// there are are told at once.
func TestOpenBeforeTheLastServer(t *testing.T) {
	t.Parallel()
	first := join(t, "n0", nil)
	second := join(t, "n1", first)
	require.Eventually(t, func() bool { return first.JetStreamIsCurrent() && second.JetStreamIsCurrent() }, time.Minute, 20*time.Millisecond)
	nc := connect(t, first.ClientURL())
	answers, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.API") // each request and what a server answered
	require.NoError(t, err)
	opened := make(chan error, 1)
	go func() {
		_, err := bus.Open(t.Context(), nc, bus.Options{Replicas: 3, MaxBytesScale: testScale})
		opened <- err
	}()
	for refused := false; !refused; {
		m, err := answers.NextMsg(30 * time.Second)
		require.NoError(t, err)
		refused = strings.Contains(string(m.Data), "no suitable peers")
	}
	join(t, "n2", first)
	require.NoError(t, receive(t, opened))

	for _, s := range bus.Streams() {
		require.NoError(t, deleteStream(t, nc, s.Name))
	}
	_, err = bus.Open(t.Context(), nc, bus.Options{Replicas: 3, MaxBytesScale: 1}) // 24 GiB of 4
	require.ErrorIs(t, err, bus.ErrNoSpace)
}

func deleteStream(t *testing.T, nc *nats.Conn, name string) error {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return js.DeleteStream(t.Context(), name)
}

// stepdowns makes the stream's leader resign once for every value sent on the returned channel.
func stepdowns(t *testing.T, b *bus.Bus) (now chan<- struct{}, count func() int) {
	t.Helper()
	ch, done := make(chan struct{}, 100), make(chan int, 1)
	go func() {
		n := 0
		for range ch {
			_, err := b.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+bus.StreamDays, nil, 2*time.Second)
			if err == nil {
				n++
			}
		}
		done <- n
	}()
	return ch, func() int { close(ch); return receive(t, done) }
}

// Leaders resign while one by one and window by window are published: each there once.
func TestClusterStepdowns(t *testing.T) {
	t.Parallel()
	servers := startCluster(t)
	opts := bus.Options{Replicas: 3, Timeout: time.Second}
	b := open(t, connect(t, servers[0].ClientURL()), opts)
	other := open(t, connect(t, servers[1].ClientURL()), opts)

	now, count := stepdowns(t, other)
	const single, all = 500, 1200
	for i := range single {
		if i%100 == 50 {
			now <- struct{}{}
		}
		publish(t, b, dueSubject(t, i), fmt.Sprint("id/", i))
	}
	resign := func() { now <- struct{}{} }
	// The first 500 are duplicates.
	_, err := b.PublishAll(t.Context(), days(t, all, map[int]func(){700: resign, 1000: resign}), nil)
	require.NoError(t, err)
	require.Greater(t, count(), 3, "too few leader changes to prove anything")

	stored := subjects(replay(t, other, bus.StreamDays))
	require.ElementsMatch(t, wantSubjects(t, all), stored)
	require.Equal(t, wantSubjects(t, single), stored[:single])
}

// Three replicas of a service on three servers, leaders of stream and consumer resign: everything is
// handled, and settled in the end.
func TestClusterConsume(t *testing.T) {
	t.Parallel()
	servers := startCluster(t)
	const n = 200
	options, done := watch(options())
	var buses []*bus.Bus
	for _, srv := range servers {
		b := open(t, connect(t, srv.ClientURL()), bus.Options{Replicas: 3, Timeout: time.Second})
		buses = append(buses, b)
		consume(t, b.Consumer(options, func(context.Context, bus.Delivery) bus.Verdict { return bus.Ack() }))
	}
	seen := map[string]bool{}
	for i := range n {
		if i%50 == 25 {
			stepDown(t, buses[0].Conn(), "$JS.API.CONSUMER.LEADER.STEPDOWN."+bus.StreamDays+"."+durable)
		}
		publish(t, buses[i%3], dueSubject(t, i), fmt.Sprint("id/", i))
	}
	for len(seen) < n {
		seen[receive(t, done).Subject] = true
	}
	require.Eventually(t, func() bool {
		pending, ackPending, err := buses[1].Pending(t.Context(), bus.StreamDays, durable)
		return err == nil && pending == 0 && ackPending == 0
	}, 20*time.Second, 100*time.Millisecond)
}

// stepDown makes a leader resign. Nobody answers while a group has no leader, so it is asked until one does.
func stepDown(t *testing.T, nc *nats.Conn, subject string) {
	t.Helper()
	var err error
	for range 20 {
		if _, err = nc.Request(subject, nil, 2*time.Second); err == nil {
			return
		}
	}
	require.NoError(t, err, subject)
}
