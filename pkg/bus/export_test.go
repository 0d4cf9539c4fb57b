package bus

import (
	"testing"
	"time"
)

// SetSettleMax shortens how long a verdict may take to reach the server.
func SetSettleMax(t *testing.T, b *Bus, d time.Duration) {
	t.Helper()
	b.settleMax = d
}
