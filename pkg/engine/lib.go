package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// LibVersion is the npm version of the library that this program is tested with.
const LibVersion = "26.7.3-stable.1"

// platform is one published build. sha256 is that of the library file itself;
// where it is empty, npm's own check of the download is the only one and the
// hash found then is held against the file from then on.
type platform struct {
	pkg    string
	sha256 string
	bytes  int64
}

var platforms = map[string]platform{
	"linux-amd64": {
		pkg:    "@chdb/lib-linux-x64-gnu",
		sha256: "36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5",
		bytes:  566330096,
	},
	"linux-arm64":  {pkg: "@chdb/lib-linux-arm64-gnu"},
	"darwin-amd64": {pkg: "@chdb/lib-darwin-x64"},
	"darwin-arm64": {pkg: "@chdb/lib-darwin-arm64"},
}

// libFile has the same name on all platforms.
const libFile = "libchdb.so"

// LibOptions say where the library is or where to keep it.
type LibOptions struct {
	// Path names a library file to use as it is; nothing is fetched or checked.
	Path string
	// CacheDir keeps fetched libraries; empty means daybreak/chdb in the user's
	// cache folder.
	CacheDir string
	// Progress gets a line while the library is fetched; nil is silent.
	Progress io.Writer

	fetch fetcher
	plat  *platform
}

// fetcher brings a platform's library into dir and returns its path there.
// Tests put their own here.
type fetcher func(ctx context.Context, dir string, p platform, progress io.Writer) (string, error)

// stamp is written beside a library when it is complete and checked.
type stamp struct {
	Version string `json:"version"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// EnsureLib gives the path of a checked library and fetches it first when the
// cache has none. Any number of processes may call it at once: one fetches, the
// others wait for it. A download that breaks off leaves nothing behind but a
// temporary folder that the next fetch removes.
//
// A cached library is trusted when its stamp names this version's hash and the
// size is right; without a stamp it is hashed whole. What fails is fetched anew.
// Errors are ErrLibrary.
func EnsureLib(ctx context.Context, opt LibOptions) (string, error) {
	if opt.Path != "" {
		if info, err := os.Stat(opt.Path); err != nil || info.IsDir() {
			return "", fmt.Errorf("%w: CHDB_LIB_PATH names %s, which is no readable file; "+
				"name the libchdb.so itself or leave it empty to have it fetched", ErrLibrary, opt.Path)
		}
		return filepath.Abs(opt.Path)
	}
	store, err := openStore(opt)
	if err != nil {
		return "", err
	}
	if store.good() {
		return store.file(), nil
	}
	return store.fill(ctx)
}

// libStore is one version's folder in the cache.
type libStore struct {
	dir      string
	plat     platform
	fetch    fetcher
	progress io.Writer
}

func openStore(opt LibOptions) (*libStore, error) {
	name := runtime.GOOS + "-" + runtime.GOARCH
	p, ok := platforms[name]
	if opt.plat != nil {
		p, ok = *opt.plat, true
	}
	if !ok {
		return nil, fmt.Errorf("%w, which is not published for %s; use a ClickHouse server: clickhouse.url", ErrLibrary, name)
	}
	root := opt.CacheDir
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w: there is no cache folder to keep it (%w); set CHDB_LIB_PATH=/path/%s", ErrLibrary, err, libFile)
		}
		root = filepath.Join(user, "daybreak", "chdb")
	}
	dir, err := filepath.Abs(filepath.Join(root, LibVersion+"-"+name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	fetch := opt.fetch
	if fetch == nil {
		fetch = fetchNPM
	}
	return &libStore{dir: dir, plat: p, fetch: fetch, progress: cmp.Or(opt.Progress, io.Discard)}, nil
}

func (s *libStore) file() string  { return filepath.Join(s.dir, libFile) }
func (s *libStore) stamp() string { return filepath.Join(s.dir, "stamp.json") }

// good is the cheap check of every start: stamp and size.
func (s *libStore) good() bool {
	info, err := os.Stat(s.file())
	if err != nil {
		return false
	}
	var st stamp
	b, err := os.ReadFile(s.stamp())
	if err != nil || json.Unmarshal(b, &st) != nil {
		return false
	}
	return st.Version == LibVersion && st.Bytes == info.Size() && (s.plat.sha256 == "" || st.SHA256 == s.plat.sha256)
}

// fill makes the folder right, under the cache's lock.
func (s *libStore) fill(ctx context.Context) (string, error) {
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return "", fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	lock := flock.New(s.dir + ".lock")
	defer func() { _ = lock.Unlock() }()
	if ok, err := lock.TryLock(); err != nil {
		return "", fmt.Errorf("%w: lock %s: %w", ErrLibrary, lock.Path(), err)
	} else if !ok {
		_, _ = fmt.Fprintf(s.progress, "waiting for another process that fetches the ClickHouse engine\n")
		if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
			return "", fmt.Errorf("%w: waiting for %s: %w", ErrLibrary, lock.Path(), err)
		}
	}
	if s.good() || s.adopt() {
		return s.file(), nil
	}
	if err := s.replace(ctx); err != nil {
		return "", fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	return s.file(), nil
}

// adopt takes a library whose stamp is missing when its hash is the known one.
func (s *libStore) adopt() bool {
	if s.plat.sha256 == "" {
		return false
	}
	if _, err := os.Stat(s.stamp()); err == nil {
		return false
	}
	sum, size, err := hashFile(s.file())
	return err == nil && sum == s.plat.sha256 && s.writeStamp(s.dir, sum, size) == nil
}

// replace fetches into a folder beside the final one, checks, and renames.
func (s *libStore) replace(ctx context.Context) error {
	s.sweep()
	tmp, err := os.MkdirTemp(filepath.Dir(s.dir), filepath.Base(s.dir)+tmpMark)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	got, err := s.fetch(ctx, tmp, s.plat, s.progress)
	if err != nil {
		return err
	}
	sum, size, err := hashFile(got)
	if err != nil {
		return err
	}
	if s.plat.sha256 != "" && sum != s.plat.sha256 {
		return fmt.Errorf("the fetched %s has sha256 %s instead of %s: not used", s.plat.pkg, sum, s.plat.sha256)
	}
	final := filepath.Join(tmp, "final")
	if err := os.Mkdir(final, 0o755); err != nil {
		return err
	}
	if err := os.Rename(got, filepath.Join(final, libFile)); err != nil {
		return err
	}
	if err := s.writeStamp(final, sum, size); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	return os.Rename(final, s.dir)
}

const tmpMark = ".fetch-"

// sweep removes what broken off fetches left; the caller holds the lock.
func (s *libStore) sweep() {
	old, _ := filepath.Glob(s.dir + tmpMark + "*")
	for _, dir := range old {
		_ = os.RemoveAll(dir)
	}
}

func (s *libStore) writeStamp(dir, sum string, size int64) error {
	b, err := json.Marshal(stamp{Version: LibVersion, Bytes: size, SHA256: sum})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "stamp.json"), append(b, '\n'), 0o644)
}

func hashFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// recheck hashes a cached library whole, after it could not be loaded, and
// removes its stamp when it is not what was fetched. again says that fetching
// anew may help.
func (s *libStore) recheck() (again bool) {
	b, err := os.ReadFile(s.stamp())
	var st stamp
	if err != nil || json.Unmarshal(b, &st) != nil {
		return true
	}
	sum, _, err := hashFile(s.file())
	if err == nil && sum == st.SHA256 {
		return false
	}
	return os.Remove(s.stamp()) == nil
}
