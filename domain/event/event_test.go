package event_test

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

	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
)

func TestTable(t *testing.T) {
	var last string
	for _, e := range event.Relations() {
		assert.Less(t, last, e.Reason, "in order, each once")
		last = e.Reason
		assert.NotEmpty(t, e.On, e.Reason)
		for _, text := range []string{e.Meaning, e.Cure} {
			assert.True(t, text == "" || strings.HasSuffix(text, "."), "%s: %q is a sentence", e.Reason, text)
		}
		assert.NotEmpty(t, e.Meaning, e.Reason)
		assert.True(t, e.Normal || e.Cure != "", "%s: a warning has a cure", e.Reason)
	}
}

// Every reason that is written in the rooms of relations is in the table, and the table
// has no other.
func TestComplete(t *testing.T) {
	var documented []string
	for _, e := range event.Relations() {
		documented = append(documented, e.Reason)
	}
	written := []string{event.HandlerWaiting, event.RelationsReady, event.Ready, event.Related, event.Restarted, event.Invalid, "HandlerFailed"}
	for _, room := range []string{"../relation", "../application", "../secret", "../../controller/adapter/kube"} {
		written = append(written, reasons(t, room)...)
	}
	slices.Sort(written)
	assert.Equal(t, slices.Compact(written), documented)
}

// silent returns the reasons of which no Event has one: those of a relation's end, and
// of conditions without Events.
func silent() []string {
	return []string{"Published", "InvalidDocument", "Changed", "WrongName", "BuiltIn", "Complete", "Deleted", "ProgressDeadlineExceeded"}
}

// reasons returns the literals in a folder that are the reason of a condition or an
// Event: constants named Reason…, fields named Reason, and arguments that stand where a
// reason does.
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
				if text, err := strconv.Unquote(literal.Value); err == nil && isReason(text) {
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
		return n.Args[:min(2, len(n.Args))]
	}
	return nil
}

// isReason reports whether a text is one word as Kubernetes writes reasons.
func isReason(text string) bool {
	return len(text) > 3 && text[0] >= 'A' && text[0] <= 'Z' && strings.ToUpper(text) != text && !strings.ContainsAny(text, " .:;%/\n-'=\"") && !slices.Contains(silent(), text)
}
