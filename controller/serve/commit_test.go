package serve

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// A cause is the agent's word, and the record has room for so much of it.
func TestCausesAreShort(t *testing.T) {
	assert.Equal(t, "db-relation-changed (db/0)", shortened("db-relation-changed (db/0)"))
	for _, cause := range []string{strings.Repeat("a", 201), strings.Repeat("é", 150), "a" + strings.Repeat("€", 100)} {
		got := shortened(cause)
		assert.LessOrEqual(t, len(got), 200)
		assert.Greater(t, len(got), 190)
		assert.True(t, utf8.ValidString(got))
		assert.True(t, strings.HasPrefix(cause, strings.TrimSuffix(got, "…")))
	}
}
