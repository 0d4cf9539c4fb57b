// Package tracing follows one business day through messages and services as OpenTelemetry spans.
//
// It is off unless a configuration names a collector: without one every span is the no-op of the OpenTelemetry interface, and
// nothing is sent, started or held. A trace belongs to a message, not to a process: who publishes puts the W3C headers
// traceparent and tracestate into it ([Inject]), who consumes goes on from them ([Extract]). So the replay that a person
// published, the day that it recomputed, the nudge that followed from it and the diff events are one trace, whichever
// replicas did the work.
//
// A trace is for looking, never for deciding: one that is lost, doubled or forged changes nothing. A collector that does not
// answer costs the spans that no longer fit the queue, and no time of the work.
//
// Attributes are the constant keys of the logs (job, biz_date, run_id, fence, cause). Keys of entries and amounts are never
// among them.
package tracing

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options of a [Provider].
type Options struct {
	Endpoint string // of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; "" switches tracing off
	Service  string // service.name of every span
	Instance string // service.instance.id
	Version  string // service.version
}

// Provider makes tracers.
type Provider struct {
	trace.TracerProvider
	stop func(context.Context) error
}

// Open returns a provider. It does not wait for the collector: one that is down is tried again in the background.
func Open(ctx context.Context, o Options) (*Provider, error) {
	if o.Endpoint == "" {
		return &Provider{noop.NewTracerProvider(), func(context.Context) error { return nil }}, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(tracesURL(o.Endpoint)))
	if err != nil {
		return nil, fmt.Errorf("tracing to %s: %w", o.Endpoint, err)
	}
	about := resource.NewSchemaless(
		attribute.String("service.name", o.Service), attribute.String("service.instance.id", o.Instance),
		attribute.String("service.version", o.Version),
	)
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Provider{p, p.Shutdown}, nil
}

// tracesURL is where a collector takes traces: the path that the protocol names, unless the endpoint has one of its own.
func tracesURL(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && strings.Trim(u.Path, "/") == "" {
		return u.JoinPath("v1", "traces").String()
	}
	return endpoint
}

// Close sends what is left, within the bounds of ctx.
func (p *Provider) Close(ctx context.Context) error { return p.stop(ctx) }

// Of returns the tracer, or one that does nothing for nil.
func Of(t trace.Tracer) trace.Tracer {
	if t == nil {
		return noop.NewTracerProvider().Tracer("")
	}
	return t
}

// End ends a span, as failed when err is not nil.
func End(span trace.Span, err error) {
	Fail(span, err)
	span.End()
}

// Fail marks a span as failed when err is not nil. Errors of sources quote their lines, so only the kind of the error is
// told: the text is in the log and in the watermark, which are kept where the books are.
func Fail(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, fmt.Sprintf("%T", err))
	}
}

// Job names the reconciliation, under the key of the logs; so do the ones below.
func Job(name string) attribute.KeyValue { return attribute.String("job", name) }

// BizDate is the business day.
func BizDate(d string) attribute.KeyValue { return attribute.String("biz_date", d) }

// RunID is the attempt.
func RunID(id string) attribute.KeyValue { return attribute.String("run_id", id) }

// Fence is the number of the holding.
func Fence(token int64) attribute.KeyValue { return attribute.Int64("fence", token) }

// Cause is why the day is worked on.
func Cause(c string) attribute.KeyValue { return attribute.String("cause", c) }

// Inject puts the span of ctx into the headers of a message. Without one, or with one that nobody records, they stay as
// they are.
func Inject(ctx context.Context, h nats.Header) {
	if trace.SpanContextFromContext(ctx).IsSampled() {
		propagation.TraceContext{}.Inject(ctx, carrier(h))
	}
}

// Extract returns a context whose spans go on from the headers of a message.
func Extract(ctx context.Context, h nats.Header) context.Context {
	return propagation.TraceContext{}.Extract(ctx, carrier(h))
}

// carrier reads and writes headers. Those of NATS keep the case in which they are written, and the standard writes them in
// lower case.
type carrier nats.Header

func (c carrier) Get(key string) string {
	for name, v := range c {
		if len(v) > 0 && strings.EqualFold(name, key) {
			return v[0]
		}
	}
	return ""
}

func (c carrier) Set(key, value string) { c[key] = []string{value} }

func (c carrier) Keys() []string {
	var out []string
	for k := range c {
		out = append(out, k)
	}
	return out
}
