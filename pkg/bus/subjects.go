package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// What a subject of DAYS asks for.
const (
	KindDue         = "due"          // day.due.<job>.<date>
	KindReplay      = "replay"       // day.replay.<job>.<date>
	KindReplayRange = "replay-range" // day.replay.<job>, the range is in the body
	KindNudge       = "nudge"        // day.nudge.<job>.<date>
)

// Filters over whole streams.
const (
	AllDays    = "day.>"
	AllDiffs   = "diff.>"
	AllBatches = "batch.>"
	AllAudits  = "audit.>"
	AllDead    = "dead.>"
)

// subjectMax bounds subjects in bytes. The server closes the connection on a protocol
// line beyond 4096 bytes, which holds the reply subject too.
const subjectMax = 1024

// DayDue is the subject that says: this day is due.
func DayDue(job, date string) (string, error) { return join("day", KindDue, job, date) }

// DayReplay is the subject that asks to recompute a range of days; the range is in the body.
func DayReplay(job string) (string, error) { return join("day", KindReplay, job) }

// DayReplayDay is the subject that asks to recompute one day.
func DayReplayDay(job, date string) (string, error) { return join("day", KindReplay, job, date) }

// DayNudge is the subject with which a day is published again for a cause.
func DayNudge(job, date string) (string, error) { return join("day", KindNudge, job, date) }

// Diff is the subject of one diff event; kind is opened, changed, cleared or reviewed.
func Diff(job, date, kind string) (string, error) { return join("diff", job, date, kind) }

// Batch is the subject of a batch event; what is committed or failed.
func Batch(job, date, what string) (string, error) { return join("batch", job, date, what) }

// Audit is the subject of one finding.
func Audit(job, date, finding string) (string, error) { return join("audit", job, date, finding) }

// DiffFilters selects the diff and batch events of one job, or of all jobs when job is empty.
func DiffFilters(job string) ([]string, error) {
	if job == "" {
		return []string{AllDiffs, AllBatches}, nil
	}
	if err := checkToken(job); err != nil {
		return nil, err
	}
	return []string{"diff." + job + ".>", "batch." + job + ".>"}, nil
}

// Dead is the subject of the dead letter of a message on original. It works for every
// subject a message can have been stored under; one that is too long to be
// prefixed is replaced by its hash.
func Dead(original string) string {
	if s := "dead." + original; checkPublishable(s) == nil {
		return s
	}
	return deadByHash(original)
}

func deadByHash(original string) string {
	sum := sha256.Sum256([]byte(original))
	return "dead.unnameable." + hex.EncodeToString(sum[:8])
}

// ParseDay takes a subject of DAYS apart. date is empty for KindReplayRange. The tokens are
// checked as tokens only: whether the job exists and the date is one is for the caller to say.
func ParseDay(subject string) (kind, job, date string, err error) {
	t := strings.Split(subject, ".")
	for _, token := range t {
		if err := checkToken(token); err != nil {
			return "", "", "", fmt.Errorf("subject %q: %w", subject, err)
		}
	}
	switch {
	case t[0] != "day" || len(t) < 3:
	case len(t) == 3 && t[1] == KindReplay:
		return KindReplayRange, t[2], "", nil
	case len(t) == 4 && (t[1] == KindDue || t[1] == KindReplay || t[1] == KindNudge):
		return t[1], t[2], t[3], nil
	}
	return "", "", "", fmt.Errorf("%w %q: want day.due.<job>.<date>, day.replay.<job>, "+
		"day.replay.<job>.<date> or day.nudge.<job>.<date>", ErrBadSubject, subject)
}

func join(tokens ...string) (string, error) {
	for _, token := range tokens {
		if err := checkToken(token); err != nil {
			return "", fmt.Errorf("subject %q: %w", strings.Join(tokens, "."), err)
		}
	}
	s := strings.Join(tokens, ".")
	return s, checkPublishable(s)
}

// checkToken accepts what can stand between two dots of a subject and means only itself.
func checkToken(token string) error {
	if token == "" {
		return fmt.Errorf("%w: empty token", ErrBadSubject)
	}
	for _, r := range token {
		if r == '.' || r == '*' || r == '>' || r <= ' ' || r == 0x7f || r == '\uFFFD' {
			return fmt.Errorf("%w: token %q contains %q", ErrBadSubject, token, r)
		}
	}
	return nil
}

// checkPublishable accepts every subject that the wire can carry, rubbish included: a
// stored subject may hold a literal wildcard, and its dead letter must be publishable all the same.
func checkPublishable(subject string) error {
	if len(subject) > subjectMax {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrBadSubject, len(subject), subjectMax)
	}
	if strings.ContainsAny(subject, " \t\r\n\x00") {
		return fmt.Errorf("%w %q: blank or control character", ErrBadSubject, subject)
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" {
			return fmt.Errorf("%w %q: empty token", ErrBadSubject, subject)
		}
	}
	return nil
}
