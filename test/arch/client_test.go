package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A default client asks five times a second and then waits: no program of ours
// uses one as it comes (INJECTION.md I9).
func TestNoClientIsThrottled(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "cmd/*/*.go"))
	require.NoError(t, err)
	clients := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		made, throttled := clientsIn(parsed)
		clients += made
		assert.Empty(t, throttled, "%s: set QPS = -1 where the client's configuration is made", file)
	}
	assert.Equal(t, 5, clients, "the webhook, the controllers and the command line have one each")
}

func TestThrottledClientsAreSeen(t *testing.T) {
	tests := map[string]struct {
		why  string
		body string
		made int
		want []string
	}{
		"None":      {why: "nothing to say", body: "run()"},
		"Unbound":   {why: "the API server's own fairness limits us", body: "c, _ := config.GetConfig(); c.QPS = -1", made: 1},
		"Default":   {why: "five a second", body: "c, _ := config.GetConfig(); use(c)", made: 1, want: []string{"f"}},
		"InCluster": {why: "another way to one", body: "c, _ := rest.InClusterConfig(); use(c)", made: 1, want: []string{"f"}},
		"Limited":   {why: "a number of our own is a default too", body: "c, _ := config.GetConfig(); c.QPS = 20", made: 1, want: []string{"f"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			parsed, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\nfunc f() {"+tc.body+"}", parser.SkipObjectResolution)
			require.NoError(t, err)
			made, throttled := clientsIn(parsed)
			assert.Equal(t, tc.made, made)
			assert.Equal(t, tc.want, throttled, tc.why)
		})
	}
}

// clientsIn counts the functions of a file that make a client's configuration,
// and names those that leave its limit as it is.
func clientsIn(file *ast.File) (made int, throttled []string) {
	makers := []string{"GetConfig", "GetConfigOrDie", "GetConfigWithContext", "InClusterConfig", "BuildConfigFromFlags", "ClientConfig"}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		makes, unbound := false, false
		ast.Inspect(function.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				makes = makes || ok && slices.Contains(makers, called.Sel.Name)
			case *ast.AssignStmt:
				unbound = unbound || setsNoLimit(n)
			}
			return true
		})
		if makes {
			made++
			if !unbound {
				throttled = append(throttled, function.Name.Name)
			}
		}
	}
	return made, throttled
}

// setsNoLimit reports whether a statement is c.QPS = -1.
func setsNoLimit(s *ast.AssignStmt) bool {
	field, isField := s.Lhs[0].(*ast.SelectorExpr)
	minus, isMinus := s.Rhs[0].(*ast.UnaryExpr)
	return isField && field.Sel.Name == "QPS" && isMinus && minus.Op == token.SUB
}
