package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"daybreak/pkg/engine"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
	"daybreak/pkg/store"

	"github.com/jonboulle/clockwork"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"
)

// pipeline is Daybreak's way, on an engine that runs for the whole comparison.
type pipeline struct {
	ch      *engine.ClickHouse
	store   *store.Store
	sources map[model.Side]source.Source
	rules   model.Rules
	runs    int
	told    string // how long the stages of the last run took
}

func newPipeline(ctx context.Context, dir string) (*pipeline, error) {
	p := &pipeline{sources: map[model.Side]source.Source{}, rules: model.Rules{
		Key: []string{"key"}, Mode: model.ModeOne, Compare: []string{"status"},
		StatusMap: map[model.Side]map[string]string{model.Ledger: {"PAID": "success"}, model.Channel: {"SUCCESS": "success"}},
	}}
	column := func(name string) source.Column { return source.Column{Header: name} }
	for _, side := range []struct {
		side    model.Side
		path    string
		columns source.Columns
	}{
		{model.Ledger, "ledger-{date}.csv", source.Columns{
			Key: column("order_no"), ID: column("row_no"), Amount: column("amount"), Currency: column("currency"),
			Status: column("state"), OccurredAt: column("paid_at"),
		}},
		{model.Channel, "channel-{date}.csv", source.Columns{
			Key: column("out_trade_no"), ID: column("transaction_id"), Amount: column("total"), Currency: column("fee_type"),
			Status: column("trade_state"), OccurredAt: column("success_time"),
		}},
	} {
		var err error
		spec := source.Spec{Kind: source.KindCSV, CSV: &source.CSV{Path: side.path}, Columns: side.columns}
		if p.sources[side.side], err = source.Open(spec, source.Env{Root: dir}); err != nil {
			return nil, err
		}
	}
	var err error
	p.ch, err = engine.StartClickHouse(ctx, engine.CHOptions{
		Dir: filepath.Join(dir, "clickhouse"), LibPath: os.Getenv("CHDB_LIB_PATH"), Progress: os.Stderr, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	options := p.ch.Options()
	options.Auth.Database = "daybreak"
	p.store, err = store.Open(ctx, store.Options{Conn: options, Clock: clockwork.NewRealClock(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		p.ch.Close()
		return nil, err
	}
	return p, nil
}

func (p *pipeline) close() {
	_ = p.store.Close()
	p.ch.Close()
}

// stages says how the last run spent its time.
func (p *pipeline) stages(name string) string {
	if name != "daybreak" {
		return ""
	}
	return " (" + p.told + ")"
}

var day = model.NewDay(2026, time.October, 1)

// run is one day of a job of its own, from the files to the commit.
func (p *pipeline) run(ctx context.Context) ([]string, uint64, error) {
	p.runs++
	debug.FreeOSMemory() // what the run before has left behind is not this one's
	watch := watchMemory(os.Getpid())
	found, err := p.reconcile(ctx, fmt.Sprintf("job-%d", p.runs))
	return found, watch.peak(), err
}

func (p *pipeline) reconcile(ctx context.Context, job string) ([]string, error) {
	b := model.Batch{
		Job: job, Day: day, Version: 1, Fence: 1, RunID: ulid.Make().String(), Cause: model.CauseDue, Balance: *model.NewBalance(),
		Diffs: map[model.Kind]uint64{}, Seals: map[model.Side]model.Seal{},
	}
	b.SnapshotID = b.RunID
	begun := time.Now()
	if err := p.land(ctx, &b); err != nil {
		return nil, err
	}
	landed := time.Now()
	found, err := p.judge(ctx, &b)
	if err != nil {
		return nil, err
	}
	judged := time.Now()
	if err := b.Balance.Check(); err != nil {
		return nil, err
	}
	b.CommittedAt = time.Now()
	if err := p.store.Commit(ctx, b); err != nil {
		return nil, err
	}
	p.told = fmt.Sprintf("source and land %.2f, compare %.2f, commit %.2f", landed.Sub(begun).Seconds(), judged.Sub(landed).Seconds(), time.Since(judged).Seconds())
	return found, nil
}

// land reads and stores both sides at once, and asks the engine for what it has.
func (p *pipeline) land(ctx context.Context, b *model.Batch) error {
	g, ctx := errgroup.WithContext(ctx)
	seals := [2]model.Seal{}
	for i, side := range model.Sides {
		g.Go(func() (err error) {
			seals[i], err = p.landSide(ctx, b, side)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, side := range model.Sides {
		b.Seals[side] = seals[i]
		b.Balance.Side(side).In.Merge(seals[i].Totals)
	}
	return nil
}

func (p *pipeline) landSide(ctx context.Context, b *model.Batch, side model.Side) (model.Seal, error) {
	landing, err := p.store.Land(ctx, store.LandingID{Job: b.Job, Day: b.Day, RunID: b.RunID, Side: side})
	if err != nil {
		return model.Seal{}, err
	}
	seal, err := p.sources[side].Read(ctx, source.Request{Job: b.Job, Side: side, Day: b.Day, Zone: time.UTC, Rules: p.rules}, landing.Add)
	if err != nil {
		landing.Abort()
		return model.Seal{}, err
	}
	if err := landing.Close(ctx); err != nil {
		return model.Seal{}, err
	}
	got, err := p.store.SnapshotTotals(ctx, b.Job, b.Day, b.RunID, side)
	if err == nil && !got.Equal(seal.Totals) {
		err = fmt.Errorf("%s: read %s, stored %s", side, seal.Totals, got)
	}
	return seal, err
}

// judge compares and keeps what differs.
func (p *pipeline) judge(ctx context.Context, b *model.Batch) ([]string, error) {
	c := store.Comparison{Job: b.Job, Day: b.Day, SnapshotID: b.SnapshotID, RunID: b.RunID, Mode: p.rules.Mode}
	ledger, channel, err := p.store.Exact(ctx, c)
	if err != nil {
		return nil, err
	}
	b.Balance.Ledger.Matched.Merge(ledger)
	b.Balance.Channel.Matched.Merge(channel)
	results, err := p.store.Results(ctx, b.Job, b.Day, b.RunID, b.Version)
	if err != nil {
		return nil, err
	}
	var found []string
	err = p.store.Residue(ctx, c, func(g model.Group) error {
		f := p.rules.Judge(g, func(model.Day) bool { return true }).Figures
		for _, a := range f.Amounts {
			if a.LedgerCount > 0 {
				b.Balance.Ledger.Different.Add(a.Currency, a.LedgerCount, a.Ledger)
			}
			if a.ChannelCount > 0 {
				b.Balance.Channel.Different.Add(a.Currency, a.ChannelCount, a.Channel)
			}
		}
		b.Diffs[f.Kind]++
		found = append(found, fmt.Sprintf("%s %s %s %s", g.Key, f.Kind, f.LedgerAmount.Decimal, f.ChannelAmount.Decimal))
		return results.Diff(model.Diff{
			Figures: f, Job: b.Job, Day: b.Day, Version: b.Version, State: model.Open, ID: model.DiffID(b.Job, b.Day, g.Key),
		})
	})
	if err != nil {
		results.Abort()
		return nil, err
	}
	_, err = results.Close(ctx)
	slices.Sort(found)
	return found, err
}
