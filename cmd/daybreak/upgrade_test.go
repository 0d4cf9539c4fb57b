package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/bus"
	"daybreak/pkg/control"
	"daybreak/pkg/scenario"
	"daybreak/pkg/store"
)

// goldenMade is made.json of a golden folder, see bench/upgrade.
type goldenMade struct {
	Revision string    `json:"revision"`
	MadeAt   time.Time `json:"made_at"`
	Now      time.Time `json:"now"`
	Jobs     []string  `json:"jobs"`
	Replayed string    `json:"replayed"`
}

// fresh reports whether what a stream took in when the folder was made is still kept: it goes by the real clock.
func (m goldenMade) fresh(stream string) bool {
	for _, s := range bus.Streams() {
		if s.Name == stream {
			return time.Since(m.MadeAt) < s.MaxAge*9/10
		}
	}
	return false
}

// Data of every earlier program opens with this one and shows exactly what that one showed; then this one works on.
// The archives are written by
//
//	go run ./bench/upgrade -golden cmd/daybreak/testdata/upgrade [-from TAG]
//
// one for each release, and are never changed.
func TestGoldenFolders(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join("testdata", "upgrade", "*.tar.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) {
			t.Parallel()
			openGolden(t, archive)
		})
	}
}

func openGolden(t *testing.T, archive string) {
	dir := t.TempDir()
	unpack(t, archive, dir)
	var m goldenMade
	readGolden(t, filepath.Join(dir, "made.json"), &m)
	i := &installation{t: t, book: &scenario.Book{Config: filepath.Join(dir, "book", "daybreak.yaml"), Jobs: m.Jobs}, now: m.Now}
	stop := i.background("engines")
	expected := map[string][]map[string]any{}
	files, err := filepath.Glob(filepath.Join(dir, "expect", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 2+2*len(m.Jobs))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		var want []map[string]any
		readGolden(t, file, &want)
		expected[name] = want
		if name != "events" || m.fresh(bus.StreamDiffs) {
			requireRows(t, name, want, i.shown(name), nil)
		}
	}
	require.Equal(t, exitFine, stop())

	i.with(func(d *desk) {
		d.once()
		if m.fresh(bus.StreamDiffs) {
			require.Empty(t, d.audit())
			more, _ := d.rebuild(true)
			require.Empty(t, more)
		}
	})
	stop = i.background("engines")
	moved := []string{}
	for n, r := range i.shown("status") {
		want := expected["status"][n]
		require.Equal(t, "DONE", r["status"], r)
		if r["version"] != want["version"] {
			moved = append(moved, r["job"].(string)+" "+r["biz_date"].(string))
		}
	}
	want := []string{m.Replayed}
	if !m.fresh(bus.StreamDays) {
		want = []string{}
	}
	require.Equal(t, want, moved, "the day whose replay was open, and no other")
	for _, job := range m.Jobs {
		requireRows(t, job, expected["diffs-"+job], i.shown("diffs-"+job), []string{"version"})
	}
	require.Equal(t, exitFine, stop())
}

// shown is what a command shows now, by the name that it has in a golden folder.
func (i *installation) shown(name string) []map[string]any {
	i.t.Helper()
	job, carried := strings.CutPrefix(name, "carried-")
	switch {
	case carried:
		return i.fine("diffs", job, "--carried")
	case strings.HasPrefix(name, "diffs-"):
		return i.fine("diffs", strings.TrimPrefix(name, "diffs-"))
	}
	return i.fine(name)
}

// requireRows compares rows in the columns that are expected; newer programs may show more.
func requireRows(t *testing.T, name string, want, have []map[string]any, leaveOut []string) {
	t.Helper()
	require.Len(t, have, len(want), name)
	for n := range want {
		for column, v := range want[n] {
			if !slices.Contains(leaveOut, column) {
				require.Equal(t, v, have[n][column], "%s, row %d, %s", name, n+1, column)
			}
		}
	}
}

func readGolden(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	require.NoError(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			require.NoError(t, os.MkdirAll(path, 0o700))
		case tar.TypeSymlink:
			require.NoError(t, os.Symlink(h.Linkname, path))
		default:
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
	}
}

// Data of a newer layout is refused by name, in NATS and in the tables, before anything of it is touched.
func TestNewerLayoutIsRefused(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	setLayout := func(text string) {
		i.with(func(d *desk) {
			stream, err := d.app.bus.JetStream().Stream(d.ctx, "KV_"+controlBucket)
			require.NoError(t, err)
			cfg := stream.CachedInfo().Config
			require.Equal(t, "1", cfg.Metadata["daybreak.layout"])
			cfg.Metadata["daybreak.layout"] = text
			_, err = d.app.bus.JetStream().UpdateStream(d.ctx, cfg)
			require.NoError(t, err)
		})
	}
	refused := func(layout string) {
		for _, args := range [][]string{{"status"}, {"up", "--once"}, {"rebuild"}} {
			r := i.run(args...)
			require.Equal(t, exitFailed, r.code, r.out)
			require.Contains(t, r.err, "has layout "+layout+", this program knows layout 1 at most: use the program that")
			require.Contains(t, r.err, "newer version of this program")
		}
	}
	i.with(func(d *desk) {
		require.NoError(t, d.app.store.Conn().Exec(d.ctx, "INSERT INTO schema_version VALUES (9, now64(3))"))
	})
	r := i.run("status")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "the tables have layout 9, this program knows layout 1 at most: use the program that")
	require.NoError(t, os.RemoveAll(filepath.Join(filepath.Dir(i.book.Config), "data", "clickhouse")))
	setLayout("2")
	refused("2")
	require.Equal(t, []any{1, uint32(1)}, []any{control.LayoutVersion, store.SchemaVersion}, "a new layout has a golden folder of the one before, and a test of the way there")
}
