package control

import (
	"context"
	"encoding/json"
	"fmt"

	"daybreak/pkg/kv"
	"daybreak/pkg/model"
)

// Holding is the right to work on one batch. Its writes are accepted by the server only while nobody took over.
type Holding struct {
	lease *kv.Lease
	key   string
}

// Hold takes the right to work on a batch, or returns an error that is [kv.ErrHeld] when somebody else has it.
func (c *Control) Hold(ctx context.Context, job string, day model.Day, owner string) (*Holding, error) {
	lease, err := c.kv.Acquire(ctx, model.BatchID(job, day), owner)
	if err != nil {
		return nil, fmt.Errorf("taking %s: %w", model.BatchID(job, day), err)
	}
	return &Holding{lease: lease, key: dayKey(job, day)}, nil
}

// Held reports whether anybody holds a batch, and who.
func (c *Control) Held(ctx context.Context, job string, day model.Day) (owner string, held bool, err error) {
	return c.kv.Holder(ctx, model.BatchID(job, day))
}

// Context ends when the holding can no longer be trusted: all work of the holder runs under it.
func (h *Holding) Context() context.Context { return h.lease.Context() }

// Fence is the ever-growing number of this holding.
func (h *Holding) Fence() uint64 { return h.lease.Token() }

// Save writes the watermark under the fence; [kv.ErrFenced] means that the batch was taken over and nothing was written.
func (h *Holding) Save(ctx context.Context, w model.Watermark) error {
	w.Fence = h.lease.Token()
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if _, err := h.lease.Put(ctx, h.key, data); err != nil {
		return fmt.Errorf("writing %s at %s: %w", w.Status, h.key, err)
	}
	return nil
}

// Release gives the batch back. Calling it twice, or after a takeover, does no harm.
func (h *Holding) Release(ctx context.Context) error { return h.lease.Release(ctx) }
