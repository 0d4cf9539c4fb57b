package kv

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// childURL, when set, makes the test binary a holder instead of running tests.
const childURL = "KV_TEST_CHILD_URL"

// report is one line of the child on stdout.
type report struct {
	Token  uint64 `json:"token"`
	Err    string `json:"err"`
	Fenced bool   `json:"fenced"`
	Lost   bool   `json:"lost"`
}

// childMain takes the lease, reports, and after a line on stdin (which comes when
// it was stopped and continued) writes once more and reports how that went.
func childMain(url string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out := json.NewEncoder(os.Stdout)
	l, err := childLease(ctx, url)
	if err != nil {
		_ = out.Encode(report{Err: err.Error()})
		return 1
	}
	_, err = l.Put(ctx, "k", []byte("child"))
	_ = out.Encode(report{Token: l.Token(), Err: fmt.Sprint(err)})
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	select {
	case <-l.Context().Done():
	case <-ctx.Done():
		return 1
	}
	_, err = l.Put(ctx, "k", []byte("zombie"))
	_ = out.Encode(report{
		Err: fmt.Sprint(err), Fenced: errors.Is(err, ErrFenced),
		Lost: errors.Is(context.Cause(l.Context()), ErrLeaseLost),
	})
	return 0
}

func childLease(ctx context.Context, url string) (*Lease, error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	s, err := Open(ctx, js, Options{Bucket: "test", LeaseTTL: 2 * time.Second, Logger: quiet()})
	if err != nil {
		return nil, err
	}
	return s.Acquire(ctx, "n", "child")
}

func TestStoppedProcessIsFencedOut(t *testing.T) {
	t.Parallel()
	srv := startServer(t, true)
	s := open(t, connect(t, srv), ttl(2*time.Second))
	gone := watchGone(t, s, "n")

	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childURL+"="+srv.ClientURL())
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := json.NewDecoder(stdout)
	var first, second report
	require.NoError(t, lines.Decode(&first))
	require.Equal(t, "<nil>", first.Err)
	_, err = s.Acquire(t.Context(), "n", "parent")
	require.ErrorIs(t, err, ErrHeld)

	require.NoError(t, child.Process.Signal(syscall.SIGSTOP))
	<-gone // stopped past its lease
	l := acquire(t, s, "n", "parent")
	require.Greater(t, l.Token(), first.Token)
	_, err = l.Put(t.Context(), "k", []byte("parent"))
	require.NoError(t, err)
	require.NoError(t, child.Process.Signal(syscall.SIGCONT))
	_, err = stdin.Write([]byte("go\n"))
	require.NoError(t, err)

	require.NoError(t, lines.Decode(&second))
	require.True(t, second.Fenced, second.Err)
	require.True(t, second.Lost)
	require.NoError(t, child.Wait())
	v, err := s.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "parent", string(v.Data))
	require.NoError(t, l.Err())
}
