package auditor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// noToken stands in a subject for the job and the day of a finding about services.
const noToken = "_"

// findingKey names a finding: its subject without the first token.
type findingKey struct {
	job  string // "" for findings about services
	day  string // "" for findings about services
	kind model.AuditKind
}

func (k findingKey) compare(o findingKey) int {
	return cmp.Or(strings.Compare(k.job, o.job), strings.Compare(k.day, o.day), strings.Compare(string(k.kind), string(o.kind)))
}

func keyOf(job string, day model.Day, kind model.AuditKind) findingKey {
	return findingKey{job: job, day: day.String(), kind: kind}
}

func (k findingKey) subject() (string, error) {
	job, day := k.job, k.day
	if job == "" {
		job, day = noToken, noToken
	}
	return bus.Audit(job, day, string(k.kind))
}

func parseFindingKey(subject string) (findingKey, bool) {
	t := strings.Split(subject, ".")
	if len(t) != 4 {
		return findingKey{}, false
	}
	if t[1] == noToken {
		t[1], t[2] = "", ""
	}
	return findingKey{job: t[1], day: t[2], kind: model.AuditKind(t[3])}, true
}

// entry is a record and where it stands in the stream.
type entry struct {
	record
	seq uint64
}

// episode names the episode of an open finding.
func (e entry) episode() uint64 {
	if e.Episode == 0 {
		return e.seq
	}
	return e.Episode
}

// book is the state of every finding, folded from the AUDIT stream. It is the same in every replica up to what each has
// read; what decides is the stream: of two transitions from the same state it keeps the first.
type book struct {
	bus Streams

	mu      sync.Mutex
	seq     uint64
	entries map[findingKey]entry
}

func newBook(b Streams) *book { return &book{bus: b, entries: map[findingKey]entry{}} }

// refresh reads what was told since the last time. A stream that begins anew below what was read is read from its start.
func (b *book) refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read(ctx)
}

func (b *book) read(ctx context.Context) error {
	if last, err := b.lastSeq(ctx); err != nil {
		return err
	} else if last < b.seq {
		b.seq, b.entries = 0, map[findingKey]entry{}
	}
	err := b.bus.Tail(ctx, bus.StreamAudit, nil, bus.From{Seq: b.seq + 1}, false, func(d bus.Delivery) error {
		b.take(d)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the findings told so far: %w", err)
	}
	return nil
}

func (b *book) lastSeq(ctx context.Context) (uint64, error) {
	_, seq, err := b.bus.Last(ctx, bus.StreamAudit, ">")
	if errors.Is(err, bus.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("looking at stream %s: %w", bus.StreamAudit, err)
	}
	return seq, nil
}

// take folds one message in. What is no record was published by somebody else and is passed over.
func (b *book) take(d bus.Delivery) {
	b.seq = max(b.seq, d.Seq)
	key, ok := parseFindingKey(d.Subject)
	var r record
	if !ok || json.Unmarshal(d.Data, &r) != nil || r.Kind != key.kind {
		return
	}
	b.entries[key] = entry{record: r, seq: d.Seq}
}

// get returns the state of a finding, nil when it was never open.
func (b *book) get(k findingKey) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[k]
	if !ok {
		return nil
	}
	return &e
}

// where lists the findings that a condition holds for.
func (b *book) where(holds func(findingKey, entry) bool) map[findingKey]entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[findingKey]entry{}
	for k, e := range b.entries {
		if holds(k, e) {
			out[k] = e
		}
	}
	return out
}

// open lists the open findings of a job.
func (b *book) open(job string) map[findingKey]entry {
	return b.where(func(k findingKey, e entry) bool { return k.job == job && !e.Resolved })
}

// tell makes the transition from prev to r, unless another replica has made one from prev: then what that one told
// counts, and the book has it afterwards.
func (b *book) tell(ctx context.Context, k findingKey, prev *entry, r record) error {
	subject, err := k.subject()
	if err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	after := uint64(0)
	if prev != nil {
		after = prev.seq
	}
	receipt, err := b.bus.Publish(ctx, bus.Message{
		Subject: subject, ID: fmt.Sprintf("audit/%s/%s/%s/after/%d", k.job, k.day, k.kind, after), Body: data,
		Header: nats.Header{"Content-Type": {"application/json"}},
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if receipt.Duplicate {
		return b.read(ctx)
	}
	b.entries[k] = entry{record: r, seq: receipt.Seq} // b.seq stays: messages of others may lie before this one
	return nil
}

// recent lists the findings that are open or were changed after an instant.
func (b *book) recent(job string, after time.Time) []model.Audit {
	var out []model.Audit
	for _, e := range b.where(func(k findingKey, e entry) bool { return k.job == job && (!e.Resolved || e.At.After(after)) }) {
		out = append(out, e.Audit)
	}
	return out
}
