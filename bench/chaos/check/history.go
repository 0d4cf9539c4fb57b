package check

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// History is a run as it was recorded.
type History struct {
	Dir      string // of the records; the files of the sources lie below it
	Jobs     []Job
	Control  []Write   // accepted writes of the control bucket, by sequence; some may be missing
	Messages []Message // everything stored in DAYS, DIFFS, AUDIT and DEAD, in their orders
	Reads    []Read
	Actions  []Action

	// What was there at the end.
	Watermarks, ReviewKeys                            []Key
	Batches, Diffs, Reviews, Audits, Entries, Carried []Row
}

// Job is a job as its owner would describe it.
type Job struct {
	Name  string `json:"job"`
	Order string `json:"order"`
	Start string `json:"start"` // first and last business day that are due
	Last  string `json:"last"`
}

// Days are the business days of a job: every calendar day is one.
func (j Job) Days() (out []string) {
	from, err1 := time.Parse(time.DateOnly, j.Start)
	to, err2 := time.Parse(time.DateOnly, j.Last)
	if err1 != nil || err2 != nil {
		return nil
	}
	for d := from; !d.After(to); d = d.AddDate(0, 0, 1) {
		out = append(out, d.Format(time.DateOnly))
	}
	return out
}

// Write is an accepted write of the control bucket.
type Write struct {
	Seq     uint64            `json:"seq"`
	Key     string            `json:"key"`
	Op      string            `json:"op"` // PUT, DEL, PURGE
	Body    json.RawMessage   `json:"body"`
	Headers map[string]string `json:"headers"`
}

// Mark is what of a watermark is looked at.
type Mark struct {
	Status  string `json:"status"`
	Phase   string `json:"phase"`
	RunID   string `json:"run_id"`
	Fence   uint64 `json:"fence"`
	Trigger uint64 `json:"trigger"` // sequence of the message in DAYS
	Version uint64 `json:"version"`
}

// Message is a stored message.
type Message struct {
	Stream  string            `json:"stream"`
	Seq     uint64            `json:"seq"`
	Subject string            `json:"subject"`
	MsgID   string            `json:"msg_id"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// Read is one reading of one batch by one statement.
type Read struct {
	Reader string `json:"reader"`
	N      int    `json:"n"`
	Job    string `json:"job"`
	Day    string `json:"day"`
	Diffs  []Row  `json:"diffs"`
	Error  string `json:"error"`
}

// Action is what somebody did.
type Action struct {
	Kind   string `json:"kind"`
	Job    string `json:"job"`
	Day    string `json:"day"`
	By     string `json:"by"`
	Answer string `json:"answer"` // ok, refused, unknown
	Detail Row    `json:"detail"`
}

// Key is a value of the bucket at the end.
type Key struct {
	Key  string          `json:"key"`
	Body json.RawMessage `json:"body"`
}

// Row is a line of a table, every value as JSON has it.
type Row map[string]any

// Text is a column as text; "" for null.
func (r Row) Text(column string) string {
	if r[column] == nil {
		return ""
	}
	return fmt.Sprint(r[column])
}

// Number is a column that counts; 0 when it is none.
func (r Row) Number(column string) uint64 {
	n, _ := strconv.ParseUint(r.Text(column), 10, 64)
	return n
}

// Load reads the records below dir. A file that is missing is an error, except those that are written with the first thing
// that happens: without them nothing did.
func Load(dir string) (*History, error) {
	h := &History{Dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, "jobs.json"))
	if err == nil {
		err = json.Unmarshal(text, &h.Jobs)
	}
	err = errors.Join(err,
		lines(dir, "control", &h.Control), lines(dir, "stream", &h.Messages), lines(dir, "reads", &h.Reads), lines(dir, "actions", &h.Actions),
		lines(dir, "final/watermarks", &h.Watermarks), lines(dir, "final/reviews_kv", &h.ReviewKeys), lines(dir, "final/batches", &h.Batches),
		lines(dir, "final/diffs", &h.Diffs), lines(dir, "final/reviews", &h.Reviews), lines(dir, "final/audits", &h.Audits),
		lines(dir, "final/entries", &h.Entries), lines(dir, "final/carried", &h.Carried))
	slices.SortFunc(h.Control, func(a, b Write) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return h, err
}

func lines[T any](dir, name string, out *[]T) error {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)+".jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for n := 1; in.Scan(); n++ {
		var v T
		dec := json.NewDecoder(bytes.NewReader(in.Bytes()))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("%s.jsonl, line %d: %w", name, n, err)
		}
		*out = append(*out, v)
	}
	return in.Err()
}

// mark is the watermark that a write holds.
func (w Write) mark() (batch string, m Mark, ok bool) {
	batch, ok = strings.CutPrefix(w.Key, "day.")
	return batch, m, ok && w.Op == "PUT" && json.Unmarshal(w.Body, &m) == nil
}

// split parts <job>.<day>.
func split(batch string) (job, day string) {
	job, day, _ = strings.Cut(batch, ".")
	return job, day
}

// missing reports whether writes between two sequences, both excluded, are not in the log.
func (h *History) missing(from, to uint64) bool {
	if to <= from+1 {
		return false
	}
	at := func(seq uint64) int {
		i, _ := slices.BinarySearchFunc(h.Control, seq, func(w Write, s uint64) int { return int(int64(w.Seq) - int64(s)) })
		return i
	}
	return uint64(at(to)-at(from+1)) != to-from-1
}

// versions are the committed rows of each batch by version.
func (h *History) versions() map[string][]Row {
	out := map[string][]Row{}
	for _, b := range h.Batches {
		id := b.Text("batch_id")
		out[id] = append(out[id], b)
	}
	for _, rows := range out {
		slices.SortStableFunc(rows, func(a, b Row) int {
			if c := int(int64(a.Number("version")) - int64(b.Number("version"))); c != 0 {
				return c
			}
			return int(int64(a.Number("fence")) - int64(b.Number("fence")))
		})
	}
	return out
}
