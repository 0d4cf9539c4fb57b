package recon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine"
	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
	"daybreak/services/recon"
)

// order tells a child process what to work on and where to fall.
type order struct {
	Dir      string
	Book     scenario.Book
	NATS     string
	CHAddr   string
	CHAuth   clickhouse.Auth
	Phase    model.Phase
	Signal   syscall.Signal // SIGKILL or SIGSTOP, which the child sends to itself on entering Phase
	Instance string
}

const orderVariable = "DAYBREAK_RECON_TEST_ORDER"

// runChildIfAsked makes this test binary a recon process that falls at a given phase.
func runChildIfAsked() {
	text, ok := os.LookupEnv(orderVariable)
	if !ok {
		return
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	if err := o.work(); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work runs until the process is killed; one that was paused ends by itself when it has nothing in hand any more.
func (o order) work() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ch := engine.ClientOptions(o.CHAddr, o.CHAuth.Username, o.CHAuth.Password)
	ch.Auth.Database = o.CHAuth.Database
	b, err := connect(ctx, o.Dir, &o.Book, o.NATS, ch)
	if err != nil {
		return err
	}
	var fell atomic.Bool
	opts := b.options(o.Instance, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	opts.Workers = 1
	var r *recon.Recon
	opts.Entered = func(_ string, _ model.Day, phase model.Phase) {
		if phase == o.Phase && fell.CompareAndSwap(false, true) {
			_ = syscall.Kill(os.Getpid(), o.Signal)
			go func() { // awake again: the attempt goes on as if nothing had been
				for !r.Consumer().Snapshot().Idle() {
					time.Sleep(50 * time.Millisecond)
				}
				cancel()
			}()
		}
	}
	r = recon.New(opts)
	return r.Run(ctx)
}

// spawn starts a child that falls at a phase and waits until it has fallen.
func (b *bundle) spawn(t *testing.T, phase model.Phase, signal syscall.Signal) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(order{
		Dir: b.dir, Book: *b.book, NATS: b.natsURL, CHAddr: b.ch.Addr[0], CHAuth: b.ch.Auth, Phase: phase, Signal: signal, Instance: "child",
	})
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	cmd.Stderr = t.Output()
	cmd.Stdout = io.Discard
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var status syscall.WaitStatus
	_, err = syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	if signal == syscall.SIGKILL {
		require.True(t, status.Signaled() && status.Signal() == syscall.SIGKILL, "the child ended otherwise: %v", status)
	} else {
		require.True(t, status.Stopped(), "the child ended otherwise: %v", status)
	}
	return cmd
}

// controlLog records every accepted write of the control bucket with its sequence, as the server stores it.
type controlLog struct {
	mu     sync.Mutex
	writes []*nats.Msg
}

func (b *bundle) record(t *testing.T) *controlLog {
	t.Helper()
	js := b.bus.JetStream()
	bucket, err := js.Stream(t.Context(), "KV_daybreak")
	require.NoError(t, err)
	cfg := bucket.CachedInfo().Config
	cfg.RePublish = &jetstream.RePublish{Source: "$KV.daybreak.>", Destination: "control.log.>"}
	_, err = js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	log := &controlLog{}
	sub, err := b.bus.Conn().Subscribe("control.log.>", func(m *nats.Msg) {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.writes = append(log.writes, m)
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return log
}

// requireNoStaleWrite replays the log: every accepted watermark bears the newest fence of its batch.
func (l *controlLog) requireNoStaleWrite(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	fences := map[string]uint64{}
	marks, last := 0, uint64(0)
	for _, m := range l.writes {
		seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
		require.NoError(t, err)
		require.Greater(t, seq, last, "the log is in the order of the server")
		last = seq
		key := strings.TrimPrefix(m.Subject, "control.log.")
		if batch, ok := strings.CutPrefix(key, "fence."); ok {
			fences[batch] = seq
		}
		if batch, ok := strings.CutPrefix(key, "day."); ok {
			var w model.Watermark
			require.NoError(t, json.Unmarshal(m.Data, &w))
			require.Equal(t, fences[batch], w.Fence, "%s was written as %s by %s under a stale fence", batch, w.Status, w.Instance)
			marks++
		}
	}
	require.Greater(t, marks, len(fences), "the log was recorded")
}

// requireWhole checks what must hold after any crash: the planted diffs, one version each told whole, no event doubled.
func (b *bundle) requireWhole(t *testing.T) {
	t.Helper()
	open := 0
	for _, job := range b.book.Jobs {
		b.awaitDone(t, job)
		require.ElementsMatch(t, b.planted(job), b.diffs(t, job))
		open += len(b.planted(job))
	}
	require.Len(t, b.rebuilt(t), open)
	told := map[string]int{}
	for _, e := range b.events(t) { // by id, as a consumer dedups
		if e.Type == "daybreak.diff.opened" {
			told[e.Subject]++
		}
	}
	for id, n := range told {
		require.Equal(t, 1, n, "diff %s was told to have opened %d times under different ids", id, n)
	}
}

// A recon is killed on entering each phase; another finishes the day as if nothing had happened.
func TestCrashInEachPhase(t *testing.T) {
	t.Parallel()
	for _, phase := range []model.Phase{model.PhaseStart, model.PhasePull, model.PhaseCompare, model.PhaseCommit, model.PhaseEvents, model.PhaseDone} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			b := setup(t, 2, 20)
			log := b.record(t)
			b.dueAll(t)
			b.spawn(t, phase, syscall.SIGKILL)
			b.start(t, nil)
			b.requireWhole(t)
			log.requireNoStaleWrite(t)
		})
	}
}

// A recon sleeps past its lease, another takes over and finishes, the sleeper wakes up and goes on: the server refuses
// it, its commit loses, and nothing of it is seen.
func TestPauseBeyondTheLease(t *testing.T) {
	t.Parallel()
	for _, phase := range []model.Phase{model.PhasePull, model.PhaseCompare, model.PhaseCommit, model.PhaseEvents} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			b := setup(t, 2, 20)
			log := b.record(t)
			b.dueAll(t)
			child := b.spawn(t, phase, syscall.SIGSTOP)
			b.start(t, nil)
			b.requireWhole(t)
			require.NoError(t, child.Process.Signal(syscall.SIGCONT))
			state, err := child.Process.Wait()
			require.NoError(t, err)
			require.True(t, state.Success(), "the sleeper ended with %s", state)
			b.requireWhole(t)
			log.requireNoStaleWrite(t)
			for _, job := range b.book.Jobs {
				for day, w := range b.awaitDone(t, job) {
					batch, ok, err := b.store.Current(t.Context(), job, day)
					require.NoError(t, err)
					require.True(t, ok)
					require.Equal(t, w.Committed, batch.RunID, "the version that the watermark names is the one that readers see")
				}
			}
		})
	}
}
