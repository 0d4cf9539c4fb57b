package source

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// input is one file being read: every byte goes through the hash, so that the seal covers the whole file.
type input struct {
	path   string
	name   string // relative to the root where it lies below it
	file   *os.File
	info   fs.FileInfo
	sum    hash.Hash
	count  int64
	buf    *bufio.Reader
	packed func() int64 // bytes taken from the container so far
}

// openInput opens a file that a listing found.
func openInput(f found, root string) (*input, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is gone: %w", f.path, ErrChanged)
	}
	if err != nil {
		return nil, err
	}
	in := &input{path: f.path, name: nameBelow(root, f.path), file: file, info: f.info, sum: sha256.New()}
	in.packed = func() int64 { return in.count }
	in.buf = text.NewReader(in)
	if err := in.unchanged(); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func nameBelow(root, p string) string {
	rel, err := filepath.Rel(root, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return p
	}
	return filepath.ToSlash(rel)
}

// Read takes raw bytes through the hash.
func (in *input) Read(p []byte) (int, error) {
	n, err := in.file.Read(p)
	in.count += int64(n)
	_, _ = in.sum.Write(p[:n]) // a hash never fails
	return n, err
}

// head returns up to n first bytes without taking them.
func (in *input) head(n int) ([]byte, error) {
	b, err := in.buf.Peek(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}

func (in *input) stream() *bufio.Reader { return in.buf }

// hashAll takes the rest of the file through the hash, before it is read at random or after it was read as a stream.
func (in *input) hashAll() error {
	_, err := io.Copy(io.Discard, in.buf)
	return err
}

// unchanged compares the file with what the listing saw.
func (in *input) unchanged() error {
	opened, err := in.file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(in.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil, !os.SameFile(opened, named), !same(in.info, opened), !same(in.info, named):
		return fmt.Errorf("%s: %w", in.name, ErrChanged)
	}
	return nil
}

func same(a, b fs.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }

// seal ends the reading: it returns what the file was, or [ErrChanged].
func (in *input) seal(rows uint64) (model.FileSeal, error) {
	if err := in.hashAll(); err != nil {
		return model.FileSeal{}, err
	}
	if err := in.unchanged(); err != nil {
		return model.FileSeal{}, err
	}
	if in.count != in.info.Size() {
		return model.FileSeal{}, fmt.Errorf("%s: %d bytes read of %d: %w", in.name, in.count, in.info.Size(), ErrChanged)
	}
	return model.FileSeal{Name: in.name, Bytes: in.count, SHA256: hex.EncodeToString(in.sum.Sum(nil)), Rows: rows}, nil
}

func (in *input) base() string { return filepath.Base(in.path) }

func (in *input) close() { _ = in.file.Close() }
