package auditor

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// Streams is what the auditor needs of the streams, see [bus.Bus].
type Streams interface {
	Publish(ctx context.Context, m bus.Message) (bus.Receipt, error)
	Tail(ctx context.Context, stream string, filters []string, from bus.From, follow bool, fn func(bus.Delivery) error) error
	Last(ctx context.Context, stream, subject string) (bus.Message, uint64, error)
	Pending(ctx context.Context, stream, durable string) (numPending uint64, numAckPending int, err error)
}

// reader is what the auditor reads of the result tables; [tables] reads it from ClickHouse.
type reader interface {
	newest(ctx context.Context, job string) (map[model.Day]newest, error)
	claim(ctx context.Context, job string, day model.Day, runID string) (claim, error)
	derive(ctx context.Context, job model.Job, day model.Day, n newest) (derived, error)
	reviews(ctx context.Context, job string) (map[string]model.Review, error)
	openDiffs(ctx context.Context, job string, f *figures) error
	backlog(ctx context.Context, job string, age func(model.Day) string, f *figures) error
}

// Tables stand in for the result tables where these are no database. They give what the auditor's own SQL would; the
// figures of the metrics are not among it.
type Tables interface {
	// Newest is the newest version of every batch of a job.
	Newest(ctx context.Context, job string) (map[model.Day]Newest, error)
	// Claim is what the commit row of a run says of it.
	Claim(ctx context.Context, job string, day model.Day, runID string) (Claim, error)
	// Derive adds up the rows of a run.
	Derive(ctx context.Context, job model.Job, day model.Day, n Newest) (Derived, error)
	// Reviews is the newest step of every review of a job, by diff.
	Reviews(ctx context.Context, job string) (map[string]model.Review, error)
}

// Newest is the newest version of a batch in short.
type Newest struct {
	Version, Fence    uint64
	RunID, SnapshotID string
	CommittedAt       time.Time
	CarryIn, CarryOut string
	OpenDiffs         uint64
}

// Claim is what a commit row says of its run.
type Claim = claim

// Derived is what the rows of a run add up to.
type Derived struct {
	In, CarriedIn       map[model.Side]model.Totals // entries: of the snapshot, and carried in
	Matched             map[model.Side]model.Totals // entries whose key is in no open diff and in no pool
	InDiffs, InPool     map[model.Side]model.Totals // entries whose key is in an open diff, in the pool handed on
	Diffs, PoolOut      map[model.Side]model.Totals // what the open diffs show, what the pool holds
	Kinds               map[string]uint64           // open diffs by kind
	Twice               uint64                      // open diffs with an id that another has
	Headlines           uint64                      // open diffs whose headline contradicts their amounts
	Wrong               uint64                      // matched keys that do not match by the rules
	WrongKey            string                      // one of these
	DigestIn, DigestOut string                      // of the pools
}

// Stored are the tables that a connection reaches, read by the auditor's own SQL.
func Stored(conn driver.Conn) Tables { return held{tables{conn}} }

type held struct{ t tables }

func (h held) Newest(ctx context.Context, job string) (map[model.Day]Newest, error) {
	all, err := h.t.newest(ctx, job)
	out := map[model.Day]Newest{}
	for day, n := range all {
		out[day] = Newest{
			Version: n.version, Fence: n.fence, RunID: n.runID, SnapshotID: n.snapshotID, CommittedAt: n.committedAt,
			CarryIn: n.carryIn, CarryOut: n.carryOut, OpenDiffs: n.openDiffs,
		}
	}
	return out, err
}

func (h held) Claim(ctx context.Context, job string, day model.Day, runID string) (Claim, error) {
	return h.t.claim(ctx, job, day, runID)
}

func (h held) Derive(ctx context.Context, job model.Job, day model.Day, n Newest) (Derived, error) {
	d, err := h.t.derive(ctx, job, day, newest{
		version: n.Version, fence: n.Fence, runID: n.RunID, snapshotID: n.SnapshotID, committedAt: n.CommittedAt,
		carryIn: n.CarryIn, carryOut: n.CarryOut, openDiffs: n.OpenDiffs,
	})
	return Derived{
		In: d.in, CarriedIn: d.carriedIn, Matched: d.matched, InDiffs: d.inDiffs, InPool: d.inPool, Diffs: d.diffs,
		PoolOut: d.poolOut, Kinds: d.kinds, Twice: d.twice, Headlines: d.headlines, Wrong: d.wrong, WrongKey: d.wrongKey,
		DigestIn: d.digestIn, DigestOut: d.digestOut,
	}, err
}

func (h held) Reviews(ctx context.Context, job string) (map[string]model.Review, error) {
	return h.t.reviews(ctx, job)
}

// given reads from Tables.
type given struct{ Tables }

func (g given) newest(ctx context.Context, job string) (map[model.Day]newest, error) {
	all, err := g.Newest(ctx, job)
	if err != nil {
		return nil, err
	}
	out := map[model.Day]newest{}
	for day, n := range all {
		out[day] = newest{
			version: n.Version, fence: n.Fence, runID: n.RunID, snapshotID: n.SnapshotID, committedAt: n.CommittedAt,
			carryIn: n.CarryIn, carryOut: n.CarryOut, openDiffs: n.OpenDiffs,
		}
	}
	return out, nil
}

func (g given) claim(ctx context.Context, job string, day model.Day, runID string) (claim, error) {
	return g.Claim(ctx, job, day, runID)
}

func (g given) derive(ctx context.Context, job model.Job, day model.Day, n newest) (derived, error) {
	d, err := g.Derive(ctx, job, day, Newest{
		Version: n.version, Fence: n.fence, RunID: n.runID, SnapshotID: n.snapshotID, CommittedAt: n.committedAt,
		CarryIn: n.carryIn, CarryOut: n.carryOut, OpenDiffs: n.openDiffs,
	})
	return derived{
		in: d.In, carriedIn: d.CarriedIn, matched: d.Matched, inDiffs: d.InDiffs, inPool: d.InPool, diffs: d.Diffs,
		poolOut: d.PoolOut, kinds: d.Kinds, twice: d.Twice, headlines: d.Headlines, wrong: d.Wrong, wrongKey: d.WrongKey,
		digestIn: d.DigestIn, digestOut: d.DigestOut,
	}, err
}

func (g given) reviews(ctx context.Context, job string) (map[string]model.Review, error) {
	return g.Reviews(ctx, job)
}

func (given) openDiffs(context.Context, string, *figures) error { return nil }

func (given) backlog(context.Context, string, func(model.Day) string, *figures) error { return nil }
