package recon

import (
	"context"
	"iter"
	"time"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

// Streams is what recon needs of the streams, see [bus.Bus].
type Streams interface {
	Publish(ctx context.Context, m bus.Message) (bus.Receipt, error)
	PublishAll(ctx context.Context, messages iter.Seq2[bus.Message, error], progress func(n int)) (n int, err error)
	Last(ctx context.Context, stream, subject string) (bus.Message, uint64, error)
	Consumer(opts bus.ConsumerOptions, handler bus.Handler) *bus.Consumer
}

// Tables is what recon needs of the result tables, see [store.Store].
type Tables interface {
	Current(ctx context.Context, job string, day model.Day) (model.Batch, bool, error)
	Land(ctx context.Context, id store.LandingID) (Landing, error)
	SnapshotTotals(ctx context.Context, job string, day model.Day, snapshotID string, side model.Side) (model.Totals, error)
	CarryIn(ctx context.Context, job string, day model.Day, runID string, from model.Batch) (map[model.Side]model.Totals, error)
	Exact(ctx context.Context, c store.Comparison) (ledger, channel model.Totals, err error)
	Residue(ctx context.Context, c store.Comparison, fn func(model.Group) error) error
	Results(ctx context.Context, job string, day model.Day, runID string, version uint64) (Results, error)
	CarryOverCleared(ctx context.Context, prev model.Batch, runID string, version uint64) (uint64, error)
	Commit(ctx context.Context, b model.Batch) error
	Changes(ctx context.Context, b model.Batch) iter.Seq2[store.Change, error]
	Sweep(ctx context.Context, before time.Time, keep func(runID string) bool) error
}

// Landing takes one side of a snapshot, see [store.Landing].
type Landing interface {
	Add(e model.Entry) error
	Close(ctx context.Context) error
	Abort()
}

// Results takes what a run found, see [store.Results].
type Results interface {
	Diff(d model.Diff) error
	Carry(e model.Entry) error
	Close(ctx context.Context) (store.ResultCounts, error)
	Abort()
}

// Stored are the tables of a store.
func Stored(s *store.Store) Tables { return stored{s} }

type stored struct{ *store.Store }

func (s stored) Land(ctx context.Context, id store.LandingID) (Landing, error) {
	l, err := s.Store.Land(ctx, id)
	if err != nil {
		return nil, err // not a nil *store.Landing in an interface
	}
	return l, nil
}

func (s stored) Results(ctx context.Context, job string, day model.Day, runID string, version uint64) (Results, error) {
	r, err := s.Store.Results(ctx, job, day, runID, version)
	if err != nil {
		return nil, err
	}
	return r, nil
}
