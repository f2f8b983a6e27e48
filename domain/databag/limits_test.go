package databag_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

func TestLimits(t *testing.T) {
	long := strings.Repeat("k", databag.MaxKey)
	assert.Nil(t, databag.CheckPair(long, strings.Repeat("v", databag.MaxValue)))
	tests := map[string]struct{ key, value, named, reason string }{
		"Key":       {long + "k", "", long[:40] + "…", "a key has at most 253 bytes, this one has 254"},
		"Value":     {"a", strings.Repeat("v", databag.MaxValue+1), "a", "a value has at most 65536 bytes, this one has 65537"},
		"KeyText":   {"\xff", "", "\xff", "it is not UTF-8"},
		"ValueText": {"a", "\xff", "a", "it is not UTF-8"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			breach := databag.CheckPair(tc.key, tc.value)
			require.NotNil(t, breach)
			assert.Equal(t, tc.named, breach.Key)
			assert.Equal(t, tc.reason, breach.Reason)
			assert.NotEmpty(t, breach.Cure)
		})
	}
	full := map[string]string{"k": strings.Repeat("v", databag.MaxBag-1)}
	assert.Nil(t, databag.CheckSize(full))
	full["k"] += "v"
	require.NotNil(t, databag.CheckSize(full))
	assert.Equal(t, "a databag has at most 524288 bytes, this one has 524289", databag.CheckSize(full).Reason)
}
