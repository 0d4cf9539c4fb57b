package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/config"
)

// Commands that run at once share the engines of the first, which does not end before the others have.
func TestCommandsAtOnce(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	const n = 5
	results := make([]result, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			results[k] = command(t.Context(), i.vars(), "status", "cards", "--now", i.now.Format(time.RFC3339))
		})
	}
	wg.Wait()
	for _, r := range results {
		require.Zero(t, r.code, r.err)
		require.NotEmpty(t, r.out)
	}
}

// A process that stays is no guest of a command that ends by itself, and ends when the engines it borrowed are gone.
func TestGuestsAndOwners(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	cfg, err := config.Load(i.book.Config)
	require.NoError(t, err)
	open := func(command string, stays bool) *app {
		a, err := openApp(t.Context(), testEnvironment(nil, nil, nil), cfg, appOptions{
			clock: clockAt(i.now), log: slog.New(slog.DiscardHandler), command: command, stays: stays,
		})
		require.NoError(t, err)
		return a
	}
	asking := open("daybreak status", false)
	require.True(t, asking.owner)
	staying := make(chan *app)
	go func() { staying <- open("daybreak up", true) }()
	select {
	case <-staying:
		require.FailNow(t, "a process that stays joined one that ends by itself")
	case <-time.After(2 * joinPoll):
	}
	asking.close()
	up := <-staying
	require.True(t, up.owner)
	guest := open("daybreak recon", true)
	require.False(t, guest.owner)
	defer guest.close()
	up.close()
	select {
	case <-guest.ownerGone:
	case <-time.After(10 * ownerPoll):
		require.FailNow(t, "the guest did not notice that its engines are gone")
	}
}

// A command that waits for an answer ends when the process that ran the engines has, and says so.
func TestCommandEndsWithTheEnginesItBorrowed(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	stop := i.background("up")
	out := listenFor("daybreak.batch.committed")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code := make(chan int, 1)
	go func() { code <- runWith(ctx, testEnvironment(out, out, i.vars()), []string{"events", "--follow"}) }()
	<-out.heard
	owner, err := readRunning(filepath.Join(filepath.Dir(i.book.Config), "data", "running.json"))
	require.NoError(t, err)
	require.Equal(t, "daybreak up", owner.Command, "what others are told who cannot join")
	require.Equal(t, exitFine, stop())
	require.Equal(t, exitFailed, <-code)
	require.NoError(t, ctx.Err(), "it ended by itself")
	require.Contains(t, out.String(), errOwnerGone.Error())
}
