package bundledeployment

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Every reason that this package writes is in the table from which the reference is made.
func TestReasonsAreExplained(t *testing.T) {
	known := map[string]bool{}
	for _, m := range domain.Meanings() {
		known[m.Reason] = true
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	written := regexp.MustCompile(`(?:Reason: |Reason = |stopAt\([^,]+, |forbidden = |Reason, stop\.Message = )"([A-Za-z]+)"`)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range written.FindAllStringSubmatch(string(text), -1) {
			found++
			assert.True(t, known[m[1]], "%s: reason %s", file, m[1])
		}
	}
	assert.Greater(t, found, 15, "the pattern finds what is written")
}
