package live

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

// patience bounds every wait: a small machine that builds something else as well is slow.
const patience = 5 * time.Minute

// world is a running Daybreak: engines and services as processes, and what was scraped of them.
type world struct {
	t       *testing.T
	binary  string
	book    *scenario.Book
	shift   time.Duration // from the real clock to that of the book
	targets []target
	signals *signals
	begun   time.Time // first scrape, by the book's clock
	nats    access
	books   access
}

// target is one process that is scraped.
type target struct{ service, address string }

// access is how an engine of the data folder is reached.
type access struct {
	URL      string `json:"url"`
	Addr     string `json:"addr"`
	User     string `json:"user"`
	Password string `json:"password"`
}

// newWorld writes a book, starts everything and returns when all that can be DONE is.
func newWorld(t *testing.T, days, entries int) *world {
	t.Helper()
	w := &world{t: t, binary: build(t), signals: newSignals(t)}
	dir := t.TempDir()
	var err error
	w.book, err = scenario.Write(dir, scenario.Options{
		Seed: 20261101, First: model.NewDay(2026, time.November, 2), Days: days, Entries: entries, Audit: 5 * time.Second,
	})
	require.NoError(t, err)
	w.breakFile("cards/ledger/" + w.book.Last.String() + ".csv")
	require.NoError(t, os.Remove(w.path("wallet/ledger/"+w.book.Last.String()+".csv")))
	w.shift = w.book.Now().Sub(time.Now())
	w.start("engines")
	w.findEngines(filepath.Join(dir, "data", "running.json"))
	for _, service := range []string{"ticker", "recon", "auditor"} {
		w.start(service, "--now", w.now().Format(time.RFC3339))
	}
	w.begun = w.now()
	w.until(fmt.Sprintf(`sum(daybreak_batches{status="done"}) == %d and sum(daybreak_batches{status="failed"}) == 1
		and sum(daybreak_batches{status="waiting"}) == 1 and sum(daybreak_findings{finding="failed"}) == 1`, 3*days-2))
	return w
}

// build makes the program of the main module.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "daybreak")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/daybreak")
	cmd.Dir = filepath.Join("..", "..", "..", "..")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

func (w *world) now() time.Time { return time.Now().Add(w.shift).UTC() }

func (w *world) path(name string) string { return filepath.Join(filepath.Dir(w.book.Config), name) }

// breakFile adds a line that is no entry.
func (w *world) breakFile(name string) {
	w.t.Helper()
	f, err := os.OpenFile(w.path(name), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(w.t, err)
	_, err = f.WriteString("this is no entry\n")
	require.NoError(w.t, err)
	require.NoError(w.t, f.Close())
}

// start runs a service as a process of its own until the test ends, and returns when it serves its metrics.
func (w *world) start(service string, args ...string) {
	w.t.Helper()
	cmd := exec.Command(w.binary, append([]string{service, "-f", w.book.Config, "--listen", "127.0.0.1:0"}, args...)...)
	logs, err := cmd.StderrPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, cmd.Start())
	address, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(logs)
		for lines.Scan() {
			var line struct{ Msg, Level, HTTP string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "running" {
				address <- line.HTTP
			} else if line.Level != "INFO" {
				w.t.Logf("%s: %s", service, lines.Text())
			}
		}
	}()
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = cmd.Wait()
	})
	select {
	case a := <-address:
		if service != "engines" { // has no metrics worth a scrape, as in prometheus.yml
			w.targets = append(w.targets, target{service: service, address: a})
		}
	case <-ended:
		w.t.Fatalf("%s ended", service)
	case <-time.After(patience):
		w.t.Fatalf("%s does not serve", service)
	}
}

func (w *world) findEngines(file string) {
	w.t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(w.t, err)
	var running struct{ NATS, ClickHouse access }
	require.NoError(w.t, json.Unmarshal(text, &running))
	w.nats, w.books = running.NATS, running.ClickHouse
}

// scrape reads every target once, as Prometheus does.
func (w *world) scrape() {
	w.t.Helper()
	for _, target := range w.targets {
		text, err := get(w.t.Context(), "http://"+target.address+"/metrics")
		require.NoError(w.t, err, target.service)
		w.signals.add(target, w.now(), text)
	}
}

// until scrapes once a second until an expression has an answer.
func (w *world) until(expr string) {
	w.t.Helper()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for deadline := time.After(patience); ; {
		w.scrape()
		if len(w.signals.at(expr, w.now())) > 0 {
			return
		}
		select {
		case <-deadline:
			w.t.Fatalf("never: %s\nbatches: %v\nfindings: %v", expr, w.signals.at("daybreak_batches > 0", w.now()), w.signals.at("daybreak_findings > 0", w.now()))
		case <-every.C:
		}
	}
}

// harm does what happens to books and messages once they were reconciled, and waits until it is noticed.
func (w *world) harm() {
	w.t.Helper()
	require.NoError(w.t, os.Remove(w.path("cards/ledger/"+w.book.First.Add(2).String()+".csv")))
	nc, err := nats.Connect(w.nats.URL, nats.UserInfo(w.nats.User, w.nats.Password))
	require.NoError(w.t, err)
	defer nc.Close()
	js, err := nc.JetStream()
	require.NoError(w.t, err)
	_, err = js.Publish("day.due.cards."+w.book.First.String(), []byte("nobody understands this"))
	require.NoError(w.t, err)
	diffs := w.ask(`SELECT biz_date, diff_id FROM diffs_current WHERE job = 'cards' AND state = 'open' ORDER BY biz_date, diff_id LIMIT 3`)
	for i, row := range diffs.Rows {
		w.review(row, "investigating", "asked the channel")
		if i > 0 {
			w.review(row, []string{"", "resolved", "written_off"}[i], "refunded on the next day")
		}
	}
	w.until(`sum(daybreak_findings_escalated{finding="source-changed"}) == 1 and on() max(daybreak_stream_messages{stream="DEAD"}) == 1
		and on() sum(daybreak_review_backlog{state="investigating"}) == 1`)
	w.until(`min_over_time(sum(daybreak_findings_escalated{finding="source-changed"})[8s:1s]) == 1`) // every panel knows of it
	if *answersFile != "" {
		w.until(`count(count_over_time(daybreak_build_info[10m]) > 150)`) // a picture of less than that shows the start only
	}
}

func (w *world) review(diff []any, to, note string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.binary, "review", "cards", fmt.Sprint(diff[0]), fmt.Sprint(diff[1]), "-f", w.book.Config, "--to", to,
		"--by", "lin", "--note", note, "--now", w.now().Format(time.RFC3339))
	out, err := cmd.CombinedOutput()
	require.NoError(w.t, err, string(out))
}

// answer is what ClickHouse gave: the names and types of the columns, and the rows.
type answer struct {
	Meta []struct{ Name, Type string } `json:"meta"`
	Rows [][]any                       `json:"data"`
}

// ask runs a statement as the dashboards' user does: it may read and nothing else.
func (w *world) ask(statement string) answer {
	w.t.Helper()
	settings := url.Values{"database": {"daybreak"}, "default_format": {"JSONCompact"}, "readonly": {"1"}}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+w.books.Addr+"/?"+settings.Encode(), strings.NewReader(statement))
	require.NoError(w.t, err)
	req.SetBasicAuth(w.books.User, w.books.Password)
	text, err := do(req)
	require.NoError(w.t, err, statement)
	var a answer
	require.NoError(w.t, json.Unmarshal(text, &a), "%s\n%s", statement, text)
	return a
}

func get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	return do(req)
}

func do(req *http.Request) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return text, err
}
