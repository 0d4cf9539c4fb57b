package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// takeovers makes n holders of one name follow each other, while every earlier
// one goes on writing each of its writes to a key of its own. It returns the
// tokens in order of the takeovers.
func takeovers(t *testing.T, stores []*Store, more func(i int) bool) []uint64 {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	var refused atomic.Int64
	var tokens []uint64
	for i := 0; more(i); i++ {
		s := stores[i%len(stores)]
		if i > 0 {
			seizeKey(t, s, "chaos")
		}
		l, err := s.Acquire(ctx, "chaos", fmt.Sprint(i))
		require.NoError(t, err)
		tokens = append(tokens, l.Token())
		started := make(chan struct{})
		wg.Go(func() { writeOn(ctx, l, started, &refused) })
		<-started // at least one write of each holding is stored
	}
	stop()
	wg.Wait()
	require.Positive(t, refused.Load(), "no zombie ever wrote")
	return tokens
}

// writeOn writes until ctx ends or it was refused often enough.
func writeOn(ctx context.Context, l *Lease, started chan struct{}, refused *atomic.Int64) {
	once := sync.OnceFunc(func() { close(started) })
	defer once()
	for i, fenced := 0, 0; ctx.Err() == nil && fenced < 10; i++ {
		_, err := l.Put(ctx, fmt.Sprintf("out.%d.%d", l.Token(), i), nil)
		if err == nil {
			once()
		}
		if errors.Is(err, ErrFenced) {
			refused.Add(1)
			fenced++
		}
	}
}

// answered asks again until somebody answers: while a group chooses its leader nobody does, and a request that was on its
// way to the old one is lost.
func answered[T any](t *testing.T, ask func(context.Context) (T, error)) (out T) {
	t.Helper()
	var err error
	for range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		out, err = ask(ctx)
		cancel()
		if err == nil {
			return out
		}
	}
	require.NoError(t, err, "nobody answered")
	return out
}

// verifyLog reads the whole stream by sequence and checks that every guarded
// write lies between its own fence and the next one.
func verifyLog(t *testing.T, s *Store, tokens []uint64) {
	t.Helper()
	next := map[uint64]uint64{} // token -> the one that ended it
	for i, tok := range tokens {
		next[tok] = 1<<63 - 1
		if i > 0 {
			require.Greater(t, tok, tokens[i-1])
			next[tokens[i-1]] = tok
		}
	}
	str := answered(t, func(ctx context.Context) (jetstream.Stream, error) { return js(s).Stream(ctx, s.stream) })
	info := answered(t, func(ctx context.Context) (*jetstream.StreamInfo, error) { return str.Info(ctx) })
	stored := map[uint64]int{}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		msg := answered(t, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			msg, err := str.GetMsg(ctx, seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil, nil
			}
			return msg, err
		})
		if msg == nil {
			continue
		}
		rest, guarded := strings.CutPrefix(msg.Subject, s.subject("out."))
		if !guarded {
			continue
		}
		var token uint64
		var n int
		_, err := fmt.Sscanf(rest, "%d.%d", &token, &n)
		require.NoError(t, err)
		require.Contains(t, next, token)
		require.Greater(t, seq, token, "stored before its own fence")
		require.Less(t, seq, next[token], "stored under a stale fence %d", token)
		stored[token]++
	}
	require.Len(t, stored, len(tokens), "holdings that wrote")
}

func TestNoWriteUnderAStaleFence(t *testing.T) {
	s := setup(t)
	tokens := takeovers(t, []*Store{s, open(t, js(s))}, func(i int) bool { return i < 64 })
	verifyLog(t, s, tokens)
}

func TestTokensGrowAcrossRestart(t *testing.T) {
	t.Parallel()
	opts := &server.Options{JetStream: true, StoreDir: t.TempDir(), DontListen: true, NoLog: true, NoSigs: true}
	var last uint64
	for range 3 {
		srv, err := server.NewServer(opts)
		require.NoError(t, err)
		srv.Start()
		require.True(t, srv.ReadyForConnections(10*time.Second))
		s := open(t, connect(t, srv))
		l := acquire(t, s, "n", "me")
		require.Greater(t, l.Token(), last)
		last = l.Token()
		require.NoError(t, s.Close(t.Context()))
		js(s).Conn().Close()
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// joinCluster starts one more server of a cluster in this process; seed is a server to find the others by, if any.
func joinCluster(t *testing.T, name string, seed *server.Server) *server.Server {
	t.Helper()
	routes := ""
	if seed != nil {
		routes = "nats://" + seed.ClusterAddr().String()
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: name, JetStream: true, StoreDir: t.TempDir(),
		Host: "127.0.0.1", Port: server.RANDOM_PORT, // routes wait for the client port
		NoLog: true, NoSigs: true,
		Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: server.RANDOM_PORT},
		Routes:  server.RoutesFromStr(routes),
	})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	require.True(t, srv.ReadyForConnections(10*time.Second))
	return srv
}

// startCluster runs three servers in this process that form a real cluster.
func startCluster(t *testing.T) []*server.Server {
	t.Helper()
	servers := []*server.Server{joinCluster(t, "s0", nil)}
	for _, name := range []string{"s1", "s2"} {
		servers = append(servers, joinCluster(t, name, servers[0]))
	}
	return servers
}

// Processes and servers of an installation start together: whoever comes while the cluster has no leader waits for it, also
// with a request that nobody has answered.
func TestOpenWithoutALeader(t *testing.T) {
	t.Parallel()
	first := joinCluster(t, "s0", nil)
	opened := openSoon(t, connect(t, first), 3)
	joinCluster(t, "s1", first)
	joinCluster(t, "s2", first)
	require.NoError(t, <-opened)
}

// Whoever comes while the cluster knows two of its three servers waits for the third.
func TestOpenBeforeTheLastServer(t *testing.T) {
	t.Parallel()
	first := joinCluster(t, "s0", nil)
	second := joinCluster(t, "s1", first)
	require.Eventually(t, func() bool { return first.JetStreamIsCurrent() && second.JetStreamIsCurrent() }, time.Minute, 10*time.Millisecond)
	on := connect(t, first)
	answers, err := on.Conn().SubscribeSync("$JS.EVENT.ADVISORY.API") // each request and what a server answered
	require.NoError(t, err)
	opened := openSoon(t, on, 3)
	for refused := false; !refused; {
		m, err := answers.NextMsg(30 * time.Second)
		require.NoError(t, err)
		refused = strings.Contains(string(m.Data), "no suitable peers")
	}
	joinCluster(t, "s2", first)
	require.NoError(t, <-opened)
}

// openSoon opens a store on the side, and closes it again.
func openSoon(t *testing.T, on jetstream.JetStream, replicas int) <-chan error {
	t.Helper()
	opened := make(chan error, 1)
	go func() {
		s, err := Open(t.Context(), on, Options{Bucket: "test", Replicas: replicas, Logger: quiet()})
		if err == nil {
			err = s.Close(t.Context())
		}
		opened <- err
	}()
	return opened
}

// stepDowns makes the stream change its leader again and again until stop is
// called; count tells how often it did so far.
func stepDowns(t *testing.T, nc *nats.Conn) (count func() int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var n atomic.Int64
	go func() {
		defer close(done)
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			req, end := context.WithTimeout(ctx, time.Second)
			msg, err := nc.RequestWithContext(req, "$JS.API.STREAM.LEADER.STEPDOWN.KV_test", nil)
			end()
			if err == nil && strings.Contains(string(msg.Data), `"success":true`) {
				n.Add(1)
			}
		}
	}()
	return n.Load, func() { cancel(); <-done }
}

func TestClusterUnderLeaderChanges(t *testing.T) {
	t.Parallel()
	servers := startCluster(t)
	var stores []*Store
	for _, srv := range servers {
		stores = append(stores, open(t, connect(t, srv), func(o *Options) { o.Replicas = 3 }))
	}
	race(t, stores, 5, 20)
	changes, stop := stepDowns(t, connect(t, servers[0]).Conn())
	begun := time.Now()
	const enough, most = 5, 3000
	tokens := takeovers(t, stores, func(i int) bool { return i < 16 || changes() < enough && i < most })
	stop()
	t.Logf("%d takeovers in %v under %d leader changes", len(tokens), time.Since(begun), changes())
	require.GreaterOrEqual(t, changes(), int64(enough))
	verifyLog(t, stores[0], tokens)
}
