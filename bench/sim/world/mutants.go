package world

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"time"

	"github.com/jonboulle/clockwork"

	"daybreak/bench/sim/mem"
	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// Mutant is a world in which a guarantee's mechanism is missing.
type Mutant string

// The mutants. Each must be caught.
const (
	NoFence      Mutant = "no-fence"       // the server does not look at the fence
	NoCAS        Mutant = "no-cas"         // the server does not look at a key's own revision
	LongTrust    Mutant = "long-trust"     // a lease is trusted until a renewal is refused, whatever the time
	NoCommitRow  Mutant = "no-commit-row"  // rows are shown before they are committed
	NoCascade    Mutant = "no-cascade"     // a changed pool is not told to the next day
	NoCarryOver  Mutant = "no-carry-over"  // cleared diffs are not kept
	NoFinish     Mutant = "no-finish"      // a new version is begun without completing the events of the one before
	SameNudgeID  Mutant = "same-nudge-id"  // all nudges of a day bear one message id
	NoOrder      Mutant = "no-order"       // recon takes a strict job's days as they come
	LossyCompare Mutant = "lossy-compare"  // the compare loses groups: recon's own assertion must stop it
	LossyBooked  Mutant = "lossy-booked"   // and books them as matched, so that the assertion is blind: the auditor must find it
	LossyBlind   Mutant = "lossy-blind"    // and the auditor does not look either
	NoRecount    Mutant = "no-recount"     // the auditor does not count the sources again
	BadBlocks    Mutant = "bad-blocks"     // a message that cannot be worked on stays, and what came after it waits
	HalfLoaded   Mutant = "half-loaded"    // a file that ends within a line is taken for whole
	NoControl    Mutant = "no-control-sum" // the totals that a file tells of itself are not looked at
	NoCap        Mutant = "no-cap"         // the auditor nudges whatever is not done, however old
	NewestFirst  Mutant = "newest-first"   // the auditor nudges a strict job's later days before the earlier ones
	SoundSleeper Mutant = "sound-sleeper"  // a ticker sleeps until the next due instant, whatever becomes of the clock
	Unheard      Mutant = "unheard"        // the auditor does not listen for heartbeats
)

// Mutants lists all.
var Mutants = []Mutant{
	NoFence, NoCAS, LongTrust, NoCommitRow, NoCascade, NoCarryOver, NoFinish, SameNudgeID, NoOrder, LossyCompare, LossyBooked, LossyBlind,
	NoRecount, BadBlocks, HalfLoaded, NoControl, NoCap, NewestFirst, SoundSleeper, Unheard,
}

// mutate takes the mechanisms of the tables away.
func (m Mutant) mutate(db *mem.DB) {
	db.KeepNone, db.Uncommitted = m == NoCarryOver, m == NoCommitRow
	if m == LossyCompare || m == LossyBooked || m == LossyBlind {
		db.Loses, db.Books, db.Blind = unlucky, m != LossyCompare, m == LossyBlind
	}
}

// unlucky chooses groups that would have been a diff of statuses: they add up to the same on both sides, so that no sum
// over all of them shows that they are gone.
func unlucky(g *model.Group) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(g.Key))
	return h.Sum32()%2 == 0 && len(g.Ledger) == 1 && len(g.Channel) == 1 && g.Ledger[0].Currency == g.Channel[0].Currency &&
		g.Ledger[0].Amount.Equal(g.Channel[0].Amount)
}

// jobFor is the job as a process of a kind is told of it.
func (m Mutant) jobFor(kind string, job model.Job) model.Job {
	switch {
	case m == NoOrder && kind == "recon", m == NewestFirst && kind == "auditor":
		job.Order = model.Independent
	case m == NoCap && kind == "auditor":
		job.BackfillDays = 1000
	}
	return job
}

// wake is the longest sleep of a ticker's loop.
func (m Mutant) wake() time.Duration {
	if m == SoundSleeper {
		return 1000 * time.Hour
	}
	return tickerWake
}

// expect are the services that an auditor listens for.
func (m Mutant) expect() []string {
	if m == Unheard {
		return nil
	}
	return []string{"ticker", "recon", "auditor"}
}

// swallows reports whether a publication is lost on purpose.
func (w *World) swallows(m bus.Message) bool {
	switch w.mutant {
	case NoCascade:
		var b struct {
			Cause string `json:"cause"`
		}
		_ = json.Unmarshal(m.Body, &b)
		return matches("day.nudge.>", m.Subject) && b.Cause == string(model.CauseCarry)
	case NoFinish: // what an attempt that has only begun tells is what is left of the one before
		p, ok := placeOf(m.Subject)
		var mark model.Watermark
		return ok && (matches("diff.*.*.*", m.Subject) && !matches("diff.*.*.reviewed", m.Subject) || matches("batch.*.*.committed", m.Subject)) &&
			w.bucket.get("day."+model.BatchID(p.Job, p.Day), &mark) && mark.Status == model.Running && mark.Phase == model.PhaseStart
	}
	return false
}

// still is a clock that stands: by it no lease ever runs out.
type still struct {
	clockwork.Clock
	at time.Time
}

func (c still) Now() time.Time { return c.at }
func (c still) AfterFunc(time.Duration, func()) clockwork.Timer {
	return c.Clock.AfterFunc(100*24*time.Hour, func() {})
}

// sealedFeed tells an auditor that does not count what the committed snapshot says.
type sealedFeed struct{ *feed }

func (f sealedFeed) Peek(context.Context, source.Request) (string, error) { return "as ever", nil }

func (f sealedFeed) Read(_ context.Context, req source.Request, yield func(model.Entry) error) (model.Seal, error) {
	p := mem.Place{Job: f.b.job.Name, Day: req.Day}
	f.p.n.w.mu.Lock()
	batch, _ := f.p.n.w.db.Newest(p)
	rows := f.p.n.w.db.Get(p, batch.SnapshotID).Entries
	f.p.n.w.mu.Unlock()
	seal := model.Seal{Totals: model.Totals{}, Digest: batch.Seals[f.side].Digest}
	for _, r := range rows {
		if r.Side != f.side || r.Carried {
			continue
		}
		seal.Totals.Add(r.Currency, 1, r.Amount)
		if err := yield(r.Entry); err != nil {
			return seal, err
		}
	}
	return seal, nil
}
