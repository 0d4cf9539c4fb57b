package recon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// publishVersion publishes what changed in a committed version against the one before, then the event that closes it.
// Ids are derived from what is told, so doing it again after a crash tells nothing new.
//
// Where the stream does not know the version before, because it is the first or one of the stores was lost, every open
// diff is told, and the closing event says that this is the whole day.
//
// A version that the stream has closed is not told again: by then the stream knows it, so the same call would no longer
// find that the whole day is to be told, and would tell something else under the same id.
func (r *Recon) publishVersion(ctx context.Context, b model.Batch) error {
	told, err := r.lastTold(ctx, b.Job, b.Day)
	if err != nil {
		return err
	}
	if told.RunID == b.RunID {
		return nil // closed: everything before the closing event is in the stream
	}
	full := b.Previous == "" || told.RunID != b.Previous
	if full {
		b.Previous = ""
	}
	sent, err := r.Bus.PublishAll(ctx, r.changes(ctx, b), nil)
	if err != nil {
		return err
	}
	event, err := model.NewCommittedEvent(b, uint64(sent), full)
	if err != nil {
		return err
	}
	m, err := message(b.Job, b.Day, event, model.BatchCommitted)
	if err != nil {
		return err
	}
	if _, err := r.Bus.Publish(ctx, m); err != nil {
		return err
	}
	r.metrics.published(b.Job, sent+1)
	return nil
}

// lastTold is the last version of a batch that the stream closed, zero when it knows of none.
func (r *Recon) lastTold(ctx context.Context, job string, day model.Day) (told model.BatchData, err error) {
	subject, err := bus.Batch(job, day.String(), string(model.BatchCommitted))
	if err != nil {
		return told, err
	}
	m, _, err := r.Bus.Last(ctx, bus.StreamDiffs, subject)
	if errors.Is(err, bus.ErrNotFound) {
		return told, nil
	}
	if err != nil {
		return told, err
	}
	var e model.Event
	if err := json.Unmarshal(m.Body, &e); err != nil {
		return told, fmt.Errorf("the last message on %s is no event: %w", subject, err)
	}
	return told, json.Unmarshal(e.Data, &told)
}

func (r *Recon) changes(ctx context.Context, b model.Batch) iter.Seq2[bus.Message, error] {
	return func(yield func(bus.Message, error) bool) {
		for c, err := range r.Tables.Changes(ctx, b) {
			var m bus.Message
			if err == nil {
				m, err = diffMessage(c.Kind, c.Diff, b)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

func diffMessage(kind model.EventKind, d model.Diff, b model.Batch) (bus.Message, error) {
	event, err := model.NewDiffEvent(kind, d, b.CommittedAt)
	if err != nil {
		return bus.Message{}, err
	}
	return message(d.Job, d.Day, event, kind)
}

// message is an event as it goes over the wire.
func message(job string, day model.Day, e model.Event, kind model.EventKind) (bus.Message, error) {
	subjectOf := bus.Diff
	if kind == model.BatchCommitted || kind == model.BatchFailed {
		subjectOf = bus.Batch
	}
	subject, err := subjectOf(job, day.String(), string(kind))
	if err != nil {
		return bus.Message{}, err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return bus.Message{}, err
	}
	return bus.Message{Subject: subject, ID: e.ID, Body: data, Header: nats.Header{"Content-Type": {model.ContentType}}}, nil
}
