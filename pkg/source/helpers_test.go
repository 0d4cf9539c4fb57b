package source_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

var day = model.NewDay(2026, 10, 1)

// zone is UTC+8 without a zone database.
var zone = time.FixedZone("+08", 8*3600)

func request() source.Request {
	return source.Request{
		Job: "shop", Side: model.Ledger, Day: day, Zone: zone,
		From: time.Date(2026, 9, 30, 16, 0, 0, 0, time.UTC), To: time.Date(2026, 10, 1, 16, 0, 0, 0, time.UTC),
		Rules: model.Rules{Key: []string{"key"}},
	}
}

// columns maps key, amount and a fixed currency, and what else is named as itself.
func columns(more ...string) source.Columns {
	c := source.Columns{
		Key: source.ParseColumn("key"), Amount: source.ParseColumn("amount"), Currency: source.ParseColumn("=CNY"),
	}
	for _, name := range more {
		c.Put(name, source.ParseColumn(name))
	}
	return c
}

// folder writes files by name and returns where they lie.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o750))
		require.NoError(t, os.WriteFile(p, []byte(content), 0o600))
	}
	return dir
}

// readAll opens and reads a source to its end.
func readAll(t testing.TB, spec source.Spec, root string, req source.Request) ([]model.Entry, model.Seal, error) {
	t.Helper()
	s, err := source.Open(spec, source.Env{Root: root})
	require.NoError(t, err)
	var out []model.Entry
	seal, err := s.Read(context.Background(), req, func(e model.Entry) error {
		out = append(out, e)
		return nil
	})
	return out, seal, err
}

func csvSpec(c source.CSV, cols source.Columns) source.Spec {
	if c.Path == "" {
		c.Path = "f.csv"
	}
	return source.Spec{Kind: source.KindCSV, CSV: &c, Columns: cols}
}

// readCSV reads one file of the given content.
func readCSV(t testing.TB, content string, c source.CSV, cols source.Columns) ([]model.Entry, model.Seal, error) {
	t.Helper()
	return readAll(t, csvSpec(c, cols), folder(t, map[string]string{"f.csv": content}), request())
}

func keys(entries []model.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Key)
	}
	return out
}
