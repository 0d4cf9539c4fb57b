package control

import (
	"context"
	"errors"
	"fmt"

	"daybreak/pkg/kv"
	"daybreak/pkg/model"
)

// Restore writes a watermark that the bucket lost, under a holding of its own, if stale says so of what stands there once
// the day is held: w is nil when nothing does. It reports whether it wrote. A day that somebody works on gives
// [kv.ErrHeld], and nothing was changed.
func (c *Control) Restore(ctx context.Context, job string, day model.Day, owner string, lost model.Watermark, stale func(w *model.Watermark) bool) (bool, error) {
	h, err := c.Hold(ctx, job, day, owner)
	if err != nil {
		return false, err
	}
	defer func() { _ = h.Release(context.WithoutCancel(ctx)) }() // else it runs out by itself
	now, ok, err := c.Watermark(ctx, job, day)
	if err != nil {
		return false, err
	}
	var there *model.Watermark
	if ok {
		there = &now.Watermark
	}
	if !stale(there) {
		return false, nil
	}
	return true, h.Save(ctx, lost)
}

// LowerFloor makes day the floor of a job unless it has an earlier one, and reports whether it did. A floor is never
// raised: a day that had to be DONE once has to be for ever.
func (c *Control) LowerFloor(ctx context.Context, job string, day model.Day) (bool, error) {
	for {
		kept, err := c.Floor(ctx, job, day)
		if err != nil || kept <= day {
			return false, err
		}
		v, err := c.kv.Get(ctx, "floor."+job)
		if err != nil {
			return false, fmt.Errorf("reading the floor of job %s: %w", job, err)
		}
		if string(v.Data) != kept.String() {
			continue // somebody else lowers it too
		}
		_, err = c.kv.CompareAndPut(ctx, "floor."+job, []byte(day.String()), v.Rev)
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("lowering the floor of job %s: %w", job, err)
		}
		return true, nil
	}
}
