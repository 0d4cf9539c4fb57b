package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/config"
	"daybreak/pkg/model"
	"daybreak/pkg/store"
)

// state is everything that must survive, read with the packages and not with the commands under test.
type state struct {
	floors  map[string]model.Day
	marks   map[string]model.Watermark // by batch
	batches map[string]model.Batch     // by batch
	diffs   map[string]string          // figures and review by diff, without the version
	kept    map[string]model.Review    // in the control bucket
	stored  map[string]model.Review    // in the tables
	events  []model.Event
}

// with does something on open engines.
func (i *installation) with(do func(*desk)) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), 3*time.Minute)
	defer cancel()
	d := &desk{i: i, ctx: ctx}
	d.cli = &cli{environment: testEnvironment(&d.out, &d.err, i.vars()), flags: flags{format: formatNDJSON}}
	cfg, err := config.Load(i.book.Config)
	require.NoError(i.t, err)
	log := slog.New(slog.NewTextHandler(&d.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	d.app, err = openApp(ctx, d.cli.environment, cfg, appOptions{clock: clockAt(i.now), log: log})
	require.NoError(i.t, err)
	defer d.app.close()
	do(d)
}

// desk does what the commands do, one after the other on engines that are opened once.
type desk struct {
	i        *installation
	ctx      context.Context
	cli      *cli
	app      *app
	out, err strings.Builder
}

// rebuild is daybreak rebuild: what it lists, in numbers, and its exit code.
func (d *desk) rebuild(dryRun bool) (map[string]int, int) {
	d.i.t.Helper()
	d.out.Reset()
	code := exitFine
	if err := d.cli.rebuild(d.ctx, d.app, d.app.cfg.ModelJobs(), dryRun); err != nil {
		var coded *codedError
		require.ErrorAs(d.i.t, err, &coded)
		code = coded.code
	}
	return actions(decodeRows(d.i.t, d.out.String())), code
}

// once is daybreak up --once.
func (d *desk) once() {
	d.i.t.Helper()
	_, err := d.app.once(d.ctx, d.cli.progress())
	require.NoError(d.i.t, err)
}

// audit is daybreak audit --deep.
func (d *desk) audit() []map[string]any {
	d.i.t.Helper()
	d.out.Reset()
	var coded *codedError
	if err := d.cli.audit(d.ctx, d.app, nil, true); err != nil {
		require.ErrorAs(d.i.t, err, &coded)
	}
	return decodeRows(d.i.t, d.out.String())
}

func (d *desk) look() state {
	d.i.t.Helper()
	s := state{
		floors: map[string]model.Day{}, marks: map[string]model.Watermark{}, batches: map[string]model.Batch{}, diffs: map[string]string{},
		kept: map[string]model.Review{}, stored: map[string]model.Review{},
	}
	for _, job := range d.i.book.Jobs {
		d.i.lookAt(d.ctx, d.app, job, &s)
	}
	err := d.app.bus.Tail(d.ctx, bus.StreamDiffs, []string{bus.AllDiffs, bus.AllBatches}, bus.From{Seq: 1}, false, func(m bus.Delivery) error {
		var e model.Event
		err := json.Unmarshal(m.Data, &e)
		s.events = append(s.events, e)
		return err
	})
	require.NoError(d.i.t, err)
	return s
}

func (i *installation) look() (s state) {
	i.t.Helper()
	i.with(func(d *desk) { s = d.look() })
	return s
}

func (i *installation) lookAt(ctx context.Context, a *app, job string, s *state) {
	floor, ok, err := a.control.KeptFloor(ctx, job)
	require.NoError(i.t, err)
	if ok {
		s.floors[job] = floor
	}
	marks, err := a.control.Watermarks(ctx, job)
	require.NoError(i.t, err)
	for day, w := range marks {
		s.marks[model.BatchID(job, day)] = w
	}
	batches, err := a.store.Batches(ctx, job, 0, model.MaxDay)
	require.NoError(i.t, err)
	for _, b := range batches {
		s.batches[b.ID()] = b
	}
	for row, err := range a.store.Diffs(ctx, store.DiffQuery{Job: job}) {
		require.NoError(i.t, err)
		s.diffs[row.ID] = strings.Join([]string{row.Key, string(row.Kind), string(row.State), row.Fingerprint(), string(row.Review), strconv.FormatUint(row.ReviewStep, 10)}, " ")
	}
	kept, stored, err := a.allReviews(ctx, job)
	require.NoError(i.t, err)
	for id := range kept {
		s.kept[id] = kept[id]
	}
	for id := range stored {
		s.stored[id] = stored[id]
	}
}

// consumer reads events as the documentation tells readers to: an id counts once, and a closing event that says full
// ends what was known of its day before.
type consumer struct {
	seen map[string]bool
	open map[string]model.DiffData
}

func (c *consumer) read(t *testing.T, events []model.Event) {
	t.Helper()
	if c.seen == nil {
		c.seen, c.open = map[string]bool{}, map[string]model.DiffData{}
	}
	for _, e := range events {
		if c.seen[e.ID] {
			continue
		}
		c.seen[e.ID] = true
		switch strings.TrimPrefix(e.Type, "daybreak.") {
		case "diff.opened", "diff.changed", "diff.cleared":
			var d model.DiffData
			require.NoError(t, json.Unmarshal(e.Data, &d))
			c.open[d.DiffID] = d
			if d.State == model.Cleared {
				delete(c.open, d.DiffID)
			}
		case "batch.committed":
			var b model.BatchData
			require.NoError(t, json.Unmarshal(e.Data, &b))
			for id, d := range c.open {
				if b.Full && d.BatchID == b.BatchID && d.Version < b.Version {
					delete(c.open, id)
				}
			}
		}
	}
}

// requireTable holds what a consumer knows against the table.
func (c *consumer) requireTable(t *testing.T, s state) {
	t.Helper()
	want := map[string]bool{}
	for id, text := range s.diffs {
		if strings.Contains(text, " "+string(model.Open)+" ") {
			want[id] = true
		}
	}
	have := map[string]bool{}
	for id := range c.open {
		have[id] = true
	}
	require.Equal(t, want, have)
}

// requireWhole is what every recovery must end with: every day DONE at a version that is the tables' and the stream's,
// the same diffs, every review in both places, no version below one that a reader has seen, floors where they were, and
// an auditor who looks at every day and finds nothing.
func (d *desk) requireWhole(seen state) state {
	t := d.i.t
	t.Helper()
	require.Empty(t, d.audit())
	again, _ := d.rebuild(true)
	require.Empty(t, again)
	s := d.look()
	require.Len(t, s.batches, len(seen.batches))
	for id, b := range s.batches {
		w := s.marks[id]
		require.Equal(t, model.Done, w.Status, id)
		require.Equal(t, []any{b.RunID, b.Version, b.Version, b.CarryOut}, []any{w.Committed, w.Version, w.Published, w.CarryOut}, id)
		require.GreaterOrEqual(t, b.Version, seen.batches[id].Version, id)
		require.Equal(t, seen.batches[id].CarryOut, b.CarryOut, id)
	}
	require.Equal(t, seen.diffs, s.diffs)
	require.Equal(t, seen.kept, s.kept)
	require.Equal(t, s.kept, s.stored)
	require.Equal(t, seen.floors, s.floors)
	fresh := consumer{}
	fresh.read(t, s.events)
	fresh.requireTable(t, s)
	return s
}

// requireSameVersions checks that nothing was computed again.
func requireSameVersions(t *testing.T, want, have state) {
	t.Helper()
	for id, b := range want.batches {
		require.Equal(t, b.RunID, have.batches[id].RunID, id)
		require.Equal(t, b.Version, have.batches[id].Version, id)
	}
}

func actions(rows []map[string]any) map[string]int {
	out := map[string]int{}
	for _, r := range rows {
		out[r["lacks"].(string)+" "+r["action"].(string)]++
	}
	return out
}
