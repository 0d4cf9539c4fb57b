package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// eventFlags choose among the events, as typed.
type eventFlags struct {
	job, since, date, schema string
	follow                   bool
}

func (c *cli) eventsCommand() *cobra.Command {
	var f eventFlags
	cmd := &cobra.Command{
		Use: "events", Short: "Print the diff and batch events",
		Long: "Print the events of the stream DIFFS, oldest first, up to the newest; with --follow also those to come, until interrupted.\n" +
			"As ndjson and json they are the CloudEvents as published, as table and csv their main fields. Delivery downstream is at\n" +
			"least once: drop repeated ids. --since counts from when an event was published.",
		Example: "  daybreak events --job wechat --since 24h\n  daybreak events --follow --format ndjson\n  daybreak events --schema diff",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.schema != "" {
				return c.printSchema(f.schema)
			}
			from, err := parseSince(f.since, time.Now())
			s, setupErr := c.setup()
			if err := errors.Join(err, c.checkLive(f.follow), setupErr); err != nil {
				return usage(err)
			}
			filters, err := f.filters(s)
			if err != nil {
				return err
			}
			return c.open(cmd.Context(), s, func(a *app) error { return c.events(cmd.Context(), a, filters, from, f.follow) })
		},
	}
	cmd.Flags().StringVar(&f.job, "job", "", "only events of this job")
	cmd.Flags().StringVar(&f.date, "date", "", "only events of this business day")
	cmd.Flags().StringVar(&f.since, "since", "", "only events published since: RFC 3339, YYYY-MM-DD (UTC), or how long ago, such as 24h or 7d")
	cmd.Flags().BoolVar(&f.follow, "follow", false, "go on with new events until interrupted")
	cmd.Flags().StringVar(&f.schema, "schema", "", "print the JSON Schema of the data of an event instead: diff or batch")
	words(cmd, "schema", "diff", "batch")
	_ = cmd.RegisterFlagCompletionFunc("job", c.completeJobs(true))
	return cmd
}

func (c *cli) printSchema(noun string) error {
	text := model.Schema(noun)
	if text == nil {
		return usage(fmt.Errorf("--schema %q: want diff or batch", noun))
	}
	_, err := c.stdout.Write(text)
	return err
}

func (c *cli) checkLive(follow bool) error {
	if follow && c.flags.format == formatJSON {
		return errors.New("--format json is one array and needs an end; use ndjson with --follow")
	}
	return nil
}

// parseSince reads an instant, a date or how long ago. The empty text is the beginning.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if day, err := model.ParseDay(text); err == nil {
		return day.UTC(), nil
	}
	if n, err := strconv.ParseUint(strings.TrimSuffix(text, "d"), 10, 16); err == nil && strings.HasSuffix(text, "d") {
		return now.AddDate(0, 0, -int(n)), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("--since %q: want 2026-10-31T02:00:00+08:00, 2026-10-31, 24h or 7d", text)
}

// filters select the subjects of diff and batch events.
func (f eventFlags) filters(s setup) ([]string, error) {
	job, date := "*", "*"
	var zone model.Job
	if f.job != "" {
		j, err := s.job(f.job)
		if err != nil {
			return nil, err
		}
		job, zone = j.Name, j
	}
	if f.date != "" {
		day, err := parseDay(f.date, zone, s.clock.Now())
		if err != nil {
			return nil, usage(fmt.Errorf("--date: %w", err))
		}
		date = day.String()
	}
	if job == "*" && date == "*" {
		return []string{bus.AllDiffs, bus.AllBatches}, nil
	}
	tail := "." + job + "." + date + ".*"
	return []string{"diff" + tail, "batch" + tail}, nil
}

var eventColumns = []column{
	{name: "time", width: 30},
	{name: "type", width: 24},
	{name: "batch_id", width: 20},
	{name: "version", kind: number},
	{name: "subject", width: 32},
	{name: "kind", width: 18},
	{name: "state"},
	{name: "key", kind: outside, width: 24},
	{name: "currency", kind: outside},
	{name: "delta", kind: money, width: 12},
	{name: "detail", kind: outside, width: 30},
	{name: "id", width: 32},
	{name: "seq", kind: number},
}

func (c *cli) events(ctx context.Context, a *app, filters []string, from time.Time, follow bool) error {
	out := c.rows(eventColumns...)
	out.live = follow
	asRows := out.format == formatTable || out.format == formatCSV
	err := a.bus.Tail(ctx, bus.StreamDiffs, filters, bus.From{Time: from}, follow, func(d bus.Delivery) error {
		var line bytes.Buffer
		if err := json.Compact(&line, d.Data); err != nil {
			fmt.Fprintf(c.stderr, "message %d on %s is no event: %v\n", d.Seq, d.Subject, err)
			return nil
		}
		if !asRows {
			return out.raw(line.Bytes())
		}
		return out.add(eventValues(d)...)
	})
	if err != nil {
		return errors.Join(err, out.out.Flush())
	}
	return out.end()
}

// eventData is what of the data of both kinds of event is shown in a row.
type eventData struct {
	BatchID  string                `json:"batch_id"`
	Version  uint64                `json:"version"`
	Kind     string                `json:"kind"`
	State    string                `json:"state"`
	Key      string                `json:"key"`
	Currency string                `json:"currency"`
	Delta    decimal.NullDecimal   `json:"delta"`
	Detail   string                `json:"detail"`
	Review   *model.Review         `json:"review"`
	Events   uint64                `json:"events"`
	Diffs    map[model.Kind]uint64 `json:"diffs"`
	Error    string                `json:"error"`
}

func eventValues(d bus.Delivery) []any {
	var e model.Event
	var data eventData
	if err := json.Unmarshal(d.Data, &e); err == nil {
		_ = json.Unmarshal(e.Data, &data) // of another kind: its own fields stay empty
	}
	return []any{
		e.Time, e.Type, data.BatchID, data.Version, e.Subject, orNull(data.Kind), orNull(data.State), orNull(data.Key),
		orNull(data.Currency), data.Delta, orNull(data.text(e.Type)), e.ID, d.Seq,
	}
}

// text says in words what the other fields do not.
func (d eventData) text(kind string) string {
	switch {
	case d.Review != nil:
		return fmt.Sprintf("%s by %s: %s", d.Review.State, d.Review.By, d.Review.Note)
	case d.Error != "":
		return d.Error
	case strings.HasSuffix(kind, "."+string(model.BatchCommitted)):
		var open uint64
		for _, n := range d.Diffs {
			open += n
		}
		return fmt.Sprintf("%d open diffs, %d events", open, d.Events)
	}
	return d.Detail
}
