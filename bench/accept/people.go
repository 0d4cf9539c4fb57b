package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
	"daybreak/pkg/scenario"
)

// natsCLI is the client that people have.
const natsCLI = "github.com/nats-io/natscli/nats@v0.5.0"

// replayByClient asks for a recompute as anybody with a NATS client can: a subject, and nothing in it.
func (t *trial) replayByClient(ctx context.Context) (string, error) {
	const job = "wallet"
	day := t.day(1)
	before, err := t.versions(ctx, job)
	if err != nil {
		return "", err
	}
	publish, with := t.publish, "a plain publish"
	if t.nats {
		with = "nats pub (" + natsCLI + ")"
		if publish, err = t.buildCLI(ctx); err != nil {
			return with, err
		}
	}
	if err := publish(ctx, "day.replay."+job+"."+day, ""); err != nil {
		return with, err
	}
	after, err := t.awaitVersion(ctx, job, day, before[day])
	if err != nil {
		return with, err
	}
	days, figures := changed(before, after)
	if !slices.Equal(days, []string{day}) {
		err = fmt.Errorf("want a recompute of %s and of nothing else", day)
	}
	return fmt.Sprintf("%s: %s %s", with, job, figures), err
}

func (t *trial) publish(_ context.Context, subject, body string) error {
	return errors.Join(t.nc.Publish(subject, []byte(body)), t.nc.Flush())
}

// buildCLI builds the nats CLI and returns how to publish with it.
func (t *trial) buildCLI(ctx context.Context) (func(context.Context, string, string) error, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	folder := filepath.Join(t.dir, "cli")
	install := exec.CommandContext(ctx, "go", "install", natsCLI)
	install.Env = append(os.Environ(), "GOBIN="+folder, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s: %w: %s", natsCLI, err, out)
	}
	return func(ctx context.Context, subject, body string) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(folder, "nats"), "--server", t.end.NATS.URL, "--user", t.end.NATS.User,
			"--password", t.end.NATS.Password, "pub", subject, body)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nats pub %s: %w: %s", subject, err, out)
		}
		return nil
	}, nil
}

// awaitVersion waits until a day has another version and all is calm.
func (t *trial) awaitVersion(ctx context.Context, job, day, old string) (now map[string]string, err error) {
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = until(wait, 500*time.Millisecond, func() error {
		if now, err = t.versions(wait, job); err != nil {
			return err
		}
		if now[day] == old {
			return fmt.Errorf("%s %s is still version %s", job, day, old)
		}
		return nil
	})
	if err := errors.Join(err, t.settle(ctx)); err != nil {
		return nil, err
	}
	return t.versions(ctx, job)
}

// rubbish publishes what no recon can work on and looks for each piece among the dead letters.
func (t *trial) rubbish(ctx context.Context) (string, error) {
	day := t.day(0)
	pieces := [][2]string{
		{"day.replay.nobody." + day, ""},
		{"day.replay.UPPER." + day, ""},
		{"day.replay.cards.2026-02-30", ""},
		{"day.replay.cards." + t.book.Last.Add(40).String(), ""},
		{"day.replay.cards.2020-01-05", ""},
		{"day.replay.cards.2026.10.01", ""},
		{"day.rerun.cards." + day, ""},
		{"day.replay.cards." + day, "{"},
		{"day.replay.cards." + day, `{"raeson":"x"}`},
		{"day.replay.cards." + day, "\x00\xff\xfe"},
		{"day.replay.cards", ""},
		{"day.replay.cards", `{"from":"2026-10-02","to":"2026-10-01"}`},
		{"day.due.nobody." + day, ""},
		{"day.x", "hello"},
	}
	before, err := t.versions(ctx, "cards")
	if err != nil {
		return "", err
	}
	for _, p := range pieces {
		if err := t.publish(ctx, p[0], p[1]); err != nil {
			return "", err
		}
	}
	if err := t.settle(ctx); err != nil {
		return "", err
	}
	dead, err := t.messages(ctx, "DEAD", "dead.>")
	if err != nil {
		return "", err
	}
	reasons := map[[2]string]string{}
	for _, m := range dead {
		reasons[[2]string{strings.TrimPrefix(m.Subject(), "dead."), string(m.Data())}] = m.Headers().Get(bus.HeaderReason)
	}
	var errs []error
	for _, p := range pieces {
		if reasons[p] == "" {
			errs = append(errs, fmt.Errorf("%s %q has no dead letter with a reason", p[0], p[1]))
		}
	}
	after, err := t.versions(ctx, "cards")
	if days, figures := changed(before, after); len(days) > 0 {
		errs = append(errs, fmt.Errorf("rubbish caused a recompute: %s", figures))
	}
	return fmt.Sprintf("%d of %d pieces have their reason, e.g. %s", len(pieces)-len(errs), len(pieces), reasons[pieces[2]]), errors.Join(append(errs, err)...)
}

// reviewDuring writes a review while the day is being recomputed.
func (t *trial) reviewDuring(ctx context.Context) (string, error) {
	f, id, err := t.diffOf(ctx, func(f scenario.Fault) bool { return f.Job == "wallet" && f.Kind == model.KindAmount })
	if err != nil {
		return "", err
	}
	replayed := make(chan error, 1)
	go func() {
		_, err := t.rows(ctx, "replay", f.Job, f.Day.String(), "--wait")
		replayed <- err
	}()
	reviewErr := t.review(ctx, f, id)
	if err := errors.Join(reviewErr, <-replayed, t.settle(ctx)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s %s is investigating after it", f.Job, f.Day, f.Key), t.hasReview(ctx, f, id, "open")
}

func (t *trial) review(ctx context.Context, f scenario.Fault, id string) error {
	_, err := t.rows(ctx, "review", f.Job, f.Day.String(), id, "--to", "investigating", "--by", "ana", "--note", "asked the provider")
	return err
}

// diffOf is the first planted fault that suits, with the id of its diff.
func (t *trial) diffOf(ctx context.Context, suits func(scenario.Fault) bool) (scenario.Fault, string, error) {
	i := slices.IndexFunc(t.book.Faults, suits)
	if i < 0 {
		return scenario.Fault{}, "", errors.New("the book has no such fault")
	}
	f := t.book.Faults[i]
	rows, err := t.rows(ctx, "diffs", f.Job, f.Day.String())
	if err != nil {
		return f, "", err
	}
	for _, r := range rows {
		if r["key"] == f.Key {
			return f, r["diff_id"], nil
		}
	}
	return f, "", fmt.Errorf("%s is not among the diffs", f)
}

func (t *trial) hasReview(ctx context.Context, f scenario.Fault, id, state string) error {
	rows, err := t.rows(ctx, "diffs", f.Job, f.Day.String())
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r["diff_id"] == id && (r["review"] != "investigating" || r["review_by"] != "ana" || r["state"] != state) {
			return fmt.Errorf("want review=investigating review_by=ana state=%s, have %s", state, r.text("review", "review_by", "state"))
		}
		if r["diff_id"] == id {
			return nil
		}
	}
	return fmt.Errorf("reviewed diff %s of %s is gone", id, f)
}

// correct takes an entry that never found its counterpart out of the first day's file and asks for that day. The days
// that must be recomputed are those whose pool changes, which is the oracle's to say; the diff, which somebody is
// reviewing, stays as cleared.
func (t *trial) correct(ctx context.Context) (string, error) {
	f, id, err := t.diffOf(ctx, func(f scenario.Fault) bool {
		return f.Job == "cards" && f.Kind == model.KindMissingInChannel && f.Origin == t.book.First
	})
	if err != nil {
		return "", err
	}
	if err := t.review(ctx, f, id); err != nil {
		return "", err
	}
	old, err := t.oracle()
	if err != nil {
		return "", err
	}
	before, err := t.versions(ctx, f.Job)
	if err != nil {
		return "", err
	}
	if err := dropRow(filepath.Join(t.dir, f.Job, "ledger", f.Origin.String()+".csv"), f.Key); err != nil {
		return "", err
	}
	if _, err := t.rows(ctx, "replay", f.Job, f.Origin.String(), "--wait", "--reason", "ledger corrected", "--by", "ana"); err != nil {
		return "", err
	}
	if err := t.settle(ctx); err != nil {
		return "", err
	}
	after, err := t.versions(ctx, f.Job)
	if err != nil {
		return "", err
	}
	fresh, err := t.oracle()
	if err != nil {
		return "", err
	}
	want := []string{f.Origin.String()}
	for d := range t.days - 1 {
		if !slices.Equal(old[f.Job][d].Pool, fresh[f.Job][d].Pool) {
			want = append(want, t.day(d+1))
		}
	}
	days, figures := changed(before, after)
	if !slices.Equal(days, want) {
		err = fmt.Errorf("want exactly %v recomputed", want)
	}
	return fmt.Sprintf("%s: %s; the other %d days keep v%s", f.Job, figures, len(after)-len(days), mode(before)), errors.Join(err, t.hasReview(ctx, f, id, "cleared"))
}

// mode is the range of the versions.
func mode(versions map[string]string) string {
	low, high := 0, 0
	for _, v := range versions {
		n, _ := strconv.Atoi(v)
		if low == 0 || n < low {
			low = n
		}
		high = max(high, n)
	}
	if low == high {
		return strconv.Itoa(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// dropRow rewrites a plain ledger file without a key.
func dropRow(file, key string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return err
	}
	n := len(rows)
	rows = slices.DeleteFunc(rows, func(r []string) bool { return r[0] == key })
	if len(rows) != n-1 {
		return fmt.Errorf("%s: key %s is there %d times", file, key, n-len(rows))
	}
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(rows); err != nil {
		return err
	}
	part := file + ".part"
	if err := os.WriteFile(part, out.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(part, file)
}
