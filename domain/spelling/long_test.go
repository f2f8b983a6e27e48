package spelling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// A name of many letters, which a tenant may write, is no slip, and costs nothing (TRUST.md U6).
func TestLong(t *testing.T) {
	began := time.Now()
	assert.Empty(t, spelling.Nearest(strings.Repeat("a", 100_000), []string{strings.Repeat("b", 100_000)}))
	assert.Less(t, time.Since(began), 2*time.Second)
}
