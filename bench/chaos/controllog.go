package main

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	bucketName    = "daybreak"
	bucketStream  = "KV_daybreak"
	bucketSubject = "$KV.daybreak."
	logSubject    = "control.log."
)

// controlLog records every write of the control bucket that the servers accepted: they republish what they have stored. It
// listens on each server, so that the death of one loses nothing; what two tell is kept once, by its sequence.
type controlLog struct {
	conns []*nats.Conn

	mu     sync.Mutex
	writes map[uint64]object
}

func recordControl(ctx context.Context, js jetstream.JetStream, plans []serverPlan) (*controlLog, error) {
	l := &controlLog{writes: map[uint64]object{}}
	for _, p := range plans {
		nc, err := nats.Connect(p.url(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
		if err != nil {
			return nil, err
		}
		l.conns = append(l.conns, nc)
		sub, err := nc.Subscribe(logSubject+">", l.take)
		if err != nil {
			return nil, err
		}
		if err := sub.SetPendingLimits(-1, -1); err != nil {
			return nil, err
		}
		if err := nc.FlushTimeout(5 * time.Second); err != nil {
			return nil, err
		}
	}
	stream, err := js.Stream(ctx, bucketStream)
	if err != nil {
		return nil, err
	}
	cfg := stream.CachedInfo().Config
	cfg.RePublish = &jetstream.RePublish{Source: bucketSubject + ">", Destination: logSubject + ">"}
	_, err = js.UpdateStream(ctx, cfg)
	return l, err
}

func (l *controlLog) take(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writes[seq] == nil {
		l.writes[seq] = write(seq, strings.TrimPrefix(m.Subject, logSubject), m.Header, m.Data)
	}
}

// write is a line of the records.
func write(seq uint64, key string, h nats.Header, body []byte) object {
	op := "PUT"
	if o := h.Get("KV-Operation"); o != "" {
		op = o
	}
	if h.Get("Nats-Marker-Reason") != "" {
		op = "DEL"
	}
	return object{"seq": seq, "subject": bucketSubject + key, "key": key, "op": op, "body": text(body), "headers": flat(h), "at": time.Now().UTC().Format(time.RFC3339Nano)}
}

// text is a body as it is written down: JSON as it is, everything else as a string.
func text(body []byte) any {
	if json.Valid(body) {
		return json.RawMessage(slices.Clone(body))
	}
	return string(body)
}

func flat(h nats.Header) map[string]string {
	out := map[string]string{}
	for k, v := range h {
		out[k] = strings.Join(v, ", ")
	}
	return out
}

// save writes the log down in the order of the servers.
func (l *controlLog) save(rec *records) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seq := range sorted(l.writes) {
		rec.add("control", l.writes[seq])
	}
}

func (l *controlLog) close() {
	for _, nc := range l.conns {
		nc.Close()
	}
}
