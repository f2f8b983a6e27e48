package application_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// A copy is in one of few ConfigMaps, which never changes: pods that are stored name it.
func TestStaleCopy(t *testing.T) {
	for name, want := range map[string]string{"web": "orcon-stale-1", "shop": "orcon-stale-1", "front": "orcon-stale-0", "api": "orcon-stale-7"} {
		assert.Equal(t, want, application.StaleCopy(name), name)
	}
	assert.Len(t, application.StaleCopies(), 8)
	rapid.Check(t, func(t *rapid.T) {
		assert.Contains(t, application.StaleCopies(), application.StaleCopy(rapid.String().Draw(t, "name")))
	})
}
