package recon_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"daybreak/pkg/bus"
	"daybreak/pkg/tracing"
	"daybreak/services/recon"
)

// One trace holds the message that asked for a day, the attempt with its phases, and the events that came of it.
func TestOneTraceFromMessageToEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, 20)
	const job = "wallet"
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	ctx, asked := provider.Tracer("test").Start(t.Context(), "ask")
	subject, err := bus.DayDue(job, b.book.First.String())
	require.NoError(t, err)
	_, err = b.bus.Publish(ctx, bus.Message{Subject: subject, ID: "due/" + job})
	require.NoError(t, err)
	asked.End()
	stop := b.start(t, func(o *recon.Options) { o.Tracer = provider.Tracer("recon") })
	b.awaitDone(t, job)
	stop()

	phases := map[string]int{}
	for _, s := range spans.Ended() {
		require.Equal(t, asked.SpanContext().TraceID(), s.SpanContext().TraceID(), s.Name())
		phases[s.Name()]++
		if s.Name() == "reconcile" {
			require.Equal(t, asked.SpanContext().SpanID(), s.Parent().SpanID())
			require.Contains(t, s.Attributes(), tracing.Job(job))
			require.Contains(t, s.Attributes(), tracing.BizDate(b.book.First.String()))
		}
	}
	require.Equal(t, map[string]int{"ask": 1, "reconcile": 1, "start": 1, "pull": 1, "compare": 1, "commit": 1, "events": 1}, phases)
	events := 0
	require.NoError(t, b.bus.Tail(t.Context(), bus.StreamDiffs, nil, bus.From{}, false, func(d bus.Delivery) error {
		events++
		require.Contains(t, d.Header["traceparent"][0], asked.SpanContext().TraceID().String())
		return nil
	}))
	require.Positive(t, events)
}
