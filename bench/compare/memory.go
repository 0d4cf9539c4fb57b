package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// watcher looks again and again at the resident memory of a process and its children, and keeps the most it saw. It
// reads /proc; where there is none it sees nothing.
type watcher struct {
	root int
	stop chan struct{}
	done sync.WaitGroup
	most uint64
}

const lookEvery = 40 * time.Millisecond

func watchMemory(root int) *watcher {
	w := &watcher{root: root, stop: make(chan struct{})}
	w.done.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			w.most = max(w.most, resident(root))
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	})
	return w
}

// peak ends the watch.
func (w *watcher) peak() uint64 {
	close(w.stop)
	w.done.Wait()
	return w.most
}

// resident adds up a process and all that it has started, in bytes.
func resident(root int) uint64 {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents, sizes := map[int]int{}, map[int]uint64{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		// pid (name) state ppid …: the name may hold anything, so fields count from its last parenthesis
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		const parentField, residentField = 1, 21
		if len(fields) > residentField {
			parents[pid], _ = strconv.Atoi(string(fields[parentField]))
			pages, _ := strconv.ParseUint(string(fields[residentField]), 10, 64)
			sizes[pid] = pages * uint64(os.Getpagesize())
		}
	}
	var total uint64
	for pid, size := range sizes {
		for at := pid; at > 1; at = parents[at] {
			if at == root {
				total += size
				break
			}
		}
	}
	return total
}
