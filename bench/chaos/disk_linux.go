package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// disk is a small file system in memory that can be filled.
type disk struct{ dir string }

// mount puts the third server's store and the engine's data on small file systems.
func (w *world) mount(context.Context) error {
	if slices.Contains(w.without, "disk of a server full") && slices.Contains(w.without, "disk of the engine full") {
		return nil
	}
	for _, m := range []struct {
		dir  string
		size string
	}{{filepath.Join(w.dir, "nats-3"), "128m"}, {filepath.Join(filepath.Dir(w.book.Config), "data"), "512m"}} {
		if err := os.MkdirAll(m.dir, 0o700); err != nil {
			return err
		}
		if err := syscall.Mount("tmpfs", m.dir, "tmpfs", 0, "mode=0700,size="+m.size); err != nil {
			return fmt.Errorf("mounting a file system of %s needs root; leave both out with -without 'disk of a server full,disk of the engine full': %w", m.size, err)
		}
		w.disks = append(w.disks, &disk{m.dir})
	}
	return nil
}

func (d *disk) filler() string { return filepath.Join(d.dir, "filler") }

// fill leaves not one byte.
func (d *disk) fill() error {
	f, err := os.Create(d.filler())
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		block := make([]byte, size)
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	return nil
}

func (d *disk) free() error { return os.Remove(d.filler()) }

func (d *disk) close() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) }
