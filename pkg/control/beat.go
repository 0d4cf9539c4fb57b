package control

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// BeatTTL is how long a heartbeat outlives its service. It is written every [BeatEvery], so three may be lost.
const (
	BeatEvery = 10 * time.Second
	BeatTTL   = 40 * time.Second
)

// Beat says that an instance of a service is alive.
func (c *Control) Beat(ctx context.Context, service, instance string, at time.Time) error {
	err := c.kv.PutTTL(ctx, "beat."+service+"."+instance, []byte(at.UTC().Format(time.RFC3339Nano)), BeatTTL)
	if err != nil {
		return fmt.Errorf("heartbeat of %s: %w", service, err)
	}
	return nil
}

// Beats lists the instances that are alive, by service, with their last beat.
func (c *Control) Beats(ctx context.Context) (map[string]map[string]time.Time, error) {
	values, err := c.kv.List(ctx, "beat")
	if err != nil {
		return nil, fmt.Errorf("reading the heartbeats: %w", err)
	}
	out := map[string]map[string]time.Time{}
	for _, v := range values {
		parts := strings.SplitN(v.Key, ".", 3)
		at, err := time.Parse(time.RFC3339Nano, string(v.Data))
		if len(parts) != 3 || err != nil {
			return nil, fmt.Errorf("control key %s holds no heartbeat", v.Key)
		}
		if out[parts[1]] == nil {
			out[parts[1]] = map[string]time.Time{}
		}
		out[parts[1]][parts[2]] = at
	}
	return out, nil
}
