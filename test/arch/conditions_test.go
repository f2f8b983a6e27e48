package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// literal is a condition that is made without condition.New, which cuts its message. One that is read from the
// cluster was cut when it was written.
var literal = regexp.MustCompile(`condition\.Condition\{+\s*Type:`)

// TRUST.md U5: every message is cut in one place, where its condition is made.
func TestConditionsAreMadeInOnePlace(t *testing.T) {
	const reads = "controller/api/convert/value/condition.go"
	for _, room := range []string{"domain", "controller", "webhook"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(repository, room), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, reads) {
				return err
			}
			text, err := os.ReadFile(path)
			assert.NotRegexp(t, literal, string(text), "%s: write condition.New", path)
			return err
		}))
	}
	assert.Regexp(t, literal, "condition.Condition{{Type: condition.Held}}", "a checker that cannot fail proves nothing")
}
