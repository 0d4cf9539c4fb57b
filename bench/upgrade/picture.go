package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// picture is everything that a program shows of an installation, by what was asked.
type picture map[string][]row

// takePicture asks a program for everything.
func (i *install) takePicture(ctx context.Context, p program) (picture, error) {
	out := picture{}
	asks := map[string][]string{"status": {"status"}, "events": {"events"}}
	for _, job := range i.book.Jobs {
		asks["diffs "+job] = []string{"diffs", job}
		asks["carried "+job] = []string{"diffs", job, "--carried"}
	}
	for _, name := range slices.Sorted(maps.Keys(asks)) {
		rows, err := i.rows(ctx, p, asks[name]...)
		if err != nil {
			return nil, err
		}
		out[name] = rows
	}
	return out, nil
}

// columnsOfRuns are those that a recompute with the same outcome changes, of every kind of row.
var columnsOfRuns = []string{"version", "attempt", "finished_at", "cause", "instance", "phase", "error"}

// differences lists where another picture differs, in the columns that this one has and that are not to be left out.
func (p picture) differences(other picture, leaveOut ...string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p)) {
		a, b := p[name], other[name]
		if len(a) != len(b) {
			errs = append(errs, fmt.Errorf("%s: %d rows before, %d now", name, len(a), len(b)))
			continue
		}
		for n := range a {
			errs = append(errs, sameRow(fmt.Sprintf("%s, row %d", name, n+1), a[n], b[n], leaveOut))
		}
	}
	return errors.Join(errs...)
}

func sameRow(where string, a, b row, leaveOut []string) error {
	var errs []error
	for _, column := range slices.Sorted(maps.Keys(a)) {
		if !slices.Contains(leaveOut, column) && !reflect.DeepEqual(a[column], b[column]) {
			errs = append(errs, fmt.Errorf("%s, %s: %v before, %v now", where, column, a[column], b[column]))
		}
	}
	return errors.Join(errs...)
}

// without is the picture less one kind of rows.
func (p picture) without(names ...string) picture {
	out := maps.Clone(p)
	for _, n := range names {
		delete(out, n)
	}
	return out
}

// versions are the versions by job and day.
func (p picture) versions() map[string]string {
	out := map[string]string{}
	for _, r := range p["status"] {
		out[r.text("job")+" "+r.text("biz_date")] = r.text("version")
	}
	return out
}

// notDone lists the days that are not DONE.
func (p picture) notDone() error {
	var errs []error
	for _, r := range p["status"] {
		if r.text("status") != "DONE" {
			errs = append(errs, fmt.Errorf("%s %s is %s: %s", r.text("job"), r.text("biz_date"), r.text("status"), r.text("error")))
		}
	}
	return errors.Join(errs...)
}

// told checks that the events of an earlier picture are all there as they were, in their order, before any other.
func (p picture) told(earlier picture) error {
	a, b := earlier["events"], p["events"]
	if len(b) < len(a) {
		return fmt.Errorf("events: %d before, %d now", len(a), len(b))
	}
	var errs []error
	for n := range a {
		errs = append(errs, sameRow(fmt.Sprintf("event %d", n+1), a[n], b[n], nil))
	}
	return errors.Join(errs...)
}

// rebuilds folds the events into open diffs and holds them against those that are shown.
func (p picture) rebuilds() error {
	open := map[string]row{}
	for _, e := range p["events"] {
		data, _ := e["data"].(map[string]any)
		d := row(data)
		switch e.text("type") {
		case "daybreak.diff.opened", "daybreak.diff.changed":
			open[d.text("diff_id")] = d
		case "daybreak.diff.cleared":
			delete(open, d.text("diff_id"))
		}
	}
	var errs []error
	shown := 0
	for name, rows := range p {
		if len(name) < 6 || name[:6] != "diffs " {
			continue
		}
		for _, d := range rows {
			if d.text("state") != "open" {
				continue
			}
			shown++
			e := open[d.text("diff_id")]
			for _, column := range []string{"kind", "key", "delta", "ledger_amount", "channel_amount", "origin_date"} {
				if e.text(column) != d.text(column) {
					errs = append(errs, fmt.Errorf("%s %s, %s: %q by the events, %q in the table", name, d.text("diff_id"), column, e.text(column), d.text(column)))
				}
			}
		}
	}
	if len(open) != shown {
		errs = append(errs, fmt.Errorf("%d open diffs by the events, %d in the table", len(open), shown))
	}
	return errors.Join(errs...)
}
