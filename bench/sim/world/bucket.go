package world

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	bucketPrefix = "$KV.daybreak."
	bucketWindow = 2 * time.Minute // in which message ids are remembered
	markerTTL    = time.Hour

	codeWrongSequence = 10071
)

// record is one message of the bucket's stream.
type record struct {
	subject string
	seq     uint64
	header  nats.Header
	data    []byte
	at      time.Time
	ends    time.Time // when its time to live is over; zero for never
}

func (r *record) marker() bool {
	return r.header.Get("KV-Operation") != "" || r.header.Get(jetstream.MarkerReasonHeader) != ""
}

// bucket is the stream behind the control bucket: one message a subject, sequences over all.
type bucket struct {
	w    *World
	seq  uint64
	now  map[string]*record
	past []*record // everything ever stored
	ids  map[string]stored
	// three says that the stream is replicated: a repeated id is then seen before its condition is looked at.
	three bool
}

func newBucket(w *World) *bucket {
	return &bucket{w: w, now: map[string]*record{}, ids: map[string]stored{}, three: w.chance(0.5)}
}

// expire does what the server does by itself as time goes by.
func (b *bucket) expire() {
	now := b.w.now()
	var over []*record
	for _, r := range b.now {
		if !r.ends.IsZero() && !r.ends.After(now) {
			over = append(over, r)
		}
	}
	slices.SortFunc(over, func(a, b *record) int { return cmp.Or(a.ends.Compare(b.ends), cmp.Compare(a.seq, b.seq)) })
	for _, r := range over {
		if r.marker() {
			delete(b.now, r.subject)
			continue
		}
		b.store(&record{
			subject: r.subject, header: nats.Header{jetstream.MarkerReasonHeader: {"MaxAge"}}, ends: r.ends.Add(markerTTL), at: r.ends,
		})
	}
}

func (b *bucket) store(r *record) {
	b.seq++
	r.seq = b.seq
	was := b.now[r.subject]
	b.now[r.subject] = r
	b.past = append(b.past, r)
	b.w.watch.stored(was, r)
}

func (b *bucket) lastSeq(subject string) uint64 {
	if r := b.now[subject]; r != nil {
		return r.seq
	}
	return 0
}

// publish is the server's side of a write.
func (b *bucket) publish(m *nats.Msg) (uint64, error) {
	b.expire()
	now := b.w.now()
	id := m.Header.Get(jetstream.MsgIDHeader)
	dup, seen := b.ids[id]
	seen = seen && now.Sub(dup.at) < bucketWindow
	if seen && b.three {
		return dup.seq, nil
	}
	if err := b.check(m); err != nil {
		return 0, err
	}
	if seen {
		return dup.seq, nil
	}
	r := &record{subject: m.Subject, header: m.Header, data: m.Data, at: now}
	if ttl := m.Header.Get(jetstream.MsgTTLHeader); ttl != "" {
		d, err := time.ParseDuration(ttl)
		if err != nil {
			return 0, &jetstream.APIError{Code: 400, ErrorCode: 10165, Description: "invalid per-message TTL"}
		}
		if d = d.Truncate(time.Second); strings.HasPrefix(m.Subject, bucketPrefix+"beat.") {
			d *= beatScale
		}
		r.ends = now.Add(d)
	}
	b.store(r)
	b.ids[id] = stored{seq: r.seq, at: now}
	return r.seq, nil
}

// check holds a write against its condition.
func (b *bucket) check(m *nats.Msg) error {
	want := m.Header.Get(jetstream.ExpectedLastSubjSeqHeader)
	if want == "" {
		return nil
	}
	subject := m.Header.Get(jetstream.ExpectedLastSubjSeqSubjHeader)
	if subject == "" && b.w.mutant == NoCAS || subject != "" && b.w.mutant == NoFence {
		return nil
	}
	have := b.lastSeq(cmp.Or(subject, m.Subject))
	if v, err := strconv.ParseUint(want, 10, 64); err != nil || v != have {
		return &jetstream.APIError{Code: 400, ErrorCode: codeWrongSequence, Description: "wrong last sequence: " + strconv.FormatUint(have, 10)}
	}
	return nil
}

func (b *bucket) last(subject string) (*jetstream.RawStreamMsg, error) {
	b.expire()
	r := b.now[subject]
	if b.w.fault("stale read", staleReads) {
		old := b.before(subject, b.seq-min(b.seq, uint64(1+b.w.rng.IntN(12))))
		if rest, isDay := strings.CutPrefix(subject, bucketPrefix+"day."); isDay && old != r {
			p, _ := place(rest)
			b.w.watch.stale[p] = append(b.w.watch.stale[p], b.w.now())
		}
		r = old
	}
	if r == nil {
		return nil, jetstream.ErrMsgNotFound
	}
	return &jetstream.RawStreamMsg{Subject: subject, Sequence: r.seq, Header: r.header, Data: r.data, Time: r.at}, nil
}

// before is the last message of a subject as a replica that lags behind has it.
func (b *bucket) before(subject string, upTo uint64) *record {
	for _, r := range slices.Backward(b.past) {
		if r.subject == subject && r.seq <= upTo {
			return r
		}
	}
	return nil
}

// list is what matches, as it was a moment ago: lists come from any replica.
func (b *bucket) list(keys string) []jetstream.KeyValueEntry {
	b.expire()
	upTo := b.seq
	if b.w.fault("stale list", 0.05) {
		upTo -= min(upTo, uint64(1+b.w.rng.IntN(4)))
	}
	prefix := bucketPrefix + strings.TrimSuffix(keys, ">")
	found := map[string]*record{}
	if upTo == b.seq {
		for s, r := range b.now {
			if strings.HasPrefix(s, prefix) {
				found[s] = r
			}
		}
	} else {
		for _, r := range b.past {
			if r.seq <= upTo && strings.HasPrefix(r.subject, prefix) {
				found[r.subject] = r
			}
		}
	}
	var out []jetstream.KeyValueEntry
	for _, r := range found {
		out = append(out, entry{r})
	}
	slices.SortFunc(out, func(a, b jetstream.KeyValueEntry) int { return cmp.Compare(a.Revision(), b.Revision()) })
	return out
}

// get reads a live value for a checker.
func (b *bucket) get(key string, into any) bool {
	r := b.now[bucketPrefix+key]
	return r != nil && !r.marker() && json.Unmarshal(r.data, into) == nil
}

// entry is a record as a client shows it.
type entry struct{ *record }

func (e entry) Bucket() string     { return "daybreak" }
func (e entry) Key() string        { return strings.TrimPrefix(e.subject, bucketPrefix) }
func (e entry) Value() []byte      { return e.data }
func (e entry) Revision() uint64   { return e.seq }
func (e entry) Created() time.Time { return e.at }
func (e entry) Delta() uint64      { return 0 }
func (e entry) Operation() jetstream.KeyValueOp {
	if e.marker() {
		return jetstream.KeyValueDelete
	}
	return jetstream.KeyValuePut
}
