package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/oklog/ulid/v2"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

const job = "wechat"

var (
	day   = model.NewDay(2026, time.October, 30)
	epoch = time.Date(2026, time.October, 31, 1, 0, 0, 123456789, time.UTC)
)

// bundle is a store in a fresh database.
type bundle struct {
	*store.Store
	t     testing.TB
	ctx   context.Context
	pools int // made by carry
}

func setup(t testing.TB) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	s, err := store.Open(ctx, store.Options{Conn: enginetest.ClickHouse(t), Clock: clockwork.NewFakeClockAt(epoch)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &bundle{Store: s, t: t, ctx: ctx}
}

// runID makes the ULID of a run that began n minutes after the epoch.
func runID(n int) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(epoch.Add(time.Duration(n) * time.Minute))); err != nil {
		panic(err)
	}
	copy(id[6:], fmt.Sprintf("%010d", n))
	return id.String()
}

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// entry makes an entry of a plain kind; change it as the test needs.
func entry(side model.Side, key, amount string) model.Entry {
	return model.Entry{
		Side: side, Key: key, Amount: dec(amount), Currency: "CNY", Status: "PAID", Compared: []string{"success"},
		Origin: day, File: string(side) + ".csv", Line: 1,
	}
}

// land puts entries of both sides into the snapshot of a run.
func (b *bundle) land(run string, d model.Day, entries ...model.Entry) {
	b.t.Helper()
	for _, side := range model.Sides {
		l, err := b.Land(b.ctx, store.LandingID{Job: job, Day: d, RunID: run, Side: side})
		require.NoError(b.t, err)
		for _, e := range entries {
			if e.Side == side {
				require.NoError(b.t, l.Add(e))
			}
		}
		require.NoError(b.t, l.Close(b.ctx))
	}
}

// diff makes an open diff whose figures are given by the amount.
func diff(d model.Day, key, amount string) model.Diff {
	group := model.Group{
		Key: key, Ledger: []model.Entry{entry(model.Ledger, key, amount)}, Channel: []model.Entry{entry(model.Channel, key, "0")},
	}
	out := model.Rules{Mode: model.ModeOne}.Judge(group, func(model.Day) bool { return true })
	return model.Diff{Figures: out.Figures, Job: job, Day: d, ID: model.DiffID(job, d, key), State: model.Open}
}

// write puts a result under a run, clears what prev had besides, and returns the batch to commit.
func (b *bundle) write(run string, prev model.Batch, fence uint64, diffs ...model.Diff) model.Batch {
	b.t.Helper()
	batch := model.Batch{
		Job: job, Day: day, Version: prev.Version + 1, Fence: fence, RunID: run, SnapshotID: run, Previous: prev.RunID,
		Cause: model.CauseDue, CommittedAt: epoch, Diffs: map[model.Kind]uint64{}, Balance: *model.NewBalance(),
		Seals: map[model.Side]model.Seal{},
	}
	r, err := b.Results(b.ctx, job, day, run, batch.Version)
	require.NoError(b.t, err)
	for _, d := range diffs {
		require.NoError(b.t, r.Diff(d))
		batch.Diffs[d.Kind]++
	}
	n, err := r.Close(b.ctx)
	require.NoError(b.t, err)
	require.Equal(b.t, uint64(len(diffs)), n.Diffs)
	_, err = b.CarryOverCleared(b.ctx, prev, run, batch.Version)
	require.NoError(b.t, err)
	return batch
}

// commit is write and Commit.
func (b *bundle) commit(run string, prev model.Batch, fence uint64, diffs ...model.Diff) model.Batch {
	b.t.Helper()
	batch := b.write(run, prev, fence, diffs...)
	require.NoError(b.t, b.Commit(b.ctx, batch))
	return batch
}

// shown lists the current diffs of the day as "key amount state review", by key.
func (b *bundle) shown(q store.DiffQuery) []string {
	b.t.Helper()
	var out []string
	for row, err := range b.Diffs(b.ctx, q) {
		require.NoError(b.t, err)
		words := []string{row.Key, row.LedgerAmount.Decimal.String(), string(row.State), string(row.Review)}
		if row.ChangedAfterReview {
			words = append(words, "changed")
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func (b *bundle) exec(sql string) {
	b.t.Helper()
	require.NoError(b.t, b.Conn().Exec(b.ctx, sql))
}

func (b *bundle) number(sql string) uint64 {
	b.t.Helper()
	var n uint64
	require.NoError(b.t, b.Conn().QueryRow(b.ctx, sql).Scan(&n))
	return n
}

var errBoom = errors.New("boom")

// text joins the rows of a query of one text column.
func (b *bundle) text(sql string) string {
	b.t.Helper()
	rows, err := b.Conn().Query(b.ctx, sql)
	require.NoError(b.t, err)
	var out []string
	for rows.Next() {
		var line string
		require.NoError(b.t, rows.Scan(&line))
		out = append(out, line)
	}
	require.NoError(b.t, rows.Close())
	return strings.Join(out, "\n")
}
