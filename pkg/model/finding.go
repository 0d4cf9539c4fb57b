package model

import "time"

// AuditKind names what the auditor saw wrong.
type AuditKind string

// The kinds of audit finding.
const (
	AuditMissing       AuditKind = "missing"        // due, and nobody has begun
	AuditStuck         AuditKind = "stuck"          // RUNNING without a lease
	AuditFailed        AuditKind = "failed"         //
	AuditWaiting       AuditKind = "waiting"        // the source is not there yet
	AuditBlocked       AuditKind = "blocked"        // an earlier day is not DONE
	AuditSourceChanged AuditKind = "source-changed" // the live source differs from the committed snapshot
	AuditUnbalanced    AuditKind = "unbalanced"     // the stored result does not account for its sources
	AuditUnpublished   AuditKind = "unpublished"    // committed and published versions differ
	AuditCarryStale    AuditKind = "carry-stale"    // the pool carried in is not the one the day before handed on
	AuditSilent        AuditKind = "silent"         // a service has no fresh heartbeat
)

// Audit is one finding. Seen is the evidence in short: the same cause with the same evidence is nudged once and, when
// that did not cure it, escalated.
type Audit struct {
	Job       string    `json:"job"` // "" for findings about services
	Day       *Day      `json:"biz_date,omitempty"`
	Kind      AuditKind `json:"finding"`
	Seen      string    `json:"seen"`
	Detail    string    `json:"detail"`
	Since     time.Time `json:"since"`
	Nudged    bool      `json:"nudged"`
	Escalated bool      `json:"escalated"`
	Resolved  bool      `json:"resolved"`
}
