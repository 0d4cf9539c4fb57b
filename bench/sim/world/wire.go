package world

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"daybreak/bench/sim/mem"
	"daybreak/services/auditor"
	"daybreak/services/recon"
)

// table carries a request to the tables.
func (p *process) table(ctx context.Context, r mem.Request) error {
	var sent func()
	if r.Commit != nil {
		sent = func() { p.n.w.watch.commits(p, *r.Commit) }
	}
	return p.n.w.send(ctx, &call{
		by: p, label: "table " + r.Name, write: r.Write, rows: true, sent: sent, apply: r.Apply, lost: errTables, busy: errTables,
	})
}

var errTables = errors.New("read: connection reset by peer")

// wire is a process's way to the control bucket.
type wire struct{ p *process }

func (c *wire) Publish(ctx context.Context, m *nats.Msg) (seq uint64, err error) {
	label := "kv " + m.Subject
	if v := m.Header.Get(jetstream.ExpectedLastSubjSeqHeader); v != "" {
		label += " at " + v
	}
	err = c.p.n.w.send(ctx, &call{
		by: c.p, label: label, write: true, lost: nats.ErrTimeout, busy: jetstream.ErrNoStreamResponse,
		apply: func() (err error) {
			seq, err = c.p.n.w.bucket.publish(m)
			return err
		},
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

func (c *wire) Last(ctx context.Context, subject string) (raw *jetstream.RawStreamMsg, err error) {
	err = c.p.n.w.send(ctx, &call{
		by: c.p, label: "kv? " + subject, lost: nats.ErrTimeout, busy: jetstream.ErrNoStreamResponse,
		apply: func() (err error) {
			raw, err = c.p.n.w.bucket.last(subject)
			return err
		},
	})
	return raw, err
}

func (c *wire) Watch(ctx context.Context, keys string) (jetstream.KeyWatcher, error) {
	var all []jetstream.KeyValueEntry
	err := c.p.n.w.send(ctx, &call{
		by: c.p, label: "kv list " + keys, lost: nats.ErrTimeout, busy: jetstream.ErrNoStreamResponse,
		apply: func() error {
			all = c.p.n.w.bucket.list(keys)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	updates := make(chan jetstream.KeyValueEntry, len(all)+1)
	for _, e := range all {
		updates <- e
	}
	updates <- nil
	return &listing{updates: updates}, nil
}

// listing is the picture of one moment.
type listing struct {
	updates chan jetstream.KeyValueEntry
	closed  bool
}

func (l *listing) Updates() <-chan jetstream.KeyValueEntry { return l.updates }

func (l *listing) Stop() error {
	if !l.closed {
		l.closed = true
		close(l.updates)
	}
	return nil
}

var (
	_ recon.Streams   = (*streams)(nil)
	_ auditor.Streams = (*streams)(nil)
)
