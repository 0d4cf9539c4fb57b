package chhttp

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"

	chproto "github.com/ClickHouse/ch-go/proto"

	"daybreak/pkg/engine/internal/chdb"
)

// Options say what to serve and to whom.
type Options struct {
	// Path is the engine's data path.
	Path string
	// ConfigFile is a server configuration for the engine, "" for its own.
	ConfigFile     string
	User, Password string
	// Parallel bounds the statements that run at once; 0 means 32.
	Parallel int
	Logger   *slog.Logger
}

// Server is the HTTP handler. Close it after the last request has ended.
type Server struct {
	lib     *chdb.Lib
	opt     Options
	version string
	slots   chan struct{}
	marks   atomic.Uint64
	tag     string

	mu      sync.Mutex // guards control
	control *chdb.Conn
}

// New opens the data path and asks the engine for its version.
func New(lib *chdb.Lib, opt Options) (*Server, error) {
	control, err := lib.Connect(opt.Path, opt.ConfigFile)
	if err != nil {
		return nil, err
	}
	s := &Server{lib: lib, opt: opt, control: control, slots: make(chan struct{}, cmp.Or(opt.Parallel, 32)), tag: newTag()}
	r := control.Query("SELECT version()", "TabSeparated", nil)
	defer r.Close()
	if err := r.Err(); err != nil {
		control.Close()
		return nil, fmt.Errorf("the engine does not answer: %w", err)
	}
	s.version = string(r.Bytes()[:max(0, len(r.Bytes())-1)])
	return s, nil
}

// Version is the engine's.
func (s *Server) Version() string { return s.version }

// KillAll stops every running statement; their requests end with an error.
func (s *Server) KillAll() { s.runControl("KILL QUERY WHERE query NOT LIKE 'KILL%' ASYNC") }

// Close closes the connection that keeps the engine open.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control.Close()
	return s.lib.Shutdown()
}

func (s *Server) runControl(sql string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.control.Query(sql, "Null", nil)
	defer r.Close()
	if err := r.Err(); err != nil {
		s.opt.Logger.Warn("engine refuses a control statement", "err", err)
	}
}

// ServeHTTP answers one request. A panic ends the request, not the process.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &response{ResponseWriter: w, server: s}
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a panic value is not an error chain
			s.opt.Logger.Error("request panics", "cause", fmt.Sprint(p), "stack", string(debug.Stack()))
			out.fail(fmt.Errorf("internal error in the embedded engine's interface: %v", p))
		}
	}()
	switch r.URL.Path {
	case "/ping", "/replicas_status":
		_, _ = w.Write([]byte("Ok.\n"))
		return
	case "/":
	default:
		http.Error(w, "There is no handle "+r.URL.Path, http.StatusNotFound)
		return
	}
	if !s.authorized(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="ClickHouse server HTTP API"`)
		out.fail(&exception{code: 516, msg: "Authentication failed: password is incorrect, or there is no user with such name", name: "AUTHENTICATION_FAILED"})
		return
	}
	if err := s.serve(r.Context(), out, r); err != nil {
		out.fail(err)
	}
}

func (s *Server) authorized(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	if !ok {
		user = cmp.Or(r.Header.Get("X-ClickHouse-User"), r.URL.Query().Get("user"))
		password = cmp.Or(r.Header.Get("X-ClickHouse-Key"), r.URL.Query().Get("password"))
	}
	sameUser := subtle.ConstantTimeCompare([]byte(user), []byte(s.opt.User))
	samePassword := subtle.ConstantTimeCompare([]byte(password), []byte(s.opt.Password))
	return sameUser&samePassword == 1
}

func (s *Server) serve(ctx context.Context, out *response, r *http.Request) error {
	req, err := readRequest(r)
	if err != nil {
		return err
	}
	if req.text == helloSQL {
		return s.hello(out, req)
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.run(ctx, out, req)
}

// helloSQL is the first query of clickhouse-go on every connection.
const helloSQL = "SELECT displayName(), version(), revision(), timezone()"

// hello answers in the client's own revision that ours is 0, so that all
// further blocks are plain.
func (s *Server) hello(out *response, req *request) error {
	block := proto.NewBlock()
	for _, c := range []struct{ name, typ string }{
		{"displayName()", "String"}, {"version()", "String"}, {"revision()", "UInt32"}, {"timezone()", "String"},
	} {
		if err := block.AddColumn(c.name, column.Type(c.typ)); err != nil {
			return err
		}
	}
	if err := block.Append("embedded", s.version, uint32(0), "UTC"); err != nil {
		return err
	}
	var buf chproto.Buffer
	if err := block.Encode(&buf, req.revision); err != nil {
		return err
	}
	out.Header().Set("Content-Length", strconv.Itoa(len(buf.Buf)))
	out.begin(req)
	_, err := out.Write(buf.Buf)
	return err
}
