package secrets

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The controller's role names these Secrets, and no other (SAFETY.md S2).
func TestContentSecrets(t *testing.T) {
	all := ContentSecrets()
	for shard, name := range all {
		assert.Equal(t, ContentSecret(shard), name)
	}
	assert.NotContains(t, all, ContentSecret(len(all)))
}
