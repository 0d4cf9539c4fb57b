package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/shopspring/decimal"
	"golang.org/x/text/encoding/simplifiedchinese"

	"daybreak/bench/accept/oracle"
	"daybreak/pkg/model"
)

// books are the files of all jobs, as they are, and what people do to them. A file is whole, late (not there yet) or cut.
// It is safe for concurrent use.
type books struct {
	dir   string
	first model.Day
	jobs  map[string]oracle.Job
	rec   *records

	mu    sync.Mutex
	whole map[string][]byte // by path below dir: what is right at the moment
	state map[string]string // "late", "cut"; absent when the file is there and whole
	sheet map[string]sheetID
}

// sheetID is one side of one day.
type sheetID struct {
	Job, Side string
	Day       model.Day
}

func openBooks(dir string, first model.Day, days int, rec *records) (*books, error) {
	b := &books{
		dir: dir, first: first, jobs: map[string]oracle.Job{}, rec: rec,
		whole: map[string][]byte{}, state: map[string]string{}, sheet: map[string]sheetID{},
	}
	for _, j := range oracle.Jobs() {
		b.jobs[j.Name] = j
		for d := range days {
			for side, form := range map[string]oracle.Form{"ledger": j.Ledger, "channel": j.Channel} {
				path := filepath.FromSlash(first.Add(d).UTC().Format(form.Path))
				text, err := os.ReadFile(filepath.Join(dir, path))
				if err != nil {
					return nil, err
				}
				b.whole[path], b.sheet[path] = text, sheetID{j.Name, side, first.Add(d)}
				if err := b.note(path, text, "first"); err != nil {
					return nil, err
				}
			}
		}
	}
	return b, nil
}

// form is how a file is written.
func (b *books) form(path string) oracle.Form {
	id := b.sheet[path]
	if id.Side == "ledger" {
		return b.jobs[id.Job].Ledger
	}
	return b.jobs[id.Job].Channel
}

// note records a version of a file, with its rows where it is whole.
func (b *books) note(path string, text []byte, why string) error {
	id, sum := b.sheet[path], sha256.Sum256(text)
	o := object{
		"job": id.Job, "side": id.Side, "day": id.Day.String(), "path": filepath.ToSlash(path),
		"sha256": hex.EncodeToString(sum[:]), "why": why,
	}
	if why != "cut" {
		rows, err := rowsOf(b.form(path), text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		o["rows"] = rows
	}
	b.rec.add("sources", o)
	return nil
}

// any is a file of a day up to last, in a state ("" is whole).
func (b *books) any(rng *rand.Rand, last model.Day, state string) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, path := range sorted(b.sheet) {
		if b.state[path] == state && b.sheet[path].Day <= last {
			all = append(all, path)
		}
	}
	if len(all) == 0 {
		return "", false
	}
	return all[rng.IntN(len(all))], true
}

// hide takes a file away: it will come late.
func (b *books) hide(path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state[path] = "late"
	b.tell("late", path, nil)
	return os.Remove(filepath.Join(b.dir, path))
}

// cut leaves only a part of a file, ended inside the first field of a row.
func (b *books) cut(path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.whole[path]
	part := text[:len(text)/2] // of compressed text: anywhere
	if !b.form(path).Gzip {
		part = append(bytes.Clone(text[:bytes.LastIndexByte(part, '\n')+1]), text[len(text)/3:len(text)/3+2]...)
		part = bytes.TrimRight(part, ",;\n")
	}
	b.state[path] = "cut"
	b.tell("truncate", path, nil)
	if err := b.note(path, part, "cut"); err != nil {
		return err
	}
	return put(filepath.Join(b.dir, path), part)
}

// mend puts the whole file there.
func (b *books) mend(path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tell("mend", path, object{"was": b.state[path]})
	delete(b.state, path)
	return put(filepath.Join(b.dir, path), b.whole[path])
}

// mendAll makes every file whole.
func (b *books) mendAll() error {
	b.mu.Lock()
	paths := sorted(b.state)
	b.mu.Unlock()
	for _, p := range paths {
		if err := b.mend(p); err != nil {
			return err
		}
	}
	return nil
}

// correct changes a row, drops one or adds one.
func (b *books) correct(rng *rand.Rand, path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.form(path)
	rows, err := rowsOf(f, b.whole[path])
	if err != nil {
		return err
	}
	amount, key := column(rows[0], f.Amount), column(rows[0], f.Key)
	i := 1 + rng.IntN(len(rows)-1)
	what := []string{"amount", "drop", "add"}[rng.IntN(3)]
	if len(rows) < 10 {
		what = "add"
	}
	switch what {
	case "amount":
		was, err := decimal.NewFromString(rows[i][amount])
		if err != nil {
			return err
		}
		rows[i][amount] = was.Add(decimal.New(1+rng.Int64N(999), -2)).String()
	case "drop":
		rows = append(rows[:i:i], rows[i+1:]...)
	case "add":
		fresh := append([]string(nil), rows[i]...)
		fresh[key] = fmt.Sprintf("late%d", rng.Uint64())
		rows = append(rows, fresh)
	}
	text, err := textOf(f, rows)
	if err != nil {
		return err
	}
	b.whole[path] = text
	b.tell("correct", path, object{"what": what})
	if err := b.note(path, text, "corrected"); err != nil {
		return err
	}
	return put(filepath.Join(b.dir, path), text)
}

func (b *books) tell(kind, path string, detail object) {
	id := b.sheet[path]
	if detail == nil {
		detail = object{}
	}
	detail["side"], detail["path"] = id.Side, filepath.ToSlash(path)
	b.rec.add("actions", object{"kind": kind, "job": id.Job, "day": id.Day.String(), "by": "files", "answer": "ok", "detail": detail})
}

// put replaces a file in one step.
func put(file string, text []byte) error {
	if err := os.WriteFile(file+".part", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

func column(header []string, name string) int {
	for i, h := range header {
		if h == name {
			return i
		}
	}
	panic("a made-up file has no column " + name)
}

// rowsOf reads a file, textOf writes one.
func rowsOf(f oracle.Form, text []byte) ([][]string, error) {
	var in io.Reader = bytes.NewReader(text)
	if f.Gzip {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = z
	}
	if f.GB18030 {
		in = simplifiedchinese.GB18030.NewDecoder().Reader(in)
	}
	r := csv.NewReader(in)
	r.Comma = f.Comma
	return r.ReadAll()
}

func textOf(f oracle.Form, rows [][]string) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.Comma = f.Comma
	if err := w.WriteAll(rows); err != nil {
		return nil, err
	}
	text := out.Bytes()
	var err error
	if f.GB18030 {
		if text, err = simplifiedchinese.GB18030.NewEncoder().Bytes(text); err != nil {
			return nil, err
		}
	}
	if !f.Gzip {
		return text, nil
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// days are the business days from the first to last.
func (b *books) days(last model.Day) (out []string) {
	for d := b.first; d <= last; d++ {
		out = append(out, d.String())
	}
	return out
}
