package arch

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository is the top of the checkout.
const repository = "../.."

func TestWalls(t *testing.T) {
	broken, err := brokenWalls(repository, mayImport)
	require.NoError(t, err)
	assert.Empty(t, broken, "see STYLE, 'Floors and rooms'; an edge that must be is a row in mayImport and a decision in DECISIONS.md")
}

// A checker that cannot fail proves nothing.
func TestWallsCanBreak(t *testing.T) {
	table := map[string]string{
		"domain/relation": "domain/application", "domain/application": "",
		"webhook/*": "domain k8s.io/api", "controller/*": "domain", "cmd/*": "webhook controller",
	}
	tests := map[string]struct {
		why  string
		file string
		text string
		want string
	}{
		"Allowed":         {why: "an edge of the table", file: "domain/relation/a.go", text: `import "` + module + `domain/application"`},
		"TestFile":        {why: "tests may import what they need", file: "domain/relation/a_test.go", text: `import "k8s.io/api/core/v1"`},
		"StandardLibrary": {why: "whoever is not pure may use all of it", file: "webhook/pod/a.go", text: `import "net/http"`},
		"Below":           {why: "a package below an allowed one is allowed", file: "webhook/pod/a.go", text: `import "k8s.io/api/core/v1"`},
		"Namesake":        {why: "a longer name is another module", file: "webhook/pod/a.go", text: `import "k8s.io/apimachinery"`, want: `"k8s.io/apimachinery"`},
		"DomainEdge":      {why: "edges between domain rooms have one direction", file: "domain/application/a.go", text: `import "` + module + `domain/relation"`, want: `"domain/relation"`},
		"Kubernetes":      {why: "the domain knows no Kubernetes", file: "domain/relation/a.go", text: `import "k8s.io/api/core/v1"`, want: "k8s.io/api/core/v1"},
		"OS":              {why: "the domain touches no files", file: "domain/relation/a.go", text: `import "os"`, want: "values and decisions"},
		"Network":         {why: "nor any network, in no package of it", file: "domain/relation/a.go", text: `import "net/url"`, want: "values and decisions"},
		"Context":         {why: "a decision has no deadline", file: "domain/relation/a.go", text: `import "context"`, want: "values and decisions"},
		"Clock":           {why: "a decision is the same tomorrow", file: "domain/relation/a.go", text: "import \"time\"\nvar x = time.Now()", want: "time.Now"},
		"OtherRoom":       {why: "a room can be deleted by deleting its folders", file: "webhook/pod/a.go", text: `import "` + module + `webhook/declaration"`, want: "webhook/declaration"},
		"WebhookLoops":    {why: "the floors do not know each other", file: "webhook/pod/a.go", text: `import "` + module + `controller/relation"`, want: "controller/relation"},
		"Binary":          {why: "a binary only wires", file: "controller/relation/a.go", text: `import "` + module + `cmd/orcon"`, want: "a binary is imported"},
		"TestCode":        {why: "what ships does not hold tests", file: "controller/relation/a.go", text: `import "` + module + `test/fake"`, want: "builds or tests"},
		"NewRoom":         {why: "a domain room says what it may import", file: "domain/fleet/a.go", want: "no row"},
		"NewFloor":        {why: "there are eight", file: "pkg/util/a.go", want: "no row"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(tc.file)), 0o750))
			require.NoError(t, os.WriteFile(filepath.Join(root, tc.file), []byte("package a\n\n"+tc.text+"\n"), 0o600))
			broken, err := brokenWalls(root, table)
			require.NoError(t, err)
			if tc.want == "" {
				assert.Empty(t, broken, tc.why)
				return
			}
			require.Len(t, broken, 1, tc.why)
			assert.Contains(t, broken[0], tc.want, tc.why)
		})
	}
}

// Every row of the table is for a folder that is there: a room that was deleted
// takes its row along.
func TestTableHasNoDeadRows(t *testing.T) {
	for folder := range mayImport {
		assert.DirExists(t, filepath.Join(repository, strings.TrimSuffix(folder, "/*")))
	}
}

func TestTopLevelFolders(t *testing.T) {
	entries, err := os.ReadDir(repository)
	require.NoError(t, err)
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || e.Name() == "dist" {
			continue
		}
		assert.Contains(t, append(strings.Fields(floors), texts), e.Name(), "no other top-level folder")
	}
}

// The folder of texts holds no code: neither Go nor a script.
func TestTextsHoldNoCode(t *testing.T) {
	assert.Empty(t, codeIn(t, filepath.Join(repository, texts)))

	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "rules"), 0o750))
	for _, name := range []string{"a.md", "picture.svg", "rules/b.go", "c.sh"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	assert.ElementsMatch(t, []string{filepath.Join(folder, "rules/b.go"), filepath.Join(folder, "c.sh")}, codeIn(t, folder))
}

// codeIn lists the files below a folder that are neither text nor pictures.
func codeIn(t *testing.T, folder string) []string {
	t.Helper()
	allowed := []string{".md", ".svg", ".png", ".yaml", ".json", ".txt"}
	var code []string
	require.NoError(t, filepath.WalkDir(folder, func(file string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !slices.Contains(allowed, filepath.Ext(file)) {
			code = append(code, file)
		}
		return err
	}))
	return code
}

// longestFile is how many lines a file that people write may have.
const longestFile = 500

func TestFilesAreShortAndNamedForWhatTheyHold(t *testing.T) {
	vague := map[string]bool{"types": true, "utils": true, "util": true, "helpers": true, "common": true, "manager": true}
	for _, file := range goFiles(t) {
		base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".go"), "_test")
		assert.False(t, vague[base] || vague[filepath.Base(filepath.Dir(file))], "%s: name it for what it holds", file)
		assert.LessOrEqual(t, lines(t, file), longestFile, "%s is too long", file)
	}
}

// goFiles lists the Go files that people wrote, of every module in the repository.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(repository, func(file string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || entry.Name() == "dist") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(file, ".go") && !generated(t, file) {
			files = append(files, file)
		}
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}

func generated(t *testing.T, file string) bool {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	scanner := bufio.NewScanner(f)
	for range 5 {
		if scanner.Scan() && strings.HasPrefix(scanner.Text(), "// Code generated ") {
			return true
		}
	}
	return false
}

func lines(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Count(string(text), "\n")
}
