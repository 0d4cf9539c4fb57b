package auditor

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"daybreak/pkg/model"
)

// remedy is what can make a finding go away.
type remedy string

const (
	byNudge  remedy = "nudge"  // recon can cure it when asked
	byWait   remedy = "wait"   // it cures itself, or with another day
	byPerson remedy = "person" // somebody must look
)

// sighting is one thing seen wrong in one look.
type sighting struct {
	kind   model.AuditKind
	seen   string // evidence: the same text as long as nothing has changed but the attempts to cure it
	detail string // for a reader: both figures, and what to do
	remedy remedy
	cause  model.Cause // of the nudge
}

// dayKinds are told from the watermark alone; at most one of them is true of a day.
var dayKinds = []model.AuditKind{
	model.AuditMissing, model.AuditStuck, model.AuditFailed, model.AuditWaiting, model.AuditBlocked,
}

// resultKinds are told from what a DONE day left behind.
var resultKinds = []model.AuditKind{
	model.AuditSourceChanged, model.AuditUnbalanced, model.AuditUnpublished, model.AuditCarryStale,
}

// look is what is known of one day after it was looked at. A kind that is known and not found is clean.
type look struct {
	day    model.Day
	status string // as in the metric daybreak_batches
	late   bool   // its source is not there although due.patience is over
	known  map[model.AuditKind]bool
	found  map[model.AuditKind]sighting
}

func newLook(day model.Day) *look {
	return &look{day: day, known: map[model.AuditKind]bool{}, found: map[model.AuditKind]sighting{}}
}

func (l *look) clean(kinds ...model.AuditKind) {
	for _, k := range kinds {
		l.known[k] = true
	}
}

func (l *look) saw(s sighting) {
	l.known[s.kind] = true
	l.found[s.kind] = s
}

// forget takes back what was told of the kinds: not known.
func (l *look) forget(kinds ...model.AuditKind) {
	for _, k := range kinds {
		delete(l.known, k)
		delete(l.found, k)
	}
}

// shortHash makes evidence of any text: short, and fit for a message id.
func shortHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
