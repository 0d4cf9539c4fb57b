package deploytest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// Each service does its whole work with its own certificate, its own inbox, and ClickHouse under its own grants: the
// administrator lays out, tickers publish, recon brings every day to DONE, the auditor proves it, people replay and review,
// a reader reads every event. ClickHouse has one user at a time here, so they take turns.
func TestEachServiceDoesItsWork(t *testing.T) {
	w := newWorld(t, 1)
	w.as(t, "admin", func() { w.asAdmin(t) })
	w.as(t, "ticker", func() {
		_, stop := service(t, w.args("ticker", "ticker", "--now", w.now())...)
		require.Eventually(t, func() bool { return int(stream(t, w.servers[0], "DAYBREAK")["DAYS"]) == w.due() },
			time.Minute, 50*time.Millisecond, "every due day is published once")
		stop()
	})
	marks := w.marks(t)
	w.as(t, "recon", func() {
		_, stop := service(t, w.args("recon", "recon", "--now", w.now())...)
		w.awaitDone(t, marks, 1)
		fine(t, w.args("operator", "replay", w.book.Jobs[0], w.book.First.String()+".."+w.book.Last.String(), "--reason", "tried", "--wait", "--now", w.now())...)
		stop()
	})
	w.as(t, "auditor", func() { w.asAuditor(t) })
	w.as(t, "operator", func() { w.asOperator(t) })
	w.asDownstream(t)
}

func (w *world) asAdmin(t *testing.T) {
	t.Helper()
	code, out := run(t, w.args("admin", "init", "--downstream", "ledger-app", "--dry-run", "--format", "csv")...)
	require.Equal(t, 3, code, "nothing is laid out yet")
	require.Equal(t, 8, strings.Count(out, ",missing,"), "%s", out)
	require.Empty(t, stream(t, w.servers[0], "DAYBREAK"), "a dry run makes nothing")
	ctx := w.args("ticker", "ticker", "--now", w.now())
	code, _ = run(t, ctx...)
	require.Equal(t, 1, code, "a service that may make nothing ends at once where nothing is laid out")
	for range 2 {
		out = fine(t, w.args("admin", "init", "--downstream", "ledger-app", "--format", "csv")...)
		require.Equal(t, 8, strings.Count(out, ",there,"), "%s", out)
	}
	fine(t, w.args("admin", "init", "--downstream", "ledger-app", "--dry-run")...)
}

func (w *world) asAuditor(t *testing.T) {
	t.Helper()
	_, stopTicker := service(t, w.args("ticker", "ticker", "--now", w.now())...)
	_, stopRecon := service(t, w.args("recon", "recon", "--now", w.now())...)
	log, stop := service(t, w.args("auditor", "auditor", "--now", w.now())...)
	var addr string
	require.Eventually(t, func() bool { addr = listening(log.String()); return addr != "" }, time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool { // the first pass is over
		page := get(t, addr, "/metrics")
		return strings.Contains(page, "daybreak_audit") && strings.Contains(page, `daybreak_consumer_pending_messages{consumer="recon",stream="DAYS"} 0`)
	}, time.Minute, 200*time.Millisecond)
	page := get(t, addr, "/metrics")
	require.Contains(t, page, "daybreak_store_disk_free_bytes", "the auditor may look at the disks")
	require.Contains(t, page, `daybreak_consumer_pending_messages{consumer="ledger-app",stream="DIFFS"}`)
	awaitReady(t, addr)
	fine(t, "healthcheck", "--listen", addr)
	fine(t, w.args("auditor", "audit", "--now", w.now())...)
	for _, s := range []func(){stop, stopRecon, stopTicker} {
		s()
	}
	require.NotContains(t, log.String(), "Permissions Violation")
}

func (w *world) asOperator(t *testing.T) {
	t.Helper()
	status := fine(t, w.args("operator", "status", "--format", "json", "--now", w.now())...)
	require.Equal(t, w.due(), strings.Count(status, `"DONE"`), "%s", status)
	job := w.book.Faults[0].Job
	var diffs []struct {
		BizDate string `json:"biz_date"`
		ID      string `json:"diff_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(fine(t, w.args("operator", "diffs", job, "--format", "json", "--now", w.now())...)), &diffs))
	require.NotEmpty(t, diffs)
	fine(t, w.args("operator", "review", job, diffs[0].BizDate, diffs[0].ID, "--to", "investigating", "--by", "lin", "--note", "asked", "--now", w.now())...)
	events := fine(t, w.args("operator", "events", "--format", "ndjson")...)
	require.Contains(t, events, "reviewed")
	require.Equal(t, int(stream(t, w.servers[0], "DAYBREAK")["DIFFS"]), strings.Count(events, "\n"), "the operator sees every event")
	fine(t, w.args("operator", "events", "--job", job, "--format", "ndjson")...)
}

// asDownstream reads all events as a reader with a durable consumer of its own, and confirms each.
func (w *world) asDownstream(t *testing.T) {
	t.Helper()
	js, err := jetstream.New(w.connect(t, "downstream").Conn)
	require.NoError(t, err)
	c, err := js.Consumer(t.Context(), "DIFFS", "ledger-app")
	require.NoError(t, err)
	want, seen := int(stream(t, w.servers[0], "DAYBREAK")["DIFFS"]), 0
	for seen < want {
		batch, err := c.Fetch(50, jetstream.FetchMaxWait(5*time.Second))
		require.NoError(t, err)
		n := 0
		for m := range batch.Messages() {
			require.NoError(t, m.DoubleAck(t.Context()))
			n++
		}
		require.NoError(t, batch.Error())
		require.Positive(t, n, "%d of %d events came", seen, want)
		seen += n
	}
	info, err := c.Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.NumPending)
	require.Zero(t, info.NumAckPending)
}

// awaitReady waits until a service says that it can do its work.
func awaitReady(t *testing.T, addr string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.TrimSpace(get(t, addr, "/readyz")) == "ready" }, time.Minute, 100*time.Millisecond)
}

// listening finds the address in the line by which a service says that it runs.
func listening(log string) string {
	for line := range strings.Lines(log) {
		var l struct {
			Msg  string `json:"msg"`
			HTTP string `json:"http"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "running" {
			return l.HTTP
		}
	}
	return ""
}

func get(t *testing.T, addr, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + addr + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}
