package auditor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

const (
	// recountEvery is how long a count of a file is trusted while its fingerprint stays the same.
	recountEvery = 24 * time.Hour
	// idleShare is how many times as long as a count took a source without fingerprint is left alone after it.
	idleShare = 20
)

// count is what a live source was found to hold.
type count struct {
	print  string
	totals model.Totals
	digest string // of what the entries say, see model.ContentsDigest
	at     time.Time
	took   time.Duration
}

type countKey struct {
	job  string
	day  model.Day
	side model.Side
}

// counter counts live sources and remembers what it counted.
type counter struct {
	clock clockwork.Clock

	mu     sync.Mutex
	counts map[countKey]count
}

func newCounter(clock clockwork.Clock) *counter {
	return &counter{clock: clock, counts: map[countKey]count{}}
}

func (c *counter) known(k countKey) (count, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.counts[k]
	return v, ok
}

func (c *counter) remember(k countKey, v count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[k] = v
}

// fresh reports whether a count still tells what the source holds.
func (v count) fresh(print string, now time.Time) bool {
	age := now.Sub(v.at)
	if age < 0 || v.print != print || age >= recountEvery {
		return false
	}
	return print != "" || age < idleShare*v.took
}

// count counts one side of a day, or gives the count that still holds. Errors wrap source.ErrNotThere when the source
// is gone, source.ErrInput when it cannot be used, errMoved when it is being written.
func (c *counter) count(ctx context.Context, src source.Source, req source.Request) (count, error) {
	print, err := src.Peek(ctx, req)
	if err != nil {
		return count{}, moved(err)
	}
	k, now := countKey{req.Job, req.Day, req.Side}, c.clock.Now()
	if v, ok := c.known(k); ok && v.fresh(print, now) {
		return v, nil
	}
	totals := model.Totals{}
	seal, err := src.Read(ctx, req, func(e model.Entry) error {
		totals.Add(e.Currency, 1, e.Amount)
		return nil
	})
	if err != nil {
		return count{}, moved(err)
	}
	v := count{print: print, totals: totals, digest: seal.Digest, at: now, took: c.clock.Since(now)}
	c.remember(k, v)
	return v, nil
}

func moved(err error) error {
	if errors.Is(err, source.ErrChanged) {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	return err
}

// recount holds both live sources of a day against the seals of its committed version.
func (a *Auditor) recount(ctx context.Context, job source.Job, day model.Day, c claim, l *look) error {
	var found, evidence []string
	remedy := byNudge
	for _, side := range model.Sides {
		now, err := a.counts.count(ctx, job.Of(side), job.Request(day, side))
		switch {
		case errors.Is(err, source.ErrNotThere):
			found, remedy = append(found, fmt.Sprintf("%s: the source is gone, so the result cannot be counted again: %v", side, err)), byPerson
			evidence = append(evidence, string(side)+" gone")
		case errors.Is(err, source.ErrInput) || errors.Is(err, source.ErrSpec):
			found, remedy = append(found, fmt.Sprintf("%s: the source cannot be read any more: %v", side, err)), byPerson
			evidence = append(evidence, string(side)+" unusable", err.Error())
		case errors.Is(err, errMoved):
			a.log.Debug("a source is being written, counted again in the next pass", "job", job.Name, "biz_date", day.String(), "err", err)
			return nil
		case err != nil:
			return fmt.Errorf("counting the %s of %s: %w", side, model.BatchID(job.Name, day), err)
		default:
			sealed := c.Seals[side]
			diff := differences(job.Audit, side, sealed.Totals, now.totals)
			if sealed.Totals.Equal(now.totals) && model.OtherContents(sealed.Digest, now.digest) {
				diff = append(diff, fmt.Sprintf("%s: count and totals are those of the snapshot, but the entries are others: keys, amounts or statuses changed", side))
			}
			if len(diff) > 0 {
				found = append(found, diff...)
				evidence = append(evidence, string(side), now.totals.String(), now.digest, sealed.Totals.String(), sealed.Digest)
			}
		}
	}
	l.clean(model.AuditSourceChanged)
	if len(found) > 0 {
		l.saw(sighting{
			kind: model.AuditSourceChanged, seen: shortHash(evidence...), detail: strings.Join(found, "; "),
			remedy: remedy, cause: model.CauseChanged,
		})
	}
	return nil
}
