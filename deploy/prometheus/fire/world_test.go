package fire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

// patience bounds every wait: a small machine that builds something else as well is slow.
const patience = 5 * time.Minute

// whole is the configuration with all jobs.
const whole = "daybreak.yaml"

// world is a running Daybreak with its Prometheus.
type world struct {
	*engines
	*prom
	t      *testing.T
	binary string
	dir    string
	book   *scenario.Book
	places []*place
	procs  map[*place]*proc
	looks  time.Duration // how often the auditor asks the slow bank
	begun  time.Time
}

// proc is a running process.
type proc struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// newWorld starts engines and Prometheus and writes a book; no service runs yet.
func newWorld(t *testing.T, days int, looks time.Duration, alertmanager string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), places: places(t), procs: map[*place]*proc{}, looks: looks}
	w.binary = filepath.Join(w.dir, "daybreak")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", w.binary, "./cmd/daybreak")
	build.Dir = filepath.Join("..", "..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	last := model.DayOf(time.Now(), time.UTC).Add(-2)
	w.book, err = scenario.Write(w.dir, scenario.Options{Seed: 20261130, First: last.Add(1 - days), Days: days, Entries: 40, Audit: 5 * time.Second})
	require.NoError(t, err)
	w.engines = startEngines(t)
	w.configure()
	w.prom = startPrometheus(t, prometheusFiles(t, t.TempDir(), w.places, alertmanager))
	w.begun = time.Now()
	return w
}

// slow is a job whose sides are asked of a bank that can be made slow. Both sides agree.
const slow = `  - name: slow
    timezone: UTC
    start: %s
    calendar: daily
    due: { after: 1, at: "01:00", patience: 24h }
    order: independent
    backfill: { max_days: 60 }
    ledger:
      query: { sql: %q, columns: { key: reference, amount: amount, currency: currency } }
    channel:
      query: { sql: %q, columns: { key: reference, amount: amount, currency: currency } }
    audit: { every: %s, count: 0, amount: { default: "0" } }
    match: { key: [key], mode: one, tolerance: { default: "0" }, compare: [] }
`

const slowSQL = `SELECT concat('p', toString(number)) AS reference, '10.00' AS amount, 'EUR' AS currency FROM numbers(%d)
WHERE {date:Date} > '2000-01-01' AND sleepEachRow(assumeNotNull((SELECT argMax(seconds, at) FROM bank.pace))) = 0
SETTINGS max_block_size = 1, max_threads = 1, function_sleep_max_microseconds_per_block = 0`

// configure writes the configurations. The days after the book are holidays: no day gets due while the test runs.
func (w *world) configure() {
	w.t.Helper()
	_, jobs, ok := strings.Cut(string(read(w.t, w.book.Config)), "jobs:\n")
	require.True(w.t, ok)
	ledger, channel := fmt.Sprintf(slowSQL, 4), fmt.Sprintf(slowSQL, 3)
	jobs += fmt.Sprintf(slow, w.book.First, ledger, channel, w.looks)
	var holidays []string
	for i := range 9 {
		holidays = append(holidays, w.book.Last.Add(i+1).String())
	}
	jobs = strings.ReplaceAll(jobs, "calendar: daily", "calendar: { weekdays: [mon, tue, wed, thu, fri, sat, sun], holidays: ["+strings.Join(holidays, ", ")+"] }")
	head := fmt.Sprintf(`nats: { url: %q, user: %s, password_file: nats.password, replicas: %d }
clickhouse: { url: "http://%s", user: %s, password_file: clickhouse.password }
setup: init
data: data
lease: { ttl: 60s }
recon: { workers: 4 }
jobs:
`, w.addresses(), natsUser, replicas, w.ch.Addr(), w.ch.User())
	w.write("nats.password", natsPassword)
	w.write("clickhouse.password", w.ch.Password())
	w.write(whole, head+jobs)
}

// without is the whole configuration lacking a job, as it was before somebody added that.
func (w *world) without(job string) string {
	w.t.Helper()
	head, jobs, _ := strings.Cut(string(read(w.t, w.path(whole))), "  - name: ")
	var kept []string
	for _, one := range strings.Split(jobs, "  - name: ") {
		if !strings.HasPrefix(one, job+"\n") {
			kept = append(kept, "  - name: "+one)
		}
	}
	name := "without-" + job + ".yaml"
	w.write(name, head+strings.Join(kept, ""))
	return name
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(w.path(name), []byte(text), 0o600))
}

// breakFile adds a line that is no entry.
func (w *world) breakFile(name string) {
	w.t.Helper()
	w.write(name, string(read(w.t, w.path(name)))+"this is no entry\n")
}

// start runs every process of a service that prometheus.yml names.
func (w *world) start(service, config string) {
	w.t.Helper()
	for _, p := range w.of(service) {
		w.run(p, config)
	}
}

func (w *world) of(service string) (out []*place) {
	for _, p := range w.places {
		if p.service == service {
			out = append(out, p)
		}
	}
	require.NotEmpty(w.t, out)
	return out
}

// run starts one process and returns when it serves its metrics.
func (w *world) run(p *place, config string) {
	w.t.Helper()
	cmd := exec.Command(w.binary, p.service, "-f", w.path(config), "--listen", p.address)
	logs, err := cmd.StderrPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, cmd.Start())
	r := &proc{cmd: cmd, ended: make(chan struct{})}
	w.procs[p] = r
	running := make(chan struct{}, 1)
	var tail bytes.Buffer
	go func() {
		defer close(r.ended)
		lines := bufio.NewScanner(logs)
		for lines.Scan() {
			var line struct{ Msg string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "running" {
				running <- struct{}{}
			}
			if tail.Len() < 1<<16 {
				fmt.Fprintln(&tail, lines.Text())
			}
		}
		_ = cmd.Wait()
	}()
	w.t.Cleanup(func() { w.end(p, syscall.SIGKILL) })
	select {
	case <-running:
	case <-r.ended:
		w.t.Fatalf("%s ended: %s", p.shipped, tail.String())
	case <-time.After(patience):
		w.t.Fatalf("%s does not serve", p.shipped)
	}
}

// end stops a process, and returns when it is gone.
func (w *world) end(p *place, how syscall.Signal) {
	r := w.procs[p]
	if r == nil {
		return
	}
	_ = r.cmd.Process.Signal(how)
	<-r.ended
	delete(w.procs, p)
}

func (w *world) signal(p *place, s syscall.Signal) {
	w.t.Helper()
	require.NoError(w.t, w.procs[p].cmd.Process.Signal(s))
}

// kill ends every process of a service at once, as a power cut does.
func (w *world) kill(service string) {
	for _, p := range w.of(service) {
		w.end(p, syscall.SIGKILL)
	}
}

// renew gives a service another configuration.
func (w *world) renew(service, config string) {
	w.t.Helper()
	for _, p := range w.of(service) {
		w.end(p, syscall.SIGTERM)
		w.run(p, config)
	}
}

// command runs the program as a person does and returns what it printed.
func (w *world) command(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.binary, append(args, "-f", w.path(whole))...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(w.t, cmd.Run(), "%v: %s", args, errs.String())
	return out.String()
}

// days counts the business days of all jobs.
func (w *world) days() int { return (len(w.book.Jobs) + 1) * int(w.book.Last-w.book.First+1) }

// review takes the first open diffs of a job to the states given, one diff each.
func (w *world) review(job string, states ...string) {
	w.t.Helper()
	var diffs []struct {
		BizDate string `json:"biz_date"`
		ID      string `json:"diff_id"`
	}
	require.NoError(w.t, json.Unmarshal([]byte(w.command("diffs", job, "--state", "open", "--format", "json")), &diffs))
	require.Greater(w.t, len(diffs), len(states))
	for i, to := range states {
		w.command("review", job, diffs[i].BizDate, diffs[i].ID, "--to", "investigating", "--by", "lin", "--note", "asked the channel")
		if to != "investigating" {
			w.command("review", job, diffs[i].BizDate, diffs[i].ID, "--to", to, "--by", "lin", "--note", "refunded on the next day")
		}
	}
}

// publish sends a message as any client can.
func (w *world) publish(subject, body string) {
	w.t.Helper()
	_, err := w.js.Publish(w.t.Context(), subject, []byte(body))
	require.NoError(w.t, err, subject)
}
