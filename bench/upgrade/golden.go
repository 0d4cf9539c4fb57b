package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

// made says what a golden folder is. The test of cmd/daybreak reads it.
type made struct {
	Revision string    `json:"revision"` // that the program was built from
	MadeAt   time.Time `json:"made_at"`  // by the real clock, which the streams go by
	Now      time.Time `json:"now"`      // the installation's clock at the end
	Jobs     []string  `json:"jobs"`
	Replayed string    `json:"replayed"` // the day, as "job date", whose replay nobody has answered yet
}

// The golden book is small: the archive lies in the repository for ever.
const (
	goldenSeed    = 3
	goldenDays    = 3
	goldenEntries = 3
)

// writeGolden lets a program work and packs its data folder with what it shows of it:
//
//	made.json        what it is
//	expect/*.json    what the commands showed
//	book/…           configuration, files, and the data folder of both engines
func writeGolden(ctx context.Context, o options) error {
	top, err := root(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "daybreak-golden-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	p, revision, err := goldenProgram(ctx, top, o.from, work)
	if err != nil {
		return err
	}
	t := &trial{old: p, new: p}
	if t.install, err = newInstall(work, scenario.Options{Seed: goldenSeed, First: model.NewDay(2026, time.October, 1), Days: goldenDays, Entries: goldenEntries}); err != nil {
		return err
	}
	if _, err := t.write(ctx); err != nil {
		return errors.Join(err, t.stopAll())
	}
	if err := t.expect(work, revision); err != nil {
		return err
	}
	name := filepath.Join(o.golden, revision+".tar.gz")
	size, err := pack(work, name)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, %d days, %d events\n", name, size, len(t.before["status"]), len(t.before["events"]))
	return nil
}

// goldenProgram builds the program of a commit, or that of the working tree, and names it.
func goldenProgram(ctx context.Context, top, ref, dir string) (program, string, error) {
	if ref == "" {
		revision, err := output(ctx, top, "git", "describe", "--always", "--tags", "--dirty")
		if err != nil {
			return program{}, "", fmt.Errorf("%w: %w", errWay, err)
		}
		p, err := buildTree(ctx, top, dir)
		return p, revision, err
	}
	commit, err := fromRef(ctx, top, ref)
	if err != nil {
		return program{}, "", err
	}
	revision, err := output(ctx, top, "git", "describe", "--always", "--tags", commit)
	if err != nil {
		return program{}, "", fmt.Errorf("%w: %w", errWay, err)
	}
	p, err := buildRef(ctx, top, ref, commit, dir)
	return p, revision, err
}

// expect writes down what the program showed.
func (t *trial) expect(dir, revision string) error {
	if err := os.MkdirAll(filepath.Join(dir, "expect"), 0o700); err != nil {
		return err
	}
	m := made{Revision: revision, MadeAt: time.Now().UTC(), Now: t.now().UTC(), Jobs: t.book.Jobs, Replayed: t.book.Jobs[0] + " " + t.day(1)}
	errs := []error{writeJSON(filepath.Join(dir, "made.json"), m)}
	for name, rows := range t.before {
		errs = append(errs, writeJSON(filepath.Join(dir, "expect", strings.ReplaceAll(name, " ", "-")+".json"), rows))
	}
	return errors.Join(errs...)
}

func writeJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o600)
}

// passing are the files of a data folder that belong to a process or are made anew at every start.
var passing = []string{
	"book/data/daybreak.lock", "book/data/daybreak.guests", "book/data/running.json", "book/data/nats.url",
	"book/data/nats/lock", "book/data/clickhouse/lock", "book/data/clickhouse/run", "book/data/clickhouse/store/tmp",
}

// pack writes the folders of a golden folder as a compressed archive that has no owner and no time of its own.
func pack(dir, name string) (size int64, err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // a folder of the repository
		return 0, err
	}
	file, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	z, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	w := tar.NewWriter(z)
	for _, part := range []string{"made.json", "expect", "book"} {
		if err == nil {
			err = filepath.WalkDir(filepath.Join(dir, part), func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return add(w, dir, path, d)
			})
		}
	}
	if err := errors.Join(err, w.Close(), z.Close(), file.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func add(w *tar.Writer, dir, path string, d fs.DirEntry) error {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	if slices.Contains(passing, rel) {
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	if d.Type()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname, h.ModTime = rel, 0, 0, "", "", time.Unix(0, 0)
	if d.IsDir() {
		h.Name += "/"
	}
	if err := w.WriteHeader(h); err != nil || !d.Type().IsRegular() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return errors.Join(err, file.Close())
}
