package tracing_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"daybreak/pkg/tracing"
)

// What a collector gets is what was traced, over a message and with its parent.
func TestTraceGoesOnOverAMessage(t *testing.T) {
	t.Parallel()
	got := make(chan *coltracepb.ExportTraceServiceRequest, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var req coltracepb.ExportTraceServiceRequest
		if err == nil && r.URL.Path == "/v1/traces" && proto.Unmarshal(body, &req) == nil {
			got <- &req
		}
	}))
	defer collector.Close()
	p, err := tracing.Open(t.Context(), tracing.Options{Endpoint: collector.URL, Service: "daybreak", Instance: "one", Version: "v1"})
	require.NoError(t, err)
	tracer := p.Tracer("test")
	ctx, sent := tracer.Start(t.Context(), "publish", trace.WithAttributes(tracing.Job("cards"), tracing.BizDate("2026-10-01")))
	h := nats.Header{"Nats-Msg-Id": {"1"}}
	tracing.Inject(ctx, h)
	sent.End()
	require.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`, h["traceparent"][0])
	_, taken := tracer.Start(tracing.Extract(context.Background(), h), "day")
	tracing.End(taken, io.ErrUnexpectedEOF)
	require.NoError(t, p.Close(t.Context()))

	require.Len(t, got, 1, "closing the provider has sent what there was")
	spans := (<-got).ResourceSpans[0].ScopeSpans[0].Spans
	require.Len(t, spans, 2)
	require.Equal(t, spans[0].TraceId, spans[1].TraceId)
	require.Equal(t, spans[0].SpanId, spans[1].ParentSpanId)
	require.Equal(t, "cards", spans[0].Attributes[0].Value.GetStringValue())
	require.Equal(t, "*errors.errorString", spans[1].Status.Message)
}

// Without a collector nothing is recorded and messages stay as they are.
func TestOff(t *testing.T) {
	t.Parallel()
	p, err := tracing.Open(t.Context(), tracing.Options{})
	require.NoError(t, err)
	ctx, span := p.Tracer("test").Start(t.Context(), "publish")
	h := nats.Header{}
	tracing.Inject(ctx, h)
	require.Empty(t, h)
	require.False(t, span.IsRecording())
	_, span = tracing.Of(nil).Start(t.Context(), "x")
	tracing.End(span, nil)
	require.NoError(t, p.Close(t.Context()))
}

// Any header is read without harm.
func TestForgedHeaders(t *testing.T) {
	t.Parallel()
	for _, h := range []nats.Header{nil, {}, {"traceparent": {}}, {"traceparent": {"rubbish"}}, {"Traceparent": {"00-0-0-0"}}} {
		require.False(t, trace.SpanContextFromContext(tracing.Extract(t.Context(), h)).IsValid())
	}
	h := nats.Header{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
	require.True(t, trace.SpanContextFromContext(tracing.Extract(t.Context(), h)).IsRemote(), "clients that write headers in their own case")
}
