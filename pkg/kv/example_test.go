package kv_test

import (
	"context"
	"errors"
	"fmt"

	"daybreak/pkg/kv"
)

// A worker takes a name, works under the lease's context and writes guarded.
func ExampleStore_Acquire() {
	work := func(ctx context.Context, s *kv.Store, do func(context.Context) ([]byte, error)) error {
		lease, err := s.Acquire(ctx, "report.2026-10-30", "host-1/run-7")
		if errors.Is(err, kv.ErrHeld) {
			return nil // somebody else does it
		}
		if err != nil {
			return err
		}
		defer func() { _ = lease.Release(ctx) }()
		result, err := do(lease.Context())
		if err != nil {
			return err
		}
		_, err = lease.Put(ctx, "state.report.2026-10-30", result)
		return err // kv.ErrFenced: a later holder took over, nothing was stored
	}
	fmt.Println(work != nil)
	// Output: true
}
