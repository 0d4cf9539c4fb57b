package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine"
	"daybreak/pkg/engine/enginetest"
)

func start(t *testing.T, dir string) (*engine.ClickHouse, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ch, err := engine.StartClickHouse(ctx, engine.CHOptions{
		Dir: dir, LibPath: enginetest.LibPath(), Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		t.Cleanup(ch.Close)
	}
	return ch, err
}

func gone(pid int) bool { return syscall.Kill(pid, 0) != nil || zombie(pid) }

// zombie says that the process has ended but nobody has asked for its status.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestAcknowledgedBatchesSurviveAKilledChild(t *testing.T) {
	t.Parallel()
	ch, err := start(t, t.TempDir())
	require.NoError(t, err)
	conn, ctx := openWith(t, ch.Options())
	require.NoError(t, conn.Exec(ctx, "CREATE TABLE t (b UInt64, n UInt64) ENGINE = MergeTree ORDER BY (b, n)"))

	const kills, rows = 4, 1000
	acked := map[uint64]bool{}
	next := uint64(0)
	send := func() error {
		next++
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
		if err != nil {
			return err
		}
		for i := range uint64(rows) {
			if err := batch.Append(next, i); err != nil {
				return err
			}
		}
		if err = batch.Send(); err == nil {
			acked[next] = true
		}
		return err
	}
	for k := range kills {
		for range 5 {
			require.NoError(t, send())
		}
		pid := ch.Pid()
		killed := make(chan error, 1)
		go func() { killed <- syscall.Kill(pid, syscall.SIGKILL) }()
		for err := error(nil); err == nil && ch.Pid() == pid; {
			err = send() // until the kill is felt; the outcome of that one is unknown
		}
		require.NoError(t, <-killed)
		require.Eventually(t, func() bool { return ch.Restarts() == k+1 }, 30*time.Second, 5*time.Millisecond)
		require.Eventually(t, func() bool { return conn.Ping(ctx) == nil }, 30*time.Second, 5*time.Millisecond)
	}
	found, err := conn.Query(ctx, "SELECT b, count() FROM t GROUP BY b")
	require.NoError(t, err)
	for found.Next() {
		var b, n uint64
		require.NoError(t, found.Scan(&b, &n))
		require.EqualValues(t, rows, n, "batch %d is torn", b)
		delete(acked, b)
	}
	require.NoError(t, found.Err())
	require.Empty(t, acked, "acknowledged batches are missing")
}

func TestASecondProcessOnTheFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ch, err := start(t, dir)
	require.NoError(t, err)
	_, err = start(t, dir)
	require.ErrorIs(t, err, engine.ErrLocked)
	require.ErrorContains(t, err, filepath.Join(dir, "lock"))
	require.ErrorContains(t, err, fmt.Sprintf("process %d", ch.Pid()))

	ch.Close()
	again, err := start(t, dir)
	require.NoError(t, err, "a closed engine leaves the folder free")
	require.NotEqual(t, 0, again.Pid())
}

func TestClientsLearnThatTheEngineDoesNotComeBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ch, err := start(t, dir)
	require.NoError(t, err)
	conn, ctx := openWith(t, ch.Options())
	require.NoError(t, conn.Ping(ctx))

	lock := flock.New(filepath.Join(dir, "lock"))
	locked := make(chan error, 1)
	go func() {
		_, err := lock.TryLockContext(ctx, time.Millisecond)
		locked <- err
	}()
	require.NoError(t, syscall.Kill(ch.Pid(), syscall.SIGKILL))
	require.NoError(t, <-locked, "the lock is free between two children")
	require.Error(t, conn.Ping(ctx), "refused, not left hanging")
	require.NoError(t, lock.Unlock())
	require.Eventually(t, func() bool { return conn.Ping(ctx) == nil }, 30*time.Second, 10*time.Millisecond)
}

func TestTheChildIgnoresInterrupts(t *testing.T) {
	t.Parallel()
	ch, err := start(t, t.TempDir())
	require.NoError(t, err)
	pid := ch.Pid()
	require.NoError(t, syscall.Kill(pid, syscall.SIGINT))
	require.NoError(t, syscall.Kill(pid, syscall.SIGHUP))
	conn, ctx := openWith(t, ch.Options())
	require.NoError(t, conn.Ping(ctx))
	require.Equal(t, pid, ch.Pid())
	require.Zero(t, ch.Restarts())
}

func TestCloseEndsTheChildAndItsQueries(t *testing.T) {
	t.Parallel()
	ch, err := start(t, t.TempDir())
	require.NoError(t, err)
	pid := ch.Pid()
	conn, ctx := openWith(t, ch.Options())
	done := make(chan error, 1)
	go func() {
		done <- conn.Exec(ctx, "SELECT count() FROM numbers(1e13) WHERE NOT ignore(sipHash64(number), 'busy')")
	}()
	require.Eventually(t, func() bool {
		var n uint64
		err := conn.QueryRow(ctx, "SELECT count() FROM system.processes WHERE query LIKE '%busy%' AND query NOT LIKE '%system.processes%'").Scan(&n)
		return err == nil && n == 1
	}, 20*time.Second, 5*time.Millisecond)
	ch.Close()
	require.Error(t, <-done)
	require.True(t, gone(pid))
	ch.Close()
	require.Error(t, conn.Ping(ctx))
}

// parentEnv makes the test binary a parent that starts an engine and waits to be
// killed.
const parentEnv = "DAYBREAK_ENGINE_TEST_PARENT"

func TestHelperParent(t *testing.T) {
	dir := os.Getenv(parentEnv)
	if dir == "" {
		return // only the re-executed binary plays the parent
	}
	ch, err := start(t, dir)
	require.NoError(t, err)
	fmt.Printf("\nchild %d\n", ch.Pid())
	select {}
}

func TestTheChildEndsWithAKilledParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperParent$")
	cmd.Env = append(cmd.Environ(), parentEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "child %d", &pid)
	}
	require.NotZero(t, pid)
	require.False(t, gone(pid))
	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, func() bool { return gone(pid) }, 20*time.Second, 5*time.Millisecond)
	_ = cmd.Wait()
	_, err = start(t, dir)
	require.NoError(t, err, "the successor gets the folder at once")
}

func TestAMissingOrBrokenLibraryIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notalib.so"), []byte("no library"), 0o600))
	_, err := engine.StartClickHouse(context.Background(), engine.CHOptions{
		Dir: filepath.Join(dir, "data"), LibPath: filepath.Join(dir, "notalib.so"), Logger: slog.New(slog.DiscardHandler),
	})
	require.ErrorIs(t, err, engine.ErrLibrary)
	require.ErrorContains(t, err, "notalib.so")
	_, err = engine.StartClickHouse(context.Background(), engine.CHOptions{Dir: dir, LibPath: filepath.Join(dir, "missing.so")})
	require.ErrorIs(t, err, engine.ErrLibrary)
	require.ErrorContains(t, err, "CHDB_LIB_PATH")
}

func TestTheChildHoldsNoSecretInItsArguments(t *testing.T) {
	t.Parallel()
	ch, err := start(t, t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", ch.Pid(), name))
		require.NoError(t, err)
		require.NotContains(t, string(b), ch.Password())
	}
}

func TestOptionsAreFreshEachTime(t *testing.T) {
	t.Parallel()
	ch := enginetest.Engine(t)
	ch.Options().Auth = clickhouse.Auth{}
	require.Equal(t, ch.Password(), ch.Options().Auth.Password)
}
