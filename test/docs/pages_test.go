package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	fleetv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	jobv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

const root = "../.."

// pages returns the documents for readers.
func pages(t *testing.T) []Page {
	t.Helper()
	all, err := Pages(root)
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(p Page) bool { return !p.ForReaders() })
}

func TestLinks(t *testing.T) {
	all, err := Pages(root)
	require.NoError(t, err)
	for _, p := range all {
		assert.Empty(t, brokenLinks(root, p))
	}
}

// A page that no other page links to is read by nobody.
func TestEveryPageIsLinked(t *testing.T) {
	all, err := Pages(root)
	require.NoError(t, err)
	linked := map[string]bool{"README.md": true}
	for _, p := range all {
		for _, found := range regexp.MustCompile(`\]\(([^)\s#]+)`).FindAllStringSubmatch(p.Text, -1) {
			target := filepath.ToSlash(filepath.Join(filepath.Dir(p.File), found[1]))
			linked[target] = true
		}
	}
	for _, p := range pages(t) {
		assert.Truef(t, linked[p.File] || linked[filepath.Dir(p.File)], "%s: no page links to it: add it to docs/README.md", p.File)
	}
}

// README is read once, from its first line to its last: what is longer is a page
// of docs/.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	assert.LessOrEqual(t, len(lines), 150, "lines")
	assert.LessOrEqual(t, len(strings.Fields(string(text))), 1100, "words")
}

// A table's row is one line however long it is, and a link is not broken; what
// a program printed stays as it was.
func TestLinesAreShort(t *testing.T) {
	for _, p := range pages(t) {
		for i, line := range prose(p.Text) {
			if strings.HasPrefix(strings.TrimSpace(line), "|") && p.File != "README.md" {
				continue
			}
			assert.LessOrEqualf(t, utf8.RuneCountInString(line), 120, "%s:%d is too long", p.File, i+1)
		}
	}
}

// Each fence names a language, and what is to be typed is in a block of commands.
func TestFencesNameTheirLanguage(t *testing.T) {
	languages := []string{"console", "go", "json", "sh", "text", "yaml"}
	for _, p := range pages(t) {
		assert.Zerof(t, strings.Count("\n"+p.Text, "\n```")%2, "%s: a fence is not closed", p.File)
		for _, b := range p.Blocks {
			assert.Containsf(t, languages, b.Language, "%s:%d", p.File, b.Line)
			if !b.Commands() && !strings.Contains(p.Text, "DO NOT EDIT") {
				assert.NotRegexpf(t, `(?m)^\s*\$ `, b.Text, "%s:%d: commands are in a block console", p.File, b.Line)
			}
			if b.Language == "console" {
				assert.Truef(t, strings.HasPrefix(b.Text, "$ "), "%s:%d: a block console begins with a command", p.File, b.Line)
			}
		}
	}
}

// Every block of commands runs: by this package or by test/e2e, or by the test
// that it names. At most one in ten says for which reason of the list it cannot.
func TestEveryCommandRuns(t *testing.T) {
	all, left := 0, []string{}
	for _, p := range pages(t) {
		for _, b := range p.Blocks {
			if !b.Commands() {
				continue
			}
			all++
			by, named := strings.CutPrefix(b.Test, "ran by ")
			switch {
			case named:
				assert.Truef(t, isTest(t, by), "%s:%d: there is no %s", p.File, b.Line, by)
			case strings.HasPrefix(b.Test, "needs "):
				left = append(left, fmt.Sprintf("%s:%d %s", p.File, b.Line, b.Test))
				assert.Containsf(t, reasons(), b.Test, "%s:%d", p.File, b.Line)
			default:
				assert.Regexpf(t, `^(exit \d+)?$`, b.Test, "%s:%d: unknown directive", p.File, b.Line)
			}
		}
	}
	assert.LessOrEqual(t, len(left)*10, all, "of %d blocks these do not run: %s", all, strings.Join(left, ", "))
	t.Logf("%d blocks of commands, %d not run: %s", all, len(left), strings.Join(left, ", "))
}

// isTest reports whether a test of the repository has this name.
func isTest(t *testing.T, name string) bool {
	t.Helper()
	found := exec.CommandContext(t.Context(), "grep", "-rqE", "--include=*_test.go", "^func "+regexp.QuoteMeta(name)+`\(t `, ".")
	found.Dir = root
	return found.Run() == nil
}

// Two pages in one namespace would see each other's objects.
func TestPagesHaveNamespacesOfTheirOwn(t *testing.T) {
	owner := map[string]string{}
	for _, p := range pages(t) {
		for _, ns := range Namespaces(p) {
			other, taken := owner[ns]
			assert.Falsef(t, taken && other != p.File, "%s and %s create namespace %s", p.File, other, ns)
			owner[ns] = p.File
		}
	}
}

// YAML is YAML; a manifest is what the API accepts, without unknown fields; what
// says that it is part of a file is.
func TestYAML(t *testing.T) {
	decode := decoder(t)
	for _, p := range pages(t) {
		for _, b := range p.Blocks {
			where := fmt.Sprintf("%s:%d", p.File, b.Line)
			if file, ok := strings.CutPrefix(b.Test, "file "); ok {
				text, err := os.ReadFile(filepath.Join(root, file))
				require.NoError(t, err, where)
				assert.Contains(t, string(text), b.Text, "%s is not part of %s", where, file)
			}
			if b.Language != "yaml" {
				continue
			}
			for document := range strings.SplitSeq(b.Text, "\n---\n") {
				var object map[string]any
				if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
					var list []any
					assert.NoErrorf(t, yaml.UnmarshalStrict([]byte(document), &list), "%s: %v", where, err)
					continue
				}
				if object["apiVersion"] != nil && object["kind"] != nil && object["metadata"] != nil {
					assert.NoError(t, decode([]byte(document)), where)
				}
			}
		}
	}
}

// decoder returns what decodes a manifest of a kind that the cluster or Orcon
// has, strictly.
func decoder(t *testing.T) func([]byte) error {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientscheme.AddToScheme(scheme))
	require.NoError(t, extensions.AddToScheme(scheme))
	require.NoError(t, errors.Join(
		v1alpha1.AddToScheme(scheme), bundlev1alpha1.AddToScheme(scheme), fleetv1alpha1.AddToScheme(scheme), jobv1alpha1.AddToScheme(scheme),
	))
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	return func(document []byte) error {
		_, _, err := strict.Decode(document, nil, nil)
		return err
	}
}

// A page names no verb that orcon does not have.
func TestVerbsExist(t *testing.T) {
	program := controlplane.Binary(t, "orcon")
	out, err := exec.CommandContext(t.Context(), program, "--help").Output()
	require.NoError(t, err)
	verbs := regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(string(out), -1)
	known := map[string]bool{"help": true, "completion": true, "fleet": true, "job": true}
	for _, v := range verbs {
		known[v[1]] = true
	}
	inline, typed := regexp.MustCompile("`(?:bin/)?orcon ([a-z]+)"), regexp.MustCompile(`(?m)(?:^|\$ |\(|bin/)orcon ([a-z]+)`)
	for _, p := range pages(t) {
		found := inline.FindAllStringSubmatch(strings.Join(prose(p.Text), "\n"), -1)
		for _, b := range p.Blocks {
			if b.Commands() {
				found = append(found, typed.FindAllStringSubmatch(b.Text, -1)...)
			}
		}
		for _, verb := range found {
			assert.Truef(t, known[verb[1]], "%s: orcon has no verb %s", p.File, verb[1])
		}
	}
}

// What needs no cluster runs here; test/e2e runs the rest.
func TestLocalCommands(t *testing.T) {
	runner := Runner{Root: root, Programs: programs(t)}
	for _, p := range pages(t) {
		if p.Level == Local && slices.ContainsFunc(p.Blocks, Block.Runs) {
			t.Run(p.File, func(t *testing.T) {
				t.Parallel()
				runner.Run(t, p)
			})
		}
	}
}

// programs returns what commands of pages call.
func programs(t *testing.T) []string {
	t.Helper()
	kubectl, err := filepath.Abs(filepath.Join(root, "bin", "kubectl"))
	require.NoError(t, err)
	require.FileExists(t, kubectl, "run test/cluster/build.sh")
	return []string{controlplane.Binary(t, "orcon"), kubectl}
}

// The checks can fail, and a page that is right passes.
func TestChecksCanFail(t *testing.T) {
	p := parse("docs/a.md", strings.Join([]string{
		"# One thing", "[x](#one-thing) [y](#two) [z](none.md) `[code](none.md)`",
		"<!-- test: exit 3 -->", "```console", "$ echo 'a b' \\", "  c", "a  b", "…", "$ (exit 3)", "```",
	}, "\n"))
	assert.Len(t, brokenLinks(root, p), 2)
	commands := CommandsOf(p.Blocks[0])
	require.Len(t, commands, 2)
	assert.Equal(t, Command{Line: 5, Script: "echo 'a b' \\\n  c", Want: "a  b\n…\n"}, commands[0])
	r := Runner{Root: root}
	require.Error(t, r.command(context.Background(), t.TempDir(), commands[0]), "it prints a b c")
	require.NoError(t, r.command(context.Background(), t.TempDir(), commands[1]))
	require.Error(t, r.command(context.Background(), t.TempDir(), Command{Script: "false"}))
}

func TestMatches(t *testing.T) {
	tests := map[string]struct {
		why       string
		want, got string
		fits      bool
	}{
		"Same":     {why: "what is shown is printed", want: "a b", got: "a  b\n", fits: true},
		"Other":    {why: "another word is another output", want: "a b", got: "a c"},
		"Age":      {why: "time passes", want: "web  True  3s", got: "web True 2m10s", fits: true},
		"Pod":      {why: "a pod has a name of its own", want: "pod/web-d9dbfc88b-qdwdd is", got: "pod/web-6c785f6748-vvvkb is", fits: true},
		"Hash":     {why: "content changes", want: "plan ce5f2836ea32", got: "plan 026794b043d9", fits: true},
		"Within":   {why: "the middle is left out", want: "a … c", got: "a b b c", fits: true},
		"Lines":    {why: "lines are left out", want: "a\n…\nd", got: "a\nb\nc\nd", fits: true},
		"End":      {why: "what follows is not left out unless the page says so", want: "a", got: "a\nb"},
		"Elided":   {why: "only what is elided may differ", want: "a … d", got: "a b c"},
		"Silent":   {why: "nothing is shown", got: "a"},
		"Versions": {why: "a version is no age", want: "v1.36.0", got: "v1.35.0"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			assert.Equal(t, tc.fits, Matches(tc.want, tc.got), tc.why)
		})
	}
}

// What is written for people has none of the marks of a draft.
func TestNoDrafts(t *testing.T) {
	for _, p := range pages(t) {
		assert.False(t, bytes.Contains([]byte(p.Text), []byte("TODO")), p.File)
	}
}
