// Package control is the control bucket in business words: which batch stands where, who holds it, from which day on a
// job is kept complete, what people made of a diff, and who is alive.
//
// # Keys
//
//	day.<job>.<date>               watermark of a batch, JSON of [model.Watermark]
//	lease.<job>.<date>, fence.…    the holding of a batch, see package kv
//	floor.<job>                    first business day that must be DONE for ever, fixed once
//	review.<job>.<date>.<diff id>  newest step of a review, JSON of [model.Review]
//	beat.<service>.<instance>      heartbeat, gone by itself when the instance is
//
// # Who may write a watermark
//
// Only a [Holding], through its fence: the server refuses the write of a holder that was taken over. [Control.Reclaim]
// is a short holding of its own. The one exception is [Control.Forget], which removes a watermark for a drill and is
// conditional on the very revision that was read, so that it loses against any holder that wrote meanwhile.
//
// # After a loss
//
// What the bucket lost can be written again from the tables: [Control.Restore] a watermark, by a holding like any other,
// [Control.LowerFloor] a floor that was fixed anew too late, [Control.SaveReview] a review. The layout of the bucket
// stands in the metadata of its stream, see [Layout], so that a program that is too old refuses it.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"daybreak/pkg/kv"
	"daybreak/pkg/model"
)

// Control reads and writes the control bucket.
type Control struct {
	kv *kv.Store
}

// New returns the control bucket on an open store.
func New(store *kv.Store) *Control { return &Control{kv: store} }

// Stored is a watermark with the revision it was read at.
type Stored struct {
	model.Watermark
	Revision uint64
}

// Watermark reads where a batch stands; ok is false when nobody has begun it.
func (c *Control) Watermark(ctx context.Context, job string, day model.Day) (w Stored, ok bool, err error) {
	v, err := c.kv.Get(ctx, dayKey(job, day))
	if errors.Is(err, kv.ErrNotFound) {
		return Stored{}, false, nil
	}
	if err != nil {
		return Stored{}, false, fmt.Errorf("reading the watermark of %s: %w", model.BatchID(job, day), err)
	}
	w, err = decodeWatermark(v)
	return w, err == nil, err
}

// Watermarks reads where every begun batch of a job stands.
func (c *Control) Watermarks(ctx context.Context, job string) (map[model.Day]model.Watermark, error) {
	values, err := c.kv.List(ctx, "day."+job)
	if err != nil {
		return nil, fmt.Errorf("reading the watermarks of job %s: %w", job, err)
	}
	out := make(map[model.Day]model.Watermark, len(values))
	for _, v := range values {
		day, err := model.ParseDay(lastToken(v.Key))
		if err != nil {
			return nil, fmt.Errorf("control key %s: %w", v.Key, err)
		}
		w, err := decodeWatermark(v)
		if err != nil {
			return nil, err
		}
		out[day] = w.Watermark
	}
	return out, nil
}

// Reclaim turns a RUNNING that nobody holds into FAILED, whatever its age, and reports whether it did. It takes the batch
// for that moment: the fence moves on, so that a zombie which wakes up later cannot write over the FAILED.
func (c *Control) Reclaim(ctx context.Context, job string, day model.Day, owner string, now time.Time) (bool, error) {
	w, ok, err := c.Watermark(ctx, job, day)
	if err != nil || !ok || w.Status != model.Running {
		return false, err
	}
	h, err := c.Hold(ctx, job, day, owner)
	if errors.Is(err, kv.ErrHeld) {
		return false, nil // it is being worked on
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = h.Release(ctx) }() // else it runs out by itself
	if w, ok, err = c.Watermark(ctx, job, day); err != nil || !ok || w.Status != model.Running {
		return false, err
	}
	lost := w.Watermark
	lost.Status, lost.FinishedAt = model.Failed, &now
	lost.Error = fmt.Sprintf("instance %s stopped in phase %s without finishing", w.Instance, w.Phase)
	lost.Failures++
	return true, h.Save(ctx, lost)
}

// Forget removes the watermark of a batch, for a drill: the pipeline must then find and repair the hole by itself.
// Committed results stay. It refuses while the batch is held.
func (c *Control) Forget(ctx context.Context, job string, day model.Day) error {
	if owner, held, err := c.kv.Holder(ctx, model.BatchID(job, day)); err != nil {
		return err
	} else if held {
		return fmt.Errorf("%s is being worked on by %s: %w", model.BatchID(job, day), owner, kv.ErrHeld)
	}
	w, ok, err := c.Watermark(ctx, job, day)
	if err != nil || !ok {
		return err
	}
	return c.kv.CompareAndDelete(ctx, dayKey(job, day), w.Revision)
}

// Floor fixes the first day from which a job is kept complete at its first call and returns the kept one ever after, so
// that shrinking the backfill cannot make an old hole disappear.
func (c *Control) Floor(ctx context.Context, job string, propose model.Day) (model.Day, error) {
	_, err := c.kv.Create(ctx, "floor."+job, []byte(propose.String()))
	if err == nil {
		return propose, nil
	}
	if !errors.Is(err, kv.ErrExists) {
		return 0, fmt.Errorf("fixing the floor of job %s: %w", job, err)
	}
	day, ok, err := c.KeptFloor(ctx, job)
	if err == nil && !ok {
		err = fmt.Errorf("the floor of job %s was removed while it was read; try again", job)
	}
	return day, err
}

// KeptFloor reads the floor of a job; ok is false before its first scan.
func (c *Control) KeptFloor(ctx context.Context, job string) (day model.Day, ok bool, err error) {
	v, err := c.kv.Get(ctx, "floor."+job)
	if errors.Is(err, kv.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading the floor of job %s: %w", job, err)
	}
	day, err = model.ParseDay(string(v.Data))
	return day, err == nil, err
}

func (c *Control) write(ctx context.Context, key string, value any, revision uint64) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = c.kv.CompareAndPut(ctx, key, data, revision)
	return err
}

func decodeWatermark(v kv.Value) (Stored, error) {
	w := Stored{Revision: v.Rev}
	if err := json.Unmarshal(v.Data, &w.Watermark); err != nil {
		return Stored{}, fmt.Errorf("control key %s holds no watermark: %w", v.Key, err)
	}
	return w, nil
}

func dayKey(job string, day model.Day) string { return "day." + job + "." + day.String() }

func lastToken(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
