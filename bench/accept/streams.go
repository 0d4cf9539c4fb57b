package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// messages reads a stream from its beginning to its present end.
func (t *trial) messages(ctx context.Context, stream string, filters ...string) ([]jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cons, err := t.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: filters})
	if err != nil {
		return nil, err
	}
	info, err := cons.Info(ctx)
	if err != nil {
		return nil, err
	}
	left := info.NumPending
	if left == 0 {
		return nil, nil
	}
	next, err := cons.Messages()
	if err != nil {
		return nil, err
	}
	defer next.Stop()
	var out []jetstream.Msg
	for range left {
		m, err := next.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, fmt.Errorf("stream %s after %d of %d messages: %w", stream, len(out), left, err)
		}
		out = append(out, m)
	}
	return out, nil
}

var errMoving = errors.New("messages are still on their way")

// settle waits until nothing that was asked for is open.
func (t *trial) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	quiet := 0
	return until(ctx, 250*time.Millisecond, func() error {
		stream, err := t.js.Stream(ctx, "DAYS")
		if err != nil {
			return err
		}
		open := uint64(0)
		list := stream.ListConsumers(ctx)
		for c := range list.Info() {
			if c.Config.Durable != "" {
				open += c.NumPending + uint64(c.NumAckPending)
			}
		}
		if err := list.Err(); err != nil {
			return err
		}
		if quiet++; open > 0 {
			quiet = 0
		}
		if quiet < 2 {
			return fmt.Errorf("%w: %d", errMoving, open)
		}
		return nil
	})
}
