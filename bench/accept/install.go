package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"daybreak/bench/accept/oracle"
	"daybreak/pkg/scenario"
)

// install is a book with the commands that are run on it. Its clock begins at an instant at which every day of the book is
// due and goes on from there.
type install struct {
	dir, bin string
	book     *scenario.Book
	begun    time.Time
}

func newInstall(dir, bin string, o scenario.Options) (install, error) {
	book, err := scenario.Write(dir, o)
	return install{dir: dir, bin: bin, book: book, begun: time.Now()}, err
}

func (i install) now() time.Time { return i.book.Now().Add(time.Since(i.begun)) }

// result is what a command left behind.
type result struct {
	code     int
	out, err string
}

// commandTime bounds one command.
const commandTime = 5 * time.Minute

// run runs a command on the book. That it ends with another code than 0 is no error here.
func (i install) run(ctx context.Context, args ...string) (result, error) {
	return i.runAhead(ctx, 0, args...)
}

// runAhead runs a command whose clock is ahead.
func (i install) runAhead(ctx context.Context, ahead time.Duration, args ...string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	args = append(args, "-f", i.book.Config, "--now", i.now().Add(ahead).Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, i.bin, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ctx.Err() == nil {
		err = nil
	}
	if err != nil {
		return result{}, fmt.Errorf("daybreak %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}, nil
}

// row is one line of a command's result, every value as text; null is empty.
type row map[string]string

// rows runs a command that must end well.
func (i install) rows(ctx context.Context, args ...string) ([]row, error) {
	r, err := i.run(ctx, append(args, "--format", "json")...)
	if err == nil && r.code != 0 {
		err = fmt.Errorf("daybreak %s: exit code %d: %s", strings.Join(args, " "), r.code, r.err)
	}
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	dec := json.NewDecoder(strings.NewReader(r.out))
	dec.UseNumber()
	if err := dec.Decode(&objects); err != nil {
		return nil, fmt.Errorf("daybreak %s: %w", strings.Join(args, " "), err)
	}
	var out []row
	for _, o := range objects {
		out = append(out, flat(o))
	}
	return out, nil
}

// flat turns JSON values into text.
func flat(o map[string]any) row {
	r := row{}
	for k, v := range o {
		switch v := v.(type) {
		case nil:
			r[k] = ""
		case []any:
			var parts []string
			for _, x := range v {
				parts = append(parts, fmt.Sprint(x))
			}
			r[k] = strings.Join(parts, ",")
		default:
			r[k] = fmt.Sprint(v)
		}
	}
	return r
}

// text joins columns.
func (r row) text(columns ...string) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, c+"="+r[c])
	}
	return strings.Join(parts, " ")
}

// diffs are the current diffs of one job, of all when it is empty.
func (i install) diffs(ctx context.Context, job string) ([]row, error) {
	var out []row
	for _, name := range i.book.Jobs {
		if job != "" && job != name {
			continue
		}
		rows, err := i.rows(ctx, "diffs", name)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			r["job"] = name
		}
		out = append(out, rows...)
	}
	return out, nil
}

func (i install) span() int { return int(i.book.Last-i.book.First) + 1 }

// oracle reads and compares the files as they are now, per job.
func (i install) oracle() (map[string][]oracle.Outcome, error) {
	out := map[string][]oracle.Outcome{}
	for _, j := range oracle.Jobs() {
		days, err := j.Reconcile(i.dir, i.book.First.UTC(), i.span())
		if err != nil {
			return nil, fmt.Errorf("oracle: %w", err)
		}
		out[j.Name] = days
	}
	for _, name := range i.book.Jobs {
		if out[name] == nil {
			return nil, fmt.Errorf("oracle: it does not know job %s", name)
		}
	}
	return out, nil
}

// versions are the committed versions by job and day.
func (i install) versions(ctx context.Context, job string) (map[string]string, error) {
	rows, err := i.rows(ctx, "status", job)
	out := map[string]string{}
	for _, r := range rows {
		out[r["biz_date"]] = r["version"]
	}
	return out, err
}

func sortedText(rows []row, columns ...string) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.text(columns...))
	}
	slices.Sort(out)
	return out
}
