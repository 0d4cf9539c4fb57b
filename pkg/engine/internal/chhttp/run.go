package chhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"daybreak/pkg/engine/internal/chdb"
)

// run executes the statement on a connection of its own.
func (s *Server) run(ctx context.Context, out *response, req *request) error {
	conn, err := s.lib.Connect(s.opt.Path, s.opt.ConfigFile)
	if err != nil {
		return err
	}
	defer conn.Close()
	mark := fmt.Sprintf("daybreak-%d-", s.marks.Add(1))
	if err := prepare(conn, req, mark); err != nil {
		return err
	}
	if req.insert {
		return s.insert(ctx, conn, out, req, mark)
	}
	count, class, err := conn.Classify(req.text)
	switch {
	case err != nil:
		return err
	case count > 1:
		return errMulti
	case req.readOnly && class != chdb.ClassReadOnly:
		return &exception{code: 164, msg: "Cannot execute query in readonly mode: use the POST method", name: "READONLY"}
	}
	stop := s.killOnDone(ctx, mark)
	defer stop()
	return cancelled(ctx, query(conn, out, req))
}

// cancelled names the reason of an error that our own KILL caused.
func cancelled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (the client went away: %w)", err, context.Cause(ctx))
	}
	return err
}

// prepare sets the connection's database, mark and settings in that order.
func prepare(conn *chdb.Conn, req *request, mark string) error {
	if req.database != "" {
		if err := exec(conn, "USE "+quoteName(req.database)); err != nil {
			return err
		}
	}
	var comment strings.Builder
	comment.WriteString(mark)
	set := make([]string, 0, len(req.settings)+1)
	for _, st := range req.settings {
		if st.name == "log_comment" {
			comment.WriteString(st.value)
			continue
		}
		set = append(set, st.name+" = "+quoteText(st.value))
	}
	set = append(set, "log_comment = "+quoteText(comment.String()))
	return exec(conn, "SET "+strings.Join(set, ", "))
}

func exec(conn *chdb.Conn, sql string) error {
	r := conn.Query(sql, "Null", nil)
	defer r.Close()
	return r.Err()
}

func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func quoteName(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}

// killOnDone kills the marked statement when ctx ends, again and again until
// stop is called, because a statement that is just starting is not seen yet.
func (s *Server) killOnDone(ctx context.Context, mark string) (stop func()) {
	ended := make(chan struct{})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		for pause := 2 * time.Millisecond; ; pause = min(2*pause, time.Second) {
			s.runControl("KILL QUERY WHERE startsWith(Settings['log_comment'], " + quoteText(mark) + ") ASYNC")
			select {
			case <-ended:
				return
			case <-time.After(pause):
			}
		}
	}()
	return func() { close(ended); <-killed }
}

// streams says whether the engine can give the statement's result in chunks:
// it can for queries proper, not for SHOW, DESCRIBE and the like.
func streams(keyword string) bool {
	return keyword == "SELECT" || keyword == "WITH" || keyword == "(" || keyword == "FROM"
}

const notStreamed = "Streaming query is not supported"

func query(conn *chdb.Conn, out *response, req *request) error {
	if streams(req.keyword) {
		stream, err := conn.Stream(req.text, req.out, req.params)
		if err == nil {
			defer stream.Close()
			return copyStream(out, req, stream)
		}
		if !strings.Contains(err.Error(), notStreamed) {
			return err
		}
	}
	r := conn.Query(req.text, req.out, req.params)
	defer r.Close()
	if err := r.Err(); err != nil {
		return err
	}
	out.Header().Set("Content-Length", strconv.Itoa(len(r.Bytes())))
	out.begin(req)
	_, err := out.Write(r.Bytes())
	return err
}

func copyStream(out *response, req *request, stream *chdb.Stream) error {
	var held bytes.Buffer
	for {
		chunk, err := stream.Next()
		if err != nil {
			return err
		}
		if chunk == nil {
			break
		}
		if req.buffered {
			held.Write(chunk.Bytes())
		} else {
			out.begin(req)
			_, err = out.Write(chunk.Bytes())
			out.flush()
		}
		chunk.Close()
		if err != nil {
			return err
		}
	}
	if !out.begun {
		out.Header().Set("Content-Length", strconv.Itoa(held.Len()))
		out.begin(req)
	}
	_, err := out.Write(held.Bytes())
	return err
}

// insert feeds the data in the text and then those in the body. Unless both
// arrive whole the insert is cancelled.
func (s *Server) insert(ctx context.Context, conn *chdb.Conn, out *response, req *request, mark string) error {
	if req.readOnly {
		return &exception{code: 164, msg: "Cannot execute query in readonly mode: use the POST method", name: "READONLY"}
	}
	in, err := conn.Insert(req.text, req.format, req.params)
	if err != nil {
		return err
	}
	defer in.Close()
	n, err := feed(in, req)
	if err != nil {
		in.Cancel()
		return err
	}
	if n == 0 {
		in.Cancel()
		return &exception{code: 108, msg: "No data to insert", name: "NO_DATA_TO_INSERT"}
	}
	stop := s.killOnDone(ctx, mark)
	defer stop()
	rows, err := in.Done()
	if err != nil {
		return cancelled(ctx, err)
	}
	out.Header().Set("X-ClickHouse-Summary", fmt.Sprintf(`{"written_rows":"%d"}`, rows))
	out.Header().Set("Content-Length", "0")
	out.begin(req)
	return nil
}

const feedBytes = 1 << 20

func feed(in *chdb.Insert, req *request) (n int64, err error) {
	if req.inline != "" {
		if _, err := in.Write([]byte(req.inline)); err != nil {
			return 0, err
		}
		n = int64(len(req.inline))
	}
	if req.body == nil {
		return n, nil
	}
	buf := make([]byte, feedBytes)
	for {
		m, err := fill(req.body, buf)
		if m > 0 {
			n += int64(m)
			if _, err := in.Write(buf[:m]); err != nil {
				return n, err
			}
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, badBody(err)
		}
	}
}

// fill is io.ReadFull that keeps the reader's own error: a body that breaks off
// says io.ErrUnexpectedEOF, which must not look like a short last piece.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}
