package main

import (
	"bytes"
	"crypto/sha256"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/config"
	"daybreak/pkg/model"
)

// Where the engines run and no service does, a command says so in good time instead of waiting for ever.
func TestCommandsWithoutServices(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	stop := i.background("engines")
	for _, r := range i.fine("status") {
		require.Equal(t, "MISSING", r["status"])
		require.Nil(t, r["ledger_count"], "unknown is not zero")
	}
	day := i.book.First.Add(1)
	plan := i.fine("replay", "cards", day.String(), "--dry-run")
	require.Contains(t, plan[0]["note"], "waits until "+i.book.First.String()+", which is MISSING")

	r := i.run("replay", "cards", day.String(), "--wait", "--timeout", "1s")
	require.Equal(t, exitFailed, r.code, r.err)
	require.Equal(t, "no answer yet", decodeRows(t, r.out)[0]["action"])
	require.Equal(t, "MISSING", decodeRows(t, r.out)[0]["status"])

	r = i.run("drill", "cards")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "nothing was touched")

	r = i.run("audit", "--format", "csv")
	require.Equal(t, exitFound, r.code, r.err)
	require.Contains(t, r.out, ",silent,")
	require.Equal(t, 9, strings.Count(r.out, ",missing,"))

	i.rejected(t, day)
	require.Equal(t, exitFine, stop())
}

// rejected sees that recon refused a replay, which leaves no watermark.
func (i *installation) rejected(t *testing.T, day model.Day) {
	cfg, err := config.Load(i.book.Config)
	require.NoError(t, err)
	a, err := openApp(t.Context(), testEnvironment(nil, nil, nil), cfg, appOptions{clock: clockAt(i.now), log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer a.close()
	require.False(t, a.owner)
	subject, err := bus.DayReplayDay("split", day.String())
	require.NoError(t, err)
	for _, seq := range []string{"4711", "4712"} {
		_, err = a.bus.Publish(t.Context(), bus.Message{Subject: bus.Dead(subject), ID: seq, Header: nats.Header{
			bus.HeaderSeq: {seq}, bus.HeaderReason: {"because " + seq},
		}})
		require.NoError(t, err)
	}
	for seq, want := range map[uint64]string{4711: "", 4712: "because 4712"} {
		p := &replayDay{day: day, seq: seq, action: published}
		given, err := a.rejections(t.Context(), "split", []model.Day{day}, map[model.Day]*replayDay{day: p})
		require.NoError(t, err)
		require.Equal(t, want, p.note)
		require.Equal(t, want != "", len(given) == 1)
		require.Equal(t, want != "", p.action == rejected)
	}
}

// A drill names every row that did not come back the same.
func TestDrillTellsDifferences(t *testing.T) {
	t.Parallel()
	sum := func(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }
	one := memory{diffs: map[string][sha256.Size]byte{"a": sum("1"), "b": sum("2"), "c": sum("3")}, batch: model.Batch{
		Version: 1, RunID: "x", CarryOut: "p", Diffs: map[model.Kind]uint64{model.KindAmount: 3}, Balance: *model.NewBalance(),
	}}
	same := one
	same.batch.Version, same.batch.RunID = 2, "y"
	require.Empty(t, one.compare(same))

	other := same
	other.diffs = map[string][sha256.Size]byte{"a": sum("1"), "b": sum("!"), "d": sum("4")}
	other.batch.CarryOut = "q"
	other.batch.Balance = *model.NewBalance()
	other.batch.Balance.Ledger.In.Add("CNY", 1, decimal.NewFromInt(1))
	got := one.compare(other)
	for _, want := range []string{"diff b has changed", "diff c is gone", "diff d is new", "the pool that is handed on", "the balance was"} {
		require.Contains(t, got, want)
	}
}

// pipe is standard output whose reader has gone away.
type pipe struct{}

func (pipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A reader that has seen enough is no fault to shout about, but the result was not printed whole.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	var err bytes.Buffer
	require.Equal(t, exitFailed, runWith(t.Context(), testEnvironment(pipe{}, &err, nil), []string{"version"}))
	require.Empty(t, err.String())
}
