package bus

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams.
const (
	StreamDays  = "DAYS"
	StreamDiffs = "DIFFS"
	StreamAudit = "AUDIT"
	StreamDead  = "DEAD"
)

const (
	day = 24 * time.Hour
	gib = int64(1) << 30
	// bytesMin is the floor under a scaled MaxBytes: a stream that holds nothing helps nobody.
	bytesMin = int64(1) << 20
)

// StreamSpec is one line of the table of streams. Everything else is the same for all: file
// storage, Limits retention (WorkQueue forgets message ids on restart), oldest first out.
type StreamSpec struct {
	Name        string
	Description string
	Subjects    []string
	MaxAge      time.Duration
	MaxBytes    int64         // at scale 1
	Duplicates  time.Duration // for how long a repeated id is dropped
}

// Streams is the table of all streams.
func Streams() []StreamSpec {
	return []StreamSpec{
		// Replicas of the ticker may be days apart in what they saw: a long window.
		{
			StreamDays, "business days to be reconciled: due, replay, nudge",
			[]string{AllDays},
			90 * day, gib, 3 * day,
		},
		{
			StreamDiffs, "diff and batch events (CloudEvents)",
			[]string{AllDiffs, AllBatches},
			400 * day, 20 * gib, 2 * time.Hour,
		},
		{
			StreamAudit, "findings of the auditor",
			[]string{AllAudits},
			400 * day, 2 * gib, 2 * time.Hour,
		},
		// A rejected message that is redelivered days later must not be buried twice.
		{
			StreamDead, "rejected messages with their reason",
			[]string{AllDead},
			90 * day, gib, 3 * day,
		},
	}
}

// StreamOf names the stream that stores a subject.
func StreamOf(subject string) (string, bool) {
	for _, spec := range Streams() {
		for _, s := range spec.Subjects {
			prefix := strings.TrimSuffix(s, ">")
			if len(subject) > len(prefix) && strings.HasPrefix(subject, prefix) {
				return spec.Name, true
			}
		}
	}
	return "", false
}

// apply sets the fields that are ours on cfg and leaves the others (placement, compression,
// metadata: an operator's business) as they are.
func (s StreamSpec) apply(cfg jetstream.StreamConfig, o Options) jetstream.StreamConfig {
	cfg.Name = s.Name
	cfg.Description = s.Description
	cfg.Subjects = mergeSubjects(cfg.Subjects, s.Subjects)
	cfg.Retention = jetstream.LimitsPolicy
	cfg.Storage = jetstream.FileStorage
	cfg.Discard = jetstream.DiscardOld
	cfg.Replicas = o.Replicas
	cfg.MaxAge = s.MaxAge
	cfg.MaxBytes = max(bytesMin, int64(float64(s.MaxBytes)*o.MaxBytesScale))
	cfg.MaxMsgs, cfg.MaxMsgsPerSubject, cfg.MaxMsgSize, cfg.MaxConsumers = -1, -1, -1, -1
	cfg.Duplicates = min(s.Duplicates, s.MaxAge)
	cfg.NoAck = false
	// Without direct gets every read is answered by the leader.
	cfg.AllowDirect = false
	return cfg
}

// mergeSubjects keeps subjects that a newer version or an operator added to ours.
func mergeSubjects(have, want []string) []string {
	for _, s := range want {
		if !slices.Contains(have, s) {
			have = append(slices.Clone(have), s)
		}
	}
	return have
}

// conflict finds the first field that makes an existing stream not ours.
func (s StreamSpec) conflict(have jetstream.StreamConfig) error {
	bad := func(field string, has, want any) error {
		return &ConflictError{Stream: s.Name, Field: field, Have: fmt.Sprint(has), Want: fmt.Sprint(want)}
	}
	shared := slices.ContainsFunc(s.Subjects, func(x string) bool { return slices.Contains(have.Subjects, x) })
	switch {
	case have.Mirror != nil:
		return bad("mirror", have.Mirror.Name, "none")
	case len(have.Sources) > 0:
		return bad("sources", len(have.Sources), "none")
	case !shared:
		return bad("subjects", have.Subjects, s.Subjects)
	case have.Storage != jetstream.FileStorage:
		return bad("storage", have.Storage, jetstream.FileStorage)
	case have.Retention != jetstream.LimitsPolicy:
		return bad("retention", have.Retention, jetstream.LimitsPolicy)
	case have.Sealed:
		return bad("sealed", true, false)
	case have.PersistMode == jetstream.AsyncPersistMode:
		return bad("persist_mode", "async", "default")
	}
	return nil
}

// applyStreams makes every stream of the table so.
func (b *Bus) applyStreams(ctx context.Context) error {
	for _, spec := range Streams() {
		err := b.untilAnswered(ctx, "apply stream "+spec.Name, func(ctx context.Context) error {
			return b.applyStream(ctx, spec)
		})
		if err != nil {
			return fmt.Errorf("bus: stream %s: %w", spec.Name, explainAPI(err))
		}
	}
	return nil
}

func (b *Bus) applyStream(ctx context.Context, spec StreamSpec) error {
	stream, err := b.js.Stream(ctx, spec.Name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && b.opts.Prepared:
		return ErrNotLaidOut
	case errors.Is(err, jetstream.ErrStreamNotFound):
		_, err = b.js.CreateStream(ctx, spec.apply(jetstream.StreamConfig{}, b.opts))
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return err
		}
		stream, err = b.js.Stream(ctx, spec.Name) // somebody else was faster
	}
	if err != nil {
		return err
	}
	have := stream.CachedInfo().Config
	if err := spec.conflict(have); err != nil {
		return err
	}
	want := spec.apply(have, b.opts)
	if reflect.DeepEqual(have, want) {
		return nil
	}
	if b.opts.Prepared {
		b.log.Warn("stream has other settings than this program lays out; run daybreak init", "stream", spec.Name, "settings", differing(have, want))
		return nil
	}
	_, err = b.js.UpdateStream(ctx, want)
	return err
}

// differing names the fields of two configurations that are not the same.
func differing[T any](have, want T) []string {
	var out []string
	a, b := reflect.ValueOf(have), reflect.ValueOf(want)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			out = append(out, a.Type().Field(i).Name)
		}
	}
	return out
}

// StreamState is what was found of a stream of the table.
type StreamState struct {
	Name    string
	There   bool
	Differs []string // settings that Open would change
}

// Look tells how far the streams are laid out, and changes nothing. An existing stream that cannot become ours gives a
// *ConflictError.
func Look(ctx context.Context, js jetstream.JetStream, opts Options) ([]StreamState, error) {
	opts = opts.withDefaults()
	out := make([]StreamState, 0, len(Streams()))
	for _, spec := range Streams() {
		stream, err := js.Stream(ctx, spec.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			out = append(out, StreamState{Name: spec.Name})
			continue
		}
		if err != nil {
			return out, fmt.Errorf("bus: stream %s: %w", spec.Name, err)
		}
		have := stream.CachedInfo().Config
		if err := spec.conflict(have); err != nil {
			return out, err
		}
		out = append(out, StreamState{Name: spec.Name, There: true, Differs: differing(have, spec.apply(have, opts))})
	}
	return out, nil
}

// Server codes that need a word of advice.
const (
	codeStorageExceeded = 10047
	codeNoMemory        = 10023
	codeSubjectOverlap  = 10065
	codeReplicasAlone   = 10074
	codeNoPeers         = 10005
)

// noSpace tells servers that are too small from servers that are not there: a cluster has one code for both.
func noSpace(err *jetstream.APIError) bool {
	return err.ErrorCode == codeNoPeers && strings.Contains(err.Description, "insufficient storage")
}

// explainAPI adds what to do to errors of the server that a person has to mend.
func explainAPI(err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch {
	case api.ErrorCode == codeStorageExceeded, api.ErrorCode == codeNoMemory, noSpace(api):
		return fmt.Errorf("%w (its streams reserve room: free some on the disk of the data folder, a new one needs 2 GB, or raise max_file_store of a server of your own): %w", ErrNoSpace, err)
	case api.ErrorCode == codeSubjectOverlap:
		return fmt.Errorf("%w: field subjects overlaps another stream of this account: %w", ErrConflict, err)
	case api.ErrorCode == codeReplicasAlone:
		return fmt.Errorf("%w: field replicas: the server is not a cluster: %w", ErrConflict, err)
	}
	return err
}
