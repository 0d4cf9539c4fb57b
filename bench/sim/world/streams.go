package world

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"daybreak/pkg/bus"
)

// stored says where and when a message id was first kept.
type stored struct {
	seq uint64
	at  time.Time
}

// message is one message of a stream.
type message struct {
	bus.Message
	seq uint64
	at  time.Time
}

// stream is one of the streams of the bus.
type stream struct {
	window time.Duration
	ids    map[string]stored
	all    []message
}

// store keeps a message unless its id is known.
func (w *World) store(m bus.Message) bus.Receipt {
	name, _ := bus.StreamOf(m.Subject)
	s := w.streams[name]
	if w.mutant == SameNudgeID && strings.HasPrefix(m.Subject, "day.nudge.") {
		m.ID = "nudge/" + strings.TrimPrefix(m.Subject, "day.nudge.")
	}
	if w.swallows(m) {
		return bus.Receipt{Stream: name, Seq: uint64(len(s.all))}
	}
	now := w.now()
	if have, ok := s.ids[m.ID]; ok && m.ID != "" && now.Sub(have.at) < s.window {
		w.watch.repeated(s.all[have.seq-1], m)
		return bus.Receipt{Stream: name, Seq: have.seq, Duplicate: true}
	}
	msg := message{m, uint64(len(s.all) + 1), now}
	s.all = append(s.all, msg)
	if m.ID != "" {
		s.ids[m.ID] = stored{msg.seq, now}
	}
	if name == bus.StreamDays {
		w.days.arrived(msg)
	}
	w.watch.told(name, msg)
	return bus.Receipt{Stream: name, Seq: msg.seq}
}

// matches reports whether a subject fits a filter.
func matches(filter, subject string) bool {
	f, s := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, t := range f {
		switch {
		case t == ">":
			return len(s) > i
		case i >= len(s) || t != "*" && t != s[i]:
			return false
		}
	}
	return len(f) == len(s)
}

// streams is a process's way to the bus. Like package bus it repeats what had no answer.
type streams struct{ p *process }

// request is one request, repeated until it is answered or ctx ends; m is what it publishes, nil for a read.
func (b *streams) request(ctx context.Context, label string, m *bus.Message, apply func() error) error {
	w := b.p.n.w
	var sent func()
	if m != nil {
		sent = func() { w.watch.asks(*m) }
	}
	for attempt := 0; ; attempt++ {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := w.send(one, &call{by: b.p, label: label, write: m != nil, sent: sent, apply: apply, lost: errBus, busy: errBus})
		cancel()
		if err == nil || errors.Is(err, errCrashed) || errors.Is(err, bus.ErrNotFound) {
			return err
		}
		if ctx.Err() == nil {
			t := time.NewTimer(min(3*time.Second, 50*time.Millisecond<<min(attempt, 10)))
			select {
			case <-t.C:
			case <-ctx.Done():
			}
			t.Stop()
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

var errBus = errors.New("nats: timeout")

func (b *streams) Publish(ctx context.Context, m bus.Message) (r bus.Receipt, err error) {
	if m.ID == "" {
		return r, bus.ErrNoID
	}
	if _, ok := bus.StreamOf(m.Subject); !ok {
		return r, bus.ErrNoStream
	}
	err = b.request(ctx, "publish "+m.Subject, &m, func() error { r = b.p.n.w.store(m); return nil })
	return r, err
}

func (b *streams) PublishAll(ctx context.Context, all iter.Seq2[bus.Message, error], progress func(int)) (n int, err error) {
	for m, err := range all {
		if err == nil {
			_, err = b.Publish(ctx, m)
		}
		if err != nil {
			return n, err
		}
		if n++; progress != nil {
			progress(n)
		}
	}
	return n, nil
}

func (b *streams) Last(ctx context.Context, name, subject string) (m bus.Message, seq uint64, err error) {
	err = b.request(ctx, "last "+subject, nil, func() error {
		for _, v := range slices.Backward(b.p.n.w.streams[name].all) {
			if matches(subject, v.Subject) {
				m, seq = v.Message, v.seq
				return nil
			}
		}
		return bus.ErrNotFound
	})
	return m, seq, err
}

func (b *streams) Tail(ctx context.Context, name string, filters []string, from bus.From, follow bool, fn func(bus.Delivery) error) error {
	var found []message
	err := b.request(ctx, "tail "+name+" "+strings.Join(filters, ","), nil, func() error {
		for _, m := range b.p.n.w.streams[name].all {
			chosen := len(filters) == 0 || slices.ContainsFunc(filters, func(f string) bool { return matches(f, m.Subject) })
			if chosen && m.seq >= from.Seq && !m.at.Before(from.Time) {
				found = append(found, m)
			}
		}
		return nil
	})
	for _, m := range found {
		if err == nil {
			err = fn(m.delivery(name, 1))
		}
	}
	return err
}

func (m message) delivery(stream string, n int) bus.Delivery {
	h := nats.Header{}
	maps.Copy(h, m.Header)
	if m.ID != "" {
		h.Set(nats.MsgIdHdr, m.ID)
	}
	return bus.Delivery{Subject: m.Subject, Header: h, Data: m.Body, Stream: stream, Seq: m.seq, Published: m.at, Deliveries: n}
}

func (b *streams) Pending(ctx context.Context, _, _ string) (pending uint64, waiting int, err error) {
	err = b.request(ctx, "pending", nil, func() error { pending, waiting = b.p.n.w.days.pending(); return nil })
	return pending, waiting, err
}

// Consumer is asked for when a recon is made; the world delivers by itself.
func (b *streams) Consumer(bus.ConsumerOptions, bus.Handler) *bus.Consumer { return nil }

// letter is a message of DAYS and where it stands with recon's consumer.
type letter struct {
	message
	state      string    // new, out, wait, gone
	until      time.Time // wait: when it may come again; out: when it comes again by itself, zero while its holder says "in progress"
	holder     *process  // who has it in hand
	deliveries int
}

const (
	ackWait = 30 * time.Second
	workers = 2
)

// consumer is recon's durable consumer on DAYS.
type consumer struct {
	w       *World
	letters []*letter
	stuck   *letter // what all that came after it waits for: only where nothing is put away into DEAD
}

func (c *consumer) arrived(m message) {
	l := &letter{message: m, state: "new"}
	if c.w.fault("message lost", 0.004) {
		c.w.note("lost for ever: %s", m.Subject)
		c.w.watch.excuse(m.Subject, "a message was lost")
		l.state = "gone"
	}
	c.letters = append(c.letters, l)
}

func (c *consumer) ready(l *letter, now time.Time) bool {
	if c.stuck != nil && l.seq > c.stuck.seq {
		return false
	}
	switch l.state {
	case "new":
		return true
	case "wait", "out":
		return !l.until.IsZero() && !l.until.After(now)
	}
	return false
}

// offers is 1 when something can be delivered to somebody.
func (c *consumer) offers() int {
	now := c.w.now()
	if len(c.takers()) > 0 && slices.ContainsFunc(c.letters, func(l *letter) bool { return c.ready(l, now) }) {
		return 1
	}
	return 0
}

func (c *consumer) takers() []*node {
	var out []*node
	for _, n := range c.w.nodes {
		if n.kind == "recon" && n.free(workers) {
			out = append(out, n)
		}
	}
	return out
}

func (c *consumer) deliver() {
	w, now := c.w, c.w.now()
	takers := c.takers()
	n := takers[w.rng.IntN(len(takers))]
	var all []*letter
	for _, l := range c.letters {
		if c.ready(l, now) {
			all = append(all, l)
		}
	}
	l := all[0]
	if w.chaos && w.chance(0.2) {
		l = all[w.rng.IntN(len(all))]
	}
	l.state, l.until = "out", time.Time{}
	l.deliveries++
	if w.fault("delivery dropped", 0.01) {
		l.until = now.Add(ackWait)
		return
	}
	c.hand(n.now, l)
	if w.fault("duplicate", 0.02) {
		l.until = now.Add(w.between(0, 3*time.Second)) // comes again while it is worked on
	}
}

func (c *consumer) hand(p *process, l *letter) {
	d := l.delivery(bus.StreamDays, l.deliveries)
	label := fmt.Sprintf("handled %s #%d (%d)", l.Subject, l.seq, l.deliveries)
	c.w.note("%s: takes %s #%d", p, l.Subject, l.seq)
	l.holder = p
	p.work(label, func(ctx context.Context) func() {
		v := p.recon.Handle(ctx, d)
		return func() { c.settle(p, l, v) }
	})
}

// settle carries out a verdict. Acks are told apart by sequence only, so a late one speaks for whoever has the message.
func (c *consumer) settle(p *process, l *letter, v bus.Verdict) {
	w := c.w
	if l.holder == p {
		l.holder = nil
	}
	if !slices.Contains(c.letters, l) {
		return // its stream was lost
	}
	w.note("%s: %s #%d: %s %s", p, l.Subject, l.seq, v.Action(), v.Reason())
	if v.Action() == bus.ActionReject && w.mutant != BadBlocks {
		w.store(bus.Message{
			Subject: bus.Dead(l.Subject), ID: fmt.Sprintf("dead/%d", l.seq), Body: l.Body,
			Header: nats.Header{bus.HeaderReason: {v.Reason()}},
		})
	}
	if l.state == "gone" {
		return
	}
	if w.fault("verdict lost", 0.02) {
		l.state, l.until = "out", w.now().Add(ackWait)
		return
	}
	switch v.Action() {
	case bus.ActionReject:
		l.state = "gone"
		if w.mutant == BadBlocks {
			l.state, l.until, c.stuck = "wait", w.now().Add(time.Hour), l
		}
	case bus.ActionAck:
		l.state = "gone"
	default:
		l.state, l.until = "wait", w.now().Add(max(v.After(), 100*time.Millisecond))
	}
}

// abandoned lets the messages of a silent process come again.
func (c *consumer) abandoned(p *process) {
	for _, l := range c.letters {
		if l.state == "out" && l.holder == p && l.until.IsZero() {
			l.until = c.w.now().Add(ackWait)
		}
	}
}

// resumed: a process that was silent says "in progress" again.
func (c *consumer) resumed(p *process) {
	for _, l := range c.letters {
		if l.state == "out" && l.holder == p && !p.dead {
			l.until = time.Time{}
		}
	}
}

// next is when the next message comes by itself; zero for never.
func (c *consumer) next() time.Time {
	var next time.Time
	if len(c.takers()) == 0 {
		return next
	}
	for _, l := range c.letters {
		if (l.state == "wait" || l.state == "out") && !l.until.IsZero() && (next.IsZero() || l.until.Before(next)) {
			next = l.until
		}
	}
	return next
}

func (c *consumer) pending() (fresh uint64, unsettled int) {
	for _, l := range c.letters {
		switch l.state {
		case "new":
			fresh++
		case "out", "wait":
			unsettled++
		}
	}
	return fresh, unsettled
}
