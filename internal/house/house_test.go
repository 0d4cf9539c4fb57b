package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// file is one parsed source file with its path from the root.
type file struct {
	path string
	ast  *ast.File
	set  *token.FileSet
}

const root = "../.."

// sources parses every Go file of the tree.
func sources(t *testing.T) []file {
	t.Helper()
	var out []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "." && d.Name() != ".." {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		out = append(out, file{filepath.ToSlash(rel), parsed, set})
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(out), 100, "the tree was found")
	return out
}

func (f file) test() bool {
	return strings.HasSuffix(f.path, "_test.go") || strings.Contains(f.path, "enginetest/")
}

func (f file) in(folder string) bool { return strings.HasPrefix(f.path, folder+"/") }

func (f file) imports() []string {
	var out []string
	for _, i := range f.ast.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		out = append(out, path)
	}
	return out
}

// allowed says which rooms each room may import. A room that is not listed fails the test, so that nobody builds one
// without placing it.
var allowed = map[string][]string{
	"pkg/model":         {},
	"pkg/kv":            {},
	"pkg/bus":           {"pkg/tracing"},
	"pkg/tracing":       {},
	"pkg/engine":        {"pkg/engine"},
	"pkg/source":        {"pkg/model", "pkg/source"},
	"pkg/store":         {"pkg/model"},
	"pkg/control":       {"pkg/kv", "pkg/model"},
	"pkg/config":        {"pkg/model", "pkg/source"},
	"pkg/scenario":      {"pkg/model"},
	"pkg/review":        {"pkg/bus", "pkg/kv", "pkg/model", "pkg/store"},
	"pkg/vitals":        {"pkg/bus", "pkg/kv", "pkg/model"},
	"deploy/prometheus": {},
	"deploy/grafana":    {"deploy/grafana"},
	"services/ticker":   {"pkg"},
	"services/recon":    {"pkg"},
	"services/auditor":  {"pkg"},
	"cmd/daybreak":      {"pkg", "services"},
	"bench":             {"pkg", "services", "bench"},
	"internal/house":    {},
}

func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test() {
			continue
		}
		room := roomOf(f.path)
		rules, ok := allowed[room]
		require.True(t, ok, "%s: no rule says what %s may import", f.path, room)
		for _, imported := range f.imports() {
			target, ours := strings.CutPrefix(imported, "daybreak/")
			if !ours {
				continue
			}
			good := false
			for _, rule := range rules {
				good = good || target == rule || strings.HasPrefix(target, rule+"/")
			}
			require.True(t, good, "%s imports %s: %s may import %v only", f.path, target, room, rules)
		}
	}
}

func roomOf(path string) string {
	parts := strings.Split(path, "/")
	if parts[0] == "bench" || len(parts) < 3 {
		return parts[0]
	}
	return parts[0] + "/" + parts[1]
}

// The model is pure: it knows no clock and no I/O.
func TestModelIsPure(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`^(os|io|io/.*|net|net/.*|syscall|math/rand.*|github\.com/(jonboulle|nats-io|ClickHouse)/.*)$`)
	for _, f := range sources(t) {
		if !f.in("pkg/model") || f.test() {
			continue
		}
		for _, i := range f.imports() {
			require.False(t, forbidden.MatchString(i), "%s imports %s", f.path, i)
		}
	}
}

// banned calls, and the rooms that may make them.
var banned = []struct {
	pkg, name string
	free      []string
	why       string
}{
	{"time", "Now", []string{"cmd", "bench"}, "time comes from an injected clock"},
	{"time", "Sleep", []string{"bench"}, "wait on a signal or on the injected clock"},
	{"os", "Exit", []string{"cmd", "bench", "pkg/engine", "deploy/grafana"}, "only the program ends the process; the engine's child and the generator are programs of their own"},
	{"os", "Getenv", []string{"cmd", "bench", "pkg/engine"}, "the environment belongs to cmd; the engine's child finds its orders there"},
	{"os", "LookupEnv", []string{"cmd", "bench", "pkg/engine"}, "the environment belongs to cmd; the engine's child finds its orders there"},
	{"signal", "Notify", []string{"cmd", "bench", "pkg/engine"}, "signals belong to the program"},
}

func TestBannedCalls(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			for _, b := range banned {
				if !ok || pkg.Name != b.pkg || sel.Sel.Name != b.name || pkg.Obj != nil {
					continue
				}
				free := false
				for _, room := range b.free {
					free = free || f.in(room)
				}
				require.True(t, free, "%s: %s.%s: %s", f.set.Position(sel.Pos()), b.pkg, b.name, b.why)
			}
			return true
		})
	}
}

// plotted is where the one function lies that makes money a float: a gauge has no other type, and nothing is computed
// from it.
const plotted = "services/auditor/plot.go"

// Money never becomes a float: no conversion out of a decimal, no float field or parameter with a name of money.
func TestMoneyIsNeverAFloat(t *testing.T) {
	t.Parallel()
	money := regexp.MustCompile(`(?i)(amount|total|delta|money|balance|fee|price|sum)`)
	for _, f := range sources(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "InexactFloat64" && f.path != plotted || n.Sel.Name == "NewFromFloat" || n.Sel.Name == "NewFromFloat32" {
					t.Errorf("%s: %s makes money a float or a float money", f.set.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.Field:
				typ, ok := n.Type.(*ast.Ident)
				for _, name := range n.Names {
					if ok && strings.HasPrefix(typ.Name, "float") && money.MatchString(name.Name) {
						t.Errorf("%s: %s is a %s", f.set.Position(n.Pos()), name.Name, typ.Name)
					}
				}
			}
			return true
		})
	}
}

// Tests do not skip: a missing dependency must fail and name the command that installs it.
func TestNoTestSkips(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Skip" || sel.Sel.Name == "Skipf" || sel.Sel.Name == "SkipNow") {
				if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "t" || x.Name == "b" || x.Name == "tb") {
					t.Errorf("%s: skips", f.set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// Every package says what it is for.
func TestEveryPackageHasADesign(t *testing.T) {
	t.Parallel()
	has := map[string]bool{}
	for _, f := range sources(t) {
		if f.test() {
			continue
		}
		folder := filepath.Dir(f.path)
		has[folder] = has[folder] || f.ast.Doc != nil && len(f.ast.Doc.Text()) > 60
	}
	for folder, ok := range has {
		require.True(t, ok, "%s has no package comment", folder)
	}
}

// The README stays a page, and the folder holds nothing that was not written here.
func TestTreeIsSmall(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), 150)
}
