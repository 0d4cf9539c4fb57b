package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockPatience is how long a lock may stay taken before it counts as taken by
// someone who stays: a killed process needs a moment to go.
const lockPatience = 3 * time.Second

// lockFolder takes the folder's lock file and writes who holds it. The kernel
// frees it with the process, however that ends.
func lockFolder(ctx context.Context, dir, who string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	path := filepath.Join(dir, "lock")
	lock := flock.New(path, flock.SetPermissions(0o600))
	waitCtx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	ok, err := lock.TryLockContext(waitCtx, 50*time.Millisecond)
	if ok {
		return lock, os.WriteFile(path, []byte(who+"\n"), 0o600)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	holder, _ := os.ReadFile(path)
	return nil, fmt.Errorf("%w: %s is held by %s; stop it or name another data folder", ErrLocked, path,
		strings.TrimSpace(string(holder)))
}
