package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// fileRef is a file named in the configuration and the place that names it.
type fileRef struct {
	path string
	at   Problem
}

// file reads a path that must name a file when it is used, relative to the folder of the configuration.
func (d *decoder) readFile(root string, dst *string) func(cursor) {
	return func(c cursor) {
		name, ok := scalar(c, parseText)
		if !ok {
			return
		}
		*dst = under(root, name)
		d.files = append(d.files, fileRef{
			path: *dst,
			at:   Problem{File: d.file, Line: c.node.Line, Column: c.node.Column, Path: c.path},
		})
	}
}

// under resolves a path against the folder of the configuration.
func under(root, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(root, path)
}

// CheckFiles opens every credentials, password and certificate file that the configuration names. Its error is an
// [*Errors] with those that cannot be read. The files of sources are not among them: they may not be there yet.
func (c *Config) CheckFiles() error {
	var problems []Problem
	for _, ref := range c.files {
		err := readable(ref.path)
		if err == nil {
			continue
		}
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		p := ref.at
		p.What, p.Fix = ref.path+" cannot be read: "+err.Error(), "check the path and its permissions"
		problems = append(problems, p)
	}
	return collect(problems)
}

func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return errors.New("it is a folder")
	}
	return err
}
