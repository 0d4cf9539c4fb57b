package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far a long command is: a bar on a terminal, else a plain line every few seconds. It writes to
// standard error, so that results stay clean. The zero value shows nothing.
type progress struct {
	out   io.Writer
	bars  *mpb.Progress // nil when out is no terminal
	bar   *mpb.Bar
	what  string
	begun time.Time
	said  time.Time
	last  int
}

// quietFor is how long a command may take before it has to say how far it is, and then how often it does.
const (
	quietFor  = time.Second
	sayEvery  = 5 * time.Second
	barWidth  = 60
	barUpdate = 150 * time.Millisecond
)

func (c *cli) progress() *progress {
	p := &progress{out: c.stderr, begun: time.Now()}
	if terminal(c.stderr) {
		p.bars = mpb.New(mpb.WithOutput(c.stderr), mpb.WithWidth(barWidth), mpb.WithRefreshRate(barUpdate))
	}
	return p
}

// show says that done of total are done. Another what begins another bar.
func (p *progress) show(what string, done, total int) {
	if p == nil || p.out == nil || total == 0 || time.Since(p.begun) < quietFor {
		return
	}
	if p.bars != nil {
		p.showBar(what, done, total)
		return
	}
	if what == p.what && (done == p.last || time.Since(p.said) < sayEvery && done < total) {
		return
	}
	p.what, p.last, p.said = what, done, time.Now()
	fmt.Fprintf(p.out, "%s: %d of %d\n", what, done, total)
}

func (p *progress) showBar(what string, done, total int) {
	if p.bar == nil || what != p.what {
		p.end()
		p.what = what
		p.bar = p.bars.AddBar(int64(total),
			mpb.PrependDecorators(decor.Name(what, decor.WCSyncSpaceR), decor.CountersNoUnit("%d of %d", decor.WCSyncSpace)),
			mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_GO)))
	}
	p.bar.SetTotal(int64(total), false)
	p.bar.SetCurrent(int64(done))
}

// end leaves the last bar standing as it is.
func (p *progress) end() {
	if p != nil && p.bar != nil {
		p.bar.Abort(false)
		p.bar.Wait()
		p.bar = nil
	}
}
