package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestItems(t *testing.T) {
	text := "## A\n- no\n## B\n### C\nx\n- a\n  b\n- c\n\n  d\n- e\n## F\n- no\n"
	assert.Equal(t, []string{"a b", "c", "e"}, Items(text, "## B"))
	assert.Empty(t, Items(text, "## D"))
}

// Each attack of the security model names tests that exist (TRUST.md R8).
func TestSecurityModel(t *testing.T) {
	tests := testNames(t)
	require.Contains(t, tests, "TestSecurityModel")
	text, err := os.ReadFile(filepath.Join(root, "docs/explanation/security-model.md"))
	require.NoError(t, err)
	attacks := Items(string(text), "## Who could attack")
	assert.Greater(t, len(attacks), 20)
	for _, attack := range attacks {
		_, shown, named := strings.Cut(attack, " Shown by ")
		assert.True(t, named, "%s: no test", attack)
		for name := range strings.SplitSeq(strings.TrimSuffix(shown, "."), ", ") {
			assert.Contains(t, tests, name, "%s: no such test", attack)
		}
	}
}

// testNames returns the names of all tests of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, folder := range []string{"build", "cmd", "controller", "domain", "test", "webhook"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
				all[found[1]] = true
			}
			return err
		}))
	}
	return all
}
