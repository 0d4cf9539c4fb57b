package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Store is one bucket. It is safe for concurrent use. Close it to end the
// goroutines of its leases and watches.
type Store struct {
	wire   Wire
	opts   Options
	clock  clockwork.Clock
	log    *slog.Logger
	stream string
	hooks  hooks
	counts counters

	life context.Context // ends with Close
	end  context.CancelFunc
	wg   sync.WaitGroup // watches

	mu     sync.Mutex
	closed bool
	leases map[*Lease]struct{}
}

// hooks let tests stop the code between two steps.
type hooks struct {
	claimed func(name string)      // lease key created, fence not yet written
	renew   func(name string) bool // false: leave this renewal out
}

// Open creates the bucket or brings its configuration up to date, and returns
// the store on it. It does not own the connection of js.
func Open(ctx context.Context, js jetstream.JetStream, opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	// The subjects below are those of the server's own account and domain.
	if o := js.Options(); o.Domain != "" || (o.APIPrefix != "" && strings.TrimSuffix(o.APIPrefix, ".") != "$JS.API") {
		return nil, fmt.Errorf("%w: JetStream domains and API prefixes are not supported", ErrInvalidOptions)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	bucket, err := openBucket(ctx, js, opts)
	if err != nil {
		return nil, fmt.Errorf("kv: bucket %s: %w", opts.Bucket, err)
	}
	return newStore(&jsWire{js: js, bucket: bucket, stream: "KV_" + opts.Bucket}, opts), nil
}

// OpenWire returns a store on a bucket that is reached by w and needs no making.
func OpenWire(w Wire, opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return newStore(w, opts), nil
}

func newStore(w Wire, opts Options) *Store {
	s := &Store{
		wire: w, opts: opts, clock: opts.Clock, log: opts.Logger, stream: "KV_" + opts.Bucket,
		leases: map[*Lease]struct{}{},
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

func openBucket(ctx context.Context, js jetstream.JetStream, o Options) (jetstream.KeyValue, error) {
	if !o.Prepared {
		return createBucket(ctx, js, o)
	}
	bucket, err := existingBucket(ctx, js, o)
	if err == nil && bucket == nil {
		err = ErrNotLaidOut
	}
	return bucket, err
}

// Look reports whether the bucket is there and can do what leases need; nothing is changed.
func Look(ctx context.Context, js jetstream.JetStream, o Options) (there bool, err error) {
	bucket, err := existingBucket(ctx, js, o)
	return bucket != nil, err
}

// existingBucket opens the bucket as it is; nil when there is none. Without per-message TTLs or with a history no lease
// works on it: ErrNotLaidOut. It tries again while the cluster has no leader.
func existingBucket(ctx context.Context, js jetstream.JetStream, o Options) (jetstream.KeyValue, error) {
	var bucket jetstream.KeyValue
	err := whileUnsettled(ctx, func(ctx context.Context) (err error) {
		bucket, err = js.KeyValue(ctx, o.Bucket)
		return err
	})
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return bucket, whileUnsettled(ctx, func(ctx context.Context) error { return checkBucket(ctx, js, o.Bucket) })
}

// whileUnsettled does a request again until ctx ends, as long as its failure is one of a cluster that is just forming or
// choosing a leader: no leader, too few servers known yet, or no answer at all, as the leader it went to is gone.
func whileUnsettled(ctx context.Context, do func(context.Context) error) error {
	for attempt := 0; ; attempt++ {
		one, cancel := context.WithTimeout(ctx, openAttempt)
		err := do(one)
		cancel()
		if err == nil || !unsettled(err) || ctx.Err() != nil || !pause(ctx, attempt) {
			return err
		}
	}
}

func unsettled(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code >= 500 || api.ErrorCode == codeNoPeers
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// codeNoPeers is the server's error code for a stream that it finds too few servers for.
const codeNoPeers = 10005

func checkBucket(ctx context.Context, js jetstream.JetStream, name string) error {
	stream, err := js.Stream(ctx, "KV_"+name)
	if err != nil {
		return err
	}
	c := stream.CachedInfo().Config
	if !c.AllowMsgTTL || c.SubjectDeleteMarkerTTL <= 0 || c.MaxMsgsPerSubject != 1 {
		return fmt.Errorf("%w: allow_msg_ttl %t, subject_delete_marker_ttl %v, max_msgs_per_subject %d",
			ErrNotLaidOut, c.AllowMsgTTL, c.SubjectDeleteMarkerTTL, c.MaxMsgsPerSubject)
	}
	return nil
}

// createBucket tries again while processes that start together create the
// bucket at the same time, or the cluster has no leader yet.
func createBucket(ctx context.Context, js jetstream.JetStream, o Options) (jetstream.KeyValue, error) {
	cfg := jetstream.KeyValueConfig{
		Bucket: o.Bucket, History: 1, Storage: o.Storage, Replicas: o.Replicas,
		MaxBytes: o.MaxBytes, LimitMarkerTTL: markerTTL,
	}
	for attempt := 0; ; attempt++ {
		var bucket jetstream.KeyValue
		err := whileUnsettled(ctx, func(ctx context.Context) (err error) {
			if err = keepOperatorSettings(ctx, js, &cfg); err == nil {
				bucket, err = js.CreateOrUpdateKeyValue(ctx, cfg)
			}
			return err
		})
		if err == nil {
			return bucket, nil
		}
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || !pause(ctx, attempt) {
			return nil, err
		}
	}
}

// keepOperatorSettings takes over what an operator set on an existing bucket and
// this package has no opinion about: where it lives, what it is labelled, and a
// copy of every accepted write that somebody listens to.
func keepOperatorSettings(ctx context.Context, js jetstream.JetStream, cfg *jetstream.KeyValueConfig) error {
	stream, err := js.Stream(ctx, "KV_"+cfg.Bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err // not "none": what is not known would be taken away
	}
	have := stream.CachedInfo().Config
	cfg.RePublish, cfg.Placement, cfg.Metadata, cfg.Description = have.RePublish, have.Placement, have.Metadata, have.Description
	return nil
}

// subject of a key.
func (s *Store) subject(key string) string { return "$KV." + s.opts.Bucket + "." + key }

// Close releases the leases that are still held, ends all watches and waits for
// their goroutines. The errors are those of the releases; the keys they leave
// behind expire by themselves.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	leases := make([]*Lease, 0, len(s.leases))
	for l := range s.leases {
		leases = append(leases, l)
	}
	s.mu.Unlock()
	var errs []error
	for _, l := range leases {
		errs = append(errs, l.Release(ctx))
	}
	s.end()
	s.wg.Wait()
	return errors.Join(errs...)
}

// enter registers a lease; false when the store is closed.
func (s *Store) enter(l *Lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.leases[l] = struct{}{}
	return true
}

func (s *Store) leave(l *Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, l)
}

// spawn runs f in a goroutine that Close waits for; false when closed.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wg.Go(f)
	}
	return !s.closed
}

// Create stores value under a key that has no live value and returns its
// revision. ErrExists when it has one; ErrUnknown and ErrBusy as for all writes.
func (s *Store) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := writableKey(key); err != nil {
		return 0, err
	}
	rev, err := s.create(ctx, write{key: key, data: value})
	if ref, ok := errors.AsType[*refusal](err); ok {
		return 0, ref.as(ErrExists)
	}
	return rev, err
}

// create stores w when its key has no live value; *refusal when it has one.
func (s *Store) create(ctx context.Context, w write) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	w.cond = &condition{key: w.key}
	for {
		rev, err := s.commit(ctx, w)
		var ref *refusal
		if !errors.As(err, &ref) || !ref.current.Deleted {
			return rev, err
		}
		// A deleted or expired key still has its marker: replace that very one.
		w.cond = &condition{key: w.key, rev: ref.current.Rev}
	}
}

// CompareAndPut stores value when rev is still the key's revision, and returns
// the new one; rev 0 means that the key has no live value. ErrConflict when it
// is another.
func (s *Store) CompareAndPut(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if err := writableKey(key); err != nil {
		return 0, err
	}
	var next uint64
	var err error
	if rev == 0 {
		next, err = s.create(ctx, write{key: key, data: value})
	} else {
		next, err = s.commit(ctx, write{key: key, data: value, cond: &condition{key, rev}})
	}
	if ref, ok := errors.AsType[*refusal](err); ok {
		return 0, ref.as(ErrConflict)
	}
	return next, err
}

// CompareAndDelete deletes the key when rev is still its revision. ErrConflict
// when it is another, or when the key is deleted already.
func (s *Store) CompareAndDelete(ctx context.Context, key string, rev uint64) error {
	if err := writableKey(key); err != nil {
		return err
	}
	if rev == 0 {
		return fmt.Errorf("%w: delete %s at revision 0", ErrConflict, key)
	}
	_, err := s.commit(ctx, write{key: key, del: true, cond: &condition{key, rev}})
	if ref, ok := errors.AsType[*refusal](err); ok {
		return ref.as(ErrConflict)
	}
	return err
}

// PutTTL stores value whatever was there, to expire after ttl (whole seconds,
// at least one). It is for signs of life: nothing may be decided on their order.
func (s *Store) PutTTL(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := writableKey(key); err != nil {
		return err
	}
	if ttl < time.Second || ttl%time.Second != 0 {
		return fmt.Errorf("%w: TTL %v is not a whole number of seconds", ErrInvalidOptions, ttl)
	}
	_, err := s.commit(ctx, write{key: key, data: value, ttl: ttl})
	return err
}

// as dresses a refusal in the sentinel of the operation.
func (r *refusal) as(sentinel error) error {
	if r.doubt {
		return fmt.Errorf("%w: %w: %w", sentinel, ErrUnknown, r)
	}
	return fmt.Errorf("%w: %w", sentinel, r)
}
