package recon

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/nats-io/nats.go"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// publishVersion publishes what changed in a committed version against the one before, then the event that closes it.
// Ids are derived from what is told, so doing it again after a crash tells nothing new.
func (r *Recon) publishVersion(ctx context.Context, b model.Batch) error {
	sent, err := r.Bus.PublishAll(ctx, r.changes(ctx, b), nil)
	if err != nil {
		return err
	}
	event, err := model.NewCommittedEvent(b, uint64(sent))
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

func (r *Recon) changes(ctx context.Context, b model.Batch) iter.Seq2[bus.Message, error] {
	return func(yield func(bus.Message, error) bool) {
		for c, err := range r.Store.Changes(ctx, b) {
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
