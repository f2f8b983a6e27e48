package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A command that a message prints is pasted wherever the reader is: if it names a namespaced
// object, it names the namespace too.
func TestCuresNameTheNamespace(t *testing.T) {
	files, err := userTexts(repository)
	require.NoError(t, err)
	for _, file := range files {
		if filepath.Ext(file) != ".go" || strings.HasPrefix(file, "build/") {
			continue // build/docs writes pages, which name kinds
		}
		code, err := os.ReadFile(filepath.Join(repository, file))
		require.NoError(t, err)
		found, err := placeless(file, code)
		require.NoError(t, err)
		assert.Empty(t, found, "add -n")
	}
}

func TestCuresNameTheNamespaceCanFail(t *testing.T) {
	tests := map[string]struct {
		why, text string
		want      []string
	}{
		"Kubectl":   {why: "another namespace may have a Deployment of that name", text: `"see: kubectl rollout restart %s/%s"`, want: []string{"a.go:3: kubectl rollout restart %s/%s"}},
		"Orcon":     {why: "or a bundle", text: `"see orcon history %s"`, want: []string{"a.go:3: orcon history %s"}},
		"Joined":    {why: "a text may be cut anywhere", text: `"kubectl delete " + "pod %s"`, want: []string{"a.go:3: kubectl delete pod %s"}},
		"After":     {why: "a flag may come last", text: `"orcon install --resume %s -n %s"`},
		"Before":    {why: "or first", text: `"kubectl -n %s logs %s"`},
		"Every":     {why: "every namespace is meant", text: `"kubectl delete %s --all -A"`},
		"Cluster":   {why: "a namespace has none", text: `"kubectl create namespace %s"`},
		"Nameless":  {why: "no object is named", text: `"orcon history lists the revisions of %s"`},
		"Verb":      {why: "the user fills in the name", text: `"orcon approve NAME"`},
		"Two":       {why: "each command for itself", text: `"orcon resume %s, or kubectl get pod %s -n %s"`, want: []string{"a.go:3: orcon resume %s, or"}},
		"ThenProse": {why: "a command ends where the sentence goes on", text: `"kubectl get offers: %s"`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			found, err := placeless("a.go", []byte("package a\n\nvar a = "+tc.text+"\n"))
			require.NoError(t, err)
			assert.Equal(t, tc.want, found, tc.why)
		})
	}
}

// command matches a command up to the end of its clause, or up to the next command.
var command = regexp.MustCompile(`(?:kubectl (?:-|rollout|describe|delete|get|logs|patch|annotate|label|scale|create)|` +
	`orcon (?:approve|diff|history|install --resume|pause|resume|rollback|uninstall) %)[^:;]*`)

// placed matches what says where the object of a command is, or that it has no namespace.
var placed = regexp.MustCompile(` (?:-n|-A|namespace|clusterrole|clusterrolebinding)\b`)

// placeless lists the commands in the strings of Go code that name an object by a value and name no
// namespace.
func placeless(file string, code []byte) ([]string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, code, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, ok := constant(e)
		for _, clause := range commands(text) {
			if strings.Contains(clause, "%") && !placed.MatchString(clause) {
				found = append(found, fmt.Sprintf("%s:%d: %s", file, set.Position(e.Pos()).Line, strings.TrimSpace(clause)))
			}
		}
		return !ok
	})
	return found, nil
}

// commands returns the commands of a text, each up to the next one.
func commands(text string) []string {
	var all []string
	for {
		at := command.FindStringIndex(text)
		if at == nil {
			return all
		}
		clause := text[at[0]:at[1]]
		if next := command.FindStringIndex(clause[1:]); next != nil {
			clause = clause[:1+next[0]]
		}
		all = append(all, clause)
		text = text[at[0]+len(clause):]
	}
}
