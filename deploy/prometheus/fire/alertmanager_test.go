package fire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/prometheus/alertmanager/config" // the module that the program is built from
	"github.com/stretchr/testify/require"
)

// buildAlertmanager makes the program from its module. What is embedded as its web page is not in the module: two empty
// pages stand for it.
func buildAlertmanager(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/prometheus/alertmanager").Output()
	require.NoError(t, err)
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "source"), filepath.Join(dir, "alertmanager")
	require.NoError(t, os.CopyFS(source, os.DirFS(strings.TrimSpace(string(out)))))
	require.NoError(t, filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o700) // a module in the cache may not be written to
	}))
	for _, page := range []string{"elm", "mantine"} {
		at := filepath.Join(source, "ui", "app", "dist", page)
		require.NoError(t, os.MkdirAll(at, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(at, "index.html"), nil, 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/alertmanager")
	cmd.Dir = source
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	return binary
}

// startAlertmanager runs the program on the shipped example until the test ends and returns its address.
func startAlertmanager(t *testing.T, hook string) string {
	t.Helper()
	dir, address := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	cmd := exec.Command(buildAlertmanager(t), "--config.file", alertmanagerFile(t, dir, hook), "--storage.path", filepath.Join(dir, "data"),
		"--web.listen-address", address, "--cluster.listen-address", "", "--log.level", "warn")
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	return address
}

// alert is one alert as a webhook gets it.
type alert struct {
	Receiver    string            `json:"-"`
	Begun       time.Time         `json:"startsAt"`
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// rule is the alert's rule, as "name severity".
func (a alert) rule() string { return a.Labels["alertname"] + " " + a.Labels["severity"] }

// inbox is a webhook receiver: it keeps what comes and tells who waits.
type inbox struct {
	t   *testing.T
	url string

	mu   sync.Mutex
	all  []alert
	from time.Time
	news chan struct{}
}

func openInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{t: t, news: make(chan struct{}, 1)}
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	in.url = server.URL
	return in
}

// ServeHTTP takes one notification.
func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Alerts []alert `json:"alerts"`
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, a := range message.Alerts {
		a.Receiver = strings.TrimPrefix(r.URL.Path, "/")
		in.all = append(in.all, a)
	}
	select {
	case in.news <- struct{}{}:
	default:
	}
}

// since makes only alerts count that begin from now on: what a step causes, not what came before it.
func (in *inbox) since(at time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.from = at
}

// first finds the first firing alert of a rule that match accepts.
func (in *inbox) first(rule string, match map[string]string) (alert, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
next:
	for _, a := range in.all {
		for k, v := range match {
			if a.Labels[k] != v {
				continue next
			}
		}
		if a.Status == "firing" && a.rule() == rule && !a.Begun.Before(in.from) {
			return a, true
		}
	}
	return alert{}, false
}

// await waits for an alert.
func (in *inbox) await(rule string, match map[string]string, patience time.Duration) (alert, bool) {
	deadline := time.After(patience)
	for {
		if a, ok := in.first(rule, match); ok {
			return a, true
		}
		select {
		case <-in.news:
		case <-deadline:
			return alert{}, false
		}
	}
}
