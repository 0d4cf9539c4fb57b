package engine

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// lockFiles pin the library's packages. npm refuses a download whose hash is not
// the one written there.
//
//go:embed libchdb/package.json libchdb/package-lock.json
var lockFiles embed.FS

// InstallCommand brings this machine's library into the current folder by hand,
// for CHDB_LIB_PATH.
func InstallCommand() string {
	p := platforms[runtime.GOOS+"-"+runtime.GOARCH]
	return fmt.Sprintf("npm pack %s@%s && tar xzf chdb-lib-*.tgz && export CHDB_LIB_PATH=$PWD/package/%s", p.pkg, LibVersion, libFile)
}

// fetchNPM installs the one package for this machine into dir. npm's own cache is
// kept inside dir too: a second copy of the download is of no use to anyone.
func fetchNPM(ctx context.Context, dir string, p platform, progress io.Writer) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("npm is not found, so %s@%s can not be fetched: install Node.js with npm, or set "+
			"CHDB_LIB_PATH=/path/%s to a library you have", p.pkg, LibVersion, libFile)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := lockFiles.ReadFile("libchdb/" + name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return "", err
		}
	}
	lib := filepath.Join(dir, "node_modules", filepath.FromSlash(p.pkg), libFile)
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress",
		"--loglevel", "error", "--cache", filepath.Join(dir, "npm-cache"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	show := newProgress(progress, p)
	stop := show.watch(lib)
	err = cmd.Run()
	stop()
	if err == nil {
		_, err = os.Stat(lib)
	}
	if err != nil {
		show.end("failed")
		return "", errors.Join(ctx.Err(), fmt.Errorf("npm could not fetch %s@%s (%w): %s; "+
			"set CHDB_LIB_PATH=/path/%s to use a library you have", p.pkg, LibVersion, err, firstLines(said.String(), 4), libFile))
	}
	show.end("done")
	return lib, nil
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(s), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], " | ")
}
