package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"
)

// wire is a TCP proxy that can drop its connections, or keep them open and carry nothing.
type wire struct {
	listener net.Listener
	target   string
	gate     gate

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func newWire(target string) (*wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{listener: l, target: target, conns: map[net.Conn]struct{}{}}
	go w.accept()
	return w, nil
}

func (w *wire) addr() string { return w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		in, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.join(in)
	}
}

func (w *wire) join(in net.Conn) {
	w.keep(in)
	defer w.drop(in)
	w.gate.wait()
	out, err := net.DialTimeout("tcp", w.target, 2*time.Second)
	if err != nil {
		return
	}
	w.keep(out)
	defer w.drop(out)
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			w.carry(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}

func (w *wire) carry(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.gate.wait()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *wire) keep(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = struct{}{}
}

func (w *wire) drop(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
	_ = c.Close()
}

// cut closes every connection; new ones are taken.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.Close()
	}
}

func (w *wire) close() {
	_ = w.listener.Close()
	w.gate.open()
	w.cut()
}

// gate lets nobody through while it is shut.
type gate struct{ shut atomic.Pointer[chan struct{}] }

func (g *gate) wait() {
	if c := g.shut.Load(); c != nil {
		<-*c
	}
}

func (g *gate) close() {
	c := make(chan struct{})
	g.shut.CompareAndSwap(nil, &c)
}

func (g *gate) open() {
	if c := g.shut.Swap(nil); c != nil {
		close(*c)
	}
}

// door is the way to ClickHouse of one service: it knows the credentials of the engine's present start, so that clients need
// none, and it can break each request.
type door struct {
	server   *http.Server
	listener net.Listener
	refuse   atomic.Bool // the connection ends before the request is carried on
	lose     atomic.Bool // the request is carried out and its answer lost
	gate     gate
}

func newDoor(engine func() (access, error)) (*door, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &door{listener: l}
	through := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			a, _ := engine()
			r.Out.URL.Scheme, r.Out.URL.Host = "http", a.Addr
			r.Out.Header.Del("Authorization")
			r.Out.Header.Set("X-ClickHouse-User", a.User)
			r.Out.Header.Set("X-ClickHouse-Key", a.Password)
		},
		ModifyResponse: func(r *http.Response) error {
			d.gate.wait()
			if d.lose.Load() {
				_ = r.Body.Close()
				return fmt.Errorf("the answer is lost")
			}
			return nil
		},
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      log.New(discard{}, "", 0),
		FlushInterval: -1,
	}
	d.server = &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d.gate.wait()
			if d.refuse.Load() {
				panic(http.ErrAbortHandler)
			}
			through.ServeHTTP(w, r)
		}),
		ErrorLog: log.New(discard{}, "", 0),
	}
	go func() { _ = d.server.Serve(l) }()
	return d, nil
}

func (d *door) url() string { return "http://" + d.listener.Addr().String() }

func (d *door) close() {
	d.gate.open()
	_ = d.server.Close()
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
