package live

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

// scrapeJob is the name of the scrape in prometheus.yml.
const scrapeJob = "daybreak"

// signals is Prometheus' own parser and engine over samples in memory. Its storage is left out: it would bring the clients
// of three clouds with it, and what a query means does not depend on it.
type signals struct {
	t      *testing.T
	engine *promql.Engine
	series map[string]*kept
}

type kept struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func newSignals(t *testing.T) *signals {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{}),
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})
	t.Cleanup(func() { _ = engine.Close() })
	return &signals{t: t, engine: engine, series: map[string]*kept{}}
}

// add stores one scrape with the labels that prometheus.yml gives. It says honor_labels: a label that the metric has stays.
func (s *signals) add(from target, at time.Time, text []byte) {
	s.t.Helper()
	p, err := textparse.New(text, "text/plain; version=0.0.4", labels.NewSymbolTable(), textparse.ParserOptions{})
	require.NoError(s.t, err)
	for {
		kind, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(s.t, err)
		if kind == textparse.EntrySeries {
			_, _, v := p.Series()
			var l labels.Labels
			p.Labels(&l)
			s.put(from, l, at, v)
		}
	}
	s.put(from, labels.FromStrings("__name__", "up"), at, 1)
}

func (s *signals) put(from target, l labels.Labels, at time.Time, v float64) {
	b := labels.NewBuilder(l)
	for name, value := range map[string]string{"job": scrapeJob, "service": from.service, "instance": from.address} {
		if !l.Has(name) {
			b.Set(name, value)
		}
	}
	l = b.Labels()
	k, ok := s.series[l.String()]
	if !ok {
		k = &kept{labels: l}
		s.series[l.String()] = k
	}
	k.samples = append(k.samples, sample{at.UnixMilli(), v})
}

// at evaluates an expression at an instant.
func (s *signals) at(expr string, when time.Time) promql.Vector {
	s.t.Helper()
	q, err := s.engine.NewInstantQuery(s.t.Context(), s, nil, expr, when)
	require.NoError(s.t, err, expr)
	defer q.Close()
	r := q.Exec(s.t.Context())
	require.NoError(s.t, r.Err, expr)
	v, err := r.Vector()
	require.NoError(s.t, err, expr)
	return slices.Clone(v)
}

// over evaluates an expression over a range.
func (s *signals) over(expr string, from, to time.Time, step time.Duration) []point {
	s.t.Helper()
	q, err := s.engine.NewRangeQuery(s.t.Context(), s, nil, expr, from, to, step)
	require.NoError(s.t, err, expr)
	defer q.Close()
	r := q.Exec(s.t.Context())
	require.NoError(s.t, r.Err, expr)
	m, err := r.Matrix()
	require.NoError(s.t, err, expr)
	var out []point
	for _, series := range m {
		for _, p := range series.Floats {
			out = append(out, point{labels: series.Metric.Map(), at: p.T, value: p.F})
		}
	}
	return out
}

// point is one value of one series.
type point struct {
	labels map[string]string
	at     int64 // ms
	value  float64
}

// Querier makes signals what the engine reads from.
func (s *signals) Querier(from, to int64) (storage.Querier, error) { return querier{s, from, to}, nil }

type querier struct {
	of       *signals
	from, to int64
}

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{}
	for _, k := range q.of.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(k.labels.Get(m.Name)) }) {
			within := slices.DeleteFunc(slices.Clone(k.samples), func(x chunks.Sample) bool { return x.T() < q.from || x.T() > q.to })
			set.list = append(set.list, storage.NewListSeries(k.labels, within))
		}
	}
	slices.SortFunc(set.list, func(x, y storage.Series) int { return strings.Compare(x.Labels().String(), y.Labels().String()) })
	return set
}

func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (querier) Close() error { return nil }

type seriesSet struct {
	list []storage.Series
	next int
}

func (s *seriesSet) Next() bool                      { s.next++; return s.next <= len(s.list) }
func (s *seriesSet) At() storage.Series              { return s.list[s.next-1] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a float at an instant.
type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                    { return s.t }
func (s sample) ST() int64                   { return 0 }
func (s sample) F() float64                  { return s.f }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
