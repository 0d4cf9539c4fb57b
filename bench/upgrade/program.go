package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// program is a built daybreak.
type program struct {
	name string // old or new
	bin  string
	ref  string
}

// root is the top folder of the repository that the command is called in.
func root(ctx context.Context) (string, error) {
	out, err := output(ctx, "", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("%w: this is no git repository: %w", errWay, err)
	}
	return out, nil
}

// fromRef names the commit of the earlier program.
func fromRef(ctx context.Context, top, ref string) (string, error) {
	if ref == "" {
		tags, err := output(ctx, top, "git", "tag", "--sort=-creatordate")
		if err != nil {
			return "", fmt.Errorf("%w: %w", errWay, err)
		}
		if ref, _, _ = strings.Cut(tags, "\n"); ref == "" {
			return "", fmt.Errorf("%w: the repository has no tag; name the earlier program with -from COMMIT, or fetch the tags (git fetch --tags)", errWay)
		}
	}
	commit, err := output(ctx, top, "git", "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%w: -from %s is no commit of this repository (a shallow clone has only the newest: git fetch --unshallow)", errWay, ref)
	}
	return commit, nil
}

// buildRef builds the program of a commit from its archive.
func buildRef(ctx context.Context, top, ref, commit, dir string) (program, error) {
	src := filepath.Join(dir, "src")
	if err := os.MkdirAll(src, 0o700); err != nil {
		return program{}, err
	}
	archive := filepath.Join(dir, "src.tar")
	if _, err := output(ctx, top, "git", "archive", "--format=tar", "-o", archive, commit); err != nil {
		return program{}, fmt.Errorf("%w: %w", errWay, err)
	}
	if _, err := output(ctx, src, "tar", "-xf", archive); err != nil {
		return program{}, fmt.Errorf("%w: %w", errWay, err)
	}
	p := program{name: "old", bin: filepath.Join(dir, "daybreak-old"), ref: ref}
	if _, err := output(ctx, src, "go", "build", "-o", p.bin, "./cmd/daybreak"); err != nil {
		return program{}, fmt.Errorf("%w: the program of %s does not build: %w", errWay, ref, err)
	}
	return p, os.RemoveAll(src)
}

func buildTree(ctx context.Context, top, dir string) (program, error) {
	p := program{name: "new", bin: filepath.Join(dir, "daybreak-new"), ref: "the working tree"}
	if _, err := output(ctx, top, "go", "build", "-o", p.bin, "./cmd/daybreak"); err != nil {
		return program{}, fmt.Errorf("%w: the working tree does not build: %w", errWay, err)
	}
	return p, nil
}

// output runs a tool and gives what it says.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// result is what a command left behind.
type result struct {
	code     int
	out, err string
}

const commandTime = 3 * time.Minute

// run runs a command on an installation; its clock is the installation's.
func (i *install) run(ctx context.Context, p program, args ...string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	call := append(slices.Clone(args), "-f", i.book.Config, "--format", "json")
	if args[0] != "events" {
		call = append(call, "--now", i.now().Format(time.RFC3339))
	}
	cmd := exec.CommandContext(ctx, p.bin, call...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ctx.Err() == nil {
		err = nil
	}
	if err != nil {
		return result{}, fmt.Errorf("%s daybreak %s: %w: %s", p.name, strings.Join(args, " "), err, errs.String())
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}, nil
}

// rows runs a command that must end well.
func (i *install) rows(ctx context.Context, p program, args ...string) ([]row, error) {
	r, err := i.run(ctx, p, args...)
	if err == nil && r.code != 0 {
		err = fmt.Errorf("%s daybreak %s: exit code %d: %s%s", p.name, strings.Join(args, " "), r.code, r.out, r.err)
	}
	if err != nil {
		return nil, err
	}
	var out []row
	dec := json.NewDecoder(strings.NewReader(r.out))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("%s daybreak %s: %w: %s", p.name, strings.Join(args, " "), err, r.out)
	}
	return out, nil
}

// row is one row of a command as JSON.
type row map[string]any

func (r row) text(name string) string {
	if r[name] == nil {
		return ""
	}
	return fmt.Sprint(r[name])
}
