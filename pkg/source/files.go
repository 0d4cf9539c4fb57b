package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"daybreak/pkg/model"
)

const dayLayout = "2006-01-02"

// expandPath puts the day into {date} and {date:LAYOUT}.
func expandPath(pattern string, day model.Day) (string, error) {
	var b strings.Builder
	for rest := pattern; ; {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, tail, closed := strings.Cut(after, "}")
		layout, isLayout := strings.CutPrefix(name, "date:")
		if name == "date" {
			layout, isLayout = dayLayout, true
		}
		if !closed || !isLayout || !isDateLayout(layout) {
			return "", fmt.Errorf("path %q: {%s} is not known: write {date}, or {date:20060102} with the layout of 2 January 2006", pattern, name)
		}
		b.WriteString(day.UTC().Format(layout))
		rest = tail
	}
}

// isDateLayout tells a layout from text that Go would print as it stands, such as YYYYMMDD, and from one with a clock.
func isDateLayout(layout string) bool {
	a := time.Date(2014, 11, 25, 0, 0, 0, 0, time.UTC)
	b := time.Date(2003, 4, 8, 0, 0, 0, 0, time.UTC)
	noon := time.Date(2014, 11, 25, 13, 14, 15, 0, time.UTC)
	return a.Format(layout) != b.Format(layout) && a.Format(layout) == noon.Format(layout)
}

// found is a file as a listing saw it.
type found struct {
	path string
	info fs.FileInfo
}

// listFiles returns the files of a day in the order of their names, or [ErrNotThere].
func listFiles(pattern, root string, day model.Day) ([]found, error) {
	expanded, err := expandPath(pattern, day)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrSpec)
	}
	paths, err := glob(root, expanded)
	if err != nil {
		return nil, err
	}
	var out []found
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is a %s, not a file: %w", p, kindOf(info), ErrInput)
		}
		out = append(out, found{p, info})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no file matches %s: %w", absolute(root, expanded), ErrNotThere)
	}
	return out, nil
}

func kindOf(info fs.FileInfo) string {
	if info.IsDir() {
		return "folder"
	}
	return "special file (" + info.Mode().Type().String() + ")"
}

func absolute(root, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(root, p)
}

// glob is [filepath.Glob] that reports a folder which cannot be read instead of taking it for an empty one, takes the
// root as it stands, and matches a leading dot only where the pattern writes it: uploads in progress often bear one.
func glob(root, pattern string) ([]string, error) {
	bases := []string{root}
	if filepath.IsAbs(pattern) {
		bases = []string{string(filepath.Separator)}
	}
	for part := range strings.SplitSeq(filepath.ToSlash(pattern), "/") {
		if part == "" || part == "." {
			continue
		}
		if !strings.ContainsAny(part, `*?[\`) {
			for i := range bases {
				bases[i] = filepath.Join(bases[i], part)
			}
			continue
		}
		var next []string
		for _, base := range bases {
			names, err := matchFolder(base, part)
			if err != nil {
				return nil, err
			}
			next = append(next, names...)
		}
		bases = next
	}
	slices.Sort(bases)
	return bases, nil
}

func matchFolder(folder, pattern string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if info, statErr := os.Stat(folder); errors.Is(err, fs.ErrNotExist) || (statErr == nil && !info.IsDir()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		ok, err := path.Match(pattern, e.Name())
		if err != nil {
			return nil, fmt.Errorf("path pattern %q: %w: %w", pattern, err, ErrSpec)
		}
		if ok && strings.HasPrefix(e.Name(), ".") == strings.HasPrefix(pattern, ".") {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out, nil
}

// fingerprint hashes names, sizes and times of files.
func fingerprint(files []found) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %d %d\n", f.path, f.info.Size(), f.info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
