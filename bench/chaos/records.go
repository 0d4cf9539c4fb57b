package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// records writes down what happens, a JSON object a line. Package check reads it.
type records struct {
	dir string

	mu     sync.Mutex
	files  map[string]*os.File
	counts map[string]int
	err    error // the first; records that are not whole prove nothing
}

func newRecords(dir string) (*records, error) {
	return &records{dir: dir, files: map[string]*os.File{}, counts: map[string]int{}}, os.MkdirAll(filepath.Join(dir, "final"), 0o700)
}

type object = map[string]any

// add appends to the file called name. Every object gets the instant at which it was written, unless it has one.
func (r *records) add(name string, o object) {
	if _, ok := o["at"]; !ok {
		o["at"] = time.Now().UTC().Format(time.RFC3339Nano)
	}
	line, err := json.Marshal(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[name]
	if f == nil && err == nil {
		f, err = os.Create(filepath.Join(r.dir, name+".jsonl"))
		r.files[name] = f
	}
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("writing the records: %w", err)
	}
	r.counts[name]++
}

func (r *records) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[name]
}

func (r *records) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.files {
		if err := f.Close(); err != nil && r.err == nil {
			r.err = err
		}
	}
	return r.err
}
