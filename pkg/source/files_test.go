package source_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

func open(t testing.TB, path, root string) source.Source {
	t.Helper()
	s, err := source.Open(csvSpec(source.CSV{Path: path}, columns()), source.Env{Root: root})
	require.NoError(t, err)
	return s
}

func TestPathsFindTheFilesOfTheDay(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{
		"20261001/b.csv":     "key,amount\nb,1\n",
		"20261001/a.csv":     "key,amount\na,1\n",
		"20261001/.part.csv": "half a fi",
		"20261001/c.txt":     "x",
		"20261002/d.csv":     "key,amount\nd,1\n",
		"[x]/2026-10-01.csv": "key,amount\nx,1\n",
	})
	for _, c := range []struct {
		path, root  string
		keys, seals []string
	}{
		{"{date:20060102}/*.csv", root, []string{"a", "b"}, []string{"20261001/a.csv", "20261001/b.csv"}},
		{"2026*/[b-d].csv", root, []string{"b", "d"}, []string{"20261001/b.csv", "20261002/d.csv"}},
		{"{date}.csv", filepath.Join(root, "[x]"), []string{"x"}, []string{"2026-10-01.csv"}},
		{filepath.Join(root, "{date:2006}{date:0102}/a.csv"), root, []string{"a"}, []string{"20261001/a.csv"}},
		{"../{date:20060102}/a.csv", filepath.Join(root, "[x]"), []string{"a"}, []string{filepath.Join(root, "20261001/a.csv")}},
	} {
		entries, seal, err := readAll(t, csvSpec(source.CSV{Path: c.path}, columns()), c.root, request())
		require.NoError(t, err, c.path)
		require.Equal(t, c.keys, keys(entries), c.path)
		var names []string
		for _, s := range seal.Sources {
			names = append(names, s.Name)
			require.Len(t, s.SHA256, 64)
			require.Equal(t, uint64(1), s.Rows)
		}
		require.Equal(t, c.seals, names)
	}
}

func TestAMissingFileIsNotThere(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{"a/2026-10-02.csv": "key,amount\n", "file": ""})
	for _, path := range []string{"a/{date}.csv", "b/{date}.csv", "a/{date}*", "*/2026-10-01*", "file/*.csv"} {
		s := open(t, path, root)
		_, err := s.Peek(t.Context(), request())
		require.ErrorIs(t, err, source.ErrNotThere, path)
		_, err = s.Read(t.Context(), request(), nil)
		require.ErrorIs(t, err, source.ErrNotThere, path)
	}
	_, err := open(t, "a/{date}.csv", root).Peek(t.Context(), request())
	require.EqualError(t, err, "no file matches "+filepath.Join(root, "a/2026-10-01.csv")+": the source is not there yet")
	_, err = open(t, "a", root).Peek(t.Context(), request())
	require.EqualError(t, err, filepath.Join(root, "a")+" is a folder, not a file: the source cannot be used as it is")
}

func TestPeekSeesWhatChanged(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{"a.csv": "key,amount\n"})
	s := open(t, "*.csv", root)
	peek := func() string {
		got, err := s.Peek(t.Context(), request())
		require.NoError(t, err)
		return got
	}
	first := peek()
	require.NotEmpty(t, first)
	require.Equal(t, first, peek())
	require.NoError(t, os.Chtimes(filepath.Join(root, "a.csv"), time.Time{}, time.Unix(1, 0)))
	second := peek()
	require.NotEqual(t, first, second)
	require.NoError(t, os.WriteFile(filepath.Join(root, "b.csv"), nil, 0o600))
	require.NotEqual(t, second, peek())
}

// TestAChangeUnderTheReaderIsSeen changes the files in the middle of a reading, from within the yield.
func TestAChangeUnderTheReaderIsSeen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p string) error{
		"grows": func(p string) error {
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("broken")
				err = max2(err, f.Close())
			}
			return err
		},
		"is replaced by its like": func(p string) error {
			b, err := os.ReadFile(p)
			err = max2(err, os.WriteFile(p+".new", b, 0o600))
			info, statErr := os.Stat(p)
			err = max2(err, statErr)
			err = max2(err, os.Chtimes(p+".new", time.Time{}, info.ModTime()))
			return max2(err, os.Rename(p+".new", p))
		},
		"is touched":        func(p string) error { return os.Chtimes(p, time.Time{}, time.Unix(1e9, 0)) },
		"vanishes":          os.Remove,
		"gets a neighbour":  func(p string) error { return os.WriteFile(filepath.Join(filepath.Dir(p), "g.csv"), nil, 0o600) },
		"is cut to nothing": func(p string) error { return os.Truncate(p, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := folder(t, map[string]string{"f.csv": "key,amount\na,1\nb,1\n"})
			done := false
			seal, err := open(t, "*.csv", root).Read(t.Context(), request(), func(model.Entry) error {
				if done {
					return nil
				}
				done = true
				return change(filepath.Join(root, "f.csv"))
			})
			require.ErrorIs(t, err, source.ErrChanged)
			require.NotErrorIs(t, err, source.ErrInput)
			require.Zero(t, seal)
		})
	}
}

func max2(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	root := folder(t, nil)
	writeRows(t, filepath.Join(root, "f.csv"), 5000)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := open(t, "f.csv", root).Read(ctx, request(), func(model.Entry) error {
		n++
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.LessOrEqual(t, n, 1024)
}

// writeRows writes a file of n rows with the columns key, amount, status and occurred_at.
func writeRows(t testing.TB, path string, n int) {
	t.Helper()
	buf := append(make([]byte, 0, n*64), "key,amount,status,occurred_at\n"...)
	for i := range n {
		buf = append(strconv.AppendInt(append(buf, "2026100100000000"...), int64(i+1e9), 10), ',')
		buf = append(strconv.AppendInt(buf, int64(i%100000), 10), ".25,PAID,2026-10-01 12:34:56\n"...)
	}
	require.NoError(t, os.WriteFile(path, buf, 0o600))
}

// TestAMillionRowsAreStreamed is not parallel: it measures the heap of the whole process.
func TestAMillionRowsAreStreamed(t *testing.T) { //nolint:paralleltest // see above
	const rows = streamedRows
	root := t.TempDir()
	writeRows(t, filepath.Join(root, "f.csv"), rows)
	s, err := source.Open(csvSpec(source.CSV{}, columns("status", "occurred_at")), source.Env{Root: root})
	require.NoError(t, err)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) //nolint:gosec // far below
	}
	runtime.GC()
	before, peak, n := heap(), int64(0), 0
	start := time.Now()
	seal, err := s.Read(t.Context(), request(), func(model.Entry) error {
		if n++; n%10_000 == 0 {
			peak = max(peak, heap()-before)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, uint64(rows), seal.Totals.Count())
	sum := decimal.NewFromInt(rows / 100_000).Mul(decimal.NewFromInt(4_999_975_000)) // 0.25 to 99999.25
	require.True(t, sum.Equal(seal.Totals["CNY"].Amount), seal.Totals)
	require.Less(t, peak, int64(64<<20))
	t.Logf("%d rows in %s, heap grew by at most %d MiB", rows, time.Since(start).Round(time.Millisecond), peak>>20)
}
