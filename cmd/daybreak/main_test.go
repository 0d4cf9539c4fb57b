package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"daybreak/pkg/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// result is what a command line left behind.
type result struct {
	code     int
	out, err string
}

// command runs one command line as main would, with nothing of the test's own environment but the engine's library.
func command(ctx context.Context, vars map[string]string, args ...string) result {
	var out, err bytes.Buffer
	code := runWith(ctx, testEnvironment(&out, &err, vars), args)
	return result{code, out.String(), err.String()}
}

func testEnvironment(out, err interface{ Write([]byte) (int, error) }, vars map[string]string) *environment {
	return &environment{stdin: strings.NewReader(""), stdout: out, stderr: err, lookup: func(name string) (string, bool) {
		if v, ok := vars[name]; ok {
			return v, ok
		}
		lib := enginetest.LibPath()
		return lib, name == "CHDB_LIB_PATH" && lib != ""
	}}
}

// said collects what is written and tells when a word has come.
type said struct {
	mu    sync.Mutex
	text  bytes.Buffer
	word  string
	heard chan struct{}
}

func listenFor(word string) *said { return &said{word: word, heard: make(chan struct{})} }

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := strings.Contains(s.text.String(), s.word)
	s.text.Write(b)
	if !before && strings.Contains(s.text.String(), s.word) {
		close(s.heard)
	}
	return len(b), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
