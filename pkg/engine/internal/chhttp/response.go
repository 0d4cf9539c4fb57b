package chhttp

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
)

// response knows whether the status has been sent, which decides how an error
// can still be told.
type response struct {
	http.ResponseWriter
	server *Server
	begun  bool
}

// newTag marks this process's exception blocks, so that result data which look
// like one are not taken for it. The client expects 16 bytes.
func newTag() string { return rand.Text()[:16] }

func (w *response) begin(req *request) {
	if w.begun {
		return
	}
	w.begun = true
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-ClickHouse-Server-Display-Name", "embedded")
	h.Set("X-ClickHouse-Timezone", "UTC")
	h.Set("X-ClickHouse-Format", req.out)
	h.Set("X-ClickHouse-Exception-Tag", w.server.tag)
	if req.queryID != "" {
		h.Set("X-ClickHouse-Query-Id", req.queryID)
	}
	w.WriteHeader(http.StatusOK)
}

func (w *response) flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// fail tells the error: as a status, or in band when data are already out.
func (w *response) fail(err error) {
	code, text := wire(err, w.server.version)
	if !w.begun {
		w.begun = true
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(code))
		w.WriteHeader(httpStatus(code))
		_, _ = w.Write([]byte(text))
		return
	}
	_, _ = fmt.Fprintf(w, "\r\n__exception__\r\n%s\r\n%s%d %s\r\n__exception__\r\n", w.server.tag, text, len(text), w.server.tag)
}
