package fire

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/notifier"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/notifications"
	"github.com/prometheus/prometheus/web"
	"github.com/stretchr/testify/require"
)

// prom is a running Prometheus and the address of its HTTP API.
type prom struct {
	t   *testing.T
	url string
}

// local is the storage as the HTTP API wants it.
type local struct{ *tsdb.DB }

func (l local) Stats(label string, limit int) (*tsdb.Stats, error) {
	return l.Head().Stats(label, limit), nil
}
func (local) WALReplayStatus() (tsdb.WALReplayStatus, error) { return tsdb.WALReplayStatus{}, nil }
func (l local) BlockMetas() ([]tsdb.BlockMeta, error)        { return l.DB.BlockMetas(), nil }

// parts are what a Prometheus is made of.
type parts struct {
	cfg      *config.Config
	scrapes  *scrape.Manager
	notes    *notifier.Manager
	rules    *rules.Manager
	find     *discovery.Manager // what to scrape
	findAM   *discovery.Manager // where to send alerts
	handler  *web.Handler
	listener net.Listener
}

// startPrometheus runs Prometheus with a configuration until the test ends.
func startPrometheus(t *testing.T, file string) *prom {
	t.Helper()
	p := makeParts(t, file)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan string, 5)
	run := func(name string, do func() error) {
		go func() { _ = do(); ended <- name }()
	}
	run("discovery", p.find.Run)
	run("discovery of Alertmanager", p.findAM.Run)
	run("scrapes", func() error { return p.scrapes.Run(p.find.SyncCh()) })
	run("notifier", func() error { p.notes.Run(p.findAM.SyncCh()); return nil })
	run("web", func() error { return p.handler.Run(ctx, []net.Listener{p.listener}, "") })
	go p.rules.Run()
	p.apply(t, filepath.Dir(file))
	p.handler.SetReady(web.Ready)
	t.Cleanup(func() {
		p.rules.Stop()
		p.scrapes.Stop()
		p.notes.Stop()
		cancel()
		<-ended
	})
	return &prom{t: t, url: "http://" + p.listener.Addr().String()}
}

func makeParts(t *testing.T, file string) *parts {
	t.Helper()
	log, reg, ctx := promslog.NewNopLogger(), prometheus.NewRegistry(), context.Background()
	p := &parts{}
	var err error
	p.cfg, err = config.LoadFile(file, false, log)
	require.NoError(t, err)
	db, err := tsdb.Open(t.TempDir(), log, reg, tsdb.DefaultOptions(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	outside := &url.URL{Scheme: "http", Host: p.listener.Addr().String()}
	p.scrapes, err = scrape.NewManager(&scrape.Options{DiscoveryReloadInterval: model.Duration(time.Second)}, log, nil, nil, db, reg)
	require.NoError(t, err)
	p.notes = notifier.NewManager(&notifier.Options{QueueCapacity: 1000, Registerer: reg}, model.UTF8Validation, log)
	sd, err := discovery.CreateAndRegisterSDMetrics(reg)
	require.NoError(t, err)
	p.find = discovery.NewManager(ctx, log, reg, sd, discovery.Name("scrape"))
	p.findAM = discovery.NewManager(ctx, log, reg, sd, discovery.Name("notify"))
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{}), EnableAtModifier: true, EnableNegativeOffset: true,
	})
	p.rules = rules.NewManager(&rules.ManagerOptions{
		AppendableV2: db, Queryable: db, QueryFunc: rules.EngineQueryFunc(engine, db), NotifyFunc: rules.SendAlerts(p.notes, outside.String()),
		Context: ctx, ExternalURL: outside, Registerer: reg, Logger: log, ResendDelay: time.Minute / scale, Parser: parser.NewParser(parser.Options{}),
		DefaultRuleQueryOffset: func() time.Duration { return 0 },
	})
	p.handler = web.New(log, &web.Options{
		Context: ctx, Storage: db, LocalStorage: local{db}, ExemplarStorage: db, QueryEngine: engine, ScrapeManager: p.scrapes, RuleManager: p.rules,
		Notifier: p.notes, Version: &web.PrometheusVersion{}, ExternalURL: outside, ListenAddresses: []string{outside.Host}, RoutePrefix: "/", ReadTimeout: time.Minute, MaxConnections: 100,
		CORSOrigin: regexp.MustCompile("^$"), Gatherer: reg, Registerer: reg, FeatureRegistry: features.DefaultRegistry, AppName: "Prometheus",
		NotificationsGetter: func() []notifications.Notification { return nil },
	})
	return p
}

// apply hands the configuration to every part, in the order of Prometheus' own program.
func (p *parts) apply(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, p.handler.ApplyConfig(p.cfg))
	require.NoError(t, p.scrapes.ApplyConfig(p.cfg))
	require.NoError(t, p.notes.ApplyConfig(p.cfg))
	scrapes, err := p.cfg.GetScrapeConfigs()
	require.NoError(t, err)
	from := map[string]discovery.Configs{}
	for _, s := range scrapes {
		from[s.JobName] = s.ServiceDiscoveryConfigs
	}
	require.NoError(t, p.find.ApplyConfig(from))
	to := map[string]discovery.Configs{}
	for name, a := range p.cfg.AlertingConfig.AlertmanagerConfigs.ToMap() {
		to[name] = a.ServiceDiscoveryConfigs
	}
	require.NoError(t, p.findAM.ApplyConfig(to))
	var files []string
	for _, pattern := range p.cfg.RuleFiles {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Len(t, files, 1, "the rules of %s", dir)
	require.NoError(t, p.rules.Update(time.Duration(p.cfg.GlobalConfig.EvaluationInterval), files, p.cfg.GlobalConfig.ExternalLabels, p.url(), nil))
}

func (p *parts) url() string { return "http://" + p.listener.Addr().String() }

// series is one series of an answer.
type series struct {
	Labels map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
	Values [][2]any          `json:"values"`
}

// newest is the last value of a series.
func (s series) newest() float64 {
	v := s.Value
	if len(s.Values) > 0 {
		v = s.Values[len(s.Values)-1]
	}
	text, _ := v[1].(string)
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// over asks /api/v1/query_range.
func (p *prom) over(expr string, from, to time.Time, step time.Duration) ([]series, error) {
	return p.query("query_range", url.Values{
		"query": {expr}, "start": {seconds(from)}, "end": {seconds(to)}, "step": {fmt.Sprint(step.Seconds())},
	})
}

// now asks /api/v1/query.
func (p *prom) now(expr string) []series {
	p.t.Helper()
	out, err := p.query("query", url.Values{"query": {expr}})
	require.NoError(p.t, err, expr)
	return out
}

func seconds(at time.Time) string { return fmt.Sprintf("%.3f", float64(at.UnixMilli())/1e3) }

func (p *prom) query(path string, form url.Values) ([]series, error) {
	var out struct {
		Result []series `json:"result"`
	}
	return out.Result, p.ask(path+"?"+form.Encode(), &out)
}

// ask reads data of the API.
func (p *prom) ask(path string, to any) error {
	resp, err := http.Get(p.url + "/api/v1/" + path)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Status, Error string
		Warnings      []string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	if answer.Status != "success" || len(answer.Warnings) > 0 {
		return fmt.Errorf("%s: %s %s %v", resp.Status, answer.Status, answer.Error, answer.Warnings)
	}
	return json.Unmarshal(answer.Data, to)
}

// until waits for an expression to have an answer.
func (p *prom) until(expr string, patience time.Duration) {
	p.t.Helper()
	every := time.NewTicker(interval / 2)
	defer every.Stop()
	for deadline := time.After(patience); len(p.now(expr)) == 0; {
		select {
		case <-deadline:
			p.t.Fatalf("never: %s\n%s\n%s\n%s", expr, p.list("daybreak_batches > 0"), p.list("daybreak_findings > 0"), p.list("up"))
		case <-every.C:
		}
	}
}

// list prints an answer for people.
func (p *prom) list(expr string) string {
	p.t.Helper()
	out := expr + ":"
	for _, s := range p.now(expr) {
		out += fmt.Sprintf(" %v=%v", s.Labels, s.newest())
	}
	return out
}
