package deploytest

import (
	"context"
	"encoding/xml"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/control"
	"daybreak/pkg/engine"
	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/kv"
	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

// world is an installation made of the shipped files: NATS servers, books, a configuration for each user, and ClickHouse
// under one user at a time.
type world struct {
	*cluster
	book *scenario.Book
	dir  string // of the books and configurations
	data string // of ClickHouse
	ch   *engine.ClickHouse
}

func newWorld(t *testing.T, servers int) *world {
	t.Helper()
	w := &world{cluster: startCluster(t, servers), dir: t.TempDir(), data: t.TempDir()}
	var err error
	w.book, err = scenario.Write(w.dir, scenario.Options{Seed: 5, First: model.NewDay(2026, time.November, 2), Days: 3, Entries: 25, Lease: 6 * time.Second})
	require.NoError(t, err)
	return w
}

// due is how many days the book has.
func (w *world) due() int { return len(w.book.Jobs) * int(w.book.Last-w.book.First+1) }

func (w *world) args(user string, command ...string) []string {
	return append(command, "-f", w.config(user), "--inbox-prefix", "_INBOX_"+user)
}

func (w *world) now() string { return w.book.Now().Format(time.RFC3339) }

func (w *world) config(user string) string { return filepath.Join(w.dir, "daybreak-"+user+".yaml") }

// configure writes for every user what compose mounts for it: the shipped file, with addresses and paths of this machine
// and the jobs of the book. The embedded engine speaks HTTP and has no cluster.
func (w *world) configure(t *testing.T, replicas int, ch *engine.ClickHouse) {
	t.Helper()
	shipped, err := os.ReadFile(filepath.Join(deploy, "compose", "daybreak.yaml"))
	require.NoError(t, err)
	head, _, ok := strings.Cut(string(shipped), "jobs:\n")
	require.True(t, ok)
	book, err := os.ReadFile(w.book.Config)
	require.NoError(t, err)
	_, jobs, ok := strings.Cut(string(book), "jobs:\n")
	require.True(t, ok)
	for _, user := range users {
		mounted := filepath.Join(w.ca.dir, "run-"+user)
		require.NoError(t, os.MkdirAll(mounted, 0o700))
		for name, from := range map[string]string{"ca.crt": w.ca.ca(), "nats.crt": w.ca.crt(user), "nats.key": w.ca.keyOf(user)} {
			data, err := os.ReadFile(from)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(mounted, name), data, 0o600))
		}
		for name, text := range map[string]string{"clickhouse.user": ch.User(), "clickhouse.password": ch.Password()} {
			require.NoError(t, os.WriteFile(filepath.Join(mounted, name), []byte(text+"\n"), 0o600))
		}
		text := swap(t, head,
			"tls://nats-1:4222,tls://nats-2:4222,tls://nats-3:4222", w.url(t),
			"replicas: 3", fmt.Sprintf("replicas: %d", replicas),
			"clickhouse://clickhouse-1:9440?secure=true", "http://"+ch.Addr(),
			"  cluster: main\n  tls: { ca: /run/daybreak/ca.crt }\n", "",
			"/run/daybreak", mounted,
			"0.0.0.0:7070", "127.0.0.1:0",
			"/var/lib/daybreak", filepath.Join(w.dir, "data"))
		text += "lease: { ttl: 6s }\njobs:\n" + jobs
		require.NoError(t, os.WriteFile(w.config(user), []byte(text), 0o600))
	}
}

// swap replaces pairs of old and new; each old must be there.
func swap(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(t, text, pairs[i])
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// as runs ClickHouse under the shipped profile, quota and grants of one user for as long as do takes.
func (w *world) as(t *testing.T, user string, do func()) {
	t.Helper()
	ch := startAs(t, w.data, user)
	defer ch.Close()
	w.ch = ch
	w.configure(t, 1, ch)
	do()
}

// startAs starts the embedded ClickHouse with the shipped users file. Whoever connects to it is always its user `default`,
// so that gets what the file gives the named user. It is no server: passwords and changeable_in_readonly are the server's
// alone and are taken out, and readonly is 2 and not 1, as the interface before the engine names a setting with each query.
func startAs(t *testing.T, data, user string) *engine.ClickHouse {
	t.Helper()
	shipped, err := os.ReadFile(filepath.Join(deploy, "clickhouse", "users.d", "daybreak.xml"))
	require.NoError(t, err)
	text := swap(t, string(shipped), "<changeable_in_readonly/>", "", "<readonly>1</readonly>", "<readonly>2</readonly>")
	own := element(t, "daybreak_"+user, element(t, "users", text))
	own = regexp.MustCompile(`<password_sha256_hex[^>]*/>`).ReplaceAllString(own, "<no_password/>")
	require.Contains(t, own, "<no_password/>")
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, xml.Unmarshal([]byte(content), new(struct{ XMLName xml.Name })))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	usersFile := file("users.xml", "<clickhouse><profiles><default/>"+element(t, "profiles", text)+"</profiles><quotas><default/>"+
		element(t, "quotas", text)+"</quotas><users><default>"+own+"<networks><ip>::/0</ip></networks></default></users></clickhouse>")
	config := file("config.xml", "<clickhouse><user_directories><users_xml><path>"+usersFile+"</path></users_xml></user_directories></clickhouse>")
	ch, err := engine.StartClickHouse(t.Context(), engine.CHOptions{
		Dir: data, ConfigFile: config, LibPath: enginetest.LibPath(), Progress: os.Stderr, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err, user)
	return ch
}

// element is what stands in the first element of that name in text.
func element(t *testing.T, name, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "<"+name+">")
	require.True(t, ok, "no <%s>", name)
	inner, _, ok := strings.Cut(rest, "</"+name+">")
	require.True(t, ok)
	return inner
}

// query asks ClickHouse directly, under the user it runs as.
func query(t *testing.T, ch *engine.ClickHouse, do func(ctx context.Context, conn clickhouse.Conn)) {
	t.Helper()
	o := ch.Options()
	o.Auth.Database = "daybreak"
	conn, err := clickhouse.Open(o)
	require.NoError(t, err)
	defer conn.Close()
	do(t.Context(), conn) // without a deadline, which the client would make a setting, and Grafana's user may set none
}

// marks reads the watermarks as the operator.
func (w *world) marks(t *testing.T) (c *control.Control) {
	t.Helper()
	js, err := jetstream.New(w.connect(t, "operator").Conn)
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, kv.Options{Bucket: "daybreak", Prepared: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	return control.New(store)
}

// awaitDone waits until every day of the book is DONE, at the given version or above.
func (w *world) awaitDone(t *testing.T, c *control.Control, version uint64) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for _, job := range w.book.Jobs {
		for {
			marks, err := c.Watermarks(t.Context(), job)
			require.NoError(t, err)
			done := 0
			for _, m := range marks {
				if m.Status == model.Done && m.Version >= version {
					done++
				}
			}
			if done == int(w.book.Last-w.book.First+1) {
				break
			}
			require.True(t, time.Now().Before(deadline), "job %s: %d days are DONE: %+v", job, done, marks)
			select {
			case <-t.Context().Done():
				require.NoError(t, t.Context().Err())
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
}

func mustRead(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{deploy}, path...)...))
	require.NoError(t, err)
	return string(text)
}
