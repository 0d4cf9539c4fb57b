package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The bucket as the server keeps it.
const (
	bucketStream  = "KV_daybreak"
	bucketSubject = "$KV.daybreak."
	logSubject    = "control.log."
)

// mark is what of a watermark is looked at here.
type mark struct {
	Batch    string `json:"-"`
	Status   string `json:"status"`
	Phase    string `json:"phase"`
	Fence    uint64 `json:"fence"`
	Instance string `json:"instance"`
}

// pid is the process that wrote it.
func (m mark) pid() int {
	pid, _ := strconv.Atoi(m.Instance[strings.LastIndexByte(m.Instance, '-')+1:])
	return pid
}

// controlLog records every write of the control bucket that the server accepted, in the server's order: the server
// republishes what it has stored.
type controlLog struct {
	js    jetstream.JetStream
	fresh chan mark // watermarks as they come; those that nobody takes in time are dropped

	mu     sync.Mutex
	writes []*nats.Msg
	latest map[string]mark
}

// record begins the log. It must run before any service does.
func record(ctx context.Context, nc *nats.Conn, js jetstream.JetStream) (*controlLog, error) {
	bucket, err := js.Stream(ctx, bucketStream)
	if err != nil {
		return nil, err
	}
	l := &controlLog{js: js, fresh: make(chan mark, 64), latest: map[string]mark{}}
	sub, err := nc.Subscribe(logSubject+">", l.take)
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	cfg := bucket.CachedInfo().Config
	cfg.RePublish = &jetstream.RePublish{Source: bucketSubject + ">", Destination: logSubject + ">"}
	_, err = js.UpdateStream(ctx, cfg)
	return l, err
}

func (l *controlLog) take(m *nats.Msg) {
	batch, isDay := strings.CutPrefix(m.Subject, logSubject+"day.")
	w := mark{Batch: batch}
	isDay = isDay && json.Unmarshal(m.Data, &w) == nil
	l.mu.Lock()
	l.writes = append(l.writes, m)
	if isDay {
		l.latest[batch] = w
	}
	l.mu.Unlock()
	if isDay {
		select {
		case l.fresh <- w:
		default:
		}
	}
}

// done counts the batches whose newest watermark is DONE.
func (l *controlLog) done() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.latest {
		if m.Status == "DONE" {
			n++
		}
	}
	return n
}

// noStaleWrite judges the log as recorded so far.
func (l *controlLog) noStaleWrite(ctx context.Context) (string, error) {
	stream, err := l.js.Stream(ctx, bucketStream)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	figures, last, err := judgeLog(l.writes)
	if end := stream.CachedInfo().State.LastSeq; last+lagMax < end {
		err = errors.Join(err, fmt.Errorf("the log ends at %d, the bucket at %d", last, end))
	}
	return figures, err
}

// lagMax is how many writes may be on their way to the log while heartbeats go on.
const lagMax = 50

// judgeLog replays writes in the server's order: every accepted watermark must bear the newest fence of its batch, and no
// write may be missing in between. It returns the sequence of the last one.
func judgeLog(writes []*nats.Msg) (figures string, last uint64, err error) {
	var errs []error
	fences, takeovers, marks := map[string]uint64{}, 0, 0
	for _, m := range writes {
		seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
		if err != nil || seq <= last {
			return "", last, fmt.Errorf("the log is not in the order of the server: %q after %d", m.Header.Get("Nats-Sequence"), last)
		}
		if last != 0 && seq != last+1 {
			errs = append(errs, fmt.Errorf("the writes from %d to %d are not in the log", last+1, seq-1))
		}
		last = seq
		key := strings.TrimPrefix(m.Subject, logSubject)
		if batch, ok := strings.CutPrefix(key, "fence."); ok {
			fences[batch] = seq
			takeovers++
		}
		batch, ok := strings.CutPrefix(key, "day.")
		if !ok || len(m.Data) == 0 { // a deleted watermark bears no fence
			continue
		}
		var w mark
		if err := json.Unmarshal(m.Data, &w); err != nil {
			return "", last, fmt.Errorf("%s: %w", key, err)
		}
		if marks++; w.Fence != fences[batch] {
			errs = append(errs, fmt.Errorf("%s at %d: %s %s by %s under fence %d while %d was the newest", batch, seq, w.Status, w.Phase,
				w.Instance, w.Fence, fences[batch]))
		}
	}
	if marks == 0 {
		errs = append(errs, errors.New("no watermark was recorded"))
	}
	return fmt.Sprintf("%d writes recorded, %d watermarks, %d holdings of %d batches", len(writes), marks, takeovers, len(fences)), last, errors.Join(errs...)
}
