package auditor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"daybreak/pkg/model"
)

// services looks for a fresh heartbeat of every expected service. Whether one is fresh is the server's word, which drops
// it after its time to live; clocks of other machines are only shown.
func (a *Auditor) services(ctx context.Context) (resolved []model.Audit, err error) {
	beats, err := a.Control.Beats(ctx)
	if err != nil {
		return nil, err
	}
	now := a.Clock.Now()
	var silent []string
	for _, s := range a.Expect {
		if len(beats[s]) == 0 {
			silent = append(silent, s)
		}
		a.metrics.instances.WithLabelValues(s).Set(float64(len(beats[s])))
		a.metrics.beatAge.WithLabelValues(s).Set(freshest(beats[s], now))
	}
	a.mu.Lock()
	quiet := now.Before(a.quiet)
	a.mu.Unlock()
	if len(silent) > 0 && quiet {
		return nil, nil // all have only just been started together
	}
	if err := a.book.refresh(ctx); err != nil {
		return nil, err
	}
	e, changed, err := a.follow(ctx, findingKey{kind: model.AuditSilent}, silence(silent), policy{now: now, inCap: true, mayNow: true})
	if err != nil {
		return nil, fmt.Errorf("telling that services are silent: %w", err)
	}
	a.metrics.open(noJob, []model.AuditKind{model.AuditSilent}, a.openFindings([]string{""}))
	if !changed || e == nil {
		return nil, nil
	}
	if e.Resolved {
		resolved = []model.Audit{e.Audit}
	}
	return resolved, a.save(ctx, []model.Audit{e.Audit})
}

// silence is the finding about services without heartbeat, nil when there is none.
func silence(silent []string) *sighting {
	if len(silent) == 0 {
		return nil
	}
	slices.Sort(silent)
	list := strings.Join(silent, ",")
	return &sighting{
		kind: model.AuditSilent, seen: list, remedy: byPerson,
		detail: fmt.Sprintf("no instance of %s gives a sign of life: start one, or look why it hangs", list),
	}
}

func freshest(instances map[string]time.Time, now time.Time) float64 {
	age := math.Inf(1)
	for _, at := range instances {
		age = min(age, max(0, now.Sub(at).Seconds()))
	}
	return age
}
