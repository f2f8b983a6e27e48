package relation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

func TestKeyNames(t *testing.T) {
	part := rapid.StringMatching(`[a-z]([a-z0-9_-]{0,61}[a-z0-9])?`)
	key := rapid.Custom(func(t *rapid.T) relation.Key {
		end := func() relation.End {
			return relation.End{Namespace: part.Draw(t, "namespace"), Application: part.Draw(t, "application"), Endpoint: part.Draw(t, "endpoint")}
		}
		return relation.Key{Requirer: end(), Provider: end()}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := key.Draw(t, "a"), key.Draw(t, "b")
		for _, name := range []string{a.Name(), relation.DatabagName(a.Requirer.Application, a.Requirer.Endpoint)} {
			assert.LessOrEqual(t, len(name), 63, "SAFETY.md C3")
			assert.Regexp(t, `^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`, name)
		}
		assert.Equal(t, a == b, a.Name() == b.Name(), "different keys have different names")
		assert.Equal(t, a.Requirer.Application == b.Requirer.Application && a.Requirer.Endpoint == b.Requirer.Endpoint,
			relation.DatabagName(a.Requirer.Application, a.Requirer.Endpoint) == relation.DatabagName(b.Requirer.Application, b.Requirer.Endpoint))
	})
}

// Names that read alike are different all the same (SAFETY.md C3).
func TestKeyNamesThatReadAlike(t *testing.T) {
	assert.NotEqual(t, relation.DatabagName("a-b", "c"), relation.DatabagName("a", "b-c"))
	assert.NotEqual(t, relation.DatabagName("a", "b-c"), relation.DatabagName("a", "b_c"))
	long := strings.Repeat("a", 62)
	assert.NotEqual(t, relation.DatabagName(long+"b", long), relation.DatabagName(long+"c", long))
	assert.Regexp(t, `^a{40}-[0-9a-f]{10}$`, relation.DatabagName(long, long), "40 characters for people")
}
