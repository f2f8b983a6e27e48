// Package reason reads the reasons of conditions and Events from source code, so that
// tests can compare them with what is documented.
//
// What must not come in: anything that a binary imports.
package reason

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Literals returns the string literals of a folder's code that may be reasons: constants named
// Reason…, fields named Reason, and what arguments returns of each call.
func Literals(t *testing.T, folder string, arguments func(*ast.CallExpr) []ast.Expr) (all []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for n := range ast.Preorder(file) {
			for _, value := range candidates(n, arguments) {
				if literal, is := value.(*ast.BasicLit); is && literal.Kind == token.STRING {
					text, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					all = append(all, text)
				}
			}
		}
	}
	return all
}

// candidates returns the expressions of a node that are reasons where they are literals.
func candidates(n ast.Node, arguments func(*ast.CallExpr) []ast.Expr) []ast.Expr {
	switch n := n.(type) {
	case *ast.ValueSpec:
		if strings.HasPrefix(n.Names[0].Name, "Reason") {
			return n.Values
		}
	case *ast.KeyValueExpr:
		if key, is := n.Key.(*ast.Ident); is && key.Name == "Reason" {
			return []ast.Expr{n.Value}
		}
	case *ast.CallExpr:
		return arguments(n)
	}
	return nil
}
