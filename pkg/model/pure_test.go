package model_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestModelIsPure holds the package to what its comment says: no I/O, no clock, and no float near money.
func TestModelIsPure(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{
		"cmp": true, "crypto/sha256": true, "embed": true, "encoding/hex": true, "encoding/json": true, "errors": true, "fmt": true,
		"encoding/binary": true, "hash": true, "maps": true, "regexp": true, "slices": true, "strconv": true, "strings": true, "time": true,
		"github.com/shopspring/decimal": true,
	}
	banned := map[string]bool{
		"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "NewTimer": true, "NewTicker": true, "AfterFunc": true,
	}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			require.True(t, allowed[path], "%s imports %s", file.Name(), path)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" {
					require.False(t, banned[n.Sel.Name], "%s: time.%s", set.Position(n.Pos()), n.Sel.Name)
				}
				require.NotContains(t, n.Sel.Name, "Float", set.Position(n.Pos()).String())
			case *ast.Ident:
				require.NotContains(t, n.Name, "float", set.Position(n.Pos()).String())
			}
			return true
		})
	}
}
