package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A list of slow tests names tests of its folder, in order: a test that has been renamed would run as a fast one.
func TestSlowTestsExist(t *testing.T) {
	lists, err := filepath.Glob("../*/slow.txt")
	require.NoError(t, err)
	require.Len(t, lists, 2)
	for _, list := range lists {
		text, err := os.ReadFile(list)
		require.NoError(t, err)
		slow := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "#")
		})
		assert.True(t, slices.IsSorted(slow), "%s is not in order", list)
		assert.Subset(t, testsOf(t, filepath.Dir(list)), slow, list)
	}
}

// testsOf returns the names of the tests of a folder and those below it.
func testsOf(t *testing.T, folder string) (names []string) {
	for _, pattern := range []string{"*_test.go", "*/*_test.go"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		require.NoError(t, err)
		for _, name := range files {
			code, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllSubmatch(code, -1) {
				names = append(names, string(found[1]))
			}
		}
	}
	return names
}
