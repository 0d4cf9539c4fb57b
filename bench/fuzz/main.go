// Command fuzz runs every fuzz target of the tree for a while:
//
//	go run ./bench/fuzz -time 30s
//	go run ./bench/fuzz -time 5m -run 'CSV|Amount'
//
// Targets are found by parsing the test files, so that one which was just written is not forgotten: go test fuzzes one
// target of one package at a time and has no word for all. The first failure ends the run, with the input that caused it
// where go test leaves it, below testdata/fuzz of the package. Exits 1 then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	long := flag.Duration("time", 30*time.Second, "how long each target runs")
	only := flag.String("run", "", "only targets whose name matches")
	flag.Parse()
	if flag.NArg() > 0 || *long <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *long, *only); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, long time.Duration, only string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	all, err := targets(root)
	if err != nil {
		return err
	}
	var summary []string
	for _, t := range all {
		if !wanted.MatchString(t.name) {
			continue
		}
		begun := time.Now()
		err := t.fuzz(ctx, root, long)
		line := fmt.Sprintf("%-7s %-24s %-28s %s", outcome(err), t.name, t.folder, time.Since(begun).Round(time.Second))
		summary = append(summary, line)
		if err != nil {
			fmt.Println(strings.Join(summary, "\n"))
			return fmt.Errorf("%s in %s: %w", t.name, t.folder, err)
		}
	}
	if len(summary) == 0 {
		return errors.New("no such target")
	}
	fmt.Println(strings.Join(summary, "\n"))
	fmt.Printf("%d targets, none failed\n", len(summary))
	return nil
}

func outcome(err error) string {
	if err != nil {
		return "FAILED"
	}
	return "ok"
}

// moduleRoot is the folder of go.mod, from wherever in the tree it is asked.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", errors.New("not inside a module; run it in the tree")
	}
	return filepath.Dir(file), nil
}

// target is one fuzz function; folder is relative to the root, with slashes.
type target struct{ folder, name string }

// targets lists every fuzz function of the module, in the order of the tree.
func targets(root string) ([]target, error) {
	var out []target
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipFolder(root, file, d.Name())
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && isFuzz(f) {
				out = append(out, target{filepath.ToSlash(rel), f.Name.Name})
			}
		}
		return err
	})
	return out, err
}

// skipFolder leaves out what go leaves out, and modules of their own.
func skipFolder(root, folder, name string) error {
	if folder == root {
		return nil
	}
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// isFuzz reports whether a function is func FuzzX(*testing.F).
func isFuzz(f *ast.FuncDecl) bool {
	if f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Fuzz") || len(f.Type.Params.List) != 1 {
		return false
	}
	pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "F"
}

// slack is how long building and the seeds may take on top.
const slack = 10 * time.Minute

// fuzz runs the target. When the time is over while a worker is busy, the go command may report the end of the time as a
// failure, without a failing input; such a run is repeated once.
func (t target) fuzz(ctx context.Context, root string, long time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 2*(long+slack))
	defer cancel()
	told, err := t.once(ctx, root, long)
	if err != nil && strings.Contains(told, "context deadline exceeded") && !strings.Contains(told, "Failing input") {
		_, err = t.once(ctx, root, long)
	}
	return err
}

func (t target) once(ctx context.Context, root string, long time.Duration) (told string, err error) {
	var text strings.Builder
	out := io.MultiWriter(os.Stdout, &text)
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", long.String(), "./"+path.Clean(t.folder))
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	return text.String(), err
}
