package engine

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress tells how much of the library has arrived: one line rewritten on a
// terminal, else one line per quarter.
type progress struct {
	w        io.Writer
	plat     platform
	terminal bool

	mu      sync.Mutex
	quarter int64
	bytes   int64
}

func newProgress(w io.Writer, p platform) *progress {
	f, isFile := w.(*os.File)
	show := &progress{w: w, plat: p, terminal: isFile && term.IsTerminal(int(f.Fd()))}
	show.printf("fetching the ClickHouse engine, once: %s@%s%s\n", p.pkg, LibVersion, show.of(" (", " MB)"))
	return show
}

func (p *progress) of(before, after string) string {
	if p.plat.bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%s%d%s", before, p.plat.bytes>>20, after)
}

func (p *progress) printf(format string, v ...any) { _, _ = fmt.Fprintf(p.w, format, v...) }

// watch follows the size of the file until the returned function is called.
func (p *progress) watch(file string) (stop func()) {
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				p.look(file)
				return
			case <-tick.C:
				p.look(file)
			}
		}
	}()
	return func() { close(ended); <-gone }
}

func (p *progress) look(file string) {
	info, err := os.Stat(file)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if info.Size() == p.bytes {
		return
	}
	p.bytes = info.Size()
	if p.terminal {
		p.printf("\r  %d%s MB ", p.bytes>>20, p.of(" of ", ""))
		return
	}
	if p.plat.bytes == 0 {
		return
	}
	if q := 4 * p.bytes / p.plat.bytes; q > p.quarter {
		p.quarter = q
		p.printf("  %d%s MB\n", p.bytes>>20, p.of(" of ", ""))
	}
}

func (p *progress) end(how string) {
	if p.terminal && p.bytes > 0 {
		p.printf("\n")
	}
	p.printf("  %s\n", how)
}
