package chhttp

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strings"

	"github.com/klauspost/compress/zstd"

	"daybreak/pkg/engine/internal/chdb"
)

// maxSQLBytes bounds a statement; data of inserts are not bounded.
const maxSQLBytes = 64 << 20

type setting struct{ name, value string }

// request is one decoded HTTP request.
type request struct {
	statement
	database string
	queryID  string
	out      string // format of the result
	settings []setting
	params   []chdb.Param
	body     io.Reader // data of an INSERT after those in the text
	buffered bool      // wait_end_of_query: the whole result before the first byte
	readOnly bool      // GET may not change anything
	revision uint64
}

// refused are parameters whose absence would change a result silently.
var refused = map[string]string{
	"session_id": "sessions", "compress": "native compression of results (use no compression or gzip)",
	"decompress": "native compression of data (use no compression or gzip)", "role": "roles",
}

// ignored are parameters of the interface that are no settings of the engine.
var ignored = map[string]bool{
	"query": true, "database": true, "default_format": true, "query_id": true, "user": true, "password": true,
	"quota_key": true, "client_protocol_version": true, "session_timeout": true, "session_check": true,
	"close_session": true, "stacktrace": true, "buffer_size": true, "wait_end_of_query": true,
	"network_compression_method": true, "network_zstd_compression_level": true,
}

var settingRe = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

func readRequest(r *http.Request) (*request, error) {
	q := r.URL.Query()
	req := &request{
		database: q.Get("database"), queryID: q.Get("query_id"), out: q.Get("default_format"),
		readOnly: r.Method == http.MethodGet, buffered: on(q.Get("wait_end_of_query")),
	}
	if req.database == "" {
		req.database = r.Header.Get("X-ClickHouse-Database")
	}
	if req.out == "" {
		req.out = "TabSeparated"
	}
	if _, err := fmt.Sscan(q.Get("client_protocol_version"), &req.revision); err != nil {
		req.revision = 0
	}
	if err := req.readSettings(q); err != nil {
		return nil, err
	}
	body, err := decoded(r)
	if err != nil {
		return nil, err
	}
	return req, req.readSQL(q.Get("query"), body)
}

func on(v string) bool { return v != "" && v != "0" && v != "false" }

func (req *request) readSettings(q url.Values) error {
	for name := range q {
		value := q.Get(name)
		if param, ok := strings.CutPrefix(name, "param_"); ok {
			req.params = append(req.params, chdb.Param{Name: param, Value: value})
			continue
		}
		if what, ok := refused[name]; ok && on(value) {
			return &exception{code: 48, msg: "The embedded engine has no " + what, name: "NOT_IMPLEMENTED"}
		}
		if ignored[name] || refused[name] != "" {
			continue
		}
		if !settingRe.MatchString(name) {
			return &exception{code: 115, msg: fmt.Sprintf("Unknown setting %q", name), name: "UNKNOWN_SETTING"}
		}
		req.settings = append(req.settings, setting{name, value})
	}
	sort.Slice(req.settings, func(i, j int) bool { return req.settings[i].name < req.settings[j].name })
	return nil
}

// decoded undoes the body's Content-Encoding.
func decoded(r *http.Request) (io.Reader, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return nil, &exception{code: 48, msg: "The embedded engine has no external tables", name: "NOT_IMPLEMENTED"}
	}
	switch enc := r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, badBody(err)
		}
		return z, nil
	case "zstd":
		z, err := zstd.NewReader(r.Body, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, badBody(err)
		}
		return z, nil
	default:
		return nil, &exception{code: 48, msg: "Content-Encoding " + enc + " is not known; use none, gzip or zstd", name: "NOT_IMPLEMENTED"}
	}
}

func badBody(err error) error {
	return &exception{code: 27, msg: "The request's body does not arrive whole: " + err.Error(), name: "CANNOT_PARSE_INPUT_ASSERTION_FAILED"}
}

// readSQL finds the statement: in the URL with the data in the body, or all of
// it in the body.
func (req *request) readSQL(sql string, body io.Reader) (err error) {
	if sql != "" {
		req.statement, err = parse(sql)
		if err == nil && req.insert {
			req.body = body
		}
		if err != nil || req.insert {
			return err
		}
	}
	text, err := io.ReadAll(io.LimitReader(body, maxSQLBytes+1))
	if err != nil {
		return badBody(err)
	}
	if len(text) > maxSQLBytes {
		return &exception{code: 62, msg: fmt.Sprintf("The statement is longer than %d bytes", maxSQLBytes), name: "SYNTAX_ERROR"}
	}
	req.statement, err = parse(sql + string(text))
	return err
}
