package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"daybreak/pkg/kv"
	"daybreak/pkg/model"
)

// Review reads the newest step of a diff's review and the revision to write the next one at; revision 0 means none yet.
func (c *Control) Review(ctx context.Context, job string, day model.Day, diffID string) (r model.Review, revision uint64, err error) {
	v, err := c.kv.Get(ctx, reviewKey(job, day, diffID))
	if errors.Is(err, kv.ErrNotFound) {
		return model.Review{}, 0, nil
	}
	if err != nil {
		return model.Review{}, 0, fmt.Errorf("reading the review of diff %s: %w", diffID, err)
	}
	if err := json.Unmarshal(v.Data, &r); err != nil {
		return model.Review{}, 0, fmt.Errorf("control key %s holds no review: %w", v.Key, err)
	}
	return r, v.Rev, nil
}

// SaveReview writes a step if nobody wrote one since revision; otherwise [kv.ErrConflict], and nothing was written.
func (c *Control) SaveReview(ctx context.Context, r model.Review, revision uint64) error {
	if err := c.write(ctx, reviewKey(r.Job, r.Day, r.DiffID), r, revision); err != nil {
		return fmt.Errorf("saving the review of diff %s: %w", r.DiffID, err)
	}
	return nil
}

// Reviews reads the newest step of every review of a job.
func (c *Control) Reviews(ctx context.Context, job string) ([]model.Review, error) {
	values, err := c.kv.List(ctx, "review."+job)
	if err != nil {
		return nil, fmt.Errorf("reading the reviews of job %s: %w", job, err)
	}
	out := make([]model.Review, len(values))
	for i, v := range values {
		if err := json.Unmarshal(v.Data, &out[i]); err != nil {
			return nil, fmt.Errorf("control key %s holds no review: %w", v.Key, err)
		}
	}
	return out, nil
}

func reviewKey(job string, day model.Day, diffID string) string {
	return "review." + job + "." + day.String() + "." + diffID
}
