package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// strike is one disturbance: a process is killed, or paused beyond its lease. A recon is struck on entering a phase.
type strike struct {
	service string
	kill    bool
	phase   string
}

func (s strike) String() string {
	how := "SIGSTOP"
	if s.kill {
		how = "SIGKILL"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", how, s.service, s.phase))
}

// plan mixes n strikes: of every five, three hit a recon. The phases of a recon take turns, and so do killing
// and pausing; from eight strikes on a recon, each phase had both.
func plan(rng *rand.Rand, n int) []strike {
	phases := []string{"pull", "compare", "commit", "events"}
	rng.Shuffle(len(phases), func(a, b int) { phases[a], phases[b] = phases[b], phases[a] })
	var out []strike
	for i, recons := 0, 0; i < n; i++ {
		switch i % 5 {
		case 2:
			out = append(out, strike{service: "ticker", kill: rng.IntN(2) == 0})
		case 4:
			out = append(out, strike{service: "auditor", kill: rng.IntN(2) == 0})
		default:
			out = append(out, strike{"recon", (recons+recons/len(phases))%2 == 0, phases[recons%len(phases)]})
			recons++
		}
	}
	return out
}

// disturb strikes one process after the other while the days are worked off, and starts another for each.
func (t *trial) disturb(ctx context.Context) (string, error) {
	rng := rand.New(rand.NewPCG(t.seed, 99))
	var told []string
	for i, s := range plan(rng, t.kills) {
		err := t.reach(ctx, i*t.total()/(t.kills+1))
		text := ""
		if err == nil {
			text, err = t.strike(ctx, s, rng)
		}
		if err != nil {
			return strings.Join(told, ", "), fmt.Errorf("%s: %w (%d of %d days were done)", s, err, t.log.done(), t.total())
		}
		t.say("       %s", text)
		told = append(told, text)
	}
	return strings.Join(told, ", "), nil
}

// reach waits until so many days are done, so that strikes are spread over the whole work.
func (t *trial) reach(ctx context.Context, days int) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	return until(ctx, 50*time.Millisecond, func() error {
		if n := t.log.done(); n < days {
			return fmt.Errorf("%d days are done, %d are waited for", n, days)
		}
		return nil
	})
}

const reachTime = 5 * time.Minute

// strikeTime is how long a recon is waited for to enter a phase.
const strikeTime = time.Minute

func (t *trial) strike(ctx context.Context, s strike, rng *rand.Rand) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, strikeTime)
	defer cancel()
	p, where, err := t.victim(ctx, s, rng)
	if err != nil {
		return "", err
	}
	if s.kill {
		err = t.fleet.kill(p)
	} else {
		err = t.fleet.pause(p, leaseTTL+time.Second+time.Duration(rng.Int64N(int64(3*time.Second))))
	}
	if err != nil {
		return "", err
	}
	_, err = t.fleet.start(s.service, 0)
	return strings.TrimSpace(s.String() + " " + where), err
}

// victim picks any process of a service, of recon the one that is first to enter the phase.
func (t *trial) victim(ctx context.Context, s strike, rng *rand.Rand) (*process, string, error) {
	if s.service != "recon" {
		all := t.fleet.running(s.service)
		if len(all) == 0 {
			return nil, "", fmt.Errorf("none is running")
		}
		return all[rng.IntN(len(all))], "", nil
	}
	for len(t.log.fresh) > 0 {
		<-t.log.fresh // what was written before is over
	}
	for {
		select {
		case <-ctx.Done():
			return nil, "", fmt.Errorf("no recon entered the phase: %w", ctx.Err())
		case m := <-t.log.fresh:
			if m.Status != "RUNNING" || m.Phase != s.phase {
				continue
			}
			all := t.fleet.running(s.service)
			i := slices.IndexFunc(all, func(p *process) bool { return p.cmd.Process.Pid == m.pid() })
			if i >= 0 {
				return all[i], "on " + m.Batch, nil
			}
		}
	}
}

func (t *trial) total() int { return len(t.book.Jobs) * t.days }
