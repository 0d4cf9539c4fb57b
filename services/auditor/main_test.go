package auditor

import (
	"testing"

	"go.uber.org/goleak"

	"daybreak/pkg/engine/enginetest"
)

func TestMain(m *testing.M) {
	enginetest.MainNoLeaks(m,
		// Process-wide helpers of the embedded server that it never stops.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.init.0.func1"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"),
	)
}
