package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

func TestBatchComesBackAsItWas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ok, err := b.Current(b.ctx, job, day)
	require.NoError(t, err)
	require.False(t, ok)
	big := model.Totals{"CNY": {Count: 1 << 60, Amount: dec("12345678901234567890123456789012345678901234567890123456789.12345678")}}
	want := model.Batch{
		Job: job, Day: day, Version: 3, Fence: 1 << 62, RunID: runID(2), SnapshotID: runID(1), Previous: runID(0),
		Cause: model.CauseCarry, CommittedAt: epoch, CarryIn: "in", CarryOut: "out",
		Seals: map[model.Side]model.Seal{model.Ledger: {Totals: big, Sources: []model.FileSeal{{Name: "a'b\n", Bytes: 7, SHA256: "ff", Rows: 9}}}},
		Diffs: map[model.Kind]uint64{model.KindAmount: 2, model.KindDuplicate: 1}, Balance: *model.NewBalance(),
	}
	want.Balance.Ledger.In = big
	want.Balance.MatchedDelta["CNY"] = dec("-0.01")
	for range 2 { // repeating does no harm
		require.NoError(t, b.Commit(b.ctx, want))
	}
	require.Equal(t, uint64(1), b.number(`SELECT count() FROM batches`))
	got, ok, err := b.Current(b.ctx, job, day)
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, got.Balance.Ledger.In.Equal(big))
	require.True(t, got.Seals[model.Ledger].Totals.Equal(big))
	require.Equal(t, want.Seals[model.Ledger].Sources, got.Seals[model.Ledger].Sources)
	require.True(t, got.Balance.MatchedDelta["CNY"].Equal(dec("-0.01")))
	got.Balance, got.Seals = want.Balance, want.Seals
	require.Equal(t, want, got)
	require.Equal(t, uint64(3), b.number(`SELECT open_diffs FROM batches_current`))
	_, ok, err = b.Batch(b.ctx, job, day, runID(77))
	require.NoError(t, err)
	require.False(t, ok)
	all, err := b.Batches(b.ctx, job, day, day)
	require.NoError(t, err)
	require.Len(t, all, 1)
	newest, ok, err := b.NewestDay(b.ctx, job)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, day, newest)
	_, ok, err = b.NewestDay(b.ctx, "other")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestCommitRefusesHalfABatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	whole := b.write(runID(1), model.Batch{}, 1)
	for _, change := range []func(*model.Batch){
		func(x *model.Batch) { x.RunID = "" }, func(x *model.Batch) { x.SnapshotID = "" }, func(x *model.Batch) { x.Version = 0 },
		func(x *model.Batch) { x.Job = "" }, func(x *model.Batch) { x.CommittedAt = time.Time{} },
		func(x *model.Batch) {
			x.Balance.Ledger.In = model.Totals{"CNY": {Count: 1, Amount: decimal.New(1, 70)}}
		},
	} {
		half := whole
		half.Balance = *model.NewBalance()
		change(&half)
		require.ErrorIs(t, b.Commit(b.ctx, half), store.ErrValue)
	}
	require.Zero(t, b.number(`SELECT count() FROM batches`))
}

// TestRunIsInvisibleUntilCommitted and the newest (version, fence) wins, whoever commits last.
func TestWhichVersionWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	zombie := b.write(runID(1), model.Batch{}, 5, diff(day, "zombie", "1"))
	require.Empty(t, b.shown(store.DiffQuery{}), "not committed")
	first := b.commit(runID(2), model.Batch{}, 6, diff(day, "first", "1"))
	require.NoError(t, b.Commit(b.ctx, zombie), "a zombie wakes up with the same version and a lower fence")
	require.Equal(t, []string{"first 1 open none"}, b.shown(store.DiffQuery{}))
	second := b.commit(runID(3), first, 7, diff(day, "second", "1"))
	late := b.write(runID(4), model.Batch{}, 99, diff(day, "late", "1"))
	require.NoError(t, b.Commit(b.ctx, late), "a lower version with a higher fence")
	require.Equal(t, []string{"second 1 open none"}, b.shown(store.DiffQuery{}))
	b.commit(runID(5), second, 1, diff(day, "rebuilt", "1"))
	require.Equal(t, []string{"rebuilt 1 open none"}, b.shown(store.DiffQuery{}), "fences that begin anew lose nothing")
}

// versions commits one version of a batch after the other, each with as many diffs and carried entries as its number and
// in as little time between the rows and their commit as can be, until it is told to stop and has made 50.
func (b *bundle) versions(stop <-chan struct{}) error {
	for v := 1; ; v++ {
		p := []any{clickhouse.Named("v", v), clickhouse.Named("run", runID(v)), clickhouse.Named("day", day.String())}
		for _, insert := range []string{
			`INSERT INTO diffs (job, biz_date, run_id, version, state, diff_id) SELECT 'wechat', {day:Date}, {run:String}, {v:UInt64}, 'open', toString(number) FROM numbers({v:UInt64})`,
			`INSERT INTO carried (job, biz_date, run_id, version, match_key) SELECT 'wechat', {day:Date}, {run:String}, {v:UInt64}, toString(number) FROM numbers({v:UInt64})`,
			`INSERT INTO batches (job, biz_date, run_id, version) SELECT 'wechat', {day:Date}, {run:String}, {v:UInt64}`,
		} {
			if err := b.Conn().Exec(b.ctx, insert, p...); err != nil {
				return err
			}
		}
		select {
		case <-stop:
			if v >= 50 {
				return nil
			}
		default:
		}
	}
}

// TestReadersSeeWholeVersions reads all the time while versions are committed. With a pause the server waits before it
// fixes what a query sees of each table, so that commits fall between.
func TestReadersSeeWholeVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pause, reads int }{{0, 150}, {250, 10}} {
		t.Run(fmt.Sprintf("pause %d ms", tc.pause), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, setup(t).readWhileCommitting(tc.reads, tc.pause,
				`SELECT count(), min(version), max(version), uniqExact(run_id) FROM diffs_current WHERE job = 'wechat'`,
				`SELECT count(), min(version), max(version), uniqExact(run_id) FROM carried_current`))
		})
	}
}

// TestReadersOfThePlainFormSeeGaps keeps the test above honest: without the step between the view and its table a reader
// does see a version without its rows.
func TestReadersOfThePlainFormSeeGaps(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, setup(t).readWhileCommitting(1000, 250, `SELECT count(), min(version), max(version), uniqExact(run_id) FROM diffs
		WHERE (job, biz_date, run_id) IN (SELECT job, biz_date, argMax(run_id, (version, fence)) FROM batches GROUP BY job, biz_date)`), errTorn)
}

var errTorn = errors.New("not one whole version")

// readWhileCommitting runs each query so many times while versions are committed.
func (b *bundle) readWhileCommitting(reads, pause int, queries ...string) error {
	stop := make(chan struct{})
	var writer, readers errgroup.Group
	writer.Go(func() error { return b.versions(stop) })
	for _, query := range queries {
		readers.Go(func() error { return b.watch(reads, pause, query) })
	}
	err := readers.Wait()
	close(stop)
	return errors.Join(err, writer.Wait())
}

func (b *bundle) watch(reads, pause int, query string) error {
	ctx := clickhouse.Context(b.ctx, clickhouse.WithSettings(clickhouse.Settings{"merge_tree_storage_snapshot_sleep_ms": pause}))
	var seen uint64
	for range reads {
		var n, low, high, runs uint64
		if err := b.Conn().QueryRow(ctx, query).Scan(&n, &low, &high, &runs); err != nil {
			return err
		}
		if low != high || n != high || (n > 0) != (runs == 1) || n < seen {
			return fmt.Errorf("%d rows of the versions %d to %d of %d runs after version %d: %w: %s", n, low, high, runs, seen, errTorn, query)
		}
		seen = n
	}
	return nil
}

// TestEntriesCurrent shows the snapshot and the carried entries that the newest version compared, and no others.
func TestEntriesCurrent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.land(runID(1), day, entry(model.Ledger, "pulled", "1"))
	b.carry(runID(1), day, []model.Entry{entry(model.Ledger, "old carry", "1")})
	first := b.commit(runID(1), model.Batch{}, 1)
	require.Equal(t, "old carry 1\npulled 0", b.text(`SELECT concat(match_key, ' ', toString(carried)) FROM entries_current ORDER BY match_key`))
	b.carry(runID(2), day, []model.Entry{entry(model.Ledger, "new carry", "1"), entry(model.Channel, "new carry", "1")})
	again := b.write(runID(2), first, 2)
	again.SnapshotID = runID(1)
	require.NoError(t, b.Commit(b.ctx, again))
	require.Equal(t, "new carry 1\nnew carry 1\npulled 0", b.text(`SELECT concat(match_key, ' ', toString(carried)) FROM entries_current ORDER BY match_key`))
}

func TestPoolOfTheNewestVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	write := func(run string, version uint64, keys ...string) {
		r, err := b.Results(b.ctx, job, day, run, version)
		require.NoError(t, err)
		for _, k := range keys {
			require.NoError(t, r.Carry(entry(model.Channel, k, "3")))
		}
		n, err := r.Close(b.ctx)
		require.NoError(t, err)
		require.Equal(t, uint64(len(keys)), n.Carried)
		require.NoError(t, b.Commit(b.ctx, model.Batch{Job: job, Day: day, Version: version, Fence: 1, RunID: run, SnapshotID: run, CommittedAt: epoch}))
	}
	write(runID(1), 1, "a", "b")
	write(runID(2), 2, "b", "c")
	var keys []string
	for row, err := range b.Carried(b.ctx, job, day) {
		require.NoError(t, err)
		require.Equal(t, runID(2), row.RunID)
		require.Equal(t, model.Channel, row.Entry.Side)
		keys = append(keys, row.Entry.Key)
	}
	require.Equal(t, []string{"b", "c"}, keys)
}

// failing breaks the answer of chosen inserts.
type failing struct {
	driver.Conn
	after  bool // the server has it, the answer is lost
	broken func(query string) bool
}

func (f *failing) PrepareBatch(ctx context.Context, query string, opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	batch, err := f.Conn.PrepareBatch(ctx, query, opts...)
	if err != nil || !f.broken(query) {
		return batch, err
	}
	return &failingBatch{Batch: batch, after: f.after}, nil
}

type failingBatch struct {
	driver.Batch
	after bool
}

func (f *failingBatch) Send() error {
	if !f.after {
		return errors.Join(errBoom, f.Abort())
	}
	return errors.Join(f.Batch.Send(), errBoom)
}

func TestCommitOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	batches := func(query string) bool { return len(query) > 19 && query[:19] == "INSERT INTO batches" }
	lost := b.Through(&failing{Conn: b.Conn(), after: true, broken: batches})
	first := b.write(runID(1), model.Batch{}, 1, diff(day, "k", "1"))
	require.NoError(t, lost.Commit(b.ctx, first), "the row is there although every answer was lost")
	require.Equal(t, uint64(1), b.number(`SELECT count() FROM batches`), "and there once, although it was sent twice")

	never := b.Through(&failing{Conn: b.Conn(), broken: batches})
	second := b.write(runID(2), first, 2)
	err := never.Commit(b.ctx, second)
	require.ErrorIs(t, err, errBoom)
	require.NotErrorIs(t, err, store.ErrCommitUnknown)

	gone := setup(t)
	deaf := gone.Through(&failing{Conn: gone.Conn(), broken: batches})
	gone.exec(`DROP TABLE batches SYNC`)
	require.ErrorIs(t, deaf.Commit(b.ctx, first), store.ErrCommitUnknown)
}

// TestLostAnswersDoNotDouble writes a whole run through a connection that loses the first answer of every block.
func TestLostAnswersDoNotDouble(t *testing.T) {
	t.Parallel()
	b := setup(t)
	odd := false
	s := b.Through(&failing{Conn: b.Conn(), after: true, broken: func(string) bool { odd = !odd; return odd }})
	l, err := s.Land(b.ctx, store.LandingID{Job: job, Day: day, RunID: runID(1), Side: model.Ledger})
	require.NoError(t, err)
	for _, e := range books(rand.New(rand.NewPCG(9, 9)), 100) {
		if e.Side == model.Ledger {
			require.NoError(t, l.Add(e))
		}
	}
	require.NoError(t, l.Close(b.ctx))
	r, err := s.Results(b.ctx, job, day, runID(1), 1)
	require.NoError(t, err)
	require.NoError(t, r.Diff(diff(day, "k", "1")))
	require.NoError(t, r.Carry(entry(model.Ledger, "c", "1")))
	_, err = r.Close(b.ctx)
	require.NoError(t, err)
}
