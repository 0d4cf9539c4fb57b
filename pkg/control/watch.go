package control

import (
	"context"
	"encoding/json"

	"daybreak/pkg/kv"
	"daybreak/pkg/model"
)

// Change is one write of a watermark.
type Change struct {
	Day       model.Day
	Watermark model.Watermark
	Gone      bool // the watermark was removed
}

// Watch calls fn for every watermark of a job as it stands and then for every change, until ctx ends or fn returns an
// error, which Watch returns. Values that are no watermark are passed over: a watcher shows, it does not judge.
func (c *Control) Watch(ctx context.Context, job string, fn func(Change) error) error {
	values, stop, err := c.kv.Watch(ctx, "day."+job)
	if err != nil {
		return err
	}
	defer stop()
	for v := range values {
		change, ok := decodeChange(v)
		if !ok {
			continue
		}
		if err := fn(change); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func decodeChange(v kv.Value) (Change, bool) {
	day, err := model.ParseDay(lastToken(v.Key))
	if err != nil {
		return Change{}, false
	}
	if v.Deleted {
		return Change{Day: day, Gone: true}, true
	}
	var w model.Watermark
	if json.Unmarshal(v.Data, &w) != nil {
		return Change{}, false
	}
	return Change{Day: day, Watermark: w}, true
}
