package object_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A side that cannot be read is unknown, not absent: without it, what a unit of a relation that has gone still writes
// would be dropped, and its secrets would be withdrawn (TRUST.md T2).
func TestSidesOf(t *testing.T) {
	r, err := convert.ToRelation(kubetest.Related("shop", "blog", "shop", "db"))
	require.NoError(t, err)
	side := func(identity string) domain.Side {
		return domain.Side{Key: r.Key, Role: application.Provider, Relation: identity, ID: 1, Interface: "db"}
	}
	stored := convert.ForRelationSide(side("mine"))
	cache := kubetest.Memory{}
	cache.Put(stored)
	all, err := object.SidesOf(t.Context(), cache, "shop", "mine")
	require.NoError(t, err)
	assert.Equal(t, []domain.Side{side("mine")}, all)

	stored.Spec.ID = 1 << 40
	cache.Put(stored)
	_, err = object.SidesOf(t.Context(), cache, "shop", "mine")
	require.ErrorContains(t, err, "is out of range")
	all, err = object.SidesOf(t.Context(), cache, "shop", "another")
	require.NoError(t, err, "it is of another relation")
	assert.Empty(t, all)
}
