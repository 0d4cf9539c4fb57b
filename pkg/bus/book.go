package bus

import (
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Snapshot is what a consumer did and does in this process.
type Snapshot struct {
	Stream  string
	Durable string

	Delivered   uint64 // handed to the handler
	Redelivered uint64 // of these, not for the first time
	Acked       uint64
	Retried     uint64
	Rejected    uint64
	Panics      uint64
	Unsettled   uint64 // verdicts the server did not confirm; it delivers these again

	InFlight int // handed to the handler and not yet settled
	// Waiting holds the subjects this process sent to wait, with the instant of the next delivery.
	// It can hold one that another replica took meanwhile; after waitingKept it is forgotten.
	Waiting map[string]time.Time
	// WaitingCount counts messages, while Waiting has one entry per subject.
	WaitingCount int
}

// Idle is true when nothing is in the hands of a handler; messages may wait for their retry.
func (s Snapshot) Idle() bool { return s.InFlight == 0 }

// waitingKept is how long after its instant an unseen retry is still listed.
const waitingKept = 10 * time.Minute

type waiting struct {
	subject string
	until   time.Time
}

// book keeps count. One lock, so that a message is always either in flight or waiting.
type book struct {
	clock clockwork.Clock

	mu       sync.Mutex
	counts   Snapshot
	inFlight map[uint64]int // by stream sequence; a late redelivery can make it two
	waiting  map[uint64]waiting
	gaveUp   bool // the drain is over: whoever still works has no say any more
}

func newBook(o ConsumerOptions, clock clockwork.Clock) *book {
	return &book{
		clock:    clock,
		counts:   Snapshot{Stream: o.Stream, Durable: o.Durable},
		inFlight: map[uint64]int{},
		waiting:  map[uint64]waiting{},
	}
}

func (b *book) begin(d Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts.Delivered++
	if d.Deliveries > 1 {
		b.counts.Redelivered++
	}
	b.inFlight[d.Seq]++
	delete(b.waiting, d.Seq)
}

func (b *book) end(d Delivery, v Verdict, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(d.Seq)
	if err != nil {
		b.counts.Unsettled++
		return
	}
	switch v.action {
	case ActionAck:
		b.counts.Acked++
	case ActionReject:
		b.counts.Rejected++
	case ActionRetry:
		b.counts.Retried++
		b.waiting[d.Seq] = waiting{d.Subject, b.clock.Now().Add(v.after)}
	}
}

func (b *book) drop(seq uint64) {
	if b.inFlight[seq]--; b.inFlight[seq] <= 0 {
		delete(b.inFlight, seq)
	}
}

func (b *book) panicked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts.Panics++
}

// abandon takes the say from every handler still running and tells how many they are.
func (b *book) abandon() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaveUp = true
	return b.flying()
}

func (b *book) flying() int {
	n := 0
	for _, k := range b.inFlight {
		n += k
	}
	return n
}

// maySpeak is false once the drain gave the message up.
func (b *book) maySpeak() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.gaveUp
}

func (b *book) snapshot() Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.counts
	s.InFlight = b.flying()
	s.Waiting = map[string]time.Time{}
	oldest := b.clock.Now().Add(-waitingKept)
	for seq, w := range b.waiting {
		if w.until.Before(oldest) {
			delete(b.waiting, seq)
			continue
		}
		s.WaitingCount++
		if first, ok := s.Waiting[w.subject]; !ok || w.until.Before(first) {
			s.Waiting[w.subject] = w.until
		}
	}
	return s
}
