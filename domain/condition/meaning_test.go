package condition_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Every reason that the code gives to a condition of Relations, RelatedApplications, Offers,
// Interfaces, Databags and RelatedSecrets is explained, and no other.
func TestMeaningsAreThoseOfTheCode(t *testing.T) {
	var explained, written []string
	for _, m := range condition.Meanings() {
		explained = append(explained, m.Reason)
	}
	for _, room := range []string{"../relation", "../schema", "../application", "../secret", "../../controller/api/v1alpha1"} {
		written = append(written, reasons(t, room)...)
	}
	for _, c := range condition.Sentences() { // Ready has the type of another condition as its reason
		if slices.Contains(explained, string(c.Type)) {
			written = append(written, string(c.Type))
		}
	}
	slices.Sort(explained)
	slices.Sort(written)
	assert.Equal(t, slices.Compact(written), slices.Compact(explained))
}

func TestMeaningsAreDistinct(t *testing.T) {
	known := map[string]bool{}
	for _, m := range condition.Meanings() {
		assert.False(t, known[string(m.Type)+m.Reason], "%s %s", m.Type, m.Reason)
		known[string(m.Type)+m.Reason] = true
		assert.NotEmpty(t, m.Means, m.Reason)
	}
	for _, c := range condition.Sentences() {
		assert.False(t, known[string(c.Type)], c.Type)
		known[string(c.Type)] = true
		assert.NotEmpty(t, c.Of, c.Type)
		assert.NotEmpty(t, c.Means, c.Type)
	}
}

// unshown are constants of the code that no condition has: Deleted is the reason of an end.
func unshown() []string { return []string{"Deleted"} }

// reasons returns the literals in a folder that are reasons of conditions: constants named
// Reason…, fields named Reason, and the first argument of Settled, Waiting and Stuck.
func reasons(t *testing.T, folder string) (all []string) {
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
		ast.Inspect(file, func(n ast.Node) bool {
			for _, value := range candidates(n) {
				literal, is := value.(*ast.BasicLit)
				if !is || literal.Kind != token.STRING {
					continue
				}
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				if text != "" && strings.ToUpper(text[:1]) == text[:1] && !slices.Contains(unshown(), text) {
					all = append(all, text)
				}
			}
			return true
		})
	}
	return all
}

// candidates returns the expressions below n that are reasons where they are literals.
func candidates(n ast.Node) []ast.Expr {
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
		if f, is := n.Fun.(*ast.SelectorExpr); is && slices.Contains([]string{"Settled", "Waiting", "Stuck"}, f.Sel.Name) {
			return n.Args[:1]
		}
	}
	return nil
}
